//! A script replaces a worker in tests. A seed decides what is wanted, what is stolen and how long
//! blocks are, so that one thread reaches many trees of cuts.

#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// Answers from a seed.
#[derive(Debug)]
pub struct Script {
    state: Cell<u64>,
    /// How many of 256 answers want a fork.
    eagerness: u64,
    /// How many forks may still be stolen. Each theft causes more forks.
    thefts: Cell<u32>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Script>>> = const { RefCell::new(None) };
}

/// The script that is played on this thread.
pub(crate) fn current() -> Option<Rc<Script>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Plays the script of `seed` while `op` runs.
pub(crate) fn play<R>(seed: u64, op: impl FnOnce() -> R) -> R {
    struct Restore(Option<Rc<Script>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.with(|current| current.replace(self.0.take()));
        }
    }
    let state = Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (eagerness, thefts) = ([0, 16, 128, 256][seed as usize % 4], Cell::new(100));
    let script = Rc::new(Script { state, eagerness, thefts });
    let _restore = Restore(CURRENT.with(|current| current.replace(Some(script))));
    op()
}

impl Script {
    fn below(&self, limit: u64) -> u64 {
        let mut state = self.state.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.state.set(state);
        (state >> 32) % limit
    }

    pub(crate) fn wanted(&self) -> bool {
        self.below(256) < self.eagerness
    }

    pub(crate) fn workers(&self) -> usize {
        1 + self.below(8) as usize
    }

    pub(crate) fn block_limit(&self) -> usize {
        [1, 2, 3, 7, 1000, usize::MAX][self.below(6) as usize]
    }

    /// Runs both closures in either order. If one panics, the other still runs.
    pub(crate) fn join<RA, RB>(
        &self,
        a: impl FnOnce() -> RA,
        b: impl FnOnce(bool) -> RB,
    ) -> (RA, RB) {
        let stolen = self.thefts.get() > 0 && self.below(2) == 0;
        self.thefts.set(self.thefts.get() - u32::from(stolen));
        let (ra, rb);
        if stolen && self.below(2) == 0 {
            rb = catch_unwind(AssertUnwindSafe(|| b(true)));
            ra = catch_unwind(AssertUnwindSafe(a));
        } else {
            ra = catch_unwind(AssertUnwindSafe(a));
            rb = catch_unwind(AssertUnwindSafe(|| b(stolen)));
        }
        match (ra, rb) {
            (Ok(ra), Ok(rb)) => (ra, rb),
            (Err(payload), _) | (_, Err(payload)) => resume_unwind(payload),
        }
    }
}

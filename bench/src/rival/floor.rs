//! The floor below every fork whose second closure another thread could take.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Build, Rival, Work};

/// Forks that only publish their closure, on one thread: the least that such a pool has to do.
///
/// The closure lies in the frame of its fork. How to run it and where it is are written to a place
/// that another thread could read; the second of the two stores makes it known. After the first
/// closure a load tells whether it is still there, and a store withdraws it. A correct deque does
/// more. Here there is no fence between the load and the store, and no thread takes anything. The
/// address of a frame leads to its place, so no fork waits for a count that another fork changes.
/// The floor does not look for its worker, check for idle workers, or catch panics either.
#[derive(Debug)]
pub struct Floor {
    places: Box<[Place; PLACES]>,
}

/// Where one fork can be seen.
#[derive(Debug, Default)]
pub struct Place {
    run: AtomicUsize,
    /// Zero while there is none.
    closure: AtomicUsize,
}

impl Build for Floor {
    fn build(workers: usize) -> Result<Self, String> {
        match workers {
            1 => Ok(Self { places: Box::new(std::array::from_fn(|_| Place::default())) }),
            _ => Err("the floor forks on one thread".to_owned()),
        }
    }
}

impl Rival for Floor {
    type Ctx<'c> = &'c [Place; PLACES];

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        f(&mut &*self.places)
    }

    /// Not inlined into its caller, which is small and is inlined here instead: then the leaves of
    /// a recursion need no call.
    #[inline(never)]
    fn join<A, B, RA, RB>(places: &mut &[Place; PLACES], a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>,
    {
        let closure = (&raw const b).expose_provenance();
        let place = &places[closure / SMALLEST_FRAME % PLACES];
        place.run.store(run as fn(usize) as usize, Ordering::Relaxed);
        place.closure.store(closure, Ordering::Release);
        let ra = a(places);
        if place.closure.load(Ordering::Relaxed) != closure {
            stolen();
        }
        place.closure.store(0, Ordering::Relaxed);
        (ra, b(places))
    }
}

/// What a thief would call.
fn run(_closure: usize) {
    stolen()
}

#[cold]
fn stolen() -> ! {
    unreachable!("there is no thief")
}

/// A frame has at least a return address and a closure.
const SMALLEST_FRAME: usize = 16;

/// Two frames have the same place only if this many of the smallest lie between them.
const PLACES: usize = 1 << 12;

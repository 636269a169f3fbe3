//! Loops that other threads watch or end: `on_progress`, `cancel_on`.

use crate::iter::ParallelIterator;
use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::{Layer, Reducer, Run};
use blitz_parts::prim::{AtomicBool, AtomicUsize, Instant, Relaxed};
use std::sync::Arc;

adaptor! {
    /// Calls a function with the number of items passed on so far: made by
    /// [`on_progress`](crate::iter::ParallelIteratorExt::on_progress).
    OnProgress<I; F> { base } { f: F }
}

adaptor! {
    /// Ends the loop when a token is cancelled: made by
    /// [`cancel_on`](crate::iter::ParallelIteratorExt::cancel_on).
    CancelOn<I> { base } { token: CancelToken }
}

/// Ends loops from outside: when it is cancelled, or at a point in time.
///
/// All clones are the same token.
///
/// ```
/// use blitz::par::CancelToken;
/// use blitz::prelude::*;
///
/// let token = CancelToken::new();
/// token.cancel();
/// let visited = (0..1_000).into_par_iter().cancel_on(&token).count();
/// assert_eq!(visited, 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    cancelled: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl CancelToken {
    /// Makes a token that is not cancelled.
    #[must_use]
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Makes a token that is cancelled at `deadline`, if not before.
    ///
    /// ```
    /// use blitz::par::CancelToken;
    /// assert!(CancelToken::at(std::time::Instant::now()).is_cancelled());
    /// ```
    #[must_use]
    pub fn at(deadline: Instant) -> CancelToken {
        CancelToken { deadline: Some(deadline), ..CancelToken::default() }
    }

    /// Ends the loops that use this token. They finish their current blocks.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Whether the token is cancelled, so that its loops end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
            || self.deadline.is_some_and(|deadline| {
                let over = Instant::now() >= deadline;
                if over {
                    self.cancel();
                }
                over
            })
    }
}

struct ProgressLayer<'l, F, N> {
    done: AtomicUsize,
    f: &'l F,
    next: &'l N,
}

impl<T, F: Fn(usize) + Sync, N: Reducer<T>> Layer<T> for ProgressLayer<'_, F, N> {
    type To = T;
    const SHORT_BLOCKS: bool = true;
    stateless!(T);

    fn fold<B: Iterator<Item = T>>(&self, acc: N::Acc, turn: &Turn<'_>, block: B) -> N::Acc {
        let mut count = 0;
        let acc = self.next.fold(acc, turn, block.inspect(|_| count += 1));
        if count > 0 {
            (self.f)(self.done.fetch_add(count, Relaxed) + count);
        }
        acc
    }
}

impl<I, F> ParallelIterator for OnProgress<I, F>
where
    I: ParallelIterator,
    F: Fn(usize) + Sync + Send,
{
    type Item = I::Item;

    drive_layer!(|self, next| ProgressLayer { done: AtomicUsize::new(0), f: &self.f, next });

    as_many!();
}

layer! {
    CancelLayer [] [token: &'l CancelToken], [T,] T => T where [],
    |self, block| block, done |layer| layer.token.is_cancelled()
}

impl<I: ParallelIterator> ParallelIterator for CancelOn<I> {
    type Item = I::Item;

    drive_layer!(|self, next| CancelLayer { token: &self.token, next });
}

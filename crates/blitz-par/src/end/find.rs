//! Searches for one matching item: any, the first, the last.

use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::Reducer;
use blitz_parts::prim::{AtomicBool, AtomicUsize, Relaxed};

/// Finds a match; `mark` decides which one, and when parts end.
pub(crate) struct Find<F, M> {
    f: F,
    mark: M,
}

/// State that the parts of a search share.
pub(crate) trait Mark: Sync {
    /// Whether a later match is better than an earlier one.
    const LAST: bool = false;
    /// Notes a match at `place`.
    fn set(&self, place: &Place);
    /// Whether the rest of a part that is at `place` cannot change the result.
    fn is_done(&self, is_found: bool, place: &Place) -> bool;
}

/// For any match: whether there is one.
pub(crate) struct Any(AtomicBool);
/// The lowest place of a match. Parts that lie after it end.
pub(crate) struct First(AtomicUsize);
/// The highest place of a match. Parts that lie before it end.
pub(crate) struct Last(AtomicUsize);

impl Mark for Any {
    fn set(&self, _: &Place) {
        self.0.store(true, Relaxed);
    }

    #[inline]
    fn is_done(&self, _: bool, _: &Place) -> bool {
        self.0.load(Relaxed)
    }
}

impl Mark for First {
    fn set(&self, place: &Place) {
        self.0.fetch_min(place.next(), Relaxed);
    }

    #[inline]
    fn is_done(&self, is_found: bool, place: &Place) -> bool {
        is_found || self.0.load(Relaxed) < place.next()
    }
}

impl Mark for Last {
    const LAST: bool = true;

    fn set(&self, place: &Place) {
        self.0.fetch_max(place.next(), Relaxed);
    }

    #[inline]
    fn is_done(&self, _: bool, place: &Place) -> bool {
        place.end() <= self.0.load(Relaxed)
    }
}

impl<F> Find<F, Any> {
    pub(crate) fn any(f: F) -> Self {
        Find { f, mark: Any(AtomicBool::new(false)) }
    }
}

impl<F> Find<F, First> {
    pub(crate) fn first(f: F) -> Self {
        Find { f, mark: First(AtomicUsize::new(usize::MAX)) }
    }
}

impl<F> Find<F, Last> {
    pub(crate) fn last(f: F) -> Self {
        Find { f, mark: Last(AtomicUsize::new(0)) }
    }
}

impl<T, U: Send, F: Fn(T) -> Option<U> + Sync, M: Mark> Reducer<T> for Find<F, M> {
    type Acc = Option<U>;
    type Out = Option<U>;
    const COMPARES_PLACES: bool = true;

    fn start(&self, _: &Place) -> Option<U> {
        None
    }

    fn fold<B: Iterator<Item = T>>(
        &self,
        acc: Option<U>,
        turn: &Turn<'_>,
        mut block: B,
    ) -> Option<U> {
        let found = if M::LAST {
            // `Iterator::last` would make the next match its result before it drops the earlier
            // match. If that drop panicked, the next match would leak.
            block.filter_map(&self.f).fold(None, |last, next| {
                drop(last);
                Some(next)
            })
        } else {
            let found = if acc.is_none() { block.find_map(&self.f) } else { None };
            // Drops the block before the result is returned: if the drop panics, the result is
            // dropped, too.
            drop(block);
            found
        };
        if found.is_some() {
            self.mark.set(&turn.place);
        }
        self.merge(acc, found)
    }

    fn finish(&self, acc: Option<U>, _: &Turn<'_>) -> Option<U> {
        acc
    }

    fn merge(&self, left: Option<U>, right: Option<U>) -> Option<U> {
        let (better, other) = if M::LAST { (right, left) } else { (left, right) };
        if better.is_none() {
            return other;
        }
        drop(other);
        better
    }

    #[inline]
    fn is_done(&self, acc: &Option<U>, place: &Place) -> bool {
        self.mark.is_done(acc.is_some(), place)
    }

    fn is_over(&self, place: &Place) -> bool {
        self.mark.is_done(false, place)
    }

    fn is_settled(&self, out: &Option<U>) -> bool {
        !M::LAST && out.is_some()
    }
}

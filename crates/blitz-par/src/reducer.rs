//! Reducers: consume the items of a loop.

#![forbid(unsafe_code)]

use crate::place::Place;
use crate::plan::Turn;

/// Consumes the items of a loop. All threads share it; the state of a part is its `Acc`.
///
/// The trait cannot be named outside this crate, so parallel iterators cannot be implemented
/// elsewhere. Only this crate's loop and reducers know places, and writing in place relies on them.
pub trait Reducer<T>: Sync {
    /// The state of a part. It stays on the thread that began the part.
    type Acc;
    /// The result of a part.
    type Out: Send;
    /// Whether the loop runs window by window and [delivers](Self::deliver) each of them.
    const IN_WINDOWS: bool = false;
    /// Whether places are compared even if they are not exact. If not, parts need no distinct
    /// places.
    const COMPARES_PLACES: bool = false;
    /// Whether blocks must be short even if no other worker could use a part, because another
    /// thread may end or watch the loop, or because a block needs memory.
    const SHORT_BLOCKS: bool = false;
    /// Whether the loop runs inside of an item of another loop, as those of `flat_map` do.
    const IS_INNER: bool = false;

    /// The state of a part that begins at `place`.
    fn start(&self, place: &Place) -> Self::Acc;

    /// Consumes a block, which is an ordinary iterator chain.
    fn fold<B: Iterator<Item = T>>(&self, acc: Self::Acc, turn: &Turn<'_>, block: B) -> Self::Acc;

    /// Returns the result of the part.
    fn finish(&self, acc: Self::Acc, turn: &Turn<'_>) -> Self::Out;

    /// Merges the results of two parts; `left` lies before `right`.
    fn merge(&self, left: Self::Out, right: Self::Out) -> Self::Out;

    /// Called before a fork: another part is about to begin, and the part with `acc`, which is at
    /// `place`, goes on.
    #[inline]
    fn before_fork(&self, _acc: &mut Self::Acc, _place: &Place) {}

    /// Whether the rest of a part that is at `place` cannot change the result.
    #[inline]
    fn is_done(&self, _acc: &Self::Acc, _place: &Place) -> bool {
        false
    }

    /// Whether a part that begins at `place` now cannot change the result. A loop in windows asks
    /// this before it starts the next window, because a part may need a value when it starts and
    /// may pass on an item when it ends.
    fn is_over(&self, _place: &Place) -> bool {
        false
    }

    /// Whether no part after `out` can change the result.
    #[inline]
    fn is_settled(&self, _out: &Self::Out) -> bool {
        false
    }

    /// How many steps a window has. If items are pulled: how many items, at most `tuning::WINDOW`
    /// for each worker.
    fn window(&self) -> usize {
        usize::MAX
    }

    /// Passes on the results of the windows so far, in order and on one thread.
    fn deliver(&self, out: Self::Out) -> Self::Out {
        out
    }
}

/// The state of a loop: either it has not forked and can take more items, or it is done.
#[derive(Debug)]
pub enum Run<A, O> {
    Live(A),
    Done(O),
}

impl<A, O> Run<A, O> {
    /// Ends the loop.
    #[inline]
    pub(crate) fn done<T, R>(self, reducer: &R, turn: &Turn<'_>) -> O
    where
        R: Reducer<T, Acc = A, Out = O>,
    {
        match self {
            Run::Live(acc) => reducer.finish(acc, turn),
            Run::Done(out) => out,
        }
    }

    /// Changes the state.
    #[inline]
    pub(crate) fn map<B>(self, f: impl FnOnce(A) -> B) -> Run<B, O> {
        match self {
            Run::Live(acc) => Run::Live(f(acc)),
            Run::Done(out) => Run::Done(out),
        }
    }
}

/// An adaptor's part in a loop: it changes the items, and the next reducer consumes them.
pub trait Layer<T>: Sync {
    /// The changed items.
    type To;
    /// The reducer that consumes them.
    type Next: Reducer<Self::To>;
    /// The state of a part, including that of the next reducer.
    type Acc;
    /// Whether blocks must be short: see [`Reducer::SHORT_BLOCKS`].
    const SHORT_BLOCKS: bool = false;
    /// Whether the loop is an inner one: see [`Reducer::IS_INNER`].
    const IS_INNER: bool = false;

    /// The next reducer.
    fn next(&self) -> &Self::Next;
    /// Makes the state of a part from `acc`, the state of the next reducer.
    fn wrap(&self, acc: Acc<Self, T>) -> Self::Acc;
    /// Ends the part; returns the state of the next reducer.
    fn unwrap(&self, acc: Self::Acc, turn: &Turn<'_>) -> Acc<Self, T>;
    /// Returns the state of the next reducer so far.
    fn peek<'a>(&self, acc: &'a Self::Acc) -> &'a Acc<Self, T>;
    /// Consumes a block.
    fn fold<B: Iterator<Item = T>>(&self, acc: Self::Acc, turn: &Turn<'_>, block: B) -> Self::Acc;
    /// Called when another part is about to begin while this one goes on.
    fn before_fork(&self, acc: &mut Self::Acc, place: &Place);
    /// Whether the rest of the part changes nothing.
    #[inline]
    fn is_done(&self, acc: &Self::Acc, place: &Place) -> bool {
        self.next().is_done(self.peek(acc), place)
    }
    /// Whether a part that begins now changes nothing: see [`Reducer::is_over`].
    fn is_over(&self, place: &Place) -> bool {
        self.next().is_over(place)
    }
}

/// The state of the reducer behind a layer.
pub(crate) type Acc<L, T> = <<L as Layer<T>>::Next as Reducer<<L as Layer<T>>::To>>::Acc;

/// The result of the reducer behind a layer.
pub(crate) type Out<L, T> = <<L as Layer<T>>::Next as Reducer<<L as Layer<T>>::To>>::Out;

/// A layer as a reducer.
pub struct Over<L>(pub(crate) L);

impl<T, L: Layer<T>> Reducer<T> for Over<L> {
    type Acc = L::Acc;
    type Out = <L::Next as Reducer<L::To>>::Out;
    const IN_WINDOWS: bool = <L::Next as Reducer<L::To>>::IN_WINDOWS;
    const COMPARES_PLACES: bool = <L::Next as Reducer<L::To>>::COMPARES_PLACES;
    const SHORT_BLOCKS: bool = L::SHORT_BLOCKS || <L::Next as Reducer<L::To>>::SHORT_BLOCKS;
    const IS_INNER: bool = L::IS_INNER || <L::Next as Reducer<L::To>>::IS_INNER;

    #[inline]
    fn start(&self, place: &Place) -> L::Acc {
        self.0.wrap(self.0.next().start(place))
    }

    #[inline]
    fn fold<B: Iterator<Item = T>>(&self, acc: L::Acc, turn: &Turn<'_>, block: B) -> L::Acc {
        self.0.fold(acc, turn, block)
    }

    #[inline]
    fn finish(&self, acc: L::Acc, turn: &Turn<'_>) -> Self::Out {
        self.0.next().finish(self.0.unwrap(acc, turn), turn)
    }

    #[inline]
    fn merge(&self, left: Self::Out, right: Self::Out) -> Self::Out {
        self.0.next().merge(left, right)
    }

    #[inline]
    fn before_fork(&self, acc: &mut L::Acc, place: &Place) {
        self.0.before_fork(acc, place);
    }

    #[inline]
    fn is_done(&self, acc: &L::Acc, place: &Place) -> bool {
        self.0.is_done(acc, place)
    }

    fn is_over(&self, place: &Place) -> bool {
        self.0.is_over(place)
    }

    #[inline]
    fn is_settled(&self, out: &Self::Out) -> bool {
        self.0.next().is_settled(out)
    }

    fn window(&self) -> usize {
        self.0.next().window()
    }

    fn deliver(&self, out: Self::Out) -> Self::Out {
        self.0.next().deliver(out)
    }
}

//! One loop, two collections: `unzip`, `partition`, `partition_map`, and pairs as collections.
//!
//! A collection drives a parallel iterator to get its items. Here two collections need the items of
//! one loop. So the first collection gets a stand-in for the loop. When it drives this stand-in,
//! the second collection drives the real loop, which feeds both.
//!
//! The loop passes the place of each block to both collections, and they write their items there.
//! So the collections share the loop only if each gets all of its items from the loop, from index 0
//! on. A collection that puts other items before those of the loop expects another place. Then the
//! loop gathers the items of the first collection, which gets them afterwards.

#![forbid(unsafe_code)]

use super::rope::{Parts, Rope};
use crate::iter::{FromParallelIterator, IntoParallelIterator};
use crate::iter::{ParallelExtend, ParallelIterator};
use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::{Reducer, Run};

/// Where each item goes.
pub trait Divide<T>: Sync + Send {
    /// The items of the first collection.
    type A: Send;
    /// The items of the second collection.
    type B: Send;
    /// Whether each item goes to both.
    const TO_BOTH: bool;
    /// Puts `item` into `a` or `b`, or one part of it into each.
    fn divide(&self, item: T, a: &mut Vec<Self::A>, b: &mut Vec<Self::B>);
}

/// Puts one half of each pair into each collection.
pub(crate) struct Pairs;

impl<A: Send, B: Send> Divide<(A, B)> for Pairs {
    type A = A;
    type B = B;
    const TO_BOTH: bool = true;

    fn divide(&self, item: (A, B), a: &mut Vec<A>, b: &mut Vec<B>) {
        a.push(item.0);
        b.push(item.1);
    }
}

/// Divides by a function: `true` is for the first collection.
pub(crate) struct ByTest<F>(pub(crate) F);

impl<T: Send, F: Fn(&T) -> bool + Sync + Send> Divide<T> for ByTest<F> {
    type A = T;
    type B = T;
    const TO_BOTH: bool = false;

    fn divide(&self, item: T, a: &mut Vec<T>, b: &mut Vec<T>) {
        if (self.0)(&item) { a.push(item) } else { b.push(item) }
    }
}

/// Takes the items of the second collection.
pub trait Sink<B>: Send {
    /// Drives `iter` into the collection.
    #[track_caller]
    fn take(self, iter: impl ParallelIterator<Item = B>);
}

/// Appends the items to a collection.
struct Append<'b, C>(&'b mut C);

impl<B: Send, C: ParallelExtend<B> + Send> Sink<B> for Append<'_, C> {
    #[track_caller]
    fn take(self, iter: impl ParallelIterator<Item = B>) {
        self.0.par_extend(iter);
    }
}

/// Makes a collection of the items.
struct Collect<'b, C>(&'b mut Option<C>);

impl<B: Send, C: FromParallelIterator<B> + Send> Sink<B> for Collect<'_, C> {
    #[track_caller]
    fn take(self, iter: impl ParallelIterator<Item = B>) {
        *self.0 = Some(C::from_par_iter(iter));
    }
}

/// Appends the items of one loop to two collections.
#[track_caller]
pub(crate) fn extend_both<I, D, A, B>(iter: I, divide: D, a: &mut A, b: &mut B)
where
    I: ParallelIterator,
    D: Divide<I::Item>,
    A: ParallelExtend<D::A> + Send,
    B: ParallelExtend<D::B> + Send,
{
    a.par_extend(First { iter, divide, sink: Append(b) });
}

/// Collects the items of one loop into two collections.
#[track_caller]
pub(crate) fn collect_both<I, D, A, B>(iter: I, divide: D) -> (A, B)
where
    I: ParallelIterator,
    D: Divide<I::Item>,
    A: FromParallelIterator<D::A>,
    B: FromParallelIterator<D::B> + Send,
{
    let mut b = None;
    let a = A::from_par_iter(First { iter, divide, sink: Collect(&mut b) });
    match b {
        Some(b) => (a, b),
        None => panic!("a collection has not asked for its items"),
    }
}

/// The iterator for the first collection.
struct First<I, D, S> {
    iter: I,
    divide: D,
    sink: S,
}

impl<I, D, S> ParallelIterator for First<I, D, S>
where
    I: ParallelIterator,
    D: Divide<I::Item>,
    S: Sink<D::B>,
{
    type Item = D::A;

    fn drive<R: Reducer<D::A>>(
        self,
        turn: Turn<'_>,
        first: &R,
        acc: Option<R::Acc>,
    ) -> Run<R::Acc, R::Out> {
        let mut fed = None;
        let whole = Place::whole(self.exact_len());
        self.sink.take(Second {
            iter: self.iter,
            divide: self.divide,
            first,
            is_alone: acc.is_none() && is_alone(turn.place, whole),
            fed: &mut fed,
        });
        match fed {
            Some(Fed::Done(out)) => Run::Done(out),
            Some(Fed::Items(rope)) => {
                let items: Vec<D::A> = rope.into_iter().flatten().collect();
                items.into_par_iter().drive(turn, first, acc)
            }
            None => panic!("a collection has not asked for its items"),
        }
    }

    fn exact_len(&self) -> Option<usize> {
        self.iter.exact_len().filter(|_| D::TO_BOTH)
    }
}

/// Whether a collection gets all of its items from the loop. `place` is where it expects them, and
/// `whole` is the place of the loop. A collection that filters the items needs no indexes: it
/// expects them at a place of unknown length.
fn is_alone(place: Place, whole: Place) -> bool {
    place == whole || place == Place::whole(None)
}

/// What the loop, which the second collection drives, leaves for the first one.
enum Fed<O, T> {
    Done(O),
    /// The items of the first collection, which it has yet to get.
    Items(Rope<Vec<T>>),
}

/// The iterator for the second collection.
struct Second<'a, I, D, R, O, T> {
    iter: I,
    divide: D,
    first: &'a R,
    /// Whether the first collection gets all of its items from this loop.
    is_alone: bool,
    fed: &'a mut Option<Fed<O, T>>,
}

impl<I, D, R> ParallelIterator for Second<'_, I, D, R, R::Out, D::A>
where
    I: ParallelIterator,
    D: Divide<I::Item>,
    R: Reducer<D::A>,
{
    type Item = D::B;

    fn drive<S: Reducer<D::B>>(
        self,
        turn: Turn<'_>,
        second: &S,
        acc: Option<S::Acc>,
    ) -> Run<S::Acc, S::Out> {
        let whole = Place::whole(self.exact_len());
        let Second { iter, divide, first, is_alone: is_first_alone, fed } = self;
        if is_first_alone && acc.is_none() && is_alone(turn.place, whole) {
            let turn = Turn { place: whole, ..turn };
            let both = Both { divide: &divide, first, second };
            let (first, out) = iter.drive(turn, &both, None).done(&both, &turn);
            *fed = Some(Fed::Done(first));
            return Run::Done(out);
        }
        let both = Both { divide: &divide, first: &Parts::<Vec<D::A>>::new(), second };
        let acc = acc.map(|acc| (Vec::new(), acc));
        let (rope, out) = iter.drive(turn, &both, acc).done(&both, &turn);
        *fed = Some(Fed::Items(rope));
        Run::Done(out)
    }

    fn exact_len(&self) -> Option<usize> {
        self.iter.exact_len().filter(|_| D::TO_BOTH)
    }
}

/// Feeds two reducers.
struct Both<'a, D, R, S> {
    divide: &'a D,
    first: &'a R,
    second: &'a S,
}

impl<T, D, R, S> Reducer<T> for Both<'_, D, R, S>
where
    D: Divide<T>,
    R: Reducer<D::A>,
    S: Reducer<D::B>,
{
    type Acc = (R::Acc, S::Acc);
    type Out = (R::Out, S::Out);
    const IN_WINDOWS: bool = R::IN_WINDOWS || S::IN_WINDOWS;
    const COMPARES_PLACES: bool = R::COMPARES_PLACES || S::COMPARES_PLACES;
    // The items of a block are put into two vectors, which long blocks would make large.
    const SHORT_BLOCKS: bool = true;

    fn start(&self, place: &Place) -> Self::Acc {
        (self.first.start(place), self.second.start(place))
    }

    fn fold<B: Iterator<Item = T>>(&self, acc: Self::Acc, turn: &Turn<'_>, block: B) -> Self::Acc {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        if D::TO_BOTH {
            a.reserve(block.size_hint().0);
            b.reserve(block.size_hint().0);
        }
        block.for_each(|item| self.divide.divide(item, &mut a, &mut b));
        (self.first.fold(acc.0, turn, a.into_iter()), self.second.fold(acc.1, turn, b.into_iter()))
    }

    fn finish(&self, acc: Self::Acc, turn: &Turn<'_>) -> Self::Out {
        (self.first.finish(acc.0, turn), self.second.finish(acc.1, turn))
    }

    fn merge(&self, left: Self::Out, right: Self::Out) -> Self::Out {
        (self.first.merge(left.0, right.0), self.second.merge(left.1, right.1))
    }

    fn before_fork(&self, acc: &mut Self::Acc, place: &Place) {
        self.first.before_fork(&mut acc.0, place);
        self.second.before_fork(&mut acc.1, place);
    }

    fn is_done(&self, acc: &Self::Acc, place: &Place) -> bool {
        self.first.is_done(&acc.0, place) && self.second.is_done(&acc.1, place)
    }

    fn is_over(&self, place: &Place) -> bool {
        self.first.is_over(place) && self.second.is_over(place)
    }

    fn is_settled(&self, out: &Self::Out) -> bool {
        self.first.is_settled(&out.0) && self.second.is_settled(&out.1)
    }

    fn window(&self) -> usize {
        self.first.window().min(self.second.window())
    }

    fn deliver(&self, out: Self::Out) -> Self::Out {
        (self.first.deliver(out.0), self.second.deliver(out.1))
    }
}

impl<A, B, FromA, FromB> FromParallelIterator<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: FromParallelIterator<A> + Send,
    FromB: FromParallelIterator<B> + Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = (A, B)>>(iter: I) -> Self {
        collect_both(iter.into_par_iter(), Pairs)
    }
}

impl<A, B, IntoA, IntoB> ParallelExtend<(A, B)> for (IntoA, IntoB)
where
    A: Send,
    B: Send,
    IntoA: ParallelExtend<A> + Send,
    IntoB: ParallelExtend<B> + Send,
{
    fn par_extend<I: IntoParallelIterator<Item = (A, B)>>(&mut self, iter: I) {
        extend_both(iter.into_par_iter(), Pairs, &mut self.0, &mut self.1);
    }
}

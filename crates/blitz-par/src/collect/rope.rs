//! Items of loops whose length is not known: a collection for each part of the loop.

use crate::iter::{IntoParallelIterator, ParallelIterator};
use crate::place::Place;
use crate::plan::Turn;
use crate::reducer::Reducer;
use crate::run::reduce;
use crate::tuning;
use std::collections::LinkedList;
use std::ffi::OsString;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The collections of the parts, in order.
pub(crate) type Rope<C> = LinkedList<C>;

/// Collects the items of each part of a loop.
pub(crate) struct Parts<C>(PhantomData<fn() -> C>);

impl<C> Parts<C> {
    pub(crate) fn new() -> Parts<C> {
        Parts(PhantomData)
    }
}

/// A collection for a part.
pub(crate) trait Part: Default + Send {
    /// How long it is.
    fn len(&self) -> usize;
}

impl<T: Send> Part for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }
}

impl Part for String {
    fn len(&self) -> usize {
        self.len()
    }
}

impl Part for OsString {
    fn len(&self) -> usize {
        self.as_os_str().len()
    }
}

impl<T, C: Part + Extend<T>> Reducer<T> for Parts<C> {
    type Acc = C;
    type Out = Rope<C>;

    fn start(&self, _: &Place) -> C {
        C::default()
    }

    #[inline]
    fn fold<B: Iterator<Item = T>>(&self, mut acc: C, _: &Turn<'_>, block: B) -> C {
        acc.extend(block);
        acc
    }

    fn finish(&self, acc: C, _: &Turn<'_>) -> Rope<C> {
        let mut rope = Rope::new();
        if acc.len() > 0 {
            rope.push_back(acc);
        }
        rope
    }

    fn merge(&self, mut left: Rope<C>, mut right: Rope<C>) -> Rope<C> {
        left.append(&mut right);
        left
    }
}

/// Collects the items of each part of a loop; also returns the total length.
#[track_caller]
pub(crate) fn parts<C, I>(iter: I) -> (Rope<C>, usize)
where
    I: ParallelIterator,
    C: Part + Extend<I::Item>,
{
    let rope = reduce(iter, &Parts::<C>::new());
    let len = rope.iter().map(Part::len).sum();
    (rope, len)
}

/// Appends the items of a loop.
#[track_caller]
pub(crate) fn extend<I: ParallelIterator>(vec: &mut Vec<I::Item>, iter: I) {
    let (mut rope, len) = parts::<Vec<I::Item>, I>(iter);
    if vec.capacity() == 0 && rope.len() == 1 {
        *vec = rope.pop_front().unwrap_or_default();
        return;
    }
    vec.reserve(len);
    if rope.len() > 1 && len.saturating_mul(size_of::<I::Item>()) > tuning::MOVE_ALONE {
        append_in_parallel(vec, rope, len);
    } else {
        rope.into_iter().for_each(|mut part| vec.append(&mut part));
    }
}

/// Moves the `len` items of `rope` with several workers.
fn append_in_parallel<T: Send>(vec: &mut Vec<T>, rope: Rope<Vec<T>>, len: usize) {
    let mut memory = &mut vec.spare_capacity_mut()[..len];
    let mut moves = Vec::with_capacity(rope.len());
    for part in rope {
        let (to, rest) = memory.split_at_mut(part.len());
        memory = rest;
        moves.push((part, to));
    }
    moves.into_par_iter().for_each(|(part, to)| move_items(part, to));
    // SAFETY: every part has moved its items to their places; together they are `len` items.
    unsafe { vec.set_len(vec.len() + len) };
}

/// Moves all items of `part` to `to`, which has the same length.
fn move_items<T>(mut part: Vec<T>, to: &mut [MaybeUninit<T>]) {
    assert!(part.len() == to.len(), "there is room for each item");
    // SAFETY: there is room, and the two do not overlap: `to` is borrowed, `part` owned.
    unsafe { to.as_mut_ptr().cast::<T>().copy_from_nonoverlapping(part.as_ptr(), part.len()) };
    // SAFETY: the items have moved away.
    unsafe { part.set_len(0) };
}

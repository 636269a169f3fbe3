//! From collections to parallel iterators and back.

use super::ParallelIterator;
use std::ops::RangeBounds;

/// A type that can be turned into a parallel iterator.
pub trait IntoParallelIterator {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send;

    /// Turns it into a parallel iterator.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(vec![1, 2, 3].into_par_iter().sum::<i32>(), 6);
    /// assert_eq!((1..=3).into_par_iter().sum::<i32>(), 6);
    /// ```
    ///
    /// The standard collections are sources, by value and by reference. Collections with an order
    /// keep it.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// # use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, LinkedList, VecDeque};
    /// let mut deque = VecDeque::from([1, 2, 3]);
    /// deque.par_iter_mut().for_each(|n| *n *= 2);
    /// assert_eq!(deque.into_par_iter().collect::<Vec<_>>(), [2, 4, 6]);
    ///
    /// let map = BTreeMap::from([("b", 2), ("a", 1)]);
    /// assert_eq!(map.par_iter().map(|(name, _)| *name).collect::<String>(), "ab");
    /// let map = HashMap::from([("b", 2), ("a", 1)]);
    /// assert_eq!(map.par_iter().map(|(_, n)| n).sum::<i32>(), 3);
    ///
    /// assert_eq!(BTreeSet::from([3, 1]).into_par_iter().collect::<Vec<_>>(), [1, 3]);
    /// assert_eq!(LinkedList::from([3, 1]).par_iter().position_first(|n| *n == 1), Some(1));
    /// assert_eq!(BinaryHeap::from([3, 1]).into_par_iter().max(), Some(3));
    /// assert_eq!(Some(3).into_par_iter().chain([4; 2]).sum::<i32>(), 11);
    /// ```
    fn into_par_iter(self) -> Self::Iter;
}

impl<I: ParallelIterator> IntoParallelIterator for I {
    type Iter = I;
    type Item = I::Item;

    fn into_par_iter(self) -> I {
        self
    }
}

/// A type that a parallel iterator can borrow from.
pub trait IntoParallelRefIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items: references.
    type Item: Send + 'data;

    /// Makes a parallel iterator of references.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let words = ["one", "two", "three"];
    /// assert_eq!(words.par_iter().map(|word| word.len()).sum::<usize>(), 11);
    /// ```
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, C: ?Sized + 'data> IntoParallelRefIterator<'data> for C
where
    &'data C: IntoParallelIterator,
{
    type Iter = <&'data C as IntoParallelIterator>::Iter;
    type Item = <&'data C as IntoParallelIterator>::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A type whose items a parallel iterator can change.
pub trait IntoParallelRefMutIterator<'data> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items: mutable references.
    type Item: Send + 'data;

    /// Makes a parallel iterator of mutable references.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_iter_mut().for_each(|n| *n *= 2);
    /// assert_eq!(numbers, [2, 4, 6]);
    /// ```
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, C: ?Sized + 'data> IntoParallelRefMutIterator<'data> for C
where
    &'data mut C: IntoParallelIterator,
{
    type Iter = <&'data mut C as IntoParallelIterator>::Iter;
    type Item = <&'data mut C as IntoParallelIterator>::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// Turns references to a collection into references to its slice.
macro_rules! into_par_iter_of_refs {
    ([$($params:tt)*] $type:ty as [$item:ident]) => {
        impl<'a, $($params)*> $crate::iter::IntoParallelIterator for &'a $type
        where
            $item: Sync,
        {
            type Item = &'a $item;
            type Iter = $crate::source::slice::Iter<'a, $item>;

            fn into_par_iter(self) -> Self::Iter {
                self[..].into_par_iter()
            }
        }

        impl<'a, $($params)*> $crate::iter::IntoParallelIterator for &'a mut $type
        where
            $item: Send,
        {
            type Item = &'a mut $item;
            type Iter = $crate::source::slice::IterMut<'a, $item>;

            fn into_par_iter(self) -> Self::Iter {
                self[..].into_par_iter()
            }
        }
    };
}

pub(crate) use into_par_iter_of_refs;

/// A type that can be made of the items of a parallel iterator.
pub trait FromParallelIterator<T: Send> {
    /// Makes a value of this type of the items: see [`collect`](ParallelIterator::collect).
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// assert_eq!(Vec::from_par_iter(1..4), [1, 2, 3]);
    /// ```
    ///
    /// The standard collections and strings can be made of items:
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// # use std::collections::{BTreeMap, BTreeSet, BinaryHeap, LinkedList, VecDeque};
    /// # use std::ffi::{OsStr, OsString};
    /// let items = || [3, 1, 2].into_par_iter();
    /// assert_eq!(items().collect::<VecDeque<_>>(), [3, 1, 2]);
    /// assert_eq!(items().collect::<LinkedList<_>>(), LinkedList::from([3, 1, 2]));
    /// assert_eq!(items().collect::<BinaryHeap<_>>().into_sorted_vec(), [1, 2, 3]);
    /// assert_eq!(items().collect::<BTreeSet<_>>(), BTreeSet::from([1, 2, 3]));
    /// let squares: BTreeMap<i32, i32> = items().map(|n| (n, n * n)).collect();
    /// assert_eq!(squares[&3], 9);
    ///
    /// let text: Box<str> = "blitz".par_chars().map(|c| c.to_ascii_uppercase()).collect();
    /// assert_eq!(*text, *"BLITZ");
    /// let name: OsString = ["a", ".rs"].into_par_iter().map(OsStr::new).collect();
    /// assert_eq!(name, "a.rs");
    /// ```
    #[track_caller]
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self;
}

/// A collection to which a parallel iterator can add its items.
pub trait ParallelExtend<T: Send> {
    /// Adds the items of `iter`.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers = vec![0];
    /// numbers.par_extend(1..4);
    /// assert_eq!(numbers, [0, 1, 2, 3]);
    /// ```
    #[track_caller]
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, iter: I);
}

/// A collection that can be emptied.
pub trait ParallelDrainFull {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send;

    /// Takes all items out; the collection keeps its memory.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut set: std::collections::HashSet<u32> = (0..10).collect();
    /// assert_eq!(set.par_drain().sum::<u32>(), 45);
    /// assert!(set.is_empty());
    /// ```
    fn par_drain(self) -> Self::Iter;
}

/// A collection from which a range can be taken out.
pub trait ParallelDrainRange<Idx = usize> {
    /// The iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// Its items.
    type Item: Send;

    /// Takes the items of a range out. Dropping the iterator removes them, even if it was not used.
    ///
    /// ```
    /// # use blitz::prelude::*;
    /// let mut numbers: Vec<u32> = (0..10).collect();
    /// assert_eq!(numbers.par_drain(2..5).sum::<u32>(), 9);
    /// assert_eq!(numbers, [0, 1, 5, 6, 7, 8, 9]);
    /// ```
    ///
    /// # Panics
    /// If the range ends before it starts, or beyond the end of the collection, or if it starts or
    /// ends inside a character of a string.
    fn par_drain<R: RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}

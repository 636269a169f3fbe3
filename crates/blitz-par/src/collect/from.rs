//! Collections of items: [`FromParallelIterator`].

#![forbid(unsafe_code)]

use super::extend::vec_of;
use crate::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use blitz_parts::prim::{AtomicBool, Mutex, Relaxed};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

/// Implements collecting by way of a vector.
macro_rules! from_vec {
    ([$($bounds:tt)*] $type:ty) => {
        impl<T: Send $($bounds)*> FromParallelIterator<T> for $type {
            fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
                vec_of(iter).into()
            }
        }
    };
}

from_vec!([] Vec<T>);
from_vec!([] Box<[T]>);
from_vec!([] Rc<[T]>);
from_vec!([] Arc<[T]>);
from_vec!([] VecDeque<T>);
from_vec!([+ Ord] BinaryHeap<T>);

/// Implements collecting by extending an empty collection.
macro_rules! from_empty {
    ([$($params:tt)*] $type:ty, $item:ty, [$($bounds:tt)*]) => {
        impl<$($params)*> FromParallelIterator<$item> for $type
        where
            $($bounds)*
        {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(iter: I) -> Self {
                let mut collection = Self::default();
                collection.par_extend(iter);
                collection
            }
        }
    };
}

from_empty!([T] LinkedList<T>, T, [T: Send]);
from_empty!([K, V, S] HashMap<K, V, S>, (K, V),
    [K: Eq + Hash + Send, V: Send, S: BuildHasher + Default + Send]);
from_empty!([T, S] HashSet<T, S>, T, [T: Eq + Hash + Send, S: BuildHasher + Default + Send]);
from_empty!([K, V] BTreeMap<K, V>, (K, V), [K: Ord + Send, V: Send]);
from_empty!([T] BTreeSet<T>, T, [T: Ord + Send]);

impl FromParallelIterator<()> for () {
    fn from_par_iter<I: IntoParallelIterator<Item = ()>>(iter: I) {
        iter.into_par_iter().for_each(|()| ());
    }
}

impl<'a, C, T> FromParallelIterator<T> for Cow<'a, C>
where
    C: ToOwned<Owned: FromParallelIterator<T>> + ?Sized,
    T: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(iter: I) -> Self {
        Cow::Owned(C::Owned::from_par_iter(iter))
    }
}

/// Collects the values of all items. An item that is `None` soon ends the loop, and makes the
/// result `None`.
impl<T: Send, C: FromParallelIterator<T>> FromParallelIterator<Option<T>> for Option<C> {
    fn from_par_iter<I: IntoParallelIterator<Item = Option<T>>>(iter: I) -> Option<C> {
        let is_over = AtomicBool::new(false);
        let note = |item: &Option<T>| {
            if item.is_none() {
                is_over.store(true, Relaxed);
            }
        };
        let collection = iter.into_par_iter().inspect(note).while_some().collect();
        if is_over.load(Relaxed) { None } else { Some(collection) }
    }
}

/// Collects the values of all items. An item that is an error soon ends the loop, and the result is
/// one of the errors.
impl<T, E, C> FromParallelIterator<Result<T, E>> for Result<C, E>
where
    T: Send,
    E: Send,
    C: FromParallelIterator<T>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = Result<T, E>>>(iter: I) -> Result<C, E> {
        let first = Mutex::new(None);
        let note = |item: Result<T, E>| match item {
            Ok(item) => Some(item),
            Err(error) => {
                // A later error is dropped after the lock is released.
                let mut place = first.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let late = if place.is_none() { place.replace(error) } else { Some(error) };
                drop(place);
                drop(late);
                None
            }
        };
        let collection: C = iter.into_par_iter().map(note).while_some().collect();
        match first.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            Some(error) => {
                drop(collection);
                Err(error)
            }
            None => Ok(collection),
        }
    }
}

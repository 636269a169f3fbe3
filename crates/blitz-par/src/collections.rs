//! The parallel iterators of the standard collections.
//!
//! Each has the name that it has in Rayon. Most are the same type: [`Iter`], a vector of the items
//! or of references to them.
//!
//! ```
//! use blitz::par::collections::{btree_map, hash_map};
//! use blitz::prelude::*;
//! use std::collections::{BTreeMap, HashMap};
//!
//! struct Words<'a> {
//!     sorted: btree_map::Iter<'a, String, u32>,
//!     others: hash_map::Iter<'a, String, u32>,
//! }
//!
//! let sorted = BTreeMap::from([("owner".to_owned(), 2)]);
//! let others = HashMap::from([("thief".to_owned(), 3)]);
//! let words = Words { sorted: sorted.par_iter(), others: others.par_iter() };
//! assert_eq!(words.sorted.chain(words.others).map(|(_, count)| count).sum::<u32>(), 5);
//! ```

#![forbid(unsafe_code)]

pub use crate::source::collections::Iter;
pub use crate::source::pulled::PulledIter;

/// The items of `BinaryHeap`.
pub mod binary_heap {
    /// The items that `par_drain` takes out.
    pub type Drain<'a, T> = super::Iter<T>;
    /// The items, by value.
    pub type IntoIter<T> = super::Iter<T>;
    /// References to the items.
    pub type Iter<'a, T> = super::Iter<&'a T>;
}

/// The entries of `BTreeMap`.
pub mod btree_map {
    /// The entries, by value.
    pub type IntoIter<K, V> = super::Iter<(K, V)>;
    /// References to the entries.
    pub type Iter<'a, K, V> = super::Iter<(&'a K, &'a V)>;
    /// The entries with mutable references to the values.
    pub type IterMut<'a, K, V> = super::Iter<(&'a K, &'a mut V)>;
}

/// The items of `BTreeSet`.
pub mod btree_set {
    /// The items, by value.
    pub type IntoIter<T> = super::Iter<T>;
    /// References to the items.
    pub type Iter<'a, T> = super::Iter<&'a T>;
}

/// The entries of `HashMap`.
pub mod hash_map {
    use std::collections::hash_map;

    /// The entries that `par_drain` takes out.
    pub type Drain<'a, K, V> = super::Iter<(K, V)>;
    /// The entries, by value.
    pub type IntoIter<K, V> = super::PulledIter<hash_map::IntoIter<K, V>>;
    /// References to the entries.
    pub type Iter<'a, K, V> = super::PulledIter<hash_map::Iter<'a, K, V>>;
    /// The entries with mutable references to the values.
    pub type IterMut<'a, K, V> = super::Iter<(&'a K, &'a mut V)>;
}

/// The items of `HashSet`.
pub mod hash_set {
    use std::collections::hash_set;

    /// The items that `par_drain` takes out.
    pub type Drain<'a, T> = super::Iter<T>;
    /// The items, by value.
    pub type IntoIter<T> = super::PulledIter<hash_set::IntoIter<T>>;
    /// References to the items.
    pub type Iter<'a, T> = super::PulledIter<hash_set::Iter<'a, T>>;
}

/// The items of `LinkedList`.
pub mod linked_list {
    /// The items, by value.
    pub type IntoIter<T> = super::Iter<T>;
    /// References to the items.
    pub type Iter<'a, T> = super::Iter<&'a T>;
    /// Mutable references to the items.
    pub type IterMut<'a, T> = super::Iter<&'a mut T>;
}

/// The items of `VecDeque`.
pub mod vec_deque {
    pub use crate::source::deque::{Drain, IntoIter, Iter, IterMut};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::{option, result};
    use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList};

    /// Compiles only if each alias is the type of the iterator that it names.
    #[test]
    fn names_are_those_of_the_iterators() {
        let mut heap = BinaryHeap::from([1]);
        let _: binary_heap::Iter<'_, i32> = heap.par_iter();
        let _: binary_heap::Drain<'_, i32> = heap.par_drain();
        let _: binary_heap::IntoIter<i32> = heap.into_par_iter();
        let mut tree = BTreeMap::from([(1, 'a')]);
        let _: btree_map::Iter<'_, i32, char> = tree.par_iter();
        let _: btree_map::IterMut<'_, i32, char> = tree.par_iter_mut();
        let _: btree_map::IntoIter<i32, char> = tree.into_par_iter();
        let tree = BTreeSet::from([1]);
        let _: btree_set::Iter<'_, i32> = tree.par_iter();
        let _: btree_set::IntoIter<i32> = tree.into_par_iter();
        let mut map = HashMap::from([(1, 'a')]);
        let _: hash_map::Iter<'_, i32, char> = map.par_iter();
        let _: hash_map::IterMut<'_, i32, char> = map.par_iter_mut();
        let _: hash_map::Drain<'_, i32, char> = map.par_drain();
        let _: hash_map::IntoIter<i32, char> = map.into_par_iter();
        let mut set = HashSet::from([1]);
        let _: hash_set::Iter<'_, i32> = set.par_iter();
        let _: hash_set::Drain<'_, i32> = set.par_drain();
        let _: hash_set::IntoIter<i32> = set.into_par_iter();
        let mut list = LinkedList::from([1]);
        let _: linked_list::Iter<'_, i32> = list.par_iter();
        let _: linked_list::IterMut<'_, i32> = list.par_iter_mut();
        let _: linked_list::IntoIter<i32> = list.into_par_iter();
        let mut some = Some(1);
        let _: option::Iter<'_, i32> = some.par_iter();
        let _: option::IterMut<'_, i32> = some.par_iter_mut();
        let _: option::IntoIter<i32> = some.into_par_iter();
        let mut good: Result<i32, ()> = Ok(1);
        let _: result::Iter<'_, i32> = good.par_iter();
        let _: result::IterMut<'_, i32> = good.par_iter_mut();
        let _: result::IntoIter<i32> = good.into_par_iter();
    }
}

//! Types that convert to and from parallel iterators; the compiler checks each entry.

use crate::iter::Either;
use crate::prelude::*;
use crate::tried::Try;
use std::any::type_name;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{OsStr, OsString};
use std::ops::{ControlFlow, Range, RangeInclusive};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

type Name = fn() -> &'static str;

fn iterates<T: IntoParallelIterator>() -> &'static str {
    type_name::<T>()
}

fn collects<C: FromParallelIterator<T>, T: Send>() -> &'static str {
    type_name::<(PhantomOf<C>, T)>()
}

fn extends<C: ParallelExtend<T>, T: Send>() -> &'static str {
    type_name::<(PhantomOf<C>, T)>()
}

fn drains<C: ParallelDrainFull>() -> &'static str {
    type_name::<C>()
}

fn drains_range<C: ParallelDrainRange>() -> &'static str {
    type_name::<C>()
}

fn tries<R: Try>() -> &'static str {
    type_name::<R>()
}

/// Stands for type `T` in a tuple, whatever its size.
type PhantomOf<T> = std::marker::PhantomData<T>;

/// A collection by value, by reference and by mutable reference.
macro_rules! three {
    ($($type:ty),*) => { [$(iterates::<$type>, iterates::<&$type>, iterates::<&mut $type>),*] };
}

type V = Vec<u8>;

/// Types that convert in all three ways.
const BY_EACH: [Name; 63] = three![
    Vec<u8>,
    Box<[u8]>,
    [u8; 3],
    Option<u8>,
    Result<u8, ()>,
    VecDeque<u8>,
    HashMap<u8, u8>,
    BTreeMap<u8, u8>,
    LinkedList<u8>,
    (V,),
    (V, V),
    (V, V, V),
    (V, V, V, V),
    (V, V, V, V, V),
    (V, V, V, V, V, V),
    (V, V, V, V, V, V, V),
    (V, V, V, V, V, V, V, V),
    (V, V, V, V, V, V, V, V, V),
    (V, V, V, V, V, V, V, V, V, V),
    (V, V, V, V, V, V, V, V, V, V, V),
    (V, V, V, V, V, V, V, V, V, V, V, V)
];

const CONVERSIONS: [Name; 74] = {
    let mut all: [Name; 74] = [iterates::<crate::vec::IntoIter<u8>>; 74];
    let others: [Name; 10] = [
        iterates::<&[u8]>,
        iterates::<&mut [u8]>,
        iterates::<BinaryHeap<u8>>,
        iterates::<&BinaryHeap<u8>>,
        iterates::<HashSet<u8>>,
        iterates::<&HashSet<u8>>,
        iterates::<BTreeSet<u8>>,
        iterates::<&BTreeSet<u8>>,
        iterates::<Range<u8>>,
        iterates::<RangeInclusive<u8>>,
    ];
    let mut at = 0;
    while at < 73 {
        all[at] = if at < 63 { BY_EACH[at] } else { others[at - 63] };
        at += 1;
    }
    all
};

const COLLECT_TARGETS: [Name; 32] = [
    collects::<Vec<u8>, u8>,
    collects::<Box<[u8]>, u8>,
    collects::<Rc<[u8]>, u8>,
    collects::<Arc<[u8]>, u8>,
    collects::<VecDeque<u8>, u8>,
    collects::<BinaryHeap<u8>, u8>,
    collects::<LinkedList<u8>, u8>,
    collects::<HashMap<u8, u8>, (u8, u8)>,
    collects::<BTreeMap<u8, u8>, (u8, u8)>,
    collects::<HashSet<u8>, u8>,
    collects::<BTreeSet<u8>, u8>,
    collects::<String, char>,
    collects::<String, &char>,
    collects::<String, &str>,
    collects::<String, String>,
    collects::<String, Box<str>>,
    collects::<String, Cow<str>>,
    collects::<Box<str>, char>,
    collects::<Box<str>, &char>,
    collects::<Box<str>, &str>,
    collects::<Box<str>, String>,
    collects::<Box<str>, Box<str>>,
    collects::<Box<str>, Cow<str>>,
    collects::<OsString, &OsStr>,
    collects::<OsString, OsString>,
    collects::<OsString, Cow<OsStr>>,
    collects::<Cow<[u8]>, u8>,
    collects::<(), ()>,
    collects::<Option<V>, Option<u8>>,
    collects::<Result<V, u16>, Result<u8, u16>>,
    collects::<(V, HashSet<u8>), (u8, u8)>,
    collects::<(V, HashSet<u8>), Either<u8, u8>>,
];

const EXTENDED: [Name; 29] = [
    extends::<Vec<u8>, u8>,
    extends::<Vec<u8>, &u8>,
    extends::<VecDeque<u8>, u8>,
    extends::<VecDeque<u8>, &u8>,
    extends::<BinaryHeap<u8>, u8>,
    extends::<BinaryHeap<u8>, &u8>,
    extends::<LinkedList<u8>, u8>,
    extends::<LinkedList<u8>, &u8>,
    extends::<HashMap<u8, u8>, (u8, u8)>,
    extends::<HashMap<u8, u8>, (&u8, &u8)>,
    extends::<BTreeMap<u8, u8>, (u8, u8)>,
    extends::<BTreeMap<u8, u8>, (&u8, &u8)>,
    extends::<HashSet<u8>, u8>,
    extends::<HashSet<u8>, &u8>,
    extends::<BTreeSet<u8>, u8>,
    extends::<BTreeSet<u8>, &u8>,
    extends::<String, char>,
    extends::<String, &char>,
    extends::<String, &str>,
    extends::<String, String>,
    extends::<String, Box<str>>,
    extends::<String, Cow<str>>,
    extends::<OsString, &OsStr>,
    extends::<OsString, OsString>,
    extends::<OsString, Cow<OsStr>>,
    extends::<(), ()>,
    extends::<(V, HashSet<u8>), (u8, u8)>,
    extends::<(V, HashSet<u8>), Either<u8, u8>>,
    extends::<Either<V, HashSet<u8>>, u8>,
];

const DRAINED: [Name; 6] = [
    drains::<&mut HashMap<u8, u8>>,
    drains::<&mut HashSet<u8>>,
    drains::<&mut BinaryHeap<u8>>,
    drains_range::<&mut Vec<u8>>,
    drains_range::<&mut VecDeque<u8>>,
    drains_range::<&mut String>,
];

const RESULTS: [Name; 5] = [
    tries::<Option<u8>>,
    tries::<Result<u8, u8>>,
    tries::<ControlFlow<u8, u8>>,
    tries::<Poll<Result<u8, u8>>>,
    tries::<Poll<Option<Result<u8, u8>>>>,
];

#[test]
fn no_entry_is_there_twice() {
    let tables: [&[Name]; 5] = [&CONVERSIONS, &COLLECT_TARGETS, &EXTENDED, &DRAINED, &RESULTS];
    for table in tables {
        let names: BTreeSet<&str> = table.iter().map(|name| name()).collect();
        assert_eq!(names.len(), table.len(), "{names:#?}");
    }
}

#[test]
fn remainders_of_exact_chunks() {
    let mut numbers = [0, 1, 2, 3, 4];
    assert_eq!(numbers.par_chunks_exact(2).remainder(), [4]);
    assert_eq!(numbers.par_rchunks_exact(2).remainder(), [0]);
    let mut chunks = numbers.par_chunks_exact_mut(2);
    assert_eq!(chunks.remainder(), [4]);
    assert_eq!(chunks.take_remainder(), [4]);
    assert_eq!(chunks.into_remainder(), []);
    let mut chunks = numbers.par_rchunks_exact_mut(2);
    assert_eq!((chunks.take_remainder(), chunks.len()), (&mut [0][..], 2));
    assert_eq!(numbers.par_rchunks_exact_mut(3).into_remainder(), [0, 1]);
}

#[test]
#[allow(deprecated, reason = "`repeatn` is the old name of `repeat_n`")]
fn methods_that_do_the_same_agree() {
    use crate::iter::{repeat_n, repeatn};

    assert!(repeatn(7, 3).eq(repeat_n(7, 3)));
    let all = || (0..100u32).into_par_iter();
    let mut numbers = vec![1, 2, 3];
    all().collect_into_vec(&mut numbers);
    assert_eq!(numbers, Vec::from_par_iter(0..100));
    let even = |n: u32| (n % 2 == 0).then_some(n);
    assert_eq!(all().find_map_last(even), Some(98));
    assert!(all().find_map_any(even).is_some_and(|n| n % 2 == 0));
}

//! Prefix sums: `scan_inclusive`.

use crate::here::enter;
use crate::iter::{IndexedParallelIterator, ParallelIterator};
use crate::slice::ParallelSliceMut;
use crate::source::vec;

/// Replaces each item by the result of `f` over all items up to it. This makes two passes over
/// parts: the first computes the prefixes of each part alone, the second adds to each part the
/// result of all parts before.
#[track_caller]
pub(crate) fn inclusive<I, F>(iter: I, f: F) -> vec::IntoIter<I::Item>
where
    I: IndexedParallelIterator,
    F: Fn(&I::Item, &I::Item) -> I::Item + Sync + Send,
{
    let mut items: Vec<I::Item> = iter.collect();
    let workers = enter(|here| here.workers());
    // With one worker, one pass is enough.
    let parts = if workers == 1 { 1 } else { 4 * workers };
    let size = items.len().div_ceil(parts).max(1);
    items.par_chunks_mut(size).for_each(|part| add_up(part, &f));
    // The last item of each whole part becomes the result of all items up to it.
    let mut last = size - 1;
    while last + size < items.len() {
        items[last + size] = f(&items[last], &items[last + size]);
        last += size;
    }
    // Cut one item earlier: then each part begins with the last item of the part before it.
    if size < items.len() {
        items[size - 1..].par_chunks_mut(size).for_each(|part| {
            if let Some((before, rest)) = part.split_first_mut() {
                rest.iter_mut().for_each(|item| *item = f(before, item));
            }
        });
    }
    vec::IntoIter { vec: items }
}

fn add_up<T>(part: &mut [T], f: impl Fn(&T, &T) -> T) {
    for at in 1..part.len() {
        part[at] = f(&part[at - 1], &part[at]);
    }
}

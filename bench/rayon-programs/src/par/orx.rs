//! The loops that orx-parallel supports, written with its iterators.

use std::hint::black_box;

use blitz_contestant::{ParProgram, rng::mix};
use orx_parallel::{IntoParIter as _, IterIntoParIter as _, Par as _, ParCollection as _};

use super::{
    Run,
    data::{Data, NEEDLE, heavy, tiny, uneven},
};

/// The code for `program`, if these iterators have what it needs. They have no indexed adaptors, no
/// nested loops, no strings and no sorts.
pub fn of(program: ParProgram) -> Option<Run> {
    Some(match program {
        ParProgram::Loop { .. } => small_loop,
        ParProgram::Sum => sum,
        ParProgram::Collect => collect,
        ParProgram::Filter => filter,
        ParProgram::FlatMap => flat_map,
        ParProgram::Find { .. } => find,
        ParProgram::Uneven => uneven_loop,
        ParProgram::Bridge { heavy: false } => bridge_light,
        ParProgram::Bridge { heavy: true } => bridge_heavy,
        ParProgram::HashMap { heavy: false } => map_light,
        ParProgram::HashMap { heavy: true } => map_heavy,
        _ => return None,
    })
}

fn small_loop(data: &mut Data) {
    let numbers = black_box(&data.numbers).par().num_threads(data.workers);
    data.answer = numbers.map(|n| tiny(*n)).reduce(u64::wrapping_add).unwrap_or(0);
}

fn sum(data: &mut Data) {
    data.answer = data.numbers.par().num_threads(data.workers).sum();
}

fn collect(data: &mut Data) {
    data.out = (0..data.count as usize)
        .into_par()
        .num_threads(data.workers)
        .map(|n| mix(n as u64))
        .collect();
}

fn filter(data: &mut Data) {
    let numbers = data.numbers.par().num_threads(data.workers);
    data.out = numbers.filter(|n| **n & 1 == 0).map(|n| *n).collect();
}

fn flat_map(data: &mut Data) {
    let numbers = data.numbers.par().num_threads(data.workers);
    let items = numbers.flat_map(|n| [*n, n >> 1, n >> 2, n >> 3]);
    data.answer = items.map(tiny).reduce(u64::wrapping_add).unwrap_or(0);
}

fn find(data: &mut Data) {
    let found = data.numbers.par().num_threads(data.workers).find(|n| **n == NEEDLE);
    data.answer = u64::from(found.is_some());
}

fn uneven_loop(data: &mut Data) {
    let count = data.count;
    let items = (0..count as usize).into_par().num_threads(data.workers);
    let each = items.map(|item| uneven(item as u64, count));
    data.answer = each.reduce(u64::wrapping_add).unwrap_or(0);
}

fn bridge_light(data: &mut Data) {
    let items = data.numbers.iter().iter_into_par().num_threads(data.workers);
    data.answer = items.map(|n| tiny(*n)).reduce(u64::wrapping_add).unwrap_or(0);
}

fn bridge_heavy(data: &mut Data) {
    let items = data.numbers.iter().iter_into_par().num_threads(data.workers);
    data.answer = items.map(|n| heavy(*n)).reduce(u64::wrapping_add).unwrap_or(0);
}

fn map_light(data: &mut Data) {
    let entries = data.map.iter().iter_into_par().num_threads(data.workers);
    let each = entries.map(|(key, value)| key ^ value);
    data.answer = each.reduce(u64::wrapping_add).unwrap_or(0);
}

fn map_heavy(data: &mut Data) {
    let entries = data.map.iter().iter_into_par().num_threads(data.workers);
    let each = entries.map(|(key, value)| heavy(key ^ value));
    data.answer = each.reduce(u64::wrapping_add).unwrap_or(0);
}

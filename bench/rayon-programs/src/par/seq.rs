//! The loops without threads: the baseline for all others.

use std::hint::black_box;

use blitz_contestant::{ParProgram, rng::mix};

use super::{
    Run,
    data::{CHUNK, Data, NEEDLE, heavy, tiny, uneven},
};

/// The code for `program`.
pub fn of(program: ParProgram) -> Run {
    match program {
        ParProgram::Loop { .. } => small_loop,
        ParProgram::Sum => |data| data.answer = data.numbers.iter().sum(),
        ParProgram::Collect => |data| data.out = (0..data.count).map(mix).collect(),
        ParProgram::Zip => zip,
        ParProgram::Chunks => chunks,
        ParProgram::Filter => filter,
        ParProgram::FlatMap => flat_map,
        ParProgram::Nested => nested,
        ParProgram::Find { .. } => find,
        ParProgram::Uneven => uneven_loop,
        ParProgram::Sort { stable: true, .. } => |data| data.out.sort(),
        ParProgram::Sort { stable: false, .. } => |data| data.out.sort_unstable(),
        ParProgram::Lines => lines,
        ParProgram::Words => words,
        ParProgram::Bridge { heavy: false } => plain_light,
        ParProgram::Bridge { heavy: true } => plain_heavy,
        ParProgram::HashMap { heavy: false } => map_light,
        ParProgram::HashMap { heavy: true } => map_heavy,
    }
}

fn small_loop(data: &mut Data) {
    data.answer = black_box(&data.numbers).iter().map(|n| tiny(*n)).fold(0, u64::wrapping_add);
}

fn zip(data: &mut Data) {
    let pairs = data.numbers.iter().zip(&data.others);
    data.answer = pairs.map(|(a, b)| a.wrapping_mul(*b)).fold(0, u64::wrapping_add);
}

fn chunks(data: &mut Data) {
    let chunks = data.numbers.chunks(CHUNK);
    let sums = chunks.map(|chunk| chunk.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n)));
    data.answer = sums.max().unwrap_or(0);
}

fn filter(data: &mut Data) {
    data.out = data.numbers.iter().filter(|n| **n & 1 == 0).copied().collect();
}

fn flat_map(data: &mut Data) {
    let items = data.numbers.iter().flat_map(|n| [*n, n >> 1, n >> 2, n >> 3]);
    data.answer = items.map(tiny).fold(0, u64::wrapping_add);
}

fn nested(data: &mut Data) {
    let sum = |row: &Vec<u64>| row.iter().map(|n| tiny(*n)).fold(0, u64::wrapping_add);
    data.answer = data.rows.iter().map(sum).max().unwrap_or(0);
}

fn find(data: &mut Data) {
    let found = data.numbers.iter().find(|n| **n == NEEDLE);
    data.answer = u64::from(found.is_some());
}

fn uneven_loop(data: &mut Data) {
    let count = data.count;
    data.answer = (0..count).map(|item| uneven(item, count)).fold(0, u64::wrapping_add);
}

fn lines(data: &mut Data) {
    data.answer = data.text.lines().map(|line| tiny(line.len() as u64)).sum();
}

fn words(data: &mut Data) {
    data.answer = data.text.split_whitespace().map(|word| tiny(word.len() as u64)).sum();
}

fn plain_light(data: &mut Data) {
    data.answer = data.numbers.iter().map(|n| tiny(*n)).fold(0, u64::wrapping_add);
}

fn plain_heavy(data: &mut Data) {
    data.answer = data.numbers.iter().map(|n| heavy(*n)).fold(0, u64::wrapping_add);
}

fn map_light(data: &mut Data) {
    let entries = data.map.iter();
    data.answer = entries.map(|(key, value)| key ^ value).fold(0, u64::wrapping_add);
}

fn map_heavy(data: &mut Data) {
    let entries = data.map.iter();
    data.answer = entries.map(|(key, value)| heavy(key ^ value)).fold(0, u64::wrapping_add);
}

//! The loops, written with names that the iterators of Blitz and Rayon share: compiled for both.

use std::hint::black_box;

use blitz_contestant::{ParProgram, rng::mix};

use crate::par::{
    Run,
    data::{CHUNK, Data, NEEDLE, heavy, tiny, uneven},
};

prelude!();

/// The code for `program`.
pub fn of(program: ParProgram) -> Run {
    match program {
        ParProgram::Loop { .. } => small_loop,
        ParProgram::Sum => sum,
        ParProgram::Collect => collect,
        ParProgram::Zip => zip,
        ParProgram::Chunks => chunks,
        ParProgram::Filter => filter,
        ParProgram::FlatMap => flat_map,
        ParProgram::Nested => nested,
        ParProgram::Find { .. } => find,
        ParProgram::Uneven => uneven_loop,
        ParProgram::Sort { stable: true, .. } => |data| data.out.par_sort(),
        ParProgram::Sort { stable: false, .. } => |data| data.out.par_sort_unstable(),
        ParProgram::Lines => lines,
        ParProgram::Words => words,
        ParProgram::Bridge { heavy: false } => bridge_light,
        ParProgram::Bridge { heavy: true } => bridge_heavy,
        ParProgram::HashMap { heavy: false } => map_light,
        ParProgram::HashMap { heavy: true } => map_heavy,
    }
}

fn small_loop(data: &mut Data) {
    let numbers = probe!(data.counts, black_box(&data.numbers).par_iter());
    data.answer = numbers.map(|n| tiny(*n)).reduce(|| 0, u64::wrapping_add);
}

fn sum(data: &mut Data) {
    data.answer = probe!(data.counts, data.numbers.par_iter()).sum();
}

fn collect(data: &mut Data) {
    data.out = probe!(data.counts, (0..data.count).into_par_iter()).map(mix).collect();
}

fn zip(data: &mut Data) {
    let pairs = probe!(data.counts, data.numbers.par_iter().zip(&data.others));
    data.answer = pairs.map(|(a, b)| a.wrapping_mul(*b)).reduce(|| 0, u64::wrapping_add);
}

fn chunks(data: &mut Data) {
    let chunks = probe!(data.counts, data.numbers.par_chunks(CHUNK));
    let sums = chunks.map(|chunk| chunk.iter().fold(0, |sum: u64, n| sum.wrapping_add(*n)));
    data.answer = sums.max().unwrap_or(0);
}

fn filter(data: &mut Data) {
    let numbers = probe!(data.counts, data.numbers.par_iter());
    data.out = numbers.filter(|n| **n & 1 == 0).copied().collect();
}

fn flat_map(data: &mut Data) {
    let numbers = probe!(data.counts, data.numbers.par_iter());
    let items = numbers.flat_map(|n| [*n, n >> 1, n >> 2, n >> 3]);
    data.answer = items.map(tiny).reduce(|| 0, u64::wrapping_add);
}

fn nested(data: &mut Data) {
    let rows = probe!(data.counts, data.rows.par_iter());
    let sums = rows.map(|row| row.par_iter().map(|n| tiny(*n)).reduce(|| 0, u64::wrapping_add));
    data.answer = sums.max().unwrap_or(0);
}

fn find(data: &mut Data) {
    let found = probe!(data.counts, data.numbers.par_iter()).find_any(|n| **n == NEEDLE);
    data.answer = u64::from(found.is_some());
}

fn uneven_loop(data: &mut Data) {
    let count = data.count;
    let items = probe!(data.counts, (0..count).into_par_iter());
    data.answer = items.map(|item| uneven(item, count)).reduce(|| 0, u64::wrapping_add);
}

fn lines(data: &mut Data) {
    let lines = probe!(data.counts, data.text.par_lines());
    data.answer = lines.map(|line| tiny(line.len() as u64)).sum();
}

fn words(data: &mut Data) {
    let words = probe!(data.counts, data.text.par_split_whitespace());
    data.answer = words.map(|word| tiny(word.len() as u64)).sum();
}

fn bridge_light(data: &mut Data) {
    let items = probe!(data.counts, data.numbers.iter().par_bridge());
    data.answer = items.map(|n| tiny(*n)).reduce(|| 0, u64::wrapping_add);
}

fn bridge_heavy(data: &mut Data) {
    let items = probe!(data.counts, data.numbers.iter().par_bridge());
    data.answer = items.map(|n| heavy(*n)).reduce(|| 0, u64::wrapping_add);
}

fn map_light(data: &mut Data) {
    let entries = probe!(data.counts, data.map.par_iter());
    data.answer = entries.map(|(key, value)| key ^ value).reduce(|| 0, u64::wrapping_add);
}

fn map_heavy(data: &mut Data) {
    let entries = probe!(data.counts, data.map.par_iter());
    data.answer = entries.map(|(key, value)| heavy(key ^ value)).reduce(|| 0, u64::wrapping_add);
}

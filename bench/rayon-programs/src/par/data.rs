//! The data of the loops.

use std::collections::HashMap;

use blitz_contestant::{Pace, ParProgram, rayon_program::Order, rng::mix};
use paralight::prelude::ThreadPool;

use super::counted::Counts;
use crate::{
    MILLION, TEN_MILLION,
    program::{fingerprint, numbers},
};

/// The input and output of the loops; each uses a part of it.
#[derive(Default)]
pub struct Data {
    pub numbers: Vec<u64>,
    pub others: Vec<u64>,
    pub rows: Vec<Vec<u64>>,
    pub map: HashMap<u64, u64>,
    pub text: String,
    pub count: u64,
    /// The result, if it is one number.
    pub answer: u64,
    /// The result, if it is many numbers.
    pub out: Vec<u64>,
    /// The contents of `out` before it is sorted.
    before: Vec<u64>,
    pub counts: Counts,
    pub workers: usize,
    pub light: Option<ThreadPool>,
}

/// The number to find. No other number is this small.
pub const NEEDLE: u64 = 0;

/// How many numbers a chunk has.
pub const CHUNK: usize = 1_000;

impl Data {
    pub fn new(program: ParProgram, pace: Pace) -> Self {
        // Small enough for a check to take no time, and large enough to fork.
        let size = |items: usize| if pace == Pace::Smoke { items / 100 } else { items };
        let mut data = Self::default();
        match program {
            ParProgram::Loop { items, .. } => data.numbers = numbers(items),
            // Small numbers, so that the sum does not overflow.
            ParProgram::Sum => {
                data.numbers = (0..size(TEN_MILLION) as u64).map(|n| mix(n) >> 32).collect();
            }
            ParProgram::Collect => data.count = size(TEN_MILLION) as u64,
            ParProgram::Zip => {
                data.numbers = numbers(size(TEN_MILLION));
                data.others = data.numbers.iter().map(|n| n.rotate_left(7)).collect();
            }
            ParProgram::Chunks | ParProgram::Filter => data.numbers = numbers(size(TEN_MILLION)),
            ParProgram::FlatMap => data.numbers = numbers(size(MILLION)),
            ParProgram::Nested => {
                let side = size(MILLION).isqrt();
                data.rows = numbers(side * side).chunks(side).map(<[u64]>::to_vec).collect();
            }
            ParProgram::Find { at_the_end } => {
                data.numbers = numbers(size(TEN_MILLION)).into_iter().map(|n| n | 1).collect();
                let count = data.numbers.len();
                data.numbers[if at_the_end { count - 1 } else { count / 100 }] = NEEDLE;
            }
            ParProgram::Uneven => data.count = size(MILLION) as u64 / 100,
            ParProgram::Sort { order, .. } => {
                data.before = numbers(size(MILLION));
                match order {
                    Order::Random => {}
                    Order::Sorted => data.before.sort_unstable(),
                    Order::Reversed => data.before.sort_unstable_by(|a, b| b.cmp(a)),
                    Order::Equal => data.before.fill(7),
                }
            }
            ParProgram::Lines | ParProgram::Words => data.text = text(size(100 * MILLION)),
            ParProgram::Bridge { heavy: false } => data.numbers = numbers(size(MILLION)),
            ParProgram::Bridge { heavy: true } => data.numbers = numbers(size(MILLION) / 10),
            ParProgram::HashMap { .. } => {
                data.map = numbers(size(MILLION)).into_iter().zip(0..).collect();
            }
        }
        data
    }

    /// Empties `out`, or fills it with the numbers to sort.
    pub fn prepare(&mut self) {
        if self.before.is_empty() {
            self.out = Vec::new();
        } else {
            self.out.clone_from(&self.before);
        }
    }

    /// A fingerprint that shows whether the last run was right.
    pub fn fingerprint(&self) -> u64 {
        self.answer ^ fingerprint(self.out.iter().copied())
    }
}

/// Words of one to twelve letters, in lines of about eight words.
fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    for n in 0.. {
        let random = mix(n);
        let letter = char::from(b'a' + (random >> 32) as u8 % 26);
        text.extend((0..1 + random % 12).map(|_| letter));
        text.push(if random >> 40 & 15 < 2 { '\n' } else { ' ' });
        if text.len() >= bytes {
            break;
        }
    }
    text
}

/// One multiplication.
#[inline]
pub fn tiny(number: u64) -> u64 {
    number.wrapping_mul(number)
}

/// Computes for a fraction of a microsecond.
#[inline]
pub fn heavy(number: u64) -> u64 {
    mixed(number, 100)
}

/// An item of the uneven loop: each item of the last hundredth takes a thousand times as long.
#[inline]
pub fn uneven(item: u64, count: u64) -> u64 {
    mixed(item, if item >= count - count / 100 { 10_000 } else { 10 })
}

fn mixed(number: u64, times: u64) -> u64 {
    (0..times).fold(number, |number, _| mix(number))
}

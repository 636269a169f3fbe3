//! Large loops, small loops, and nested loops.

use std::hint::black_box;

use blitz_contestant::rng::mix;
use rayon::prelude::*;

use crate::program::{Program, fingerprint, numbers};

/// The sum of a vector.
pub struct Sum {
    numbers: Vec<u64>,
    sum: u64,
}

impl Sum {
    pub fn new(count: usize) -> Self {
        // Small numbers, so that the sum does not overflow.
        Self { numbers: (0..count as u64).map(|n| mix(n) >> 32).collect(), sum: 0 }
    }
}

impl Program for Sum {
    fn parallel(&mut self) {
        self.sum = self.numbers.par_iter().sum();
    }

    fn sequential(&mut self) {
        self.sum = self.numbers.iter().sum();
    }

    fn fingerprint(&self) -> u64 {
        self.sum
    }
}

/// Mapped numbers, collected into a vector.
pub struct Collect {
    count: u64,
    mapped: Vec<u64>,
}

impl Collect {
    pub fn new(count: usize) -> Self {
        Self { count: count as u64, mapped: Vec::new() }
    }
}

impl Program for Collect {
    fn prepare(&mut self) {
        self.mapped = Vec::new();
    }

    fn parallel(&mut self) {
        self.mapped = (0..self.count).into_par_iter().map(mix).collect();
    }

    fn sequential(&mut self) {
        self.mapped = (0..self.count).map(mix).collect();
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.mapped.iter().copied())
    }
}

/// A loop over vectors, and in it a loop over the numbers of each.
pub struct Nested {
    rows: Vec<Vec<u64>>,
    largest: u64,
}

impl Nested {
    pub fn new(side: usize) -> Self {
        let numbers = numbers(side * side);
        Self { rows: numbers.chunks(side).map(<[u64]>::to_vec).collect(), largest: 0 }
    }
}

/// One multiplication.
fn tiny(number: &u64) -> u64 {
    number.wrapping_mul(*number)
}

impl Program for Nested {
    fn parallel(&mut self) {
        self.largest = self
            .rows
            .par_iter()
            .map(|row| row.par_iter().map(tiny).reduce(|| 0, u64::wrapping_add))
            .max()
            .unwrap_or(0);
    }

    fn sequential(&mut self) {
        self.largest = self
            .rows
            .iter()
            .map(|row| row.iter().map(tiny).fold(0, u64::wrapping_add))
            .max()
            .unwrap_or(0);
    }

    fn fingerprint(&self) -> u64 {
        self.largest
    }
}

/// A loop that is hardly worth a fork.
pub struct SmallLoop {
    numbers: Vec<u64>,
    sum: u64,
}

impl SmallLoop {
    pub fn new(count: usize) -> Self {
        Self { numbers: numbers(count), sum: 0 }
    }
}

impl Program for SmallLoop {
    fn is_tiny(&self) -> bool {
        true
    }

    fn parallel(&mut self) {
        self.sum = black_box(&self.numbers).par_iter().map(tiny).reduce(|| 0, u64::wrapping_add);
    }

    fn sequential(&mut self) {
        self.sum = black_box(&self.numbers).iter().map(tiny).fold(0, u64::wrapping_add);
    }

    fn fingerprint(&self) -> u64 {
        self.sum
    }
}

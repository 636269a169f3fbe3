//! Sorting in place.

use blitz_contestant::rayon_program::Order;
use rayon::slice::ParallelSliceMut as _;

use crate::program::{Program, fingerprint, numbers};

/// Numbers before and after their sort.
pub struct Sort {
    before: Vec<u64>,
    sorted: Vec<u64>,
    stable: bool,
}

impl Sort {
    pub fn new(count: usize, order: Order, stable: bool) -> Self {
        let mut before = numbers(count);
        match order {
            Order::Random => {}
            Order::Sorted => before.sort_unstable(),
            Order::Reversed => before.sort_unstable_by(|a, b| b.cmp(a)),
            Order::Equal => before.fill(7),
        }
        Self { sorted: before.clone(), before, stable }
    }
}

impl Program for Sort {
    fn prepare(&mut self) {
        self.sorted.copy_from_slice(&self.before);
    }

    fn parallel(&mut self) {
        match self.stable {
            true => self.sorted.par_sort(),
            false => self.sorted.par_sort_unstable(),
        }
    }

    fn sequential(&mut self) {
        match self.stable {
            true => self.sorted.sort(),
            false => self.sorted.sort_unstable(),
        }
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.sorted.iter().copied())
    }
}

//! Searches that end early.

use rayon::prelude::*;

use crate::program::{Program, numbers};

/// Two needles in a haystack.
pub struct Find {
    haystack: Vec<u64>,
    which: Which,
    found: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    First,
    Any,
}

/// The number to find. No other number is this small.
const NEEDLE: u64 = 0;

impl Find {
    pub fn first(count: usize) -> Self {
        Self::new(count, Which::First)
    }

    pub fn any(count: usize) -> Self {
        Self::new(count, Which::Any)
    }

    fn new(count: usize, which: Which) -> Self {
        let mut haystack: Vec<u64> = numbers(count).into_iter().map(|n| n | 1).collect();
        for at in [count / 3, count - count / 5] {
            haystack[at] = NEEDLE;
        }
        Self { haystack, which, found: None }
    }
}

impl Program for Find {
    fn parallel(&mut self) {
        let places = self.haystack.par_iter().enumerate();
        let found = match self.which {
            Which::First => places.find_first(|(_, number)| **number == NEEDLE),
            Which::Any => places.find_any(|(_, number)| **number == NEEDLE),
        };
        self.found = found.map(|(at, _)| at);
    }

    fn sequential(&mut self) {
        self.found = self.haystack.iter().position(|number| *number == NEEDLE);
    }

    /// Returns the index of the match, or the value of the match if any match is accepted.
    fn fingerprint(&self) -> u64 {
        match (self.which, self.found) {
            (_, None) => u64::MAX,
            (Which::First, Some(at)) => at as u64,
            (Which::Any, Some(at)) => self.haystack[at],
        }
    }
}

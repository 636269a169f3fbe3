//! The computations that run beside requests.

use std::{thread, time::Duration};

use blitz_contestant::{Pace, rng::mix};

use crate::{rival::Rival, runtime::Job};

/// A kind of computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobKind {
    /// A parallel sum that takes two workers about 8 ms, with leaves of about 20 us.
    Sum,
    /// A parallel sort with leaves of about 0.3 ms and merges of milliseconds.
    Sort,
    /// 20 ms of computing without a fork.
    Compute,
    /// 20 ms of blocking without a fork, and without computing.
    Sleep,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Sort, Self::Compute, Self::Sleep];

    /// The word for this kind in the names of cases.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Sort => "sort",
            Self::Compute => "compute",
            Self::Sleep => "sleep",
        }
    }
}

/// A computation with its size and data.
#[derive(Debug, Clone, Copy)]
pub(super) enum SizedJob {
    Sum { items: u64, leaf: u64 },
    Sort { data: &'static [u64], leaf: usize },
    Compute { items: u64 },
    Sleep { time: Duration },
}

impl SizedJob {
    /// A computation of nothing.
    pub(super) const EMPTY: Self = Self::Compute { items: 0 };

    /// A computation of about 0.3 ms without a fork.
    pub(super) fn short(pace: Pace) -> Self {
        Self::Compute { items: (288 << 10) / shrink(pace) }
    }

    /// A computation of this kind, of the size that `pace` asks for.
    pub(super) fn new(kind: JobKind, pace: Pace) -> Self {
        let shrink = shrink(pace);
        match kind {
            JobKind::Sum => Self::Sum { items: (16 << 20) / shrink, leaf: (24 << 10) / shrink },
            JobKind::Sort => {
                let data: Vec<u64> = (0..(448 << 10) / shrink).map(mix).collect();
                Self::Sort { data: data.leak(), leaf: (28 << 10) / shrink as usize }
            }
            JobKind::Compute => Self::Compute { items: (20 << 20) / shrink },
            JobKind::Sleep => Self::Sleep { time: Duration::from_millis(20) / shrink as u32 },
        }
    }
}

/// The factor by which jobs are smaller in tests.
fn shrink(pace: Pace) -> u64 {
    match pace {
        Pace::Smoke => 1_000,
        Pace::Quick | Pace::Full => 1,
    }
}

impl Job for SizedJob {
    fn forks(self) -> bool {
        matches!(self, Self::Sum { .. } | Self::Sort { .. })
    }

    fn run<R: Rival>(self, ctx: &mut R::Ctx<'_>) -> u64 {
        match self {
            Self::Sum { items, leaf } => sum::<R>(ctx, 0, items, leaf),
            Self::Sort { data, leaf } => {
                let mut values = data.to_vec();
                let mut space = vec![0; values.len()];
                sort::<R>(ctx, &mut values, &mut space, leaf);
                digest(&values)
            }
            Self::Compute { items } => sum_of(0, items),
            Self::Sleep { time } => {
                thread::sleep(time);
                0
            }
        }
    }
}

fn sum<R: Rival>(ctx: &mut R::Ctx<'_>, from: u64, to: u64, leaf: u64) -> u64 {
    if to - from <= leaf {
        return sum_of(from, to);
    }
    let middle = from + (to - from) / 2;
    let (left, right) = R::join(
        ctx,
        move |ctx: &mut R::Ctx<'_>| sum::<R>(ctx, from, middle, leaf),
        move |ctx: &mut R::Ctx<'_>| sum::<R>(ctx, middle, to, leaf),
    );
    left.wrapping_add(right)
}

fn sum_of(from: u64, to: u64) -> u64 {
    (from..to).fold(0, |sum, item| sum.wrapping_add(mix(item)))
}

/// Sorts `values`, with `space` of the same length for the merges.
fn sort<R: Rival>(ctx: &mut R::Ctx<'_>, values: &mut [u64], space: &mut [u64], leaf: usize) {
    if values.len() <= leaf {
        values.sort_unstable();
        return;
    }
    let middle = values.len() / 2;
    let (left, right) = values.split_at_mut(middle);
    let (left_space, right_space) = space.split_at_mut(middle);
    R::join(
        ctx,
        |ctx: &mut R::Ctx<'_>| sort::<R>(ctx, left, left_space, leaf),
        |ctx: &mut R::Ctx<'_>| sort::<R>(ctx, right, right_space, leaf),
    );
    space.copy_from_slice(values);
    let (left, right) = space.split_at(middle);
    merge(left, right, values);
}

fn merge<'v>(mut left: &'v [u64], mut right: &'v [u64], merged: &mut [u64]) {
    for place in merged {
        let from = match (left.first(), right.first()) {
            (Some(one), Some(other)) if one > other => &mut right,
            (None, _) => &mut right,
            _ => &mut left,
        };
        *place = from[0];
        *from = &from[1..];
    }
}

/// A number that depends on the order of `values`.
fn digest(values: &[u64]) -> u64 {
    let weighed = values.iter().zip(1_u64..).map(|(value, weight)| value.wrapping_mul(weight));
    weighed.fold(0, u64::wrapping_add)
}

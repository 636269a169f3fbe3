//! The benchmarks of Blitz: the [workloads](workload), the [rivals](rival) (for tasks, the
//! [runtimes](runtime)) and the [runner](contest) that measures them in turns. Run them with `blitz
//! bench`.
//!
//! How it measures: every contestant (a rival with a number of workers) is a process of its own
//! that builds its pool before its first turn. For some workloads, new processes replace the old
//! ones after some rounds. In each round all contestants take one turn, in a shuffled order, one at
//! a time; the others are stopped meanwhile, so that no idle pool disturbs a measurement. Every
//! result is checked. Ratios are taken within a round and summarised over the rounds, so a
//! disturbance of the machine affects both sides of a ratio.

#![forbid(unsafe_code)]

pub mod case;
pub mod catalogue;
pub mod contest;
pub mod insight;
pub mod load;
pub mod machine;
pub mod others;
pub mod report;
pub mod rival;
pub mod runtime;
pub mod stats;
pub mod verdict;
pub mod workload;

pub use blitz_contestant::{os, rng};

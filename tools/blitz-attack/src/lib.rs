//! An adversary of the pool.
//!
//! [`scenario`] has programs that have broken the pool, or might. [`mix`] plays random rounds:
//! [`plan`] derives everything random about a round from a seed, [`ledger`] tracks everything that
//! was handed to the runtimes, and [`watch`] aborts when there is no progress. [`parent`] starts
//! scenarios and mixes as child processes.

#![deny(unsafe_code)]

pub mod allocator;
pub mod ledger;
pub mod mix;
pub mod options;
pub mod os;
pub mod parent;
pub mod plan;
pub mod rng;
pub mod scenario;
pub mod watch;

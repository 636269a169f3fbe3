//! An adversary of the pool.
//!
//! [`scenario`] has programs that have broken the pool, or must not. [`mix`] plays random rounds:
//! [`plan`] makes everything that is random about a round out of a seed, [`ledger`] keeps the books
//! of what was handed to the runtimes, and [`watch`] aborts when nothing gets done any more.
//! [`parent`] starts them as children.

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

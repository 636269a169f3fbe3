//! Blocking a thread until a word changes.

pub mod futex;
pub(crate) mod habit;
pub mod parker;

pub use habit::{give_way_before_wait, wait_is_over};

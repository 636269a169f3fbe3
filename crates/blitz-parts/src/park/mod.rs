//! Blocking a thread until a word changes.

pub mod futex;
pub mod parker;

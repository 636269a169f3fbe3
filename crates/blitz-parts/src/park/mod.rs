//! Blocking a thread until a word changes.

pub mod futex;

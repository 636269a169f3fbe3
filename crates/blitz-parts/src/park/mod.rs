//! Blocking a thread until a word changes.

pub mod futex;
pub(crate) mod habit;
pub mod parker;

pub use habit::give_way_once;

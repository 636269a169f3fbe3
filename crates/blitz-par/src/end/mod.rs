//! Reducers that make one value of a loop.

#![forbid(unsafe_code)]

pub mod compare;
pub mod find;
pub mod in_order;
pub mod reduce;
pub mod scan;
pub mod try_reduce;

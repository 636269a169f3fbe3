//! One pool for parallel and async Rust.

#![forbid(unsafe_code)]

pub use blitz_core::*;

//! One pool for parallel and async Rust.

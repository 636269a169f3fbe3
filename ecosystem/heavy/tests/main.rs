//! Crates that take minutes to build, each in a small program on Blitz.
//!
//! Modules and tests are named as in the package `light`.

mod datafusion;
mod polars;
mod rdkafka;

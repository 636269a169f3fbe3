//! Sockets and timers of the Blitz runtime. Use it through `blitz-rt`.

mod driver;
mod poll;

pub use driver::IoDriver;

//! The types of runtimes under Tokio's paths. They are the same types as in the crate's root.

#[doc(no_inline)]
pub use blitz_core::{
    Builder, EnterGuard, Handle, PoolMetrics as RuntimeMetrics, Runtime, TryCurrentError,
};

//! Runtimes under the paths that Tokio has for them. Each type is the one of the crate's root.

#[doc(no_inline)]
pub use blitz_core::{
    Builder, EnterGuard, Handle, PoolMetrics as RuntimeMetrics, Runtime, TryCurrentError,
};

//! Tasks, timers and sockets of Blitz for crates that have a trait for runtimes.
//!
//! With these adapters the crates need no Tokio guest. Each adapter is a module behind the feature
//! of the same name:
//!
//! | feature | crate | type | give it to |
//! |---|---|---|---|
//! | `aws` | clients of AWS | `aws::BlitzSleep` | `sdk_config::Builder::sleep_impl` |
//! | `hickory` | hickory-resolver 0.26 | `hickory::BlitzProvider` | `Resolver::builder_with_config` |
//! | `lapin` | lapin 4 | `lapin::BlitzKit` | `Connection::connect_with_runtime` |
//! | `openraft` | openraft 0.10 | `openraft::BlitzRuntime` | `declare_raft_types!` |
//! | `rdkafka` | rdkafka 0.39 | `rdkafka::BlitzRuntime` | the parameter of `FutureProducer` and `StreamConsumer` |
//!
//! The programs in `ecosystem/` test each adapter with its crate. `docs/crates.md` has the results.
//! The adapter for quinn is the crate `blitz-quinn`.

#[cfg(feature = "aws")]
pub mod aws;
#[cfg(feature = "hickory")]
pub mod hickory;
#[cfg(feature = "lapin")]
pub mod lapin;
#[cfg(feature = "openraft")]
pub mod openraft;
#[cfg(feature = "rdkafka")]
pub mod rdkafka;

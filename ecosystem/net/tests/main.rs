//! Clients and servers of protocols, each in a small program on Blitz that talks to a real peer.
//!
//! Modules and tests are named as in the package `light`.

mod hickory_resolver;
mod hyper_util;
mod jsonrpsee;
mod lapin;
mod peers;
mod quinn;
mod redis;
mod reqwest;
mod tarpc;
mod tokio_postgres;
mod tonic;

//! The operations: what users call, on top of workers.

mod bell;
pub(crate) mod block_on;
pub(crate) mod broadcast;
pub(crate) mod detached;
pub(crate) mod fifo;
pub(crate) mod install;
pub(crate) mod join;
pub(crate) mod latch;
pub(crate) mod scope;
pub(crate) mod scope_fifo;
pub(crate) mod spawn;
pub(crate) mod yield_now;

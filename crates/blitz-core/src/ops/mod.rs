//! The operations on jobs, on top of workers.

pub(crate) mod broadcast;
pub(crate) mod detached;
pub(crate) mod here;
pub(crate) mod install;
pub(crate) mod join;
pub(crate) mod region;
pub(crate) mod scope;
pub(crate) mod scope_fifo;
pub(crate) mod spawn;
pub(crate) mod yield_job;

//! The state of a worker that measures work and span for another team.

#![forbid(unsafe_code)]

use super::Team;
use crate::state::Strands;
use std::sync::Arc;

/// The state of a worker that measures.
pub(crate) struct Analysing {
    /// The team that this worker stands for.
    pub(crate) origin: Arc<Team>,
    pub(crate) strands: Strands,
}

//! An owner's view of its tasks.

#![forbid(unsafe_code)]

use crate::team::Owner;
use std::ops::Deref;

/// The tasks of the current thread's worker.
#[derive(Clone, Copy)]
pub(crate) struct Tasks<'a>(pub(super) Owner<'a>);

impl<'a> Deref for Tasks<'a> {
    type Target = Owner<'a>;

    #[inline(always)]
    fn deref(&self) -> &Owner<'a> {
        &self.0
    }
}

impl<'a> Owner<'a> {
    /// This worker's tasks.
    #[inline(always)]
    pub(crate) fn tasks(self) -> Tasks<'a> {
        Tasks(self)
    }
}

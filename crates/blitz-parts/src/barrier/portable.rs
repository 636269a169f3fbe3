//! No asymmetric fence: under the model checker, or on systems without `membarrier`.

use crate::prim::MODELLED;

/// Only the model checker's pair of full fences is as good as the real thing.
pub(super) fn available() -> bool {
    MODELLED
}

/// The fence in the caller is all there is.
pub(super) fn heavy() -> bool {
    MODELLED
}

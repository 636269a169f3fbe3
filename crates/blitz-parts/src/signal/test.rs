//! The arena and the tree, invariant by invariant.

//! The arena and the tree under the model checker.

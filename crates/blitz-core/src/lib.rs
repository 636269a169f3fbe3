//! Workers and fork-join of the Blitz runtime.

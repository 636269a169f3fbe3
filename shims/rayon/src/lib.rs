//! The API of `rayon` 1.12 on Blitz's own parallel iterators.
//!
//! This is a facade for tests: `cargo xtask suites` puts it below Rayon's published tests and
//! examples, which then test `blitz-par`. Programs use `blitz::prelude`, or the original `rayon` on
//! the drop-in `rayon-core`.
//!
//! [`iter::plumbing`] has only the names that the tests need: crates that implement parallel
//! iterators with Rayon's plumbing cannot be built on this facade.

#[allow(missing_docs, reason = "each module has the documentation of what it re-exports")]
pub mod iter {
    pub mod plumbing;

    pub use blitz_par::iter::*;
}

pub use blitz_par::{array, option, range, range_inclusive, slice, str, vec};
pub use rayon_core::{BroadcastContext, FnContext, Scope, ScopeFifo, ThreadBuilder, ThreadPool};
pub use rayon_core::{ThreadPoolBuildError, ThreadPoolBuilder, Yield};
pub use rayon_core::{broadcast, current_num_threads, current_thread_index, in_place_scope};
pub use rayon_core::{in_place_scope_fifo, join, join_context, max_num_threads, scope, scope_fifo};
pub use rayon_core::{spawn, spawn_broadcast, spawn_fifo, yield_local, yield_now};

/// The parallel iterators of `VecDeque`.
pub mod collections {
    pub use blitz_par::collections::vec_deque;
}

/// Iterators over a `Result`.
pub mod result {
    pub use blitz_par::option::IntoIter;
}

/// Iterators that drain a `String`.
pub mod string {
    pub use blitz_par::str::Drain;
}

/// The traits that parallel loops need.
///
/// ```
/// use rayon::prelude::*;
/// assert_eq!((0..10).into_par_iter().with_max_len(2).sum::<i32>(), 45);
/// ```
pub mod prelude {
    pub use blitz_par::prelude::*;
}

//! The functions that `#[blitz::main]` and `#[blitz::test]` call.

use crate::Builder;
use std::future::Future;

/// Runs `future` on a runtime of its own, which then ends.
///
/// # Panics
/// If the runtime cannot be built.
#[track_caller]
pub fn run<F: Future>(builder: Builder, future: F) -> F::Output {
    match builder.build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("the runtime could not be built: {error}"),
    }
}

/// Gives the runtime a Tokio guest of `threads` threads.
pub fn with_guest<B: HasGuests>(builder: B, threads: usize) -> B {
    builder.with_guest(threads)
}

/// A builder that can give its runtime a Tokio guest.
///
/// [`Builder`] implements this only with the feature `tokio-guest`.
#[diagnostic::on_unimplemented(
    message = "`tokio` in an attribute needs the feature `tokio-guest` of the crate `blitz-rt`",
    label = "a Tokio guest is asked for here",
    note = "in Cargo.toml: blitz-rt = {{ version = \"…\", features = [\"tokio-guest\"] }}"
)]
pub trait HasGuests: Sized {
    /// Gives the runtime a guest of `threads` threads.
    fn with_guest(self, threads: usize) -> Self;
}

#[cfg(feature = "tokio-guest")]
impl HasGuests for Builder {
    fn with_guest(self, threads: usize) -> Builder {
        self.tokio_guest_threads(threads)
    }
}

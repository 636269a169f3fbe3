//! The programs of `docs/http.md` and `docs/from-tokio.md`, compiled and run.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/http.md")]
mod http {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-tokio.md")]
mod from_tokio {}

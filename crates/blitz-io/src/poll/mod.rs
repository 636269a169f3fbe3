//! Readiness of descriptors: knows which tasks wait for which events, and wakes them.
//!
//! ```text
//!  a socket ─ Registration ─▶ Readiness ◀─ Entries ◀─ Reactor::wait ◀─ Selector (mio)
//!                 │ token                                  │
//!                 └──────── the system's queue ────────────┘
//! ```
//!
//! A descriptor is registered once, for both directions or for the one in which it works, and the
//! system reports each change once. An operation is tried first, unless it is known to block. If it
//! would block, its task waits for the next change.
//!
//! A token is a place in the table and the number of the registration there. So a late event of a
//! descriptor that was deregistered finds no registration, even if another descriptor has the place
//! by now.

mod ended;
mod entries;
mod reactor;
mod registration;
mod selector;
mod timer;
mod waits;

pub(crate) use ended::ended;
pub(crate) use reactor::Reactor;
pub(crate) use registration::Registration;
pub(crate) use timer::Limit;

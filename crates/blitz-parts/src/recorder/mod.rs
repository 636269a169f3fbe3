//! Keeps the newest events of each thread in rings. Threads read them while writers go on.
//!
//! # Who calls it
//! A worker records into the lanes of its own [`Recorder`]; threads that are no workers, such as
//! the watch, record into the [`SharedLane`] of the team. Any thread reads. No thread waits for
//! another.
//!
//! # State
//! Of a [`Lane`], with `N` slots:
//!
//! | word | meaning | who sets |
//! |---|---|---|
//! | `slots` | null until the first event, then the slots | the writer, once |
//! | `head` | how many events were ever recorded | the writer |
//! | two words of slot `i % N` | event `i`, for the newest `N` | the writer |
//!
//! Of a [`SharedLane`]:
//!
//! | word | meaning | who sets |
//! |---|---|---|
//! | `next` | how many tickets were ever given out | each writer, by one |
//! | `lost` | how many tickets were given up | each writer that finds its slot in use, or with a newer event |
//! | `sequence` of slot `t % N` | 0: empty; `2t + 1`: the writer of ticket `t` writes; `2t + 2`: it has written | the writer of ticket `t` |
//! | the other two words of slot `t % N` | the event | the writer of ticket `t` |
//!
//! # Transitions
//! ```text
//!  Lane, writer:        fence ─▶ two words ─▶ head + 1
//!  Lane, reader:        head = h1 ─▶ copy slots ─▶ fence ─▶ head = h2 ─▶ keep indices above h2 - N
//!  SharedLane, writer:  ticket ─▶ sequence: even, older ──exchange──▶ odd ─▶ fence ─▶ two words ─▶ even
//!                                         └─ odd, or newer ─▶ give the ticket up
//!  SharedLane, reader:  sequence even ─▶ copy ─▶ fence ─▶ the same sequence ─▶ keep
//! ```
//!
//! # Invariants
//! - **REC-1** A snapshot of a lane holds whole events only, with consecutive indices, in the order
//!   in which they were recorded.
//! - **REC-2** A writer never waits: it takes the same few steps whatever other threads do.
//! - **REC-3** A snapshot of a shared lane holds whole events only, each once, in the order of
//!   their tickets.
//! - **REC-4** Every event is in the lane, overwritten, or counted as lost, unless there is no
//!   memory for the lane.
//! - **REC-5** A lane has no memory before its first event; a lane of zero bytes never has any.
//!
//! # Orderings
//! | tag | operation | ordering | pairs with | because |
//! |---|---|---|---|---|
//! | O1 | fence before the words of an event | Release | O4 | REC-1: a reader that copied a newer word sees a newer `head`, and discards the copy |
//! | O2 | store of `head` | Release | O3 | REC-1: the words of every event below `head` are there |
//! | O3 | first load of `head` | Acquire | O2 | REC-1 |
//! | O4 | fence between the copies and the second look | Acquire | O1, O7 | REC-1, REC-3 |
//! | O5 | exchange that sets `slots` | Release | O6 | a thread that sees the pointer sees initialised slots |
//! | O6 | load of `slots` | Acquire | O5 | as O5 |
//! | O7 | fence before the words of a shared event | Release | O4 | REC-3: as O1, with the sequence |
//! | O8 | exchange that takes a slot | Acquire | O9 | the words of the slot's last writer come before those of this writer |
//! | O9 | store of an even sequence | Release | O8, O10 | REC-3: the words are there |
//! | O10 | first load of a sequence | Acquire | O9 | REC-3 |
//!
//! # What this does not do
//! It knows neither a clock nor the meaning of events: callers define ticks, kinds and ids. A
//! writer that is suspended half-way in a shared lane keeps its slot, and later tickets of that
//! slot are lost meanwhile.
//!
//! # Lineage
//! Sequence locks, without the lock: one writer needs no lock, and several writers drop an event
//! instead of waiting.

mod event;
mod lane;
#[cfg(all(test, blitz_loom))]
mod model;
mod shared;
#[cfg(all(test, not(blitz_loom)))]
mod test;

pub use event::{Event, Kind};
pub use lane::{Lane, Snapshot};
pub use shared::SharedLane;

/// The rare lane gets one of this many parts of a recorder's memory.
const RARE_PART: usize = 5;

/// The lanes of one worker. Frequent events must not evict rare ones, so the rare ones have a lane
/// of their own.
#[derive(Debug)]
pub struct Recorder {
    /// Polls, jobs and wakes.
    pub busy: Lane,
    /// All other events.
    pub rare: Lane,
}

impl Recorder {
    /// Creates lanes that together allocate at most `bytes` when they are first used.
    ///
    /// ```
    /// use blitz_parts::recorder::{Event, Kind, Recorder};
    /// let recorder = Recorder::new(320 << 10);
    /// let event = Event { ticks: 7, kind: Kind::PARK, aux: 0, id: 0, arg: 0 };
    /// recorder.rare.record(event);
    /// assert_eq!(recorder.rare.read().events, [event]);
    /// assert!(recorder.busy.read().events.is_empty());
    /// ```
    pub fn new(bytes: usize) -> Recorder {
        let rare = bytes / RARE_PART;
        Recorder { busy: Lane::new(bytes - rare), rare: Lane::new(rare) }
    }
}

//! One event in two words.

/// The kind of an event: a number whose meaning the recorder's caller defines.
///
/// ```
/// use blitz_parts::recorder::Kind;
/// assert_ne!(Kind::PARK, Kind::UNPARK);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(pub u8);

impl Kind {
    /// A poll begins. `id`: the task; `arg`: its type.
    pub const POLL_BEGIN: Kind = Kind(1);
    /// A poll has ended. `aux`: its outcome; `id`, `arg`: as for `POLL_BEGIN`.
    pub const POLL_END: Kind = Kind(2);
    /// A poll has ended. It began when the poll before it ended. It has the fields of `POLL_END`.
    pub const POLL_SPAN: Kind = Kind(3);
    /// Counts polls and jobs that were not recorded since the last event. `id`: polls; `arg`: jobs.
    pub const BATCH: Kind = Kind(4);
    /// A job begins. Private forks, and jobs that are not timed, have no such event.
    pub const JOB_BEGIN: Kind = Kind(5);
    /// A timed job has ended.
    pub const JOB_END: Kind = Kind(6);
    /// A task that gets a stamp became runnable. `id`: the task.
    pub const WAKE: Kind = Kind(7);
    /// Work of another worker was taken. `arg`: that worker; `aux`: a job or a task.
    pub const STEAL: Kind = Kind(8);
    /// The worker is about to sleep.
    pub const PARK: Kind = Kind(9);
    /// The worker has woken. `aux`: where it slept.
    pub const UNPARK: Kind = Kind(10);
    /// A spare begins to work. `aux`: its duty.
    pub const SPARE_BEGIN: Kind = Kind(11);
    /// A spare rests again.
    pub const SPARE_END: Kind = Kind(12);
    /// A worker is stuck. `arg`: that worker; `aux`: whether in a poll or in a job; `id`: for how
    /// many looks of the watch.
    pub const STALL: Kind = Kind(13);
    /// The watch took the task out of the LIFO slot of a stuck worker. `arg`: that worker; `id`:
    /// the task.
    pub const RESCUE: Kind = Kind(14);
    /// A closure that may block begins. `arg`: its type; `id`: which thread.
    pub const BLOCKING_BEGIN: Kind = Kind(15);
    /// A closure that may block has ended. `id`: which thread.
    pub const BLOCKING_END: Kind = Kind(16);
    /// A region that the user has named begins. `arg`: its name.
    pub const REGION_BEGIN: Kind = Kind(17);
    /// A region that the user has named has ended.
    pub const REGION_END: Kind = Kind(18);
}

/// An event: 16 bytes in a lane.
///
/// `ticks` and `id` keep their lower 48 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time, by the caller's clock.
    pub ticks: u64,
    /// The kind.
    pub kind: Kind,
    /// More about the kind.
    pub aux: u8,
    /// The object: the number of a task or a thread, or a count.
    pub id: u64,
    /// More about the object.
    pub arg: u16,
}

impl Event {
    /// How many bits of `ticks` and `id` are kept.
    pub const BITS: u32 = 48;

    pub(super) fn pack(self) -> [u64; 2] {
        let first = self.ticks << 16 | u64::from(self.kind.0) << 8 | u64::from(self.aux);
        [first, self.id << 16 | u64::from(self.arg)]
    }

    pub(super) fn unpack([first, second]: [u64; 2]) -> Event {
        let [aux, kind, ..] = first.to_le_bytes();
        let [low, high, ..] = second.to_le_bytes();
        Event {
            ticks: first >> 16,
            kind: Kind(kind),
            aux,
            id: second >> 16,
            arg: u16::from_le_bytes([low, high]),
        }
    }
}

//! The readiness of a descriptor, and the interest of a task.

use core::fmt;
use core::ops::{BitOr, BitOrAssign, Sub};

/// The readiness of a descriptor.
///
/// ```
/// use blitz_parts::readiness::Ready;
/// let ready = Ready::READABLE | Ready::WRITE_CLOSED;
/// assert!(ready.is_readable() && ready.is_writable() && ready.is_write_closed());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Ready(u8);

impl Ready {
    /// Nothing.
    pub const EMPTY: Ready = Ready(0);
    /// A read may return data.
    pub const READABLE: Ready = Ready(1);
    /// A write may accept data.
    pub const WRITABLE: Ready = Ready(1 << 1);
    /// The peer sends no more: a read returns the end.
    pub const READ_CLOSED: Ready = Ready(1 << 2);
    /// The peer takes no more: a write returns an error.
    pub const WRITE_CLOSED: Ready = Ready(1 << 3);
    /// There is an error, which the next attempt returns.
    pub const ERROR: Ready = Ready(1 << 4);
    /// There is urgent data somewhere in the stream. No direction is ready because of it alone.
    pub const URGENT: Ready = Ready(1 << 5);
    /// There is a priority event: urgent data, or a change of a file that the kernel generates.
    pub const PRIORITY: Ready = Ready(1 << 6);
    /// All bits except urgent data.
    pub const ALL: Ready = Ready(0b101_1111);

    const READING: Ready = Ready(0b1_0101);
    const WRITING: Ready = Ready(0b1_1010);
    const PRIOR: Ready = Ready(0b101_0100);
    const ENDS: Ready = Ready(0b1_1100);

    pub(super) fn from_bits(bits: u64) -> Ready {
        Ready(bits as u8 & Ready::ALL.0)
    }

    pub(super) fn bits(self) -> u64 {
        u64::from(self.0)
    }

    /// Whether nothing is ready.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Ready::EMPTY
    }

    /// Whether a read would not block: there is data, or the end, or an error.
    #[must_use]
    pub fn is_readable(self) -> bool {
        self.meets(Ready::READING)
    }

    /// Whether a write would not block: there is room, or the end, or an error.
    #[must_use]
    pub fn is_writable(self) -> bool {
        self.meets(Ready::WRITING)
    }

    /// Whether nothing more can be read.
    #[must_use]
    pub fn is_read_closed(self) -> bool {
        self.meets(Ready::READ_CLOSED)
    }

    /// Whether nothing more can be written.
    #[must_use]
    pub fn is_write_closed(self) -> bool {
        self.meets(Ready::WRITE_CLOSED)
    }

    /// Whether there is an error.
    #[must_use]
    pub fn is_error(self) -> bool {
        self.meets(Ready::ERROR)
    }

    /// Whether there is a priority event.
    #[must_use]
    pub fn is_priority(self) -> bool {
        self.meets(Ready::PRIORITY)
    }

    /// The part that concerns `interest`.
    #[inline]
    #[must_use]
    pub fn of(self, interest: Interest) -> Ready {
        Ready(self.0 & interest.0.0)
    }

    /// Removes the bits that a short transfer does not clear: closed directions and errors.
    pub(super) fn without_ends(self) -> Ready {
        self - Ready::ENDS
    }

    fn meets(self, other: Ready) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Ready {
    type Output = Ready;

    fn bitor(self, other: Ready) -> Ready {
        Ready(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Ready) {
        *self = *self | other;
    }
}

impl Sub for Ready {
    type Output = Ready;

    fn sub(self, other: Ready) -> Ready {
        Ready(self.0 & !other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            ["READABLE", "WRITABLE", "READ_CLOSED", "WRITE_CLOSED", "ERROR", "URGENT", "PRIORITY"];
        let mut set = names.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 != 0);
        let Some((_, first)) = set.next() else { return f.write_str("EMPTY") };
        f.write_str(first)?;
        set.try_for_each(|(_, name)| write!(f, " | {name}"))
    }
}

/// The readiness that a task waits for.
///
/// ```
/// use blitz_parts::readiness::Interest;
/// let both = Interest::READABLE | Interest::WRITABLE;
/// assert!(both.is_readable() && both.is_writable());
/// assert!(!Interest::READABLE.is_writable());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Interest(Ready);

impl Interest {
    /// Reads.
    pub const READABLE: Interest = Interest(Ready::READING);
    /// Writes.
    pub const WRITABLE: Interest = Interest(Ready::WRITING);
    /// Priority events: urgent data of a TCP stream, or a change of a file that the kernel
    /// generates, such as `/proc/self/mounts`. Only Linux reports them.
    pub const PRIORITY: Interest = Interest(Ready::PRIOR);
    /// Errors alone, which every other interest includes.
    pub const ERROR: Interest = Interest(Ready::ERROR);

    /// This interest, and another.
    #[must_use = "the combined interest is returned"]
    pub const fn add(self, other: Interest) -> Interest {
        Interest(Ready(self.0.0 | other.0.0))
    }

    /// Whether it includes reads.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.0.0 & Ready::READABLE.0 != 0
    }

    /// Whether it includes writes.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.0.0 & Ready::WRITABLE.0 != 0
    }

    /// Whether it includes priority events.
    #[must_use]
    pub const fn is_priority(self) -> bool {
        self.0.0 & Ready::PRIORITY.0 != 0
    }

    /// Whether it includes errors; always true.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0.0 & Ready::ERROR.0 != 0
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        self.add(other)
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directions = Ready::READABLE | Ready::WRITABLE | Ready::PRIORITY;
        let named = Ready(self.0.0 & directions.0);
        if named.is_empty() { Ready::ERROR.fmt(f) } else { named.fmt(f) }
    }
}

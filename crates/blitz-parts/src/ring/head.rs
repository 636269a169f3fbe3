//! The packed head of a ring: up to where thieves are done, and where the next taker begins.

/// A reading of the head: `steal` in the upper half, `real` in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Slots before it are free: their tasks have left, and no thread reads them any more.
    pub(super) steal: u32,
    /// The oldest task that is not claimed.
    pub(super) real: u32,
}

impl Head {
    /// Creates a head with both halves at `index`: no thief is inside.
    pub(super) fn at(index: u32) -> Head {
        Head { steal: index, real: index }
    }

    /// Whether a thief has claimed tasks and not yet copied them.
    pub(super) fn is_claimed(self) -> bool {
        self.steal != self.real
    }

    /// The head after the owner takes the oldest `count` tasks. A thief inside keeps its slots.
    pub(super) fn popped(self, count: u32) -> Head {
        let real = self.real.wrapping_add(count);
        Head { steal: if self.is_claimed() { self.steal } else { real }, real }
    }

    /// The head after a thief claims the oldest `count` tasks: no other thread takes them, and the
    /// owner does not write their slots.
    pub(super) fn claimed(self, count: u32) -> Head {
        Head { steal: self.steal, real: self.real.wrapping_add(count) }
    }

    /// The head after the thief is done.
    pub(super) fn released(self) -> Head {
        Head::at(self.real)
    }

    pub(super) fn to_bits(self) -> u64 {
        u64::from(self.steal) << 32 | u64::from(self.real)
    }

    pub(super) fn from_bits(bits: u64) -> Head {
        Head { steal: (bits >> 32) as u32, real: bits as u32 }
    }
}

//! Adaptors that need to know where each item is.

#![forbid(unsafe_code)]

/// An indexed adaptor as a parallel iterator: its loop runs over its piece.
macro_rules! drive_piece {
    () => {
        drive!(|mut self, turn, next, acc| {
            let mut plan = *turn.plan;
            self.tune(&mut plan);
            begin(Turn { plan: &plan, ..turn }, next, self.piece(), acc)
        });

        fn exact_len(&self) -> Option<usize> {
            Some(self.len())
        }
    };
}

pub mod blocks;
pub mod chunks;
pub mod interleave;
pub mod multizip;
pub mod order;
pub mod part;
pub mod positions;
pub mod step;
pub mod zip;

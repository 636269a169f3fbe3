//! Adaptors that need the index of each item.

#![forbid(unsafe_code)]

/// The methods of `ParallelIterator` for an indexed adaptor, whose loop runs over its piece.
macro_rules! drive_piece {
    () => {
        drive!(|mut self, turn, next, acc| {
            let mut limits = $crate::plan::Limits::NONE;
            self.tune(&mut limits);
            // Most loops have no limits: then the plan is not copied.
            let tuned;
            let plan = if limits == $crate::plan::Limits::NONE {
                turn.plan
            } else {
                tuned = turn.plan.within(limits);
                &tuned
            };
            begin(Turn { plan, ..turn }, next, self.piece(), acc)
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

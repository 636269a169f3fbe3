//! Decides when a worker stops offering jobs that no thief takes in time.

#![forbid(unsafe_code)]

use blitz_parts::tuning;
use std::cell::Cell;

/// How many jobs of a worker stay private although another worker looks for work.
///
/// Publishing a job and taking it back costs more than a small job itself, and while jobs are small
/// the thief is always late. So after each publication from which no thief took a job, a worker
/// keeps twice as many jobs private before it tries again. A successful publication resets that
/// number.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    /// How many jobs thieves had taken when the worker published last.
    stolen: Cell<u64>,
    /// Jobs that still stay private.
    left: Cell<u32>,
    /// How many jobs stay private after the next useless publication.
    next: Cell<u32>,
}

impl Backoff {
    /// Whether the next job stays private. Called when nothing is public: jobs that were published
    /// before are gone. `stolen` is the number of jobs that thieves have taken so far. It shows
    /// whether they took any of the published jobs.
    pub(crate) fn keeps(&self, stolen: u64) -> bool {
        if stolen != self.stolen.get() {
            self.stolen.set(stolen);
            self.left.set(0);
            self.next.set(tuning::BACKOFF_MIN);
        }
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => {
                self.left.set(self.next.get());
                self.next
                    .set((self.next.get() * 2).clamp(tuning::BACKOFF_MIN, tuning::BACKOFF_MAX));
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;
    use blitz_parts::tuning::{BACKOFF_MAX, BACKOFF_MIN};

    /// How many jobs stay private until one is published, while no thief steals.
    fn kept(backoff: &Backoff, stolen: u64) -> u32 {
        (0..).take_while(|_| backoff.keeps(stolen)).count() as u32
    }

    #[test]
    fn useless_publications_become_half_as_frequent_down_to_a_limit() {
        let backoff = Backoff::default();
        assert_eq!(kept(&backoff, 7), 0, "the first is published");
        let mut expected = BACKOFF_MIN;
        for _ in 0..20 {
            assert_eq!(kept(&backoff, 7), expected);
            expected = (expected * 2).min(BACKOFF_MAX);
        }
        assert_eq!(expected, BACKOFF_MAX);
    }

    #[test]
    fn after_a_theft_the_backoff_starts_anew() {
        let backoff = Backoff::default();
        for _ in 0..5 {
            kept(&backoff, 1);
        }
        assert_eq!(kept(&backoff, 2), 0);
        assert_eq!(kept(&backoff, 2), BACKOFF_MIN);
    }
}

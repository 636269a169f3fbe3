//! How long an idle worker stays awake.

use crate::prim::MODELLED;
use crate::{ticks, tuning};
use std::time::Duration;

/// The phases of an idle worker: spin, yield, announce, sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SleepPolicy {
    /// Rounds in which the worker only spins.
    pub(super) spins: u32,
    /// Round at which the worker announces that it is sleepy. Between its spins and this round the
    /// worker yields.
    pub(super) sleepy_at: u32,
    /// Lower bound for a worker's patience, which is the round at which the worker announces. If
    /// the bound is below `sleepy_at`, the policy adapts the patience: after a long sleep, the
    /// worker yields half as often next time; after a short sleep, twice as often; after it found
    /// work while awake, the full number of times.
    pub(super) patience_min: u32,
}

impl SleepPolicy {
    /// Yields 32 times, announces, yields twice and sleeps: Rayon's policy with one more yield.
    #[must_use]
    pub fn rayon() -> SleepPolicy {
        let sleepy_at = tuning::ROUNDS_UNTIL_SLEEPY;
        SleepPolicy { spins: 0, sleepy_at, patience_min: sleepy_at }
    }

    /// Spins 64 times, yields up to round 256, and sleeps. It burns more CPU before it sleeps. It
    /// is for jobs that arrive in bursts.
    #[must_use]
    pub fn low_latency() -> SleepPolicy {
        let sleepy_at = tuning::LOW_LATENCY_ROUNDS - tuning::ROUNDS_AFTER_SLEEPY - 1;
        SleepPolicy { spins: tuning::LOW_LATENCY_SPINS, sleepy_at, patience_min: sleepy_at }
    }

    /// As [`SleepPolicy::rayon`], but it spins for a moment first, since a fork may come in less
    /// time than a yield takes. It also adapts how long a worker waits: if small jobs come one by
    /// one, with long pauses, the workers soon go back to sleep. This is the default.
    #[must_use]
    pub fn adaptive() -> SleepPolicy {
        let spins = tuning::ADAPTIVE_SPINS;
        SleepPolicy {
            spins,
            sleepy_at: spins + tuning::ROUNDS_UNTIL_SLEEPY,
            patience_min: spins + tuning::PATIENCE_MIN,
        }
    }

    /// Whether the policy adapts.
    pub(super) fn is_adaptive(self) -> bool {
        self.patience_min < self.sleepy_at
    }

    /// Returns the new patience of a worker that has slept for `slept`. The patience grows after a
    /// short sleep, because staying awake would have been better, and shrinks after a long sleep,
    /// because sleeping at once would have been better.
    pub(super) fn patience_after(self, patience: u32, slept: Duration) -> u32 {
        let yields = patience.saturating_sub(self.spins);
        if slept < tuning::SLEEP_SHORT {
            (self.spins + yields * 2).min(self.sleepy_at)
        } else {
            (self.spins + yields / 2).max(self.patience_min)
        }
    }
}

/// Calls `relax`, which yields the core. Returns whether another thread kept the core for so long
/// that it must be computing. The next yield would then take as long, and a thread that blocks and
/// is woken gets a core sooner than a thread that yields.
pub fn loses_core(relax: impl FnOnce()) -> bool {
    if MODELLED {
        relax();
        return false;
    }
    let before = ticks::now();
    relax();
    ticks::to_duration(ticks::now().saturating_sub(before)) >= tuning::YIELD_HARM
}

impl Default for SleepPolicy {
    fn default() -> Self {
        SleepPolicy::adaptive()
    }
}

//! Calls a spare for a team: one that rests, or a new worker.

#![forbid(unsafe_code)]

use super::{Team, Upward};
use crate::state::{Called, Duty};
use std::io::{self, Write};

impl Team {
    /// Sets the functions of higher layers that the team calls from now on.
    pub(crate) fn connect(&self, upward: Upward) {
        // Once is enough: all callers have the same.
        let _ = self.upward.set(upward);
    }

    /// Lets a spare take a seat, if one is free.
    pub(crate) fn fill_seat(&self) {
        if self.seats.try_fill() && !self.call_spare(Duty::Seat) {
            self.seats.vacate();
        }
    }

    /// Calls a spare. Returns whether one comes.
    #[cold]
    pub(crate) fn call_spare(&self, duty: Duty) -> bool {
        if self.spares.max() == 0 {
            return false;
        }
        let Some(start) = self.upward.get().map(|upward| upward.start_spare) else { return false };
        let add = || {
            let bed = self.sleep.add_spare_bed();
            self.add_worker(bed);
            bed.index()
        };
        let enlist_and_start = |index, rest| {
            self.life.enlist();
            let started = start(self, index, rest);
            if started.is_err() {
                self.life.discharge();
            }
            started
        };
        match self.spares.call(duty, add, enlist_and_start) {
            Called::Comes => true,
            Called::Over => false,
            Called::NoneLeft => {
                self.say_once(|| self.no_spare_left());
                false
            }
            Called::Failed(error) => {
                self.say_once(|| format!("blitz: a spare thread cannot be started: {error}"));
                false
            }
        }
    }

    fn no_spare_left(&self) -> String {
        let blocked = self.workers().filter(|worker| worker.seat.is_lost());
        let indices: Vec<_> = blocked.map(|worker| worker.index().to_string()).collect();
        format!(
            "blitz: work waits, and all {} spare threads are in use; the workers that are blocked: {}. \
             Allow more (`PoolBuilder::spares`, BLITZ_SPARES), or block in `spawn_blocking`",
            self.spares.max(),
            indices.join(", ")
        )
    }

    /// Reports once to the user why there is no spare.
    fn say_once(&self, text: impl FnOnce() -> String) {
        if self.spares.is_first_refusal() {
            let text = text();
            match &self.config.spares_handler {
                Some(handler) => self.catch("a spares handler", || handler(&text)),
                // Not `eprintln`, which panics if there is no standard error.
                None => drop(writeln!(io::stderr(), "{text}")),
            }
        }
    }
}

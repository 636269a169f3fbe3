//! Calls a spare for a team: a resting one, or a new worker.

#![forbid(unsafe_code)]

use super::{Team, Upward};
use crate::state::{Called, Duty};
use blitz_parts::prim::thread;
use std::io::{self, Write};
use std::sync::Arc;

impl Team {
    /// Sets the functions of higher layers that the team calls from now on.
    pub(crate) fn connect(&self, upward: Upward) {
        // The first call is enough: all callers pass the same functions.
        let _ = self.upward.set(upward);
    }

    /// Lets a spare take a seat, if a seat is free.
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
        let names: Vec<_> = blocked.map(|worker| format!("worker {}", worker.index())).collect();
        let names = if names.is_empty() { "no worker".to_owned() } else { names.join(", ") };
        format!(
            "blitz: work waits, and no spare thread is left of {}; blocked: {names}. Allow more \
             (`PoolBuilder::spares`, BLITZ_SPARES), or block in `spawn_blocking`",
            self.spares.max(),
        )
    }

    /// Reports once to the user why there is no spare.
    fn say_once(&self, text: impl FnOnce() -> String) {
        if self.spares.is_first_refusal() {
            let text = text();
            match &self.config.spares_handler {
                Some(_) => self.hand_to_handler(&text.into()),
                // `eprintln` would panic if there is no standard error.
                None => drop(writeln!(io::stderr(), "{text}")),
            }
        }
    }

    /// Calls the handler on a separate thread, because the handler may block, and the caller, such
    /// as the watch, must go on. If no thread can be started, calls the handler here.
    fn hand_to_handler(&self, text: &Arc<str>) {
        let (kept, copy) = (self.arc(), text.clone());
        let builder = thread::Builder::new().name("blitz-spares".to_owned());
        // No thread joins it: the end of the pool does not wait for a handler that blocks.
        let started = builder.spawn(move || {
            // Let this thread count as the watch: if the handler drops the pool, the drop must not
            // wait for blocked workers.
            kept.watch.begin_here();
            kept.call_spares_handler(&copy);
        });
        if started.is_err() {
            self.call_spares_handler(text);
        }
    }

    fn call_spares_handler(&self, text: &str) {
        if let Some(handler) = &self.config.spares_handler {
            self.catch("a spares handler", || handler(text));
        }
    }
}

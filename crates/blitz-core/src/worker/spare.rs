//! Spares: threads beyond the workers that the pool was built with; see `state/spares` and
//! `blitz_parts::seats`.

#![forbid(unsafe_code)]

use super::relief::Relieved;
use super::thread::run_spare;
use super::{ending, watch};
use crate::sched::inject;
use crate::sched::work::has_work;
use crate::state::{Duty, Rest};
use crate::team::{Owner, Team, Upward, current};
use blitz_parts::prim::thread;
use blitz_parts::stock::Stock;
use blitz_parts::thread as system_thread;
use blitz_parts::tuning::RELIEF_SLICE;
use std::io;
use std::sync::{Arc, PoisonError};

/// Lets a team start spares, its watch, and the thread that supervises the end of tasks.
pub(crate) fn connect(team: &Team) {
    team.connect(Upward {
        start_spare: start,
        start_watch: watch::start,
        start_ending: ending::start,
    });
}

fn start(team: &Team, index: usize, rest: Arc<Rest>) -> io::Result<()> {
    let kept = team.arc();
    let mut builder = thread::Builder::new().name(format!("blitz-spare-{index}"));
    if let Some(bytes) = team.config.stack_size {
        builder = builder.stack_size(bytes);
    }
    let thread = builder.spawn(move || run_spare(&kept, index, &rest))?;
    team.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    Ok(())
}

impl Owner<'_> {
    /// Serves each time this spare is called, until the pool ends.
    pub(super) fn serve_until_over(self, rest: &Arc<Rest>) {
        let mut call = rest.first_call();
        while let Some(duty) = call {
            let stock = Stock::open();
            self.serve(duty);
            // Other workers may need the memory now.
            self.jobs().give_memory_back();
            drop(stock);
            // While this spare left service, the watch may have noted that the spare was blocked.
            self.tasks().attend(None);
            // Set a slice so that this spare preempts computing workers when it is called for
            // relief.
            system_thread::set_slice(system_thread::current(), Some(RELIEF_SLICE));
            call = self.team().spares.rest(rest);
        }
    }

    fn serve(self, duty: Duty) {
        // Clear notes that the watch made while this spare rested.
        self.tasks().attend(None);
        let sleep = self.team().sleep();
        self.note_spare_begin(duty);
        let idle = sleep.enter_service(self.own_bed());
        self.stop_looking(idle, || has_work(self.team()));
        let sits = match duty {
            Duty::Seat => true,
            Duty::Relief => self.be_on_relief() == Relieved::Sits,
        };
        if sits {
            self.tasks().attend(None);
            system_thread::set_slice(system_thread::current(), None);
            self.run_until_stopped();
        }
        self.hand_jobs_on();
        self.tasks().give_away();
        let idle = sleep.start_looking(self.own_bed());
        self.leave_the_rest(sleep.leave_service(self.own_bed(), idle, || has_work(self.team())));
        self.note_spare_end();
    }

    /// Moves this spare's jobs to the injector, so that other workers run them.
    pub(super) fn hand_jobs_on(self) {
        // A thief may take one of them first.
        while !self.deque.is_empty() {
            if let Some(job) = self.jobs().take_oldest() {
                inject(self.team(), job);
            }
        }
    }

    /// Returns true if this worker is a spare that is no longer needed. Then the seats already
    /// count the spare as gone, so the spare has to leave.
    #[inline]
    pub(super) fn is_too_many(self) -> bool {
        let team = self.team();
        team.seats.has_too_many() && self.index() >= team.num_workers() && team.seats.try_leave()
    }

    /// Calls `f`, which may block. If `gives` is set, gives this worker's seat away meanwhile.
    pub(super) fn without_seat<R>(self, gives: bool, f: impl FnOnce() -> R) -> R {
        if gives {
            if self.seat.lose(&self.team().seats) {
                self.team().fill_seat();
            }
            // If too many threads ran before, no seat has become free, and no spare was called. So
            // notify the watch: if another blocked worker still has its seat, the watch gives that
            // seat to a spare.
            self.team().watch_left();
        }
        let depth = &self.own().without_seat;
        depth.set(depth.get() + u32::from(gives));
        let before = self.insight.in_place.get();
        if gives {
            self.insight.in_place.set(self.progress() + 1);
        }
        let _back = Back { owner: self, gave: gives, before };
        f()
    }
}

/// Takes the seat back, even if the call panics.
struct Back<'a> {
    owner: Owner<'a>,
    gave: bool,
    /// The value of `in_place` before the call. Other threads read `in_place`.
    before: u64,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        let depth = &self.owner.own().without_seat;
        depth.set(depth.get() - u32::from(self.gave));
        self.owner.insight.in_place.set(self.before);
        self.owner.attend_if_noted();
    }
}

/// Calls `f`, which may block. Meanwhile a spare has the current worker's seat, if one is left.
pub(crate) fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    match current() {
        Some(owner) => {
            owner.tasks().give_away();
            owner.without_seat(true, f)
        }
        None => f(),
    }
}

//! The common part of both schedulers: a worker's next task, its poll, and its place in a queue.

#![forbid(unsafe_code)]

use super::own::Tasks;
use super::share::{enqueue_all, schedule_from_outside};
use crate::base::Id;
use crate::base::context::Polling;
use crate::state::{Totals, Turn, is_of_schedule, outcome};
use crate::team::Worker;
use blitz_parts::prim::{Instant, Step, any_choice, broken};
use blitz_parts::queue::Chain;
use blitz_parts::task::{Place, Ran, Runnable};
use blitz_parts::thread;
use blitz_parts::tuning::{CROWD_ASKS, CROWD_KEEPS, DRIVER_TASKS_PART, LIFO_POLLS_MAX};
use std::mem::ManuallyDrop;
use std::sync::TryLockError;

impl Tasks<'_> {
    /// Queues a task that was woken or spawned on this worker. Usually it goes into the LIFO slot,
    /// and is polled next.
    pub(crate) fn schedule(self, task: Runnable) {
        if self.own().tasks.parking.get() {
            return schedule_from_outside(self.team(), task);
        }
        if self.queues.counters.stamp(&task, self.own().tasks.tick.stamp_mask()) {
            self.note_wake(&task);
        }
        if self.own().dispatching.get() && self.queues.has_lifo() && self.shares_ring() {
            // Driver wake-ups have no hot task: keep arrival order.
            return self.put_back(task, false);
        }
        match self.put_lifo(task) {
            Some(evicted) => match self.part() {
                None => self.put_back(evicted, true),
                Some(part) => self.signal_task(part, evicted),
            },
            None => self.team().watch_slot(),
        }
    }

    /// Whether this is the stealing scheduler, and other workers take tasks out of this worker's
    /// ring. Without stealing, tasks in the ring of a stuck worker wait: the watch rescues only the
    /// newest task, from the LIFO slot. The bitmap scheduler puts woken tasks into its tree, and
    /// not into the ring.
    fn shares_ring(self) -> bool {
        self.team().config.stealing && self.team().bitmap().is_none()
    }

    /// Notifies a worker of the tasks in the ring, because this worker is about to do something
    /// else that may block it.
    pub(crate) fn notify_of_ring(self) {
        if !self.queues.ring.is_empty() {
            self.notify_of_task();
            self.team().watch_left();
        }
    }

    pub(super) fn notify_of_task(self) {
        if self.own().dispatching.get() {
            // `dispatch` announces the tasks of all events together at its end, if they are many.
            return;
        }
        let woken = self.team().sleep().new_task();
        if woken > 0 {
            self.counters.wakes_sent.add(woken as u64);
        }
    }

    /// Whether this worker wakes no other for the tasks in its ring.
    ///
    /// That is so if there are few of them, if the pool has only one worker, or if another worker
    /// would only take a processor from other threads. Without the watch a worker keeps only few
    /// tasks to itself, because no other thread would rescue them.
    pub(crate) fn has_few_tasks(self) -> bool {
        let tick = &self.own().tasks.tick;
        let (count, few) = (self.queues.ring.len(), tick.interval() / DRIVER_TASKS_PART);
        if count <= few || self.team().num_workers() < 2 {
            return true;
        }
        let keeps = self.shares_ring() && tick.time_of(count) <= CROWD_KEEPS;
        keeps && self.team().watch.is_on() && self.is_better_alone()
    }

    fn is_better_alone(self) -> bool {
        if let Some(any) = any_choice() {
            return any;
        }
        // If another worker decides just now, which takes some reads of files, do not wait for it.
        let mut crowd = match self.team().crowd.try_lock() {
            Ok(crowd) => crowd,
            Err(TryLockError::Poisoned(crowd)) => crowd.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        crowd.is_better_alone(self.index(), Instant::now(), || self.totals())
    }

    /// Returns how long some workers have waited for a processor, and the polls of all workers.
    ///
    /// The waits are those of this worker and of the workers with the next indices, up to
    /// [`CROWD_ASKS`] workers in all.
    #[cold]
    fn totals(self) -> Totals {
        let (team, count) = (self.team(), self.team().num_with_spares());
        let wait = |next: usize| {
            if next >= count {
                return None;
            }
            let thread = team.worker((self.index() + next) % count)?.seat.thread()?;
            Some((thread, thread::shares(thread)?.delayed))
        };
        let polls = |worker: &Worker| worker.queues.counters.polled.get();
        Totals {
            waits: std::array::from_fn(wait),
            seats: team.num_workers().min(CROWD_ASKS) as u32,
            polls: team.workers().map(polls).sum(),
        }
    }

    /// Works like [`next`](Self::next), but not inlined, for waits, which have many call sites and
    /// are slow anyway.
    #[inline(never)]
    pub(crate) fn next_of_wait(self) -> Option<Runnable> {
        self.next()
    }

    /// The next of this worker's own tasks: a part of the main loop.
    #[inline(always)]
    pub(crate) fn next(self) -> Option<Runnable> {
        let (queues, own) = (&self.worker().queues, &self.own().tasks);
        if own.has_batch.get() {
            let batched = self.own_batch().pop();
            if batched.is_some() {
                return batched;
            }
            own.has_batch.set(false);
        }
        let polls = own.lifo_polls.get();
        if polls < LIFO_POLLS_MAX {
            if let Some(newest) = queues.lifo.take() {
                own.lifo_polls.set(polls + 1);
                queues.counters.lifo_hits.add(1);
                return Some(newest);
            }
        }
        if polls != 0 {
            own.lifo_polls.set(0);
        }
        let next = match self.part() {
            None => self.pop_ring(),
            Some(part) => self.next_signalled(part),
        };
        next.or_else(|| queues.lifo.take())
    }

    /// The oldest task in the ring.
    #[inline]
    pub(super) fn pop_ring(self) -> Option<Runnable> {
        self.own_ring().pop()
    }

    /// A task that may be visible only to this worker.
    fn next_private(self) -> Option<Runnable> {
        let batched = || self.own_batch().pop();
        self.queues.lifo.take().or_else(batched).or_else(|| self.pop_ring())
    }

    /// Returns which work goes first now. A turn of other work is returned once: after that, own
    /// work goes first again.
    #[inline]
    pub(crate) fn take_turn(self) -> Turn {
        self.own().tasks.tick.take_turn()
    }

    /// Notes that a job is about to run.
    #[inline]
    pub(crate) fn count_job(self) {
        self.own().tasks.tick.count_job();
    }

    /// Takes a task that is not this worker's own. It goes before own tasks in a fair turn.
    pub(crate) fn take_fair_share(self) -> Option<Runnable> {
        self.steal_from_stuck().or_else(|| match self.part() {
            // The tasks taken are polled first, so leave a part of every interval to own tasks.
            None => self.take_batch(self.own().tasks.tick.interval() / 2),
            Some(part) => self.take_in_turn(part),
        })
    }

    /// Takes a task that another thread woke or spawned, if there is one. It goes before own tasks
    /// in a turn of the queue.
    #[cold]
    pub(crate) fn take_foreign(self) -> Option<Runnable> {
        if !self.team().tasks.may_have() {
            return None;
        }
        let tick = &self.own().tasks.tick;
        let task = match self.part() {
            None => self.take_batch((tick.spell() / 2).max(1))?,
            Some(part) => {
                // The task in the LIFO slot is not in the tree. It goes first, at most three times
                // in a row.
                if self.queues.has_lifo() && self.own().tasks.lifo_polls.get() < LIFO_POLLS_MAX {
                    return None;
                }
                // Tasks of other threads lie beside own tasks: look in the own part first.
                let task = self.take_own(part).or_else(|| self.take_in_turn(part))?;
                tick.defer_queue_turn(1);
                task
            }
        };
        self.notify_of_ring();
        Some(task)
    }

    /// Takes a task that no worker has. With the stealing scheduler takes up to `most`, and puts
    /// all but the first into the batch buffer.
    pub(crate) fn take_queued(self, most: usize) -> Option<Runnable> {
        match self.part() {
            None => self.take_batch(most),
            Some(part) => self.take_signalled(part),
        }
    }

    /// Steals half of the tasks of a stuck worker. Otherwise, while all other workers are busy, no
    /// worker would take these tasks.
    ///
    /// A worker counts as stuck if it has begun no poll since this worker's last fair turn. Each
    /// call looks at a different worker.
    fn steal_from_stuck(self) -> Option<Runnable> {
        let (team, suspect) = (self.team(), &self.own().tasks.suspect);
        let polls = |worker: &Worker| worker.queues.counters.polled.get();
        let (index, polls_before) = suspect.get();
        let stuck = team.worker(index).filter(|worker| polls(worker) == polls_before);
        let next = (index + 1) % team.num_with_spares();
        suspect.set((next, team.worker(next).map_or(0, polls)));
        stuck.filter(|_| index != self.index()).and_then(|stuck| self.steal_from(stuck))
    }

    /// Polls a task, or cancels it if the team cancels its tasks by now.
    pub(crate) fn poll(self, task: Runnable) {
        if self.team().tasks_end() {
            return self.cancel(task);
        }
        let is_due = self.own().tasks.tick.begin_poll();
        if is_due || self.is_in_run() {
            return self.poll_apart(task, is_due);
        }
        self.poll_by(task, poll_here);
    }

    /// Polls a task when a budget of polls is spent, or on top of a job. Not inlined: most polls
    /// need neither, and have fewer steps and registers without this code.
    #[cold]
    #[inline(never)]
    fn poll_apart(self, task: Runnable, is_due: bool) {
        let timed = is_due && self.own().tasks.tick.end_step();
        self.poll_by(
            task,
            |task| {
                if timed { self.poll_timed(task) } else { self.poll_in_run(task) }
            },
        );
    }

    /// Polls a task by calling `poll`, and does what comes before and after each poll.
    #[inline(always)]
    fn poll_by(self, task: Runnable, poll: impl FnOnce(Runnable) -> Ran) {
        let counters = &self.worker().queues.counters;
        // Nothing unwinds before the task runs. The compiler does not know that, and would keep the
        // task on the stack for its drop.
        let task = ManuallyDrop::new(task);
        let (place, address) = (task.place(), task.header().addr());
        counters.polled.add(1);
        let stamp = task.stamp();
        if is_of_schedule(stamp) {
            self.note_delay(stamp);
        }
        task.set_stamp(self.own().noted.coarse.get());
        self.own_shown().set(&task);
        let ran = poll(ManuallyDrop::into_inner(task));
        counters.count(&ran);
        self.end_poll(ran, place);
        if self.seat.is_noted() {
            self.attend(Some(address.get()));
        }
    }

    /// Does what follows a poll. `place` is the task's place before that poll.
    #[inline(always)]
    fn end_poll(self, ran: Ran, place: Option<Place>) {
        match ran {
            Ran::Again(task) => self.poll_again(task),
            Ran::Complete | Ran::Cancelled => self.free_slot_of(place),
            Ran::Idle => {}
        }
    }

    /// Puts a task back that has yielded, or was woken while it was polled.
    #[inline(always)]
    fn poll_again(self, task: Runnable) {
        match self.own_ring().try_push(task) {
            // If the task is alone, this worker polls it next. Behind another task, which may
            // block, it needs another worker: notify.
            Ok(alone) => {
                let behind = !alone || self.queues.has_lifo();
                if behind && !broken(Step::RuntimeYieldTells) {
                    self.notify_of_task();
                }
            }
            Err(task) => self.put_beyond(task),
        }
        if let Some(marks) = self.own_marks() {
            marks.own_waker().mark_yield();
        }
    }

    /// Cancels a task, because the team cancels its tasks.
    #[cold]
    #[inline(never)]
    fn cancel(self, task: Runnable) {
        self.queues.counters.cancelled.add(1);
        // The drop is user code, and may block this worker until another task is dropped: keep all
        // tasks where other threads can take them.
        self.give_away();
        self.while_parking(|| self.in_run(|_| drop(task)));
        if self.seat.is_noted() {
            self.attend(None);
        }
    }

    /// Acts on notes that the watch made while this worker ran something, perhaps the task at
    /// `address`.
    #[cold]
    pub(crate) fn attend(self, address: Option<usize>) {
        if self.own().without_seat.get() > 0 {
            // This runs on top of a call that blocks: the end of that call acts on the notes.
            return;
        }
        let noted = self.seat.attend(&self.team().seats);
        let judges = noted.long && !self.own().measures_polls.get();
        if let Some(address) = address.filter(|_| judges) {
            self.team().long_tasks.remember(address);
        }
        if noted.slice {
            thread::set_slice(thread::current(), None);
        }
        if noted.lost || noted.long {
            // Other work has waited for long. And if this worker is a spare, it may no longer be
            // needed: it checks that when the turn of other work comes.
            self.own().tasks.tick.repeat_turn_of_others();
        }
    }

    /// Polls a task. If the poll runs on top of a waiting job, the task's forks must not look like
    /// forks of that job.
    fn poll_in_run(self, task: Runnable) -> Ran {
        if self.is_in_run() { self.in_run(|_| poll_here(task)) } else { poll_here(task) }
    }

    fn poll_timed(self, task: Runnable) -> Ran {
        let id = Id::of_runnable(&task);
        let noted = self.begin_noted_poll(&task);
        let ran = self.poll_in_run(task);
        let time = self.end_noted_poll(noted, outcome(&ran));
        let team = self.team();
        self.own().tasks.tick.end_poll(time);
        team.config.triggers.on_poll(time);
        if let Some(slow) = team.config.slow_poll.as_ref().filter(|slow| time >= slow.limit) {
            team.catch("the slow-poll handler", || (slow.handler)(id, time));
            // The next poll does not begin right at the end of this one.
            self.forget_poll_end();
        }
        ran
    }

    /// Calls `f` while this worker is about to sleep, or will poll no task for some other reason.
    /// Tasks that are woken or spawned inside `f` go where all workers look.
    pub(crate) fn while_parking<R>(self, f: impl FnOnce() -> R) -> R {
        let parking = &self.own().tasks.parking;
        let before = parking.replace(true);
        let result = f();
        parking.set(before);
        result
    }

    /// Cancels the tasks in this worker's queues and returns how many there were.
    pub(super) fn cancel_queued(self) -> usize {
        let mut cancelled = 0;
        while let Some(task) = self.next_private() {
            drop(task);
            cancelled += 1;
        }
        self.queues.counters.cancelled.add(cancelled as u64);
        cancelled
    }

    /// Hands every task of this worker to the team, because its thread will be busy elsewhere.
    pub(crate) fn give_away(self) {
        let all = || std::iter::from_fn(|| self.next_private());
        if let Some(part) = self.part() {
            return all().for_each(|task| self.signal_task(part, task));
        }
        let mut chain = Chain::new();
        all().for_each(|task| chain.push(task));
        if !chain.is_empty() {
            enqueue_all(self.team(), chain);
        }
    }
}

/// Polls a task as the current one.
#[inline]
fn poll_here(task: Runnable) -> Ran {
    let _polling = Polling::begin(task.header());
    task.run()
}

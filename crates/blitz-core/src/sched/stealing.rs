//! The work-stealing scheduler: putting tasks into queues, taking them out, polling them.

use super::crowd::waited_for_core;
use super::{TaskQueue, WorkerTasks};
use crate::task::Id;
use crate::task::context::Polling;
use crate::team::Team;
use crate::worker::Worker;
use blitz_parts::prim::Instant;
use blitz_parts::queue::{Chain, fair_batch};
use blitz_parts::ring::Pushed;
use blitz_parts::task::{Ran, Runnable};
use blitz_parts::tuning::{CROWD_KEEPS, DRIVER_TASKS_PART, LIFO_POLLS_MAX};

impl Worker {
    /// Puts a task that was woken or spawned on this worker where it is polled next. Own thread only.
    pub(crate) fn schedule(&self, task: Runnable) {
        let tasks = self.tasks();
        if tasks.parking.get() {
            return self.team().schedule_from_outside(task);
        }
        tasks.counters.stamp(&task);
        if self.is_dispatching() && tasks.has_lifo() && self.shares_ring() {
            // One of many, of which the newest is no better than the first.
            return self.put_back(task, false);
        }
        // SAFETY: own thread.
        match unsafe { tasks.lifo.put(task) } {
            Some(evicted) => match self.team().signals() {
                None => self.put_back(evicted, true),
                Some(signals) => self.signal_task(signals, evicted),
            },
            None => self.team().watch.lifo_in_use(self.team()),
        }
    }

    /// Whether others take tasks out of this worker's ring. If not, the watch saves no more than one from a worker that
    /// is stuck, the newest: for the others wait where they were woken.
    fn shares_ring(&self) -> bool {
        self.team().config.stealing && self.team().signals().is_none()
    }

    /// Puts a task behind all others of this worker. `tell`: others may want it. Own thread only.
    #[inline]
    pub(super) fn put_back(&self, task: Runnable, tell: bool) {
        // SAFETY: own thread.
        match unsafe { self.tasks().ring.owner() }.try_push(task) {
            Ok(()) if tell => self.tell_of_task(),
            Ok(()) => {}
            Err(task) => self.put_beyond(task),
        }
    }

    /// The same for a ring that is full.
    #[cold]
    fn put_beyond(&self, task: Runnable) {
        let queue = match &*self.team().tasks {
            TaskQueue::Stealing(queue) => queue,
            TaskQueue::Bitmap(signals) => return self.overflow_into_tree(signals, task),
        };
        // SAFETY: own thread.
        match unsafe { self.tasks().ring.owner() }.push(task) {
            Pushed::Ok => self.tell_of_task(),
            Pushed::Overflow(tasks) => {
                self.tasks().counters.overflowed.add(tasks.len() as u64);
                self.team().queue_all(queue, tasks);
            }
            Pushed::Busy(task) => {
                self.tasks().counters.overflowed.add(1);
                self.team().share(task);
            }
        }
    }

    /// Tells of the tasks in the ring: this worker is about to do something else. Own thread only.
    pub(crate) fn tell_of_ring(&self) {
        if !self.tasks().ring.is_empty() {
            self.tell_of_task();
        }
    }

    /// Whether this worker is done with the tasks in its ring before another could help, by experience: soon, or
    /// without much delay while cores are scarce, or as soon as anybody because there is nobody else. Own thread only.
    pub(crate) fn has_few_tasks(&self) -> bool {
        let tasks = self.tasks();
        let (count, interval) = (tasks.ring.len(), tasks.tick.interval());
        count <= interval / DRIVER_TASKS_PART
            || self.team().num_workers() < 2
            || tasks.tick.time_of(count) <= CROWD_KEEPS
                && tasks.crowd.is_crowded(Instant::now(), waited_for_core)
    }

    fn tell_of_task(&self) {
        if self.is_dispatching() {
            // Of all of them at once, if they are many.
            return;
        }
        let woken = self.team().sleep().new_task();
        if woken > 0 {
            self.counters.wakes_sent.add(woken as u64);
        }
    }

    /// As [`next_task`](Self::next_task), as a call: for waits, which are many and slow.
    #[inline(never)]
    pub(crate) fn next_task_of_wait(&self) -> Option<Runnable> {
        self.next_task()
    }

    /// The next of this worker's own tasks: a part of the main loop. Own thread only.
    #[inline(always)]
    pub(crate) fn next_task(&self) -> Option<Runnable> {
        let tasks = self.tasks();
        if tasks.has_batch.get() {
            // SAFETY: own thread.
            let batched = unsafe { tasks.batch.owner() }.pop();
            if batched.is_some() {
                return batched;
            }
            tasks.has_batch.set(false);
        }
        let polls = tasks.lifo_polls.get();
        if polls < LIFO_POLLS_MAX {
            if let Some(newest) = tasks.lifo.take() {
                tasks.lifo_polls.set(polls + 1);
                tasks.counters.lifo_hits.add(1);
                return Some(newest);
            }
        }
        if polls != 0 {
            tasks.lifo_polls.set(0);
        }
        let next = match &tasks.signal {
            None => self.pop_ring(),
            Some(part) => self.next_signalled(part),
        };
        next.or_else(|| tasks.lifo.take())
    }

    /// How many tasks fit into the ring. Own thread only.
    pub(super) fn ring_room(&self) -> usize {
        // SAFETY: own thread.
        unsafe { self.tasks().ring.owner() }.room()
    }

    /// The oldest task in the ring. Own thread only.
    #[inline]
    pub(super) fn pop_ring(&self) -> Option<Runnable> {
        // SAFETY: own thread.
        unsafe { self.tasks().ring.owner() }.pop()
    }

    /// Any task that only this worker is sure to come to. Own thread only, or when no thread is this worker any
    /// more.
    fn next_private(&self) -> Option<Runnable> {
        let tasks = self.tasks();
        // SAFETY: own thread.
        let batched = || unsafe { tasks.batch.owner() }.pop();
        tasks.lifo.take().or_else(batched).or_else(|| self.pop_ring())
    }

    /// Whether it is time to let the work of others go first. Own thread only.
    #[inline]
    pub(crate) fn is_fair_turn(&self) -> bool {
        self.tasks().tick.is_fair_turn()
    }

    /// A job is about to be run. Own thread only.
    #[inline]
    pub(crate) fn count_job(&self) {
        self.tasks().tick.count_job();
    }

    /// Tasks of others that go before own ones in a fair turn. Own thread only.
    pub(crate) fn take_fair_share(&self) -> Option<Runnable> {
        self.steal_from_stuck().or_else(|| match self.team().signals() {
            // What is taken is polled first, and the own ones need a part of every interval.
            None => self.take_queued(self.tasks().tick.interval() / 2),
            Some(signals) => self.take_in_turn(signals),
        })
    }

    /// Half of the tasks of a worker that has begun no poll since the last fair turn: if nobody is ever idle,
    /// nobody else comes to them. Looks at another worker each time. Own thread only.
    fn steal_from_stuck(&self) -> Option<Runnable> {
        let (team, suspect) = (self.team(), &self.tasks().suspect);
        let polls = |worker: &Worker| worker.tasks().counters.polled.get();
        let (index, polls_before) = suspect.get();
        let stuck = team.worker(index).filter(|worker| polls(worker) == polls_before);
        let next = (index + 1) % team.num_workers();
        suspect.set((next, team.worker(next).map_or(0, polls)));
        stuck.filter(|_| index != self.index()).and_then(|stuck| self.steal_tasks(stuck))
    }

    /// A fair part of the queue, `most` tasks at most: one to poll, the others into the batch buffer. Own
    /// thread only.
    pub(crate) fn take_queued(&self, most: usize) -> Option<Runnable> {
        let team = self.team();
        let queue = match &*team.tasks {
            TaskQueue::Stealing(queue) => queue,
            TaskQueue::Bitmap(signals) => return self.take_signalled(signals),
        };
        let len = queue.len();
        if len == 0 {
            return None;
        }
        let tasks = self.tasks();
        // SAFETY: own thread.
        let batch = unsafe { tasks.batch.owner() };
        // SAFETY: own thread.
        let ring = unsafe { tasks.ring.owner() };
        // What does not fit into the buffer goes to the ring, and only as much as fits there.
        let room = batch.room() + ring.room();
        // Without stealing nobody else would come to those that wait here.
        let fair = if team.config.stealing { fair_batch(len, team.num_workers()) } else { 1 };
        let mut taken = queue.pop_batch(fair.min(most).min(room + 1));
        let first = taken.next()?;
        tasks.counters.from_queue.add(1);
        let more = !taken.is_empty();
        tasks.has_batch.set(true);
        batch.push_from(&mut taken);
        ring.push_from(&mut taken);
        debug_assert!(taken.is_empty(), "others only make room");
        if more {
            self.tell_of_task();
        }
        Some(first)
    }

    /// Half of `victim`'s tasks: one to poll, the others into the own ring. Own thread only.
    pub(crate) fn steal_tasks(&self, victim: &Worker) -> Option<Runnable> {
        let (theirs, own) = (victim.tasks(), self.tasks());
        if !theirs.has_public() || !self.team().config.stealing {
            return None;
        }
        // SAFETY: own thread.
        let into = || unsafe { own.ring.owner() };
        let stolen = theirs.ring.steal_into(into()).or_else(|| theirs.batch.steal_into(into()))?;
        own.counters.stolen.add(stolen.count as u64);
        if stolen.count > 1 {
            self.tell_of_task();
        }
        Some(stolen.first)
    }

    /// Polls a task. Own thread only.
    pub(crate) fn poll(&self, task: Runnable) {
        let tasks = self.tasks();
        if self.team().tasks_end() {
            tasks.counters.cancelled.add(1);
            return drop(task);
        }
        let slot = self.slot_of(&task);
        let timed = tasks.tick.begin_poll();
        tasks.counters.polled.add(1);
        tasks.counters.note_latency(&task);
        let ran = if timed { self.poll_timed(task) } else { self.poll_once(task) };
        tasks.counters.count(&ran);
        if let Ran::Again(task) = ran {
            // Alone it is for this worker; behind another one, which may block, somebody else might take it.
            let tell = !tasks.ring.is_empty() || tasks.has_lifo();
            self.put_back(task, tell);
            if let Some(part) = &tasks.signal {
                part.waker.mark_yield();
            }
        } else if let Some(slot) = slot.filter(|_| !matches!(ran, Ran::Idle)) {
            self.free_slot(slot);
        }
    }

    #[inline]
    fn poll_once(&self, task: Runnable) -> Ran {
        let poll = || {
            let _polling = Polling::begin(task.header());
            task.run()
        };
        // On top of a job that waits, what the task forks must not be taken for that job's.
        if self.is_in_run() { self.in_run(|_| poll()) } else { poll() }
    }

    #[cold]
    fn poll_timed(&self, task: Runnable) -> Ran {
        let id = Id::of_address(task.header().as_ptr().cast());
        let since = Instant::now();
        let ran = self.poll_once(task);
        let time = since.elapsed();
        let (team, tasks) = (self.team(), self.tasks());
        tasks.tick.end_poll(time);
        tasks.counters.poll_times.add(time);
        if let Some(slow) = team.config.slow_poll.as_ref().filter(|slow| time >= slow.limit) {
            team.catch("the slow-poll handler", || (slow.handler)(id, time));
        }
        ran
    }

    /// Marks the worker as on its way to sleep while `f` runs: user code that runs in there does not
    /// put tasks where only this worker looks. Own thread only.
    pub(crate) fn while_parking<R>(&self, f: impl FnOnce() -> R) -> R {
        let parking = &self.tasks().parking;
        let before = parking.replace(true);
        let result = f();
        parking.set(before);
        result
    }

    /// Cancels what is in this worker's queues and returns how many there were. Own thread only, or
    /// when no thread is this worker any more.
    pub(super) fn cancel_queued(&self) -> usize {
        let mut cancelled = 0;
        while let Some(task) = self.next_private() {
            drop(task);
            cancelled += 1;
        }
        self.tasks().counters.cancelled.add(cancelled as u64);
        cancelled
    }

    /// Hands every task of this worker to the queue: its thread has other things to do. Own thread only.
    pub(crate) fn give_tasks_away(&self) {
        let all = || std::iter::from_fn(|| self.next_private());
        match &*self.team().tasks {
            TaskQueue::Bitmap(signals) => all().for_each(|task| self.signal_task(signals, task)),
            TaskQueue::Stealing(queue) => {
                let mut chain = Chain::new();
                all().for_each(|task| chain.push(task));
                if !chain.is_empty() {
                    self.team().queue_all(queue, chain);
                }
            }
        }
    }
}

impl WorkerTasks {
    /// Takes the task that waits for an owner who is stuck. Any thread.
    pub(super) fn rescue(&self) -> Option<Runnable> {
        self.lifo.take()
    }

    pub(crate) fn has_lifo(&self) -> bool {
        !self.lifo.is_empty()
    }

    /// Whether there is a task, in whichever of the queues.
    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.has_lifo() || self.has_public()
    }

    /// Whether the next look has to let the work of others go first. Own thread only.
    #[inline]
    pub(crate) fn is_fair_turn_due(&self) -> bool {
        self.tick.is_fair_turn_due()
    }

    /// The fair turn that has just been taken comes again. Own thread only.
    pub(crate) fn repeat_fair_turn(&self) {
        self.tick.repeat_fair_turn();
    }
}

impl Team {
    /// Puts a task into the queue, from any thread that keeps the team alive.
    pub(crate) fn schedule_from_outside(&self, task: Runnable) {
        self.outside.stamp(&task);
        self.share(task);
    }
}

//! How a pool ends, step by step.
//!
//! 1. The pool's handle is dropped: it gives up its count of `task_holds`, then that of `alive`. Threads
//!    outside of the pool get no more jobs into it.
//! 2. Every shielded section of a task has a count of both, too; none begins any more. A section that is still there when
//!    its task has ended was forgotten, and its counts are given back. When the first is zero no task is polled
//!    any more, and all are cancelled (see `sched/cancel`). Jobs go on: one may wait for a task's end.
//! 3. Every detached job gives up its count of `alive` when it has run; a job that spawns another does so
//!    before it gives up its own, so the count is zero only if nothing is left.
//! 4. Whoever brings that count to zero stops the sleep protocol: every worker wakes and stays awake.
//! 5. A worker that finds nothing and sees `stopping` leaves its loop, runs the exit handler and what
//!    that spawned, gives up its scope and counts itself out. Mail that comes later its sender runs.
//!    The last to leave cancels the tasks that are left.
//! 6. The handle's drop joins the threads, so their thread-local destructors have run, too. Threads
//!    from a custom spawner are waited for up to step 5 only: their handles are the spawner's.
//!
//! A handle that is dropped on one of the pool's own threads cannot wait for itself: it does not wait.
//! Nor does one whose pool was built with `detach_on_drop`.
//!
//! The thread that a pool has adopted (see `worker/adoption`) is free when the handle is gone. If it drops the
//! handle outside of the pool's operations, it works as the pool's threads do until step 5. In all other cases a thread is
//! started that takes its place: by the thread that drops the handle, or by the adopted one at the end of the
//! operation that it is in, unless nothing is left then.

use crate::ops::latch::AnyLatch;
use crate::panic::AbortOnUnwind;
use crate::team::Team;
use crate::worker::current::{self, WorkerScope};
use crate::worker::{Aside, Worker, stack};
use blitz_parts::prim::{AcqRel, Acquire, AtomicUsize, Relaxed, Release, SeqCst, fence, thread};
use blitz_parts::stock::Stock;
use std::sync::{Arc, PoisonError};

impl Team {
    /// One more reason to go on.
    pub(crate) fn hold(&self) {
        self.alive.fetch_add(1, Relaxed);
    }

    /// One more reason to go on, unless there was none and the workers are leaving.
    pub(crate) fn hold_while_at_work(&self) -> bool {
        add_unless_zero(&self.alive)
    }

    /// One more reason to go on, for a thread that is no worker of the team: not once the team's handle is
    /// gone, for others could keep the team for ever; unless a closure of the team itself asks.
    pub(crate) fn try_hold(&self) -> bool {
        let late = self.is_closing() && !self.blocking.is_here();
        if late || !self.hold_while_at_work() {
            return false;
        }
        fence(SeqCst);
        if self.tasks_end() {
            // Whoever ended them may not have seen us, and what comes now may wait for one of them.
            self.cancel_tasks_soon();
        }
        true
    }

    /// Whether the handle is gone.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Acquire)
    }

    /// One more reason to poll tasks, unless they are being cancelled.
    pub(crate) fn try_hold_tasks(&self) -> bool {
        add_unless_zero(&self.task_holds)
    }

    /// One reason less to poll tasks, and one less to go on. With the last of the first kind they are cancelled
    /// (step 2).
    pub(crate) fn release_with_tasks(&self) {
        let tasks_end = self.task_holds.fetch_sub(1, AcqRel) == 1;
        // If there is no other reason to go on the workers stop, and do it then. One that came between these two
        // steps, a job of a task's last poll, is seen: it may wait for a task.
        if !self.release() && tasks_end && self.hold_while_at_work() {
            self.cancel_tasks_soon();
            self.release();
        }
    }

    /// Whether tasks are cancelled instead of polled.
    #[inline]
    pub(crate) fn tasks_end(&self) -> bool {
        self.task_holds.load(Acquire) == 0
    }

    /// One reason less; the last one stops the workers (steps 3 and 4). Says whether it was the last.
    pub(crate) fn release(&self) -> bool {
        let was_last = self.alive.fetch_sub(1, AcqRel) == 1;
        if was_last {
            self.sleep().stop();
            self.watch.stop();
            self.blocking.stop();
            // A worker that leaves may spawn a job, and bring the count up and down again.
            if !self.stopped.swap(true, AcqRel) {
                self.count_out();
            }
        }
        was_last
    }

    /// The builder could not start a thread: ends the others, as many as were to follow excepted.
    pub(crate) fn give_up(&self, unstarted: usize) {
        for _ in 0..unstarted {
            self.count_in();
            self.leave();
        }
        self.count_in();
        self.leave();
        self.adopted_has_left();
        self.release_with_tasks();
        // Threads that a custom spawner started end by themselves; it may have kept some for later.
        if !self.config.detach_on_drop {
            self.join_own_threads();
        }
    }

    /// What the handle's drop does.
    pub(crate) fn shut_down(&self) {
        self.closing.store(true, Release);
        // Before the workers can leave: so one of them is the last, and cancels what is left.
        self.leave();
        self.release_with_tasks();
        // Either this sees that a task has ended, or the worker that polled it sees that the handle is gone.
        fence(SeqCst);
        self.end_orphaned_sections();
        if current::current().is_some_and(|worker| worker.is_in(self)) {
            // Inside of one of the pool's own operations, whose frames need the worker until they end. A
            // thread that the pool has adopted hands over then.
            return;
        }
        let waits = !self.config.detach_on_drop && !self.blocking.is_here();
        self.end_adoption(waits);
        if !waits {
            return;
        }
        let _visit = current::visit();
        if let Some(worker) = current::current() {
            // A worker of another pool: our last jobs may wait for one of its pool's, so it works on.
            self.wait_for_end_on(worker);
        }
        self.join_own_threads();
        self.ended().wait();
    }

    /// The thread that the pool has adopted, if any, is worker 0 no more. What only that could run runs: here, if
    /// this is the thread and `waits`; else on a thread that takes its place.
    fn end_adoption(&self, waits: bool) {
        if current::is_adopted_by(self) {
            let visit = current::visit();
            if let Some(worker) = current::current().filter(|_| waits) {
                // No frame of this worker is on the stack, so it may do as a thread of the pool does.
                let _aside = Aside::begin();
                worker.run_until_stopped();
            }
            drop(visit);
        } else if !self.adoption.end() {
            self.leave_operation_to_adopted();
        } else if !self.start_successor() {
            // The system starts no thread.
            if waits {
                self.stand_in_for_adopted();
            } else {
                // Late is better than never: the adopted thread does it after its next visit.
                self.adoption.resume();
            }
        }
    }

    /// The current thread is worker 0 until the pool ends: the adopted one has left, and no thread can be started.
    pub(crate) fn stand_in_for_adopted(&self) {
        let _aside = Aside::begin();
        self.be_worker(0, Worker::run_until_stopped);
        self.adopted_has_left();
    }

    /// Starts a thread that is worker 0 from now on, until the pool ends. The caller answers for the worker, and no
    /// longer is it. Returns false if the system starts no thread.
    pub(crate) fn start_successor(&self) -> bool {
        let team = self.arc();
        let mut builder = thread::Builder::new().name("blitz-0".to_owned());
        if let Some(bytes) = self.config.stack_size {
            builder = builder.stack_size(bytes);
        }
        let started = builder.spawn(move || {
            let stock = Stock::open();
            team.be_worker(0, Worker::run_until_stopped);
            drop(stock);
            team.adopted_has_left();
        });
        let Ok(thread) = started else { return false };
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        true
    }

    /// Waits for the end of this team on `worker`, which is the current thread and of another team. It helps its
    /// own team meanwhile, and sleeps if there is nothing to do.
    fn wait_for_end_on(&self, worker: &Worker) {
        let latch = Arc::new(AnyLatch::for_worker(worker));
        let awaited = Some(latch.clone());
        *self.end_awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
        // The last one to leave sets the team's latch before it looks for this one.
        if !self.ended().probe() {
            latch.wait(worker.mark(), worker.team().help_outside());
        }
        let awaited = self.end_awaited.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(awaited);
    }

    fn join_own_threads(&self) {
        let next = || self.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // One by one, for a worker may start the watch while others are waited for already.
        while let Some(thread) = next() {
            // A worker thread does not unwind; if it did, there is nobody left to tell.
            let _ = thread.join();
        }
        self.blocking.join();
    }
}

/// One more, unless there is none; says whether there was.
fn add_unless_zero(count: &AtomicUsize) -> bool {
    let mut seen = count.load(Relaxed);
    while seen > 0 {
        match count.compare_exchange(seen, seen + 1, AcqRel, Relaxed) {
            Ok(_) => return true,
            Err(now) => seen = now,
        }
    }
    false
}

impl Team {
    /// What the thread of worker `index` does, from its first moment to its last.
    pub(crate) fn run_worker(&self, index: usize) {
        let stock = Stock::open();
        self.be_worker(index, |worker| {
            self.count_in();
            self.run_start_handler(index);
            worker.run_until_stopped();
            if let Some(handler) = &self.config.exit_handler {
                self.catch("an exit handler", || handler(index));
            }
        });
        drop(stock);
        self.count_out();
    }

    /// Calls `work` as worker `index`, which then leaves. The caller has the right to be that worker, once.
    fn be_worker(&self, index: usize, work: impl FnOnce(&Worker)) {
        let Some(worker) = self.worker(index) else {
            unreachable!("threads are started for workers that exist");
        };
        // SAFETY: a worker that was not adopted has one thread, which calls this once; of one that was, the thread that
        // answers for it once the adoption is over (see `adoption`). The caller keeps the team.
        let scope = unsafe { WorkerScope::take(worker) };
        stack::begin(self.config.stack_size);
        // A worker that is gone without a word would leave others waiting for it.
        let guard = AbortOnUnwind("a worker's loop");
        work(worker);
        // What the exit handler spawned, or another worker posted to this one while it left.
        worker.retire();
        std::mem::forget(guard);
        drop(scope);
    }

    pub(crate) fn run_start_handler(&self, index: usize) {
        if let Some(handler) = &self.config.start_handler {
            self.catch("a start handler", || handler(index));
        }
    }
}

impl Worker {
    /// The thread that the pool had adopted leaves for good: the handle is gone, or another thread waits for a lent
    /// one. What is there it runs; for what comes later another thread takes its place. Own thread only, at the end
    /// of a visit. If this returns true the thread is the worker no more; otherwise the system starts no thread, and
    /// the pool may need this one.
    pub(crate) fn hand_over(&self) -> bool {
        let team = self.team();
        let _aside = Aside::begin();
        self.run_jobs_left();
        self.give_tasks_away();
        if team.alive.load(Acquire) > 0 {
            if team.start_successor() {
                return true;
            }
            if !team.is_closing() {
                return false;
            }
        }
        // Nothing comes any more, or no other thread would do it.
        self.run_until_stopped();
        self.retire();
        team.adopted_has_left();
        true
    }
}

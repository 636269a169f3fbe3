//! What the workers share, where tasks from outside go, and how it all ends.

use super::ledger::Ledger;
use super::shared::Shared;
use super::worker::{self, Queues, Worker};
use crate::bitmap::Position;
use crate::inject::Injector;
use crate::job::{HeapJob, Work};
use crate::prim::{
    AcqRel, Acquire, AtomicBool, AtomicUsize, Mutex, Relaxed, Release, SeqCst, Step, broken, fence,
    yield_now,
};
use crate::sleep::{Sleep, SleepPolicy};
use crate::task::{Header, Owned, Payload, Place, Runnable, Scheduler, TaskRef};
use core::ptr::NonNull;
use std::sync::{Arc, Weak};

/// `Team`.
pub(super) struct Team {
    pub(super) sleep: Sleep,
    pub(super) injector: Injector,
    pub(super) tasks: Shared,
    pub(super) workers: Vec<Queues>,
    pub(super) ledger: Arc<Ledger>,
    /// The handle counts one, every job and every shielded section one; at zero the workers stop.
    alive: AtomicUsize,
    /// The handle counts one, every shielded section one; at zero tasks are cancelled.
    task_holds: AtomicUsize,
    /// The handle is gone.
    closing: AtomicBool,
    /// Workers, and the handle: the last one to leave cancels the tasks that are left.
    leaving: AtomicUsize,
    /// Threads that leave a task to whoever drops the team.
    late: AtomicUsize,
    /// Workers that hear of every injected job; whether of tasks, too.
    guests: Mutex<Vec<(usize, bool)>>,
    guest_count: AtomicUsize,
    task_guests: AtomicUsize,
    me: Weak<Team>,
}

impl Team {
    pub(super) fn new(workers: usize, tasks: Shared) -> Arc<Team> {
        let sleep = Sleep::new(SleepPolicy::rayon(), true, workers);
        (0..workers).for_each(|_| {
            sleep.add_bed();
        });
        Arc::new_cyclic(|me| Team {
            sleep,
            injector: Injector::new(),
            tasks,
            workers: (0..workers).map(Queues::new).collect(),
            ledger: Arc::default(),
            alive: AtomicUsize::new(1),
            task_holds: AtomicUsize::new(1),
            closing: AtomicBool::new(false),
            leaving: AtomicUsize::new(workers + 1),
            late: AtomicUsize::new(0),
            guests: Mutex::new(Vec::new()),
            guest_count: AtomicUsize::new(0),
            task_guests: AtomicUsize::new(0),
            me: me.clone(),
        })
    }

    pub(super) fn arc(&self) -> Arc<Team> {
        self.me.upgrade().expect("the caller keeps the team")
    }

    /// `Team::run_worker`.
    pub(super) fn run_worker(&self, index: usize) {
        let worker = Worker::sit_down(self, index);
        worker.run_until_stopped();
        worker.retire();
        worker::stand_up();
    }

    /// `Team::has_work`.
    pub(super) fn has_work(&self) -> bool {
        !self.injector.is_empty()
            || self.has_tasks()
            || self.workers.iter().any(|worker| worker.has_job())
    }

    /// `Team::has_tasks`.
    pub(super) fn has_tasks(&self) -> bool {
        self.tasks.may_have() || self.workers.iter().any(|worker| worker.has_public_task())
    }

    /// A job for one worker alone.
    pub(super) fn post_job(&self, index: usize, job: impl FnOnce() + Send + 'static) {
        self.hold();
        Worker::new(self, index).post(self.job(job));
    }

    /// `spawn_detached`, for workers and for who has the handle.
    pub(super) fn spawn_job(&self, job: impl FnOnce() + Send + 'static) {
        self.hold();
        let work = self.job(job);
        match worker::current() {
            Some(worker) => worker.push(work),
            None => self.inject(work),
        }
    }

    /// The same for everybody else; says whether it is not too late.
    pub(super) fn try_spawn_job(&self, job: impl FnOnce() + Send + 'static) -> bool {
        let held = self.try_hold();
        if held {
            self.inject(self.job(job));
        }
        held
    }

    /// A job that gives up a reason to go on when it has run.
    fn job(&self, job: impl FnOnce() + Send + 'static) -> Work {
        let team = self.arc();
        // SAFETY: the closure borrows nothing and may be sent. It unwinds only where a model has failed.
        unsafe {
            HeapJob::into_work(move || {
                job();
                team.release();
            })
        }
    }

    fn inject(&self, work: Work) {
        let was_empty = self.injector.push(work);
        self.sleep.new_jobs(1, was_empty);
        if self.guest_count.load(Relaxed) > 0 && !broken(Step::RuntimeGuestTold) {
            self.notify_guests(|_| true);
        }
    }

    /// `Team::tell_guests_of_task`.
    pub(super) fn tell_guests_of_task(&self) {
        if self.task_guests.load(Relaxed) > 0 && !broken(Step::RuntimeTaskGuestTold) {
            self.notify_guests(|tasks| tasks);
        }
    }

    fn notify_guests(&self, chosen: impl Fn(bool) -> bool) {
        // Not under the lock, which the model checker does not know.
        let guests = self.guests.lock().unwrap().clone();
        for (index, _) in guests.into_iter().filter(|&(_, tasks)| chosen(tasks)) {
            if let Some(bed) = self.sleep.bed(index) {
                bed.notify();
            }
        }
    }

    /// Has a worker hear of every injected job; `tasks`: of tasks that all workers can take, too.
    pub(super) fn add_guest(&self, index: usize, tasks: bool) {
        self.guests.lock().unwrap().push((index, tasks));
        self.guest_count.fetch_add(1, AcqRel);
        self.task_guests.fetch_add(usize::from(tasks), AcqRel);
    }

    pub(super) fn remove_guest(&self, index: usize, tasks: bool) {
        let mut guests = self.guests.lock().unwrap();
        let place = guests.iter().position(|&guest| guest == (index, tasks));
        guests.swap_remove(place.expect("a guest was added"));
        drop(guests);
        self.guest_count.fetch_sub(1, AcqRel);
        self.task_guests.fetch_sub(usize::from(tasks), AcqRel);
    }

    // How it ends, as in `shutdown` and `sched/cancel`.

    /// One more reason to go on.
    fn hold(&self) {
        self.alive.fetch_add(1, Relaxed);
    }

    /// The same for a thread that is no worker and has no handle.
    fn try_hold(&self) -> bool {
        if self.closing.load(Acquire) || !add_unless_zero(&self.alive) {
            return false;
        }
        fence(SeqCst);
        if self.tasks_end() {
            self.cancel_tasks_soon();
        }
        true
    }

    /// One more reason to go on and to poll tasks: not once the handle is gone, but what is inside of a
    /// shield goes on.
    pub(super) fn try_hold_tasks(&self, task: &TaskRef) -> bool {
        let late = self.closing.load(Acquire) && !task.is_shielded();
        let held = !late && add_unless_zero(&self.task_holds);
        if held {
            self.hold();
        }
        held
    }

    /// One reason less to poll tasks, and to go on.
    pub(super) fn release_tasks(&self) {
        if self.task_holds.fetch_sub(1, AcqRel) == 1 {
            fence(SeqCst);
            if self.alive.load(Relaxed) > 1 {
                self.cancel_tasks_soon();
            }
        }
        self.release();
    }

    /// Whether tasks are cancelled instead of polled.
    pub(super) fn tasks_end(&self) -> bool {
        self.task_holds.load(Acquire) == 0
    }

    /// One reason less; the last one stops the workers.
    fn release(&self) {
        if self.alive.fetch_sub(1, AcqRel) == 1 {
            self.sleep.stop();
        }
    }

    /// The handle is dropped.
    pub(super) fn shut_down(&self) {
        self.closing.store(true, Release);
        self.cancel_if_last();
        self.release_tasks();
    }

    /// One participant less; the last one cancels every task that is left.
    pub(super) fn cancel_if_last(&self) {
        if self.leaving.fetch_sub(1, AcqRel) == 1 {
            self.cancel_all();
        }
    }

    fn cancel_all(&self) {
        while self.cancel_round() > 0 || self.late.load(Acquire) > 0 {
            yield_now();
        }
        self.close_tasks();
    }

    /// Has some worker cancel every task, while the others go on with jobs.
    fn cancel_tasks_soon(&self) {
        let team = self.arc();
        self.hold();
        self.inject(self.job(move || {
            team.cancel_waiting_tasks();
            team.cancel_queued();
        }));
    }

    /// Returns how many tasks may be left.
    fn cancel_round(&self) -> usize {
        let waiting = self.cancel_waiting_tasks();
        let queued: usize =
            (0..self.workers.len()).map(|index| Worker::new(self, index).cancel_queued()).sum();
        waiting + queued + self.cancel_queued()
    }

    /// Cancels the tasks that wait to be woken; returns how many are left to others.
    pub(super) fn cancel_waiting_tasks(&self) -> usize {
        self.workers.iter().for_each(|worker| abort_all(&worker.owned));
        self.workers.iter().map(|worker| worker.owned.close_and_cancel()).sum()
    }

    /// Cancels a task that has left the queues.
    pub(super) fn cancel(&self, task: Runnable) {
        self.ledger.leave(&task);
        drop(task);
    }

    /// Leaves a task to whoever drops the team.
    fn cancel_late(&self, task: Runnable) {
        self.late.fetch_add(1, AcqRel);
        self.leave_to_the_end(task);
        self.late.fetch_sub(1, AcqRel);
    }

    /// Asserts that nothing is left, when all threads have gone.
    pub(super) fn assert_over(&self) {
        let counts = self.sleep.counters().load();
        assert_eq!((counts.sleeping(), counts.inactive()), (0, 0), "{counts:?}");
        assert_eq!(self.sleep.parked_word(0), 0);
        self.tasks.assert_over();
        assert!(self.injector.is_empty(), "a job is left");
        for worker in &self.workers {
            assert!(worker.is_empty(), "a queue or list is not empty");
        }
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

/// Brings every task that waits into a queue.
fn abort_all(owned: &Owned) {
    owned.tasks().iter().for_each(TaskRef::abort);
}

impl Drop for Team {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.cancel_all();
        }
    }
}

/// `Home`: the team that a task belongs to.
#[derive(Clone, Copy)]
pub(super) struct Home(NonNull<Team>);

// SAFETY: a team is shared between threads; the pointer is followed only while the team is alive.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

impl Home {
    pub(super) fn of(team: &Team) -> Home {
        Home(NonNull::from(team))
    }

    fn team(&self) -> &Team {
        // SAFETY: the task that asks is not complete, so its team is alive.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: a team is not gone before its tasks are complete, and whoever runs or drops one of them keeps the
// team meanwhile. The lists are in the team. What unwinds here is the failure of a model.
unsafe impl Scheduler for Home {
    fn schedule(&self, task: Runnable) {
        let team = self.team();
        team.ledger.enter(&task);
        match worker::current() {
            Some(worker) => worker.schedule(task),
            None => match team.me.upgrade() {
                Some(team) => team.share(task),
                None => team.cancel_late(task),
            },
        }
    }

    fn settle(&self, task: NonNull<Header>) -> (Place, &Owned) {
        let worker = worker::current().expect("tasks are polled on workers");
        let place = match self.team().signals() {
            None => Place::new(worker.index()),
            Some(signals) => worker.reserve_slot(signals, task),
        };
        (place, self.owned(place))
    }

    fn unsettle(&self, place: Place) {
        if let (Some(worker), Some(signals)) = (worker::current(), self.team().signals()) {
            worker.free_slot(signals.identity(place));
        }
    }

    fn owned(&self, place: Place) -> &Owned {
        let team = self.team();
        let list = match team.signals() {
            None => place.index(),
            Some(_) => Position::of(place).leaf % team.workers.len(),
        };
        &team.workers[list].owned
    }

    fn report_panic(&self, payload: Payload) {
        self.team().ledger.report(super::futures::text(&payload));
    }
}

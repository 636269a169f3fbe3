//! Threads that wait: for a future, or, inside of a poll, for an event.

use super::worker::{self, Found, Look, Worker, give_way};
use crate::deque::Mark;
use crate::job::Header;
use crate::latch::{JobLatch, Latch, OnceLatch};
use crate::park::parker::Parker;
use crate::prim::{Step, broken, thread, yield_now};
use crate::sleep::Idle;
use core::pin::{Pin, pin};
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;

/// `block_on`: helps on a worker, blocks elsewhere.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let future = pin!(future);
    match worker::current() {
        Some(worker) => block_on_worker(worker, future),
        None => block_on_foreign_thread(future),
    }
}

struct Unpark(Parker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on_foreign_thread<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    let unpark = Arc::new(Unpark(Parker::new()));
    let waker = Waker::from(unpark.clone());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        unpark.0.park();
    }
}

/// Wakes the worker that waits; keeps the team, which has the bed.
struct Bell {
    latch: JobLatch,
    _team: Arc<super::Team>,
}

// SAFETY: the latch points to a bed of the team, which is shared between threads.
unsafe impl Send for Bell {}
// SAFETY: as above.
unsafe impl Sync for Bell {}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // SAFETY: `self` keeps the latch and its bed alive.
        unsafe { JobLatch::set(&raw const self.latch) };
    }
}

/// `block_on` at the limit of a worker's stack: what the future waits for is left to the other workers, of
/// which one has to be there.
pub(super) fn block_on_at_the_limit<F: Future>(future: F) -> F::Output {
    let worker = worker::current().expect("called on a worker");
    wait_on_worker(worker, pin!(future), |latch| {
        if !broken(Step::RuntimeGivesAway) {
            worker.give_tasks_away();
        }
        worker.wait_within(latch, false);
    })
}

/// `block_on` where a worker's stack has no room for jobs of strangers: it polls tasks all the same.
pub(super) fn block_on_with_tasks<F: Future>(future: F) -> F::Output {
    let worker = worker::current().expect("called on a worker");
    wait_on_worker(worker, pin!(future), |latch| worker.wait_within(latch, true))
}

fn block_on_worker<F: Future>(worker: Worker<'_>, future: Pin<&mut F>) -> F::Output {
    wait_on_worker(worker, future, |latch| worker.wait_helping_all(latch))
}

fn wait_on_worker<F: Future>(
    worker: Worker<'_>,
    mut future: Pin<&mut F>,
    wait: impl Fn(&JobLatch),
) -> F::Output {
    let team = worker.team().arc();
    let bell = Arc::new(Bell { latch: JobLatch::new(NonNull::from(worker.bed())), _team: team });
    let waker = Waker::from(bell.clone());
    loop {
        bell.latch.reset();
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        wait(&bell.latch);
    }
}

impl Worker<'_> {
    /// `Worker::wait_helping_all`.
    pub(super) fn wait_helping_all(self, latch: &JobLatch) {
        let sleep = &self.team().sleep;
        let mark = self.own().mark();
        let stop_looking = |idle: &mut Option<Idle>| {
            if let Some(idle) = idle.take() {
                sleep.work_found(self.bed(), idle, || self.team().has_work());
            }
        };
        let mut idle: Option<Idle> = None;
        let mut turns = 0;
        while !latch.probe() {
            give_way(&mut turns);
            let look = match &idle {
                Some(idle) if idle.is_sleepy() => Look::Hard,
                _ => Look::Public,
            };
            if let Some(found) = self.find_while_waiting(mark, look) {
                stop_looking(&mut idle);
                self.run(found);
                continue;
            }
            if sleep.is_stopping() {
                stop_looking(&mut idle);
                self.team().cancel_waiting_tasks();
                yield_now();
                continue;
            }
            let idle = idle.get_or_insert_with(|| sleep.start_looking(self.bed()));
            self.no_work_found(idle, Some(latch));
        }
        stop_looking(&mut idle);
        if !broken(Step::RuntimeWaitTells) {
            self.tell_of_ring();
        }
    }

    /// `Worker::wait_within`, where jobs from outside are among what it may run; `polls`: so are tasks.
    fn wait_within(self, latch: &JobLatch, polls: bool) {
        let team = self.team();
        let mark = self.own().mark();
        let from_outside = || !team.injector.is_empty();
        team.add_guest(self.index(), polls);
        let mut turns = 0;
        while !latch.probe() {
            give_way(&mut turns);
            let own = self.pop_above(mark).or_else(|| self.open_mail());
            let job = own.or_else(|| self.take_injected()).map(Found::Job);
            let task = || if polls { self.any_task().map(Found::Task) } else { None };
            if let Some(found) = job.or_else(task) {
                self.run(found);
                continue;
            }
            if !polls && !broken(Step::RuntimeGivesAway) {
                self.give_tasks_away();
            }
            let look = || self.has_mail() || from_outside() || polls && team.has_tasks();
            team.sleep.wait_parked(self.bed(), latch, look, || team.has_work());
        }
        team.remove_guest(self.index(), polls);
        if polls {
            self.tell_of_ring();
        }
    }

    /// `Team::help_until`: what a worker does while another runtime, of which it has the handle, ends.
    pub(super) fn help_until(self, done: impl Fn() -> bool) {
        let mut turns = 0;
        while !done() {
            give_way(&mut turns);
            let job = self.take_oldest().or_else(|| self.open_mail()).map(Found::Job);
            let own = job.or_else(|| self.next_task().map(Found::Task));
            match own.or_else(|| self.find_elsewhere(Look::Hard, true)) {
                Some(found) => self.run(found),
                None => yield_now(),
            }
        }
        if !broken(Step::RuntimeHelpTells) {
            self.tell_of_ring();
        }
    }

    /// `Worker::find_while_waiting`.
    fn find_while_waiting(self, mark: Mark<Header>, look: Look) -> Option<Found> {
        if self.is_fair_turn() {
            let found = self.find_fairly(|| self.pop_above(mark));
            if found.is_some() {
                return found;
            }
        }
        let job = || {
            let own = self.pop_above(mark).or_else(|| self.open_mail());
            let job = own.or_else(|| self.take_oldest())?;
            self.count();
            self.tell_of_ring();
            Some(Found::Job(job))
        };
        let task = || self.next_task().map(Found::Task);
        let found = if self.tasks_go_first() {
            let queued = || self.take_queued(usize::MAX).map(Found::Task);
            task().or_else(queued).or_else(job)
        } else {
            job().or_else(task)
        };
        found.or_else(|| self.find_elsewhere(look, true))
    }
}

/// What a thread blocks on, helping nobody.
#[derive(Clone)]
pub(super) struct Event(Arc<OnceLatch>);

impl Event {
    pub(super) fn new() -> Event {
        Event(Arc::new(OnceLatch::new()))
    }

    pub(super) fn set(&self) {
        // SAFETY: `self` keeps the latch alive.
        unsafe { OnceLatch::set(&raw const *self.0) };
    }

    /// Blocks the worker in the middle of a poll or job. The watch comes by some time after that, for what
    /// is in the worker's LIFO slot.
    pub(super) fn wait(&self) {
        let worker = worker::current().expect("called on a worker");
        let (team, index) = (worker.team().arc(), worker.index());
        let watch = thread::spawn(move || Worker::new(&team, index).rescue());
        self.0.wait();
        watch.join().unwrap();
    }
}

//! State that a job and its handle share.

#![forbid(unsafe_code)]

use super::sleepers::sleeper_of;
use super::waits::listed;
use super::{JobHandle, Joinable, Polled};
use crate::base::context::{Aside, Frame};
use crate::base::panic::Payload;
use crate::base::{Id, JoinError};
use crate::state::{Closure, Joint, Listed, ListedAt, WaitsFor};
use crate::team::{AnyLatch, Team, current};
use crate::worker::{Room, mark, room, visit};
use blitz_parts::guests::Injected;
use blitz_parts::prim::{Mutex, MutexGuard};
use blitz_parts::task::task_of;
use std::any::type_name;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Waker};

/// State that the job and its handle share.
pub(crate) struct Packet<F, T> {
    id: Id,
    team: Arc<Team>,
    /// Whether a worker that waits for the job may run it.
    on_workers: bool,
    state: Mutex<State<F, T>>,
}

struct State<F, T> {
    /// Whether the handle is gone.
    detached: bool,
    /// The waiting thread or task.
    waiter: Option<Waiter>,
    /// Where the team lists the job among those that tasks await, if it does.
    listed: Option<ListedAt>,
    stage: Stage<F, T>,
}

enum Stage<F, T> {
    Queued(F),
    /// It runs at this place.
    Running(Frame),
    Done(Outcome<T>),
    /// The result was taken.
    Gone,
}

impl<F, T> Stage<F, T> {
    fn has_ended(&self) -> bool {
        matches!(self, Stage::Done(_) | Stage::Gone)
    }
}

enum Outcome<T> {
    Returned(T),
    Panicked(Payload),
    Cancelled,
}

/// A waiting thread or task, and how to notify it.
enum Waiter {
    Thread(Arc<AnyLatch>),
    Task(Waker),
}

impl Waiter {
    fn tell(self) {
        match self {
            Waiter::Thread(latch) => AnyLatch::set_shared(&latch),
            Waiter::Task(waker) => waker.wake(),
        }
    }
}

impl<T> Outcome<T> {
    fn into_result(self, id: Id) -> Result<T, JoinError> {
        match self {
            Outcome::Returned(value) => Ok(value),
            Outcome::Panicked(payload) => Err(JoinError::panicked("job", id, payload)),
            Outcome::Cancelled => Err(JoinError::cancelled("job", id)),
        }
    }
}

impl<F, T> Packet<F, T>
where
    F: FnOnce() -> T,
{
    pub(crate) fn new(team: &Team, on_workers: bool, f: F) -> Arc<Packet<F, T>> {
        let state = State { detached: false, waiter: None, listed: None, stage: Stage::Queued(f) };
        Arc::new(Packet { id: Id::next(), team: team.arc(), on_workers, state: Mutex::new(state) })
    }

    /// Creates a job that does not run on workers.
    pub(crate) fn elsewhere(team: &Team, f: F) -> Arc<Packet<F, T>> {
        Packet::new(team, false, f)
    }

    fn lock(&self) -> MutexGuard<'_, State<F, T>> {
        // User code never runs under the lock, so a panic cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the job's id.
    pub(crate) fn number(&self) -> u64 {
        self.id.number()
    }

    /// Runs the job, unless its handle has run or aborted it.
    pub(crate) fn run(&self) {
        let mut state = self.lock();
        if !matches!(state.stage, Stage::Queued(_)) {
            return;
        }
        let Stage::Queued(f) = std::mem::replace(&mut state.stage, Stage::Running(Frame::here()))
        else {
            unreachable!("checked above, under the same lock")
        };
        drop(state);
        let outcome = match catch_unwind(AssertUnwindSafe(f)) {
            Ok(value) => Outcome::Returned(value),
            Err(payload) => Outcome::Panicked(payload),
        };
        self.finish(self.lock(), outcome);
    }

    /// Notes that the job has ended: returned, panicked or cancelled.
    fn finish(&self, mut state: MutexGuard<'_, State<F, T>>, outcome: Outcome<T>) {
        let waiter = state.waiter.take();
        let listed = state.listed.take();
        let unwanted = if state.detached {
            state.stage = Stage::Gone;
            Some(outcome)
        } else {
            state.stage = Stage::Done(outcome);
            None
        };
        drop(state);
        if let Some(place) = listed {
            drop(self.team.awaited_jobs.remove(self.id, place));
        }
        if let Some(waiter) = waiter {
            self.team.catch("a waker", || waiter.tell());
        }
        if let Some(outcome) = unwanted {
            self.discard(outcome);
        }
    }

    /// Drops a result that no handle wants. A panic is still reported.
    fn discard(&self, outcome: Outcome<T>) {
        match outcome {
            // The value's own drop may panic, too.
            Outcome::Returned(value) => self.team.catch("the drop of a result", || drop(value)),
            Outcome::Panicked(payload) => self.team.report_panic(payload),
            Outcome::Cancelled => {}
        }
    }
}

impl<F, T> Joinable for Packet<F, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    fn abort(&self) {
        let mut state = self.lock();
        if matches!(state.stage, Stage::Queued(_)) {
            let queued = std::mem::replace(&mut state.stage, Stage::Gone);
            self.finish(state, Outcome::Cancelled);
            // The closure's drop is user code, too.
            self.team.catch("the drop of an aborted job", || drop(queued));
        }
    }

    fn is_finished(&self) -> bool {
        self.lock().stage.has_ended()
    }

    fn id(&self) -> Id {
        self.id
    }
}

impl<F, T> Closure for Packet<F, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    fn has_begun(&self) -> bool {
        !matches!(self.lock().stage, Stage::Queued(_))
    }

    fn runs_at(&self) -> Option<Frame> {
        match self.lock().stage {
            Stage::Running(frame) => Some(frame),
            _ => None,
        }
    }

    fn awaited_by(&self) -> Option<usize> {
        match &self.lock().waiter {
            Some(Waiter::Task(waker)) => task_of(waker).or_else(|| sleeper_of(waker)),
            _ => None,
        }
    }
}

impl<F, T> JobHandle<T> for Packet<F, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fn poll_finished(&self, cx: &mut Context<'_>) -> Polled<()> {
        // Cloning and dropping a waker is user code: not under the lock.
        let waker = cx.waker().clone();
        let state = self.lock();
        if state.stage.has_ended() {
            drop(state);
            return Polled::Ready(());
        }
        self.wait(state, waker)
    }

    fn poll(&self, cx: &mut Context<'_>) -> Polled<Result<T, JoinError>> {
        let waker = cx.waker().clone();
        let mut state = self.lock();
        if !state.stage.has_ended() {
            return self.wait(state, waker);
        }
        let stage = std::mem::replace(&mut state.stage, Stage::Gone);
        drop(state);
        match stage {
            Stage::Done(outcome) => Polled::Ready(outcome.into_result(self.id())),
            _ => panic!("a JoinHandle was polled after it had returned its result"),
        }
    }

    fn try_join(&self) -> Option<Result<T, JoinError>> {
        let _visit = visit();
        // A queued job may wait until this worker returns from this call, so run it here. If the
        // stack has no room, other workers must run it.
        let run = || {
            let _aside = Aside::begin();
            self.run();
        };
        match current().filter(|_| self.on_workers && room() >= Room::Mail) {
            Some(owner) if owner.is_in(&self.team) => run(),
            Some(owner) if owner.stands_for(&self.team) => {
                return Some(owner.join_counted(Some(Joint::Job(self.number())), || {
                    owner.run_counted(Joint::Job(self.number()), run);
                    self.take(|wait| wait())
                }));
            }
            _ => {}
        }
        self.is_finished().then(|| self.take(|wait| wait()))
    }

    fn join(self: Arc<Self>) -> Result<T, JoinError> {
        let _visit = visit();
        self.take(|wait| {
            let job = Listed { closure: self.clone(), type_name: type_name::<F>() };
            listed(WaitsFor::Closure(self.id, job), wait);
        })
    }

    fn detach(&self) {
        let mut state = self.lock();
        state.detached = true;
        let waiter = state.waiter.take();
        if matches!(state.stage, Stage::Done(_)) {
            let done = std::mem::replace(&mut state.stage, Stage::Gone);
            drop(state);
            if let Stage::Done(outcome) = done {
                self.discard(outcome);
            }
        } else {
            drop(state);
        }
        drop(waiter);
    }

    fn list(self: Arc<Self>) {
        let (id, team) = (self.id, &self.team);
        let listed = Listed { closure: self.clone(), type_name: type_name::<F>() };
        let place = team.awaited_jobs.add(id, listed);
        let mut state = self.lock();
        if !state.stage.has_ended() {
            state.listed = Some(place);
        } else {
            // The job has ended meanwhile, so only this call removes it from the list.
            drop(state);
            drop(team.awaited_jobs.remove(id, place));
        }
    }

    fn to_joinable(self: Arc<Self>) -> Arc<dyn Joinable> {
        self
    }
}

impl<F, T> Packet<F, T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    /// Makes the task of `waker` the one that waits for the job, which has not ended.
    fn wait<R>(&self, mut state: MutexGuard<'_, State<F, T>>, waker: Waker) -> Polled<R> {
        // Closures that do not run on workers are listed from their spawn on.
        let unlisted = self.on_workers && state.listed.is_none();
        let before = state.waiter.replace(Waiter::Task(waker));
        drop(state);
        drop(before);
        Polled::Pending { unlisted }
    }

    /// Waits until the job has ended, by `wait`, which calls its argument, and takes the result.
    fn take(&self, wait: impl FnOnce(&dyn Fn())) -> Result<T, JoinError> {
        let mut state = self.lock();
        if !state.stage.has_ended() {
            let latch = Arc::new(AnyLatch::for_current_thread());
            let before = state.waiter.replace(Waiter::Thread(latch.clone()));
            drop(state);
            drop(before);
            wait(&|| {
                if self.on_workers {
                    latch.wait_for_jobs_of(&self.team, mark(), &Injected::new(true), || None);
                } else {
                    latch.wait_for_anything(mark());
                }
            });
            state = self.lock();
        }
        match std::mem::replace(&mut state.stage, Stage::Gone) {
            Stage::Done(outcome) => outcome.into_result(self.id()),
            _ => panic!("a JoinHandle was joined after it had returned its result"),
        }
    }
}

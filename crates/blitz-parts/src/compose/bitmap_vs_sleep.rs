//! Signalled tasks against workers that go to sleep. The workers follow `blitz-core/sched/bitmap`.

use super::{Event, give_way};
use crate::bitmap::{Bitmap, Cursor, Scan, Told};
use crate::prim::{Step, canary, check, thread};
use crate::queue::fixture::{run, task};
use crate::sleep::{Sleep, SleepPolicy};
use crate::task::Runnable;
use std::sync::Arc;

/// The workers of a model and what they share.
struct Crew {
    sleep: Sleep,
    signals: Bitmap,
}

impl Crew {
    fn new(workers: usize) -> Arc<Crew> {
        let sleep = Sleep::new(SleepPolicy::impatient(), true, 1);
        (0..workers).for_each(|_| {
            sleep.add_bed();
        });
        Arc::new(Crew { sleep, signals: Bitmap::new(1) })
    }

    /// A task in a slot of its own.
    fn task(&self, work: impl FnOnce() + Send + 'static) -> Runnable {
        let task = task(work);
        task.set_place(self.signals.reserve_outside(task.header()));
        task
    }

    /// `sched::bitmap::signal`.
    fn signal(&self, task: Runnable) {
        self.act_on(self.signals.signal(task, || self.sleep.is_any_looking()).told);
    }

    fn act_on(&self, told: Told) {
        match told {
            Told::Nobody => {}
            Told::WakeOne => {
                self.sleep.wake_one();
            }
            Told::Closed => unreachable!("no thread closes it"),
        }
    }

    /// `Tasks::take_signalled`.
    fn find(&self, cursor: &Cursor) -> Option<Runnable> {
        let Scan { task, again } = self.signals.take_any(cursor, 0);
        if let Some(marked) = again {
            self.act_on(self.signals.tell(marked, || self.sleep.is_any_looking()));
        }
        task
    }

    /// `Owner::run_until_stopped`.
    fn work(&self, worker: usize) {
        let bed = self.sleep.own_bed(worker);
        let cursor = Cursor::default();
        loop {
            while let Some(task) = self.find(&cursor) {
                run(task);
            }
            let mut idle = self.sleep.start_looking(bed);
            let mut turns = 0;
            let found = loop {
                give_way(&mut turns);
                if let Some(task) = self.find(&cursor) {
                    break Some(task);
                }
                if self.sleep.is_stopping() {
                    break None;
                }
                let mut sleeper = None;
                self.sleep.no_work_found(bed, &mut idle, None, || {
                    sleeper = Some(self.signals.lie_down());
                    self.signals.has_task()
                });
                let _permit = match sleeper {
                    Some(sleeper) => self.signals.get_up(sleeper),
                    None => self.signals.try_acquire(),
                };
            };
            self.sleep.work_found(bed, idle, || self.signals.has_task());
            match found {
                Some(task) => run(task),
                None => return,
            }
        }
    }

    fn start(self: &Arc<Crew>, worker: usize) -> thread::JoinHandle<()> {
        let crew = self.clone();
        thread::spawn(move || crew.work(worker))
    }

    /// Ends the pool, waits for its workers and checks the counts.
    fn finish(&self, worker: thread::JoinHandle<()>) {
        self.sleep.stop();
        worker.join().unwrap();
        let counts = self.sleep.counters().load();
        assert_eq!((counts.sleeping(), counts.inactive()), (0, 0), "{counts:?}");
        let tree = self.signals.tree();
        assert_eq!((tree.sleepers(), tree.permits()), (0, 0));
        // A setter may have set the summaries for a task that was taken already. This look clears
        // them.
        assert!(self.find(&Cursor::default()).is_none(), "a task is left");
        assert!(!self.signals.has_any(), "an idle tree is empty");
    }
}

/// One worker, and two tasks one after the other.
fn signalled_tasks() {
    let crew = Crew::new(1);
    let events = [Event::new(), Event::new()];
    let tasks = events.clone().map(|event| crew.task(move || event.set()));
    let worker = crew.start(0);
    tasks.into_iter().for_each(|task| crew.signal(task));
    events.iter().for_each(Event::wait);
    crew.finish(worker);
}

#[test]
fn signalled_tasks_are_found() {
    check(50_000, Some(3), signalled_tasks);
}

#[test]
fn canary_signalled_without_a_look_at_the_sleepers() {
    canary(&[Step::SignalRootFence], Some(2), signalled_tasks);
}

#[test]
fn canary_a_sleeper_is_not_counted_in_time() {
    canary(&[Step::SignalSleeperFence, Step::SleepLookFence], Some(2), signalled_tasks);
}

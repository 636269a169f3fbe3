//! Holders against the end, and threads that leave, under the model checker.

use super::{Held, Left, Life, Released, TasksHeld, TasksReleased};
use crate::prim::{AcqRel, AtomicBool, AtomicUsize, Relaxed, Step, Witness, canary, check, thread};
use std::sync::Arc;

/// A pool without workers. `used` stands for the data of its holders, which lives until the workers
/// would be told to stop.
struct Rig {
    life: Life,
    used: Witness,
    stops: AtomicUsize,
    cancels: AtomicUsize,
}

impl Rig {
    fn new() -> Arc<Rig> {
        Arc::new(Rig {
            life: Life::new(1, 1),
            used: Witness::default(),
            stops: AtomicUsize::new(0),
            cancels: AtomicUsize::new(0),
        })
    }

    fn release(&self) {
        self.act(self.life.release());
    }

    fn act(&self, released: Released) {
        if released == Released::Last {
            self.stop();
        }
    }

    fn stop(&self) {
        assert!(self.life.tasks_end(), "the workers stop before the tasks end");
        self.used.write();
        self.stops.fetch_add(1, Relaxed);
    }

    fn release_with_tasks(&self) {
        self.act_with_tasks(self.life.release_with_tasks());
    }

    fn act_with_tasks(&self, released: TasksReleased) {
        match released {
            TasksReleased::NotLast => {}
            TasksReleased::Cancel => {
                self.cancels.fetch_add(1, Relaxed);
                self.release();
            }
            TasksReleased::Stop => self.stop(),
        }
    }

    /// Starts a thread that calls `f`.
    fn start<T: 'static>(
        self: &Arc<Rig>,
        f: impl FnOnce(&Rig) -> T + 'static,
    ) -> thread::JoinHandle<T> {
        let rig = self.clone();
        thread::spawn(move || f(&rig))
    }
}

/// A worker that leaves takes a hold for itself, while another thread tries to get one.
fn hold_beside_a_worker_that_leaves() {
    let rig = Rig::new();
    let other = rig.start(|rig| {
        if rig.life.hold_at_work() {
            rig.used.read();
            rig.release();
        }
    });
    rig.release_with_tasks();
    if rig.stops.load(Relaxed) > 0 {
        rig.life.hold();
        assert_eq!(rig.life.release(), Released::NotLast);
    }
    other.join().unwrap();
    assert_eq!((rig.stops.load(Relaxed), rig.life.holds()), (1, 0));
}

#[test]
fn life_1_a_worker_that_leaves_holds_for_itself() {
    check(10, None, hold_beside_a_worker_that_leaves);
}

/// Two threads hold the pool, if they can, while the handle goes.
fn hold_beside_the_end() {
    let rig = Rig::new();
    let holders = [0, 1].map(|_| {
        rig.start(|rig| {
            if rig.life.try_hold(|| false) != Held::Refused {
                rig.used.read();
                rig.release();
            }
        })
    });
    rig.release_with_tasks();
    holders.into_iter().for_each(|holder| holder.join().unwrap());
    assert_eq!(rig.stops.load(Relaxed), 1);
    assert_eq!(rig.life.try_hold(|| true), Held::Refused);
}

#[test]
fn life_1_no_hold_is_granted_after_the_last_release() {
    check(15_000, Some(3), hold_beside_the_end);
}

#[test]
fn canary_a_hold_does_not_look_for_zero() {
    canary(&[Step::LifeHoldLooks], Some(3), hold_beside_the_end);
}

#[test]
fn canary_a_release_does_not_release() {
    canary(&[Step::LifeReleaseRelease], Some(3), hold_beside_the_end);
}

/// The handle releases its holds, so the two workers stop. A worker that has seen this takes a hold
/// for itself, and releases it. Both workers may take holds, one after the other or at the same
/// time.
fn hold_while_leaving() {
    let rig = Rig::new();
    let workers = [0, 1].map(|_| {
        rig.start(|rig| {
            let stopping = rig.stops.load(Relaxed) > 0;
            if stopping {
                rig.life.hold();
                rig.release();
            }
            stopping
        })
    });
    rig.release_with_tasks();
    let left = workers.map(|worker| worker.join().unwrap());
    if !left[0] {
        rig.life.hold();
        rig.release();
    }
    assert_eq!(rig.stops.load(Relaxed), 1);
}

#[test]
fn life_2_the_first_zero_is_reported_once() {
    check(400, Some(3), hold_while_leaving);
}

#[test]
fn canary_each_zero_is_reported() {
    canary(&[Step::LifeStopsOnce], Some(3), hold_while_leaving);
}

/// A section begins, and ends, while the handle goes.
fn section_beside_the_end() {
    let rig = Rig::new();
    let section = rig.start(|rig| match rig.life.try_hold_tasks(|| false) {
        TasksHeld::Granted => {
            assert!(!rig.life.tasks_end());
            rig.used.read();
            rig.release_with_tasks();
        }
        TasksHeld::Refused(released) => rig.act(released),
    });
    rig.life.close();
    rig.release_with_tasks();
    section.join().unwrap();
    assert_eq!(rig.stops.load(Relaxed), 1);
}

/// Like `section_beside_the_end`. Meanwhile a job ends, whose release may be the last.
fn section_beside_the_end_of_a_job() {
    let rig = Rig::new();
    rig.life.hold();
    let job = rig.start(Rig::release);
    let section = rig.start(|rig| match rig.life.try_hold_tasks(|| false) {
        TasksHeld::Granted => {
            rig.used.read();
            rig.release_with_tasks();
        }
        TasksHeld::Refused(released) => rig.act(released),
    });
    rig.release_with_tasks();
    job.join().unwrap();
    section.join().unwrap();
    assert_eq!(rig.stops.load(Relaxed), 1);
}

#[test]
fn life_3_the_workers_do_not_stop_while_a_section_lasts() {
    check(450, Some(3), section_beside_the_end);
    check(9_000, Some(3), section_beside_the_end_of_a_job);
}

#[test]
fn canary_a_section_holds_the_tasks_first() {
    canary(&[Step::LifeWorkFirst], Some(3), section_beside_the_end);
}

#[test]
fn canary_a_section_gives_up_its_hold_first() {
    canary(&[Step::LifeTasksFirst], Some(3), section_beside_the_end);
}

/// A thread asks for a hold while the handle goes. If the thread gets the hold, it does not release
/// the hold soon, since it may wait for a task.
fn keep_beside_the_end_of_tasks() {
    let rig = Rig::new();
    let holder = rig.start(|rig| rig.life.try_hold(|| false));
    let released = rig.life.release_with_tasks();
    rig.act_with_tasks(released);
    match holder.join().unwrap() {
        Held::Refused => assert_eq!(released, TasksReleased::Stop),
        Held::Granted | Held::AfterTasks => {
            assert_eq!(released, TasksReleased::Cancel, "a task is left that the holder waits for");
            rig.release();
        }
    }
    assert_eq!(rig.stops.load(Relaxed), 1);
}

/// A thread asks for a hold while the handle goes and a job keeps the pool running. If the thread
/// asks after tasks have ended, the result of `try_hold` says that they have ended.
fn hold_after_the_end_of_tasks() {
    let rig = Rig::new();
    rig.life.hold();
    let holder = rig.start(|rig| {
        let seen = rig.cancels.load(Relaxed) > 0;
        let held = rig.life.try_hold(|| false);
        (seen, held)
    });
    let released = rig.life.release_with_tasks();
    assert_eq!(released, TasksReleased::Cancel);
    rig.act_with_tasks(released);
    let (seen, held) = holder.join().unwrap();
    assert!(!seen || held == Held::AfterTasks, "{held:?}");
    rig.release();
    rig.release();
    assert_eq!(rig.stops.load(Relaxed), 1);
}

#[test]
fn life_4_the_end_of_tasks_sees_a_hold() {
    check(250, None, keep_beside_the_end_of_tasks);
    check(500, Some(3), hold_after_the_end_of_tasks);
}

/// The handle and a section release their holds while a worker looks whether tasks have ended.
fn look_beside_the_end_of_tasks() {
    let rig = Rig::new();
    assert_eq!(rig.life.try_hold_tasks(|| false), TasksHeld::Granted);
    let written: Arc<[AtomicUsize; 2]> = Arc::default();
    let go = |which: usize| {
        let written = written.clone();
        move |rig: &Rig| {
            written[which].store(1, Relaxed);
            rig.release_with_tasks();
        }
    };
    let section = rig.start(go(1));
    let worker = rig.start({
        let written = written.clone();
        move |rig| {
            let ended = rig.life.tasks_end();
            let seen = written.each_ref().map(|word| word.load(Relaxed));
            assert!(!ended || seen == [1; 2], "writes of the holders before the end of tasks");
        }
    });
    go(0)(&rig);
    section.join().unwrap();
    worker.join().unwrap();
    assert_eq!(rig.stops.load(Relaxed), 1);
}

#[test]
fn life_4_a_thread_that_sees_the_end_of_tasks_sees_the_holders_writes() {
    check(6_000, Some(3), look_beside_the_end_of_tasks);
}

#[test]
fn canary_the_end_of_tasks_is_not_released() {
    canary(&[Step::LifeReleaseRelease], Some(3), look_beside_the_end_of_tasks);
}

/// Two workers and the handle leave.
fn all_leave() {
    let life = Arc::new(Life::new(2, 2));
    let written: Arc<[AtomicUsize; 3]> = Arc::default();
    let leave = |which: usize| {
        let (life, written) = (life.clone(), written.clone());
        move || {
            written[which].store(1, Relaxed);
            let left = life.leave();
            if left == Left::Last {
                let seen = written.each_ref().map(|word| word.load(Relaxed));
                assert_eq!(seen, [1; 3], "what the others did before they left");
            }
            usize::from(left == Left::Last)
        }
    };
    let others = [1, 2].map(|which| thread::spawn(leave(which)));
    let last = leave(0)() + others.map(|other| other.join().unwrap()).iter().sum::<usize>();
    assert_eq!(last, 1);
    assert_eq!(life.leaving(), 0);
}

#[test]
fn life_5_one_is_the_last_to_leave() {
    check(100, Some(3), all_leave);
}

#[test]
fn canary_leaving_does_not_release() {
    canary(&[Step::LifeLeaveRelease], Some(3), all_leave);
}

/// A task ends while the handle goes.
fn close_beside_the_end_of_a_task() {
    let life = Arc::new(Life::new(1, 1));
    let finished = Arc::new(AtomicBool::new(false));
    let worker = thread::spawn({
        let (life, finished) = (life.clone(), finished.clone());
        move || {
            finished.store(true, Relaxed);
            life.is_closing_at_last()
        }
    });
    life.close();
    let seen_by_handle = finished.load(Relaxed);
    assert!(worker.join().unwrap() || seen_by_handle, "each has missed the other");
}

#[test]
fn life_6_a_task_that_ends_beside_the_handle_is_seen() {
    check(10, None, close_beside_the_end_of_a_task);
}

#[test]
fn canary_the_handle_has_no_fence() {
    canary(&[Step::LifeCloseFence], None, close_beside_the_end_of_a_task);
}

#[test]
fn canary_the_worker_has_no_fence() {
    canary(&[Step::LifeSeesFence], None, close_beside_the_end_of_a_task);
}

/// A waker queues a task while the team is dropped. The witness stands for the team's memory.
fn late_beside_the_drop() {
    let life = Arc::new(Life::new(1, 1));
    let (queued, team) = (Arc::new(AtomicBool::new(false)), Arc::new(Witness::default()));
    let waker = thread::spawn({
        let (life, queued, team) = (life.clone(), queued.clone(), team.clone());
        move || {
            life.come_late(|| {
                // Stands for the queue's lock.
                queued.swap(true, AcqRel);
                team.read();
            });
        }
    });
    // The thread that drops the team waits for each task of the team. So it takes this task before
    // it looks for latecomers.
    while !queued.swap(false, AcqRel) {
        thread::yield_now();
    }
    while life.anyone_late() {
        thread::yield_now();
    }
    team.write();
    waker.join().unwrap();
}

#[test]
fn life_7_the_team_stays_while_a_latecomer_is_inside() {
    check(30, Some(3), late_beside_the_drop);
}

#[test]
fn canary_a_latecomer_is_counted_too_late() {
    canary(&[Step::LifeLateFirst], Some(3), late_beside_the_drop);
}

#[test]
fn canary_a_latecomer_leaves_without_release() {
    canary(&[Step::LifeLateRelease], Some(3), late_beside_the_drop);
}

/// A worker, the handle and the last hold end, in any order; the handle's thread waits for all.
fn the_end_is_awaited() {
    let life = Arc::new(Life::new(1, 1));
    let written = Arc::new(AtomicUsize::new(0));
    let end = || {
        let (life, written) = (life.clone(), written.clone());
        move || {
            written.fetch_add(1, Relaxed);
            life.count_out();
        }
    };
    let worker = thread::spawn(end());
    let last_hold = thread::spawn(end());
    end()();
    life.ended().wait();
    assert_eq!(written.load(Relaxed), 3);
    worker.join().unwrap();
    last_hold.join().unwrap();
}

#[test]
fn life_8_the_end_waits_for_all() {
    check(500, Some(2), the_end_is_awaited);
}

//! The counts on one thread and on several.

use super::{Held, Left, Life, Released, TasksHeld, TasksReleased};
use crate::prim::{AtomicUsize, Relaxed};

#[test]
fn life_1_a_hold_needs_another_one() {
    let life = Life::new(1, 1);
    assert!(life.hold_at_work());
    assert_eq!(life.release(), Released::NotLast);
    assert_eq!(life.release(), Released::Last);
    assert!(!life.hold_at_work());
    assert_eq!(life.holds(), 0);
}

#[test]
fn life_1_no_hold_is_granted_beside_one_of_a_worker_that_leaves() {
    let life = Life::new(1, 1);
    assert_eq!(life.release(), Released::Last);
    life.hold();
    assert!(!life.hold_at_work());
    assert_eq!(life.try_hold(|| true), Held::Refused);
    assert_eq!((life.holds(), life.release()), (1, Released::NotLast));
    assert_eq!(life.holds(), 0);
}

#[test]
fn life_1_the_pool_ends_once_while_threads_take_holds() {
    const THREADS: usize = 4;
    for _ in 0..200 {
        let life = Life::new(1, 1);
        let stops = AtomicUsize::new(0);
        let release = || {
            if life.release() == Released::Last {
                stops.fetch_add(1, Relaxed);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while life.hold_at_work() {
                        assert_eq!(stops.load(Relaxed), 0);
                        release();
                    }
                });
            }
            release();
        });
        assert_eq!((stops.load(Relaxed), life.holds()), (1, 0));
    }
}

#[test]
fn life_2_a_worker_that_leaves_may_hold_once_more() {
    let life = Life::new(1, 1);
    assert_eq!(life.release(), Released::Last);
    life.hold();
    assert_eq!(life.release(), Released::NotLast);
}

#[test]
fn life_3_a_section_keeps_the_pool_at_work() {
    let life = Life::new(1, 1);
    assert_eq!(life.try_hold_tasks(|| false), TasksHeld::Granted);
    assert_eq!((life.holds(), life.task_holds()), (2, 2));
    life.close();
    assert_eq!(life.release_with_tasks(), TasksReleased::NotLast);
    assert!(!life.tasks_end());
    let refused = TasksHeld::Refused(Released::NotLast);
    assert_eq!(life.try_hold_tasks(|| false), refused, "the handle is gone");
    assert_eq!(life.try_hold_tasks(|| true), TasksHeld::Granted);
    assert_eq!(life.release_with_tasks(), TasksReleased::NotLast);
    assert_eq!(life.release_with_tasks(), TasksReleased::Stop);
    assert!(life.tasks_end());
    assert_eq!(life.try_hold_tasks(|| true), refused);
}

#[test]
fn life_3_a_section_that_comes_too_late_leaves_no_hold() {
    let life = Life::new(1, 1);
    life.hold();
    assert_eq!(life.release_with_tasks(), TasksReleased::Cancel);
    assert_eq!(life.try_hold_tasks(|| true), TasksHeld::Refused(Released::NotLast));
    assert_eq!(life.holds(), 2);
}

#[test]
fn life_4_a_thread_that_ends_tasks_beside_a_job_cancels_them() {
    let life = Life::new(1, 1);
    life.hold();
    assert_eq!(life.try_hold(|| unreachable!("the handle is there")), Held::Granted);
    assert_eq!(life.release(), Released::NotLast);
    assert_eq!(life.release_with_tasks(), TasksReleased::Cancel);
    assert_eq!(life.holds(), 2, "the job's hold, and that of the thread that cancels");
    assert_eq!(life.try_hold(|| false), Held::AfterTasks);
    life.close();
    assert_eq!(life.try_hold(|| false), Held::Refused);
    assert_eq!(life.try_hold(|| true), Held::AfterTasks);
}

#[test]
fn life_5_the_handle_may_be_the_last_to_leave() {
    let life = Life::new(2, 2);
    assert_eq!([(); 3].map(|()| life.leave()), [Left::NotLast, Left::NotLast, Left::Last]);
    assert_eq!(life.leaving(), 0);
}

#[test]
fn life_6_a_handle_that_is_gone_is_seen() {
    let life = Life::new(1, 1);
    assert!(!life.is_closing() && !life.is_closing_at_last());
    life.close();
    assert!(life.is_closing() && life.is_closing_at_last());
}

#[test]
fn life_7_a_latecomer_is_counted_while_it_is_inside() {
    let life = Life::new(1, 1);
    life.come_late(|| assert!(life.anyone_late()));
    assert!(!life.anyone_late());
}

#[test]
fn life_8_the_last_participant_completes_the_start_and_the_end() {
    let life = Life::new(2, 1);
    life.count_in();
    life.count_in();
    life.wait_started();
    let ends = [(); 4].map(|()| life.count_out());
    assert_eq!(ends, [false, false, false, true]);
    life.ended().wait();
}

#[test]
fn life_9_a_worker_that_is_enlisted_leaves_as_the_others_do() {
    let life = Life::new(1, 1);
    life.enlist();
    life.enlist();
    life.discharge();
    assert_eq!(life.leaving(), 3);
    let left = [(); 3].map(|()| life.leave());
    assert_eq!(left, [Left::NotLast, Left::NotLast, Left::Last]);
    let ends = [(); 4].map(|()| life.count_out());
    assert_eq!(ends, [false, false, false, true]);
}

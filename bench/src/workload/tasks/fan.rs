//! One task wakes many waiting tasks, and goes on when all have run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{
    arrivals::Arrivals,
    batch::TaskJob,
    crowd::{Crowd, Member},
};
use crate::runtime::{Runtime, Tasks};

/// Which task is notified after the tasks have run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fan {
    /// No other task: the last one reports the end.
    Out,
    /// Another task, which each of them wakes.
    In,
}

#[derive(Clone, Copy)]
pub(super) struct Fanning {
    crowd: &'static Crowd<Asked>,
    tasks: usize,
}

/// One of the many, or the collector.
#[derive(Default)]
pub(super) struct Asked {
    asked: AtomicBool,
}

pub(super) struct Told {
    fan: Fan,
    /// How many members have notified the collector in this run. The collector is the last member.
    told: AtomicU64,
    complete: &'static Arrivals,
    /// How many members have run; zero until all have. Used by `Fan::In` only.
    ran: AtomicU64,
}

impl Fanning {
    pub(super) fn new<R: Runtime>(runtime: &R, tasks: usize, fan: Fan) -> Self {
        let (collectors, expected) = match fan {
            Fan::Out => (0, tasks as u64),
            Fan::In => (1, 1),
        };
        let crowd = Crowd::leaked(
            tasks + collectors,
            Told {
                fan,
                told: AtomicU64::new(0),
                complete: Arrivals::leaked(expected),
                ran: AtomicU64::new(0),
            },
        );
        crowd.gather(runtime);
        Self { crowd, tasks }
    }
}

impl Member for Asked {
    type Common = Told;

    #[inline]
    fn polled(crowd: &'static Crowd<Self>, index: usize) {
        let common = &crowd.common;
        let collector = crowd.len() - 1;
        if common.fan == Fan::In && index == collector {
            let all = collector as u64;
            if common.told.load(Ordering::Acquire) == all {
                common.told.store(0, Ordering::Relaxed);
                common.ran.store(all, Ordering::Relaxed);
                common.complete.arrive();
            }
            return;
        }
        if !crowd.member(index).asked.swap(false, Ordering::AcqRel) {
            return;
        }
        match common.fan {
            Fan::Out => common.complete.arrive(),
            Fan::In => {
                common.told.fetch_add(1, Ordering::AcqRel);
                crowd.wake(collector);
            }
        }
    }
}

impl TaskJob for Fanning {
    fn operations(self) -> u64 {
        self.tasks as u64
    }

    fn expected(self) -> u64 {
        self.tasks as u64
    }

    async fn run<T: Tasks>(self, _tasks: T) -> u64 {
        let common = &self.crowd.common;
        common.ran.store(0, Ordering::Relaxed);
        let complete = common.complete.expect();
        for index in 0..self.tasks {
            self.crowd.member(index).asked.store(true, Ordering::Release);
            self.crowd.wake(index);
        }
        // An error would show in the count.
        let _ = complete.await;
        match common.fan {
            Fan::Out => common.complete.arrived(),
            Fan::In => common.ran.load(Ordering::Relaxed),
        }
    }
}

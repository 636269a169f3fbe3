//! Timers that are cancelled, as almost every timeout is.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
    time::Duration,
};

use blitz_contestant::{Clock, Repeat, Repeated, Spent};

use super::{Contest, Pace};
use crate::runtime::{Outside, Tasks, Timers};

pub(super) fn open<R: Outside>(
    runtime: R,
    workers: usize,
    count: u64,
    pace: Pace,
) -> Box<dyn Contest> {
    Box::new(Repeated::new(Timeouts { runtime, tasks: workers as u64, count }, pace))
}

/// Timers that one task per worker starts and drops.
struct Timeouts<R> {
    runtime: R,
    tasks: u64,
    count: u64,
}

impl<R: Outside> Repeat for Timeouts<R> {
    fn time(&mut self, repetitions: usize) -> Result<Spent, String> {
        let (tasks, each) = (self.runtime.tasks(), self.count / self.tasks);
        let number = self.tasks;
        self.runtime.block_on(async move {
            let coordinate = tasks.spawn(async move {
                let clock = Clock::start();
                for _ in 0..repetitions {
                    let started: Vec<_> =
                        (0..number).map(|task| tasks.spawn(give_up(tasks, task, each))).collect();
                    for task in started {
                        task.await?;
                    }
                }
                Ok(clock.stop())
            });
            coordinate.await
        })
    }

    fn operations(&self) -> u64 {
        self.count / self.tasks * self.tasks
    }
}

/// Starts `count` timers, one after the other, and drops each before its time.
async fn give_up<T: Timers>(tasks: T, task: u64, count: u64) -> Result<(), String> {
    for n in 0..count {
        // Between one and sixty seconds, like typical timeouts.
        let sleep = tasks.sleep(Duration::from_millis(1_000 + (n * 7 + task) % 59_000));
        let mut sleep = pin!(sleep);
        // The first poll registers the timer.
        let elapsed = poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await;
        if elapsed {
            return Err(format!("timer {n} was early"));
        }
    }
    Ok(())
}

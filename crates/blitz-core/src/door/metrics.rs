//! Readings of the workers' counters.

#![forbid(unsafe_code)]

use super::region_metrics::RegionMetrics;
use super::schedstat::run_and_delay;
use super::task_metrics::TaskMetrics;
use super::type_metrics::{TraceMetrics, TypeMetrics};
use crate::state::{Histogram, Insight, StallKind, StateTimes, Times};
use crate::team::{Team, Worker};
use crate::worker::stalled;
use blitz_parts::thread::ThreadId;
use std::fmt;
use std::time::Duration;

/// A reading of one worker's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Jobs run, including those taken back by the `join` that forked them.
    pub jobs: u64,
    /// Jobs put onto the worker's own deque.
    pub pushes: u64,
    /// Jobs that the worker took back from its own deque.
    pub pops: u64,
    /// Attempts to take work from other workers, [`leapfrogs_tried`](Self::leapfrogs_tried)
    /// included.
    pub steals_tried: u64,
    /// Attempts that succeeded.
    pub steals_succeeded: u64,
    /// Attempts to take a part of the job that the worker waited for.
    pub leapfrogs_tried: u64,
    /// Those of these attempts that succeeded.
    pub leapfrogs: u64,
    /// Batches of jobs taken from the injector.
    pub injected_batches: u64,
    /// Jobs in the deque right now.
    pub queued: u64,
    /// Times the worker slept.
    pub parks: u64,
    /// Time asleep, without the current sleep.
    pub time_parked: Duration,
    /// How many times this worker woke another worker.
    pub wakes_sent: u64,
    /// Times this worker was woken, or caught on its way to sleep.
    pub wakes_received: u64,
    /// Idle phases in which the worker found work before it slept.
    pub found_awake: u64,
    /// Sleeps that the jobs event counter prevented.
    pub caught_by_jec: u64,
    /// The time in each state.
    pub time: StateTimes,
    /// How long its thread was runnable but had no core. Zero if the system does not report it.
    pub run_delay: Duration,
}

impl WorkerMetrics {
    pub(super) fn of(worker: &Worker) -> WorkerMetrics {
        let own = &worker.counters;
        let deque = &worker.deque;
        let sleep = worker.bed().stats();
        // Read the pushes last, because the owner pushes meanwhile: then no difference is negative.
        let (queued, stolen) = (deque.len() as u64, deque.stolen());
        let pushes = deque.pushes();
        let pops = pushes.saturating_sub(queued).saturating_sub(stolen);
        // A fork that is taken back is not counted when it runs. Popped jobs are already counted as
        // executed.
        let taken_back = pops.saturating_sub(own.popped.get());
        // Read the attempts last, because the owner goes on: then no success lacks its attempt.
        let (searched, leapfrogs) = (own.steals_won.get(), own.leapfrogs.get());
        let leapfrogs_tried = own.leapfrogs_tried.get();
        WorkerMetrics {
            jobs: own.executed.get() + taken_back,
            pushes,
            pops,
            steals_tried: own.steals_tried.get() + leapfrogs_tried,
            steals_succeeded: searched + leapfrogs,
            leapfrogs_tried,
            leapfrogs,
            injected_batches: own.injected.get(),
            queued,
            parks: sleep.parks.get(),
            time_parked: Duration::from_nanos(sleep.parked_ns.get()),
            wakes_sent: own.wakes_sent.get(),
            wakes_received: sleep.wakes_received.get(),
            found_awake: sleep.found_awake.get(),
            caught_by_jec: sleep.caught_by_jec.get(),
            time: worker
                .insight
                .states
                .read(worker.bed().is_in_driver(), worker.queues.counters.are_polling()),
            run_delay: worker.seat.thread().and_then(run_delay).unwrap_or_default(),
        }
    }

    fn add(&mut self, other: &WorkerMetrics) {
        self.jobs += other.jobs;
        self.pushes += other.pushes;
        self.pops += other.pops;
        self.steals_tried += other.steals_tried;
        self.steals_succeeded += other.steals_succeeded;
        self.leapfrogs_tried += other.leapfrogs_tried;
        self.leapfrogs += other.leapfrogs;
        self.injected_batches += other.injected_batches;
        self.queued += other.queued;
        self.parks += other.parks;
        self.time_parked += other.time_parked;
        self.wakes_sent += other.wakes_sent;
        self.wakes_received += other.wakes_received;
        self.found_awake += other.found_awake;
        self.caught_by_jec += other.caught_by_jec;
        self.time.add(&other.time);
        self.run_delay += other.run_delay;
    }
}

/// A reading of a pool's counters. While the pool works, the values are not from a single moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolMetrics {
    /// One entry per worker, by index; spares come after the workers that the pool was built with.
    pub workers: Vec<WorkerMetrics>,
    /// Counters of tasks.
    pub tasks: TaskMetrics,
    /// Panics that went to the panic handler.
    pub panics_reported: u64,
    /// Threads that were started beyond the workers; see
    /// [`PoolBuilder::spares`](crate::PoolBuilder::spares).
    pub spares: usize,
    /// How many spares work at the moment.
    pub spares_in_service: usize,
    /// How many times work waited and no spare was left.
    pub spares_refused: u64,
    /// How many times the watch has found a worker in the same poll or job for twenty rounds. The
    /// watch makes a round about once per millisecond while work waits.
    pub stalls: u64,
    /// Stalls by kind: see [`PoolMetrics::stalls_of`].
    pub(super) stalls_by_kind: [u64; 4],
    /// How many workers are stuck at this moment: see [`stalls`](crate::stalls()).
    pub stalled_workers: usize,
    /// How long jobs took, without private forks. A job that was not timed counts as if it took as
    /// long as the next timed one.
    pub job_times: Histogram,
    /// How long it took a worker to run after another thread woke it.
    pub wake_latencies: Histogram,
    /// How long awake workers searched for work before they stole some.
    pub steal_latencies: Histogram,
    /// How long workers slept in the driver.
    pub driver_waits: Histogram,
    /// How late timers fired, including the [slack](crate::PoolBuilder::timer_slack) that lets them
    /// fire together. Timers of a paused clock do not count.
    pub timer_lateness: Histogram,
    /// How long closures of [`spawn_blocking`](crate::spawn_blocking) waited for a thread.
    pub blocking_delays: Histogram,
    /// Polls and times by type of task, the busiest type first.
    pub types: Vec<TypeMetrics>,
    /// The [regions](crate::region()) by name, those with the longest time first.
    pub regions: Vec<RegionMetrics>,
    /// Counts of the events recorded for [traces](crate::Pool::trace).
    pub trace: TraceMetrics,
}

impl PoolMetrics {
    pub(super) fn of(team: &Team) -> PoolMetrics {
        let stalls = team.stalls.counts();
        PoolMetrics {
            workers: team.workers().map(WorkerMetrics::of).collect(),
            tasks: TaskMetrics::of(team),
            panics_reported: team.panics.get(),
            spares: team.spares.started(),
            spares_in_service: team.spares.in_service(),
            spares_refused: team.spares.refusals(),
            stalls: stalls.iter().sum(),
            stalls_by_kind: stalls,
            stalled_workers: stalled(team),
            job_times: sum(team, |insight| &insight.jobs),
            wake_latencies: sum(team, |insight| &insight.wakes),
            steal_latencies: steal_latencies(team),
            driver_waits: sum(team, |insight| &insight.driver_waits),
            timer_lateness: team.timer_lateness.read(),
            blocking_delays: team.blocking_delays.read(),
            types: TypeMetrics::of(team),
            regions: RegionMetrics::of(team),
            trace: TraceMetrics::of(team),
        }
    }

    /// Returns how many of the [stalls](PoolMetrics::stalls) were of this kind.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// assert_eq!(pool.metrics().stalls_of(blitz::StallKind::Blocked), 0);
    /// ```
    #[must_use]
    pub fn stalls_of(&self, kind: StallKind) -> u64 {
        self.stalls_by_kind[kind as usize]
    }

    /// The sum over all workers.
    #[must_use]
    pub fn total(&self) -> WorkerMetrics {
        let mut total = WorkerMetrics::default();
        for worker in &self.workers {
            total.add(worker);
        }
        total
    }
}

/// How long a thread of this process waited for a core.
fn run_delay(thread: ThreadId) -> Option<Duration> {
    run_and_delay(thread.to_bits()).map(|(_, delay)| delay)
}

/// How long workers searched for work before they stole some.
pub(super) fn steal_latencies(team: &Team) -> Histogram {
    sum(team, |insight| &insight.steals)
}

/// Sums a histogram over all workers.
fn sum(team: &Team, times: impl Fn(&Insight) -> &Times) -> Histogram {
    let mut sum = Histogram::default();
    team.workers().for_each(|worker| sum.add(&times(&worker.insight).read()));
    sum
}

impl fmt::Display for PoolMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "worker        jobs      pushes        pops  steals (tried)  from outside   parks  \
             woke/woken  slept"
        )?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, m: &WorkerMetrics| {
            writeln!(
                f,
                "{name:>6} {:>11} {:>11} {:>11} {:>7} ({:>5}) {:>13} {:>7} {:>5}/{:<5} {:>7.1?}",
                m.jobs,
                m.pushes,
                m.pops,
                m.steals_succeeded,
                m.steals_tried,
                m.injected_batches,
                m.parks,
                m.wakes_sent,
                m.wakes_received,
                m.time_parked
            )
        };
        for (index, worker) in self.workers.iter().enumerate() {
            row(f, &index.to_string(), worker)?;
        }
        row(f, "all", &self.total())?;
        if self.spares > 0 {
            let (all, at_work, refused) =
                (self.spares, self.spares_in_service, self.spares_refused);
            writeln!(f, "spares: {all} started, {at_work} at work, none was left {refused} times")?;
        }
        if self.tasks.spawned > 0 {
            writeln!(f, "{}", self.tasks)?;
        }
        match self.panics_reported {
            0 => Ok(()),
            panics => writeln!(f, "panics that no caller waited for: {panics}"),
        }
    }
}

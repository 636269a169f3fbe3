//! Requests at a fixed rate beside jobs: the latency of the requests, and the time and CPU time per
//! job.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ScopedJoinHandle},
    time::{Duration, Instant},
};

use super::{Contest, Pace, job::SizedJob};
use crate::{
    load::{Ask, Load, Talk},
    os,
    rival::Seq,
    runtime::{Hybrid, Job as _, Jobs, Outside as _, Runtime as _, Tasks as _},
    workload::{Metric, Sample, io::serving, nanoseconds},
};

pub(super) fn open<H: Hybrid>(
    workers: usize,
    talk: Talk,
    job: SizedJob,
    in_flight: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    let told = |error: std::io::Error| error.to_string();
    let (runtime, jobs) = H::build(workers)?;
    let listener = serving::listen().map_err(told)?;
    let address = listener.local_addr().map_err(told)?;
    match talk {
        Talk::Echo(_) => runtime.echo(listener)?,
        Talk::Hello => runtime.hello(listener)?,
    }
    let load = Load { address, connections: CONNECTIONS, talk, rate: Some(RATE) };
    let time = match pace {
        Pace::Smoke => Duration::from_millis(5),
        Pace::Quick | Pace::Full => Duration::from_millis(1_500),
    };
    Ok(Box::new(Beside::<H> {
        clients: serving::connect(load, pace)?,
        runtime,
        jobs,
        job,
        expected: job.run::<Seq>(&mut ()),
        in_flight,
        time,
    }))
}

/// `clients` is the first field, so that the connections end before the server does.
struct Beside<H: Hybrid> {
    clients: Box<dyn Ask + Send>,
    runtime: H::Runtime,
    jobs: H::Jobs,
    job: SizedJob,
    expected: u64,
    in_flight: usize,
    time: Duration,
}

impl<H: Hybrid> Contest for Beside<H> {
    fn turn(&mut self) -> Result<Sample, String> {
        let Self { clients, runtime, jobs, job, expected, in_flight, time } = self;
        let (jobs, job, expected, in_flight, time) = (*jobs, *job, *expected, *in_flight, *time);
        let runtime = &*runtime;
        let enough = Arc::new(AtomicBool::new(false));
        let cpu_before = os::cpu_time();
        let (done, harvest) = thread::scope(|scope| {
            let until = Arc::clone(&enough);
            let doing = scope.spawn(move || {
                let start = Instant::now();
                let done = do_jobs::<H>(runtime, jobs, job, expected, in_flight, until)?;
                Ok::<_, String>((done, start.elapsed()))
            });
            let asking = scope.spawn(|| clients.ask(time));
            thread::sleep(time);
            // End the jobs: then a starved server answers, and the clients stop waiting.
            enough.store(true, Ordering::Relaxed);
            (result_of(doing), result_of(asking))
        });
        let cpu_after = os::cpu_time();
        let ((done, elapsed), harvest) = (done?, harvest?);
        let per_job = |time| nanoseconds(time) / done as f64;
        let mut sample = harvest.latencies;
        sample.insert(Metric::PerJob, per_job(elapsed));
        if let Some((before, after)) = cpu_before.zip(cpu_after) {
            sample.insert(Metric::Cpu, per_job(after.saturating_sub(before)));
        }
        Ok(sample)
    }
}

/// Starts `in_flight` tasks that run `job` repeatedly, and counts the jobs.
fn do_jobs<H: Hybrid>(
    runtime: &H::Runtime,
    jobs: H::Jobs,
    job: SizedJob,
    expected: u64,
    in_flight: usize,
    enough: Arc<AtomicBool>,
) -> Result<u64, String> {
    let tasks = runtime.tasks();
    runtime.block_on(async move {
        let start = |_| {
            let enough = Arc::clone(&enough);
            tasks.spawn(async move {
                let mut done = 0;
                loop {
                    let result = jobs.run(job).await?;
                    if result != expected {
                        return Err(format!("a job resulted in {result} instead of {expected}"));
                    }
                    done += 1;
                    if enough.load(Ordering::Relaxed) {
                        return Ok::<u64, String>(done);
                    }
                }
            })
        };
        let started: Vec<_> = (0..in_flight).map(start).collect();
        let mut done = 0;
        for task in started {
            done += task.await?;
        }
        Ok(done)
    })
}

fn result_of<T>(thread: ScopedJoinHandle<'_, Result<T, String>>) -> Result<T, String> {
    thread.join().map_err(|_| "a thread panicked".to_owned())?
}

/// Requests per second. Serving them takes a small fraction of a processor.
const RATE: u32 = 2_000;

/// Enough that a connection has its answer long before its next request is due.
const CONNECTIONS: usize = 16;

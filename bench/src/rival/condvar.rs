//! The baseline of the wake-up rows: a queue behind a mutex, and a condition variable to sleep on.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar as StdCondvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use super::{Build, Post};

/// Threads that take jobs from one locked queue.
#[derive(Debug)]
pub struct Condvar {
    queue: Arc<Queue>,
    workers: Vec<JoinHandle<()>>,
}

impl Build for Condvar {
    fn build(workers: usize) -> Result<Self, String> {
        let mut pool = Self { queue: Arc::default(), workers: Vec::new() };
        for _ in 0..workers {
            let queue = Arc::clone(&pool.queue);
            let worker = thread::Builder::new()
                .spawn(move || queue.serve())
                .map_err(|error| error.to_string())?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }
}

impl Post for Condvar {
    fn post(&self, job: impl FnOnce() + Send + 'static) {
        self.queue.push(Some(Box::new(job)));
    }
}

impl Drop for Condvar {
    fn drop(&mut self) {
        for _ in &self.workers {
            self.queue.push(None);
        }
        for worker in self.workers.drain(..) {
            // A panic of a job was already reported on stderr.
            let _ = worker.join();
        }
    }
}

/// `None` tells one worker to stop.
type Job = Option<Box<dyn FnOnce() + Send>>;

#[derive(Default)]
struct Queue {
    jobs: Mutex<VecDeque<Job>>,
    ready: StdCondvar,
}

impl Queue {
    fn push(&self, job: Job) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.push_back(job);
        drop(jobs);
        self.ready.notify_one();
    }

    fn serve(&self) {
        while let Some(job) = self.take() {
            job();
        }
    }

    fn take(&self) -> Job {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match jobs.pop_front() {
                Some(job) => return job,
                None => {
                    jobs = self.ready.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

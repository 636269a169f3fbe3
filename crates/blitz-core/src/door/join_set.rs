//! Starts tasks of a set on pools.

#![forbid(unsafe_code)]

use super::handle::Handle;
use super::jobs::spawn_cpu;
use super::tasks::{spawn, spawn_blocking};
use crate::task::{AbortHandle, JoinSet};
use std::future::Future;

impl<T: 'static> JoinSet<T> {
    /// Starts a task of the set: see [`spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(spawn(future))
    }

    /// Starts a task of the set on the pool of `handle`.
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build().unwrap();
    /// let mut set = blitz::JoinSet::new();
    /// set.spawn_on(async { blitz::current_num_workers() }, &pool.handle());
    /// assert_eq!(blitz::block_on(set.join_next()).unwrap().unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, future: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(future))
    }

    /// Starts a job of the set, which computes: see [`spawn_cpu`](crate::spawn_cpu).
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut set = blitz::JoinSet::new();
    /// set.spawn_cpu(|| (1..=10).product::<u64>());
    /// assert_eq!(set.join_next().await.unwrap().unwrap(), 3_628_800);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_cpu<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(spawn_cpu(f))
    }

    /// Starts a closure of the set, which blocks: see [`spawn_blocking`](crate::spawn_blocking).
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut set = blitz::JoinSet::new();
    /// set.spawn_blocking(|| std::fs::metadata("Cargo.toml").unwrap().is_file());
    /// assert!(set.join_next().await.unwrap().unwrap());
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(spawn_blocking(f))
    }

    /// Works like [`spawn_blocking`](JoinSet::spawn_blocking), with a thread of the pool of
    /// `handle`.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(f))
    }
}

/// Spawns each of the futures.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> JoinSet<T> {
        let mut set = JoinSet::new();
        for future in futures {
            set.spawn(future);
        }
        set
    }
}

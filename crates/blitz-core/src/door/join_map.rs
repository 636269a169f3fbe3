//! A set of tasks with keys.

#![forbid(unsafe_code)]

use super::handle::Handle;
use crate::base::JoinError;
use crate::task::{AbortHandle, Id, JoinSet, LocalSet};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash, RandomState};

/// A set of tasks and jobs with keys. Returns each result with its key when the task ends.
///
/// A key has one task: a second task under the same key aborts the first task and replaces it.
/// Dropping the map aborts the tasks that are left.
///
/// ```
/// # blitz::block_on(async {
/// let mut map = blitz::task::JoinMap::new();
/// for name in ["one", "three"] {
///     map.spawn(name, async move { name.len() });
/// }
/// while let Some((name, length)) = map.join_next().await {
///     assert_eq!(length.unwrap(), name.len());
/// }
/// # });
/// ```
#[must_use = "dropping the map aborts its tasks"]
pub struct JoinMap<K, V, S = RandomState> {
    set: JoinSet<V>,
    /// Every task of the map, including tasks that have lost their keys.
    tasks: HashMap<Id, Member<K>>,
    /// The tasks by the hashes of their keys.
    by_hash: HashMap<u64, Vec<Id>>,
    /// How many tasks have keys.
    len: usize,
    hasher: S,
}

struct Member<K> {
    abort: AbortHandle,
    /// `None` once another task has taken over the key.
    key: Option<K>,
}

impl<K, V> JoinMap<K, V> {
    /// Creates an empty map.
    pub fn new() -> JoinMap<K, V> {
        JoinMap::with_hasher(RandomState::new())
    }
}

impl<K, V, S> JoinMap<K, V, S> {
    /// Creates an empty map whose keys are hashed by `hasher`.
    ///
    /// ```
    /// use std::hash::RandomState;
    /// let map = blitz::task::JoinMap::<&str, u32, _>::with_hasher(RandomState::new());
    /// assert!(map.is_empty());
    /// ```
    pub fn with_hasher(hasher: S) -> JoinMap<K, V, S> {
        let (tasks, by_hash) = (HashMap::new(), HashMap::new());
        JoinMap { set: JoinSet::new(), tasks, by_hash, len: 0, hasher }
    }

    /// Returns how many keys have a task that runs or whose result was not taken yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no key has a task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the keys that have a task, in no particular order.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut map = blitz::task::JoinMap::new();
    /// map.spawn(7, std::future::pending::<()>());
    /// assert_eq!(map.keys().collect::<Vec<_>>(), [&7]);
    /// # });
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.tasks.values().filter_map(|member| member.key.as_ref())
    }

    /// Whether a key has the task with this id.
    #[must_use]
    pub fn contains_task(&self, id: &Id) -> bool {
        self.tasks.get(id).is_some_and(|member| member.key.is_some())
    }
}

impl<K, V, S> JoinMap<K, V, S>
where
    K: Hash + Eq,
    V: 'static,
    S: BuildHasher,
{
    /// Starts the task of `key`: see [`spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F>(&mut self, key: K, task: F)
    where
        F: Future<Output = V> + Send + 'static,
        V: Send,
    {
        let abort = self.set.spawn(task);
        self.insert(key, abort);
    }

    /// Works like [`spawn`](JoinMap::spawn), on the pool of `handle`.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, key: K, task: F, handle: &Handle)
    where
        F: Future<Output = V> + Send + 'static,
        V: Send,
    {
        let abort = self.set.spawn_on(task, handle);
        self.insert(key, abort);
    }

    /// Starts the job of `key`, which computes: see [`spawn_cpu`](crate::spawn_cpu).
    #[track_caller]
    pub fn spawn_cpu<F>(&mut self, key: K, f: F)
    where
        F: FnOnce() -> V + Send + 'static,
        V: Send,
    {
        let abort = self.set.spawn_cpu(f);
        self.insert(key, abort);
    }

    /// Starts the closure of `key`, which blocks: see [`spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, key: K, f: F)
    where
        F: FnOnce() -> V + Send + 'static,
        V: Send,
    {
        let abort = self.set.spawn_blocking(f);
        self.insert(key, abort);
    }

    /// Works like [`spawn_blocking`](JoinMap::spawn_blocking), with a thread of the pool of
    /// `handle`.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, key: K, f: F, handle: &Handle)
    where
        F: FnOnce() -> V + Send + 'static,
        V: Send,
    {
        let abort = self.set.spawn_blocking_on(f, handle);
        self.insert(key, abort);
    }

    /// Starts the task of `key`, which stays on this thread: see
    /// [`spawn_local`](crate::spawn_local).
    ///
    /// # Panics
    /// If called outside every [`LocalSet`].
    #[track_caller]
    pub fn spawn_local<F>(&mut self, key: K, task: F)
    where
        F: Future<Output = V> + 'static,
    {
        let abort = self.set.spawn_local(task);
        self.insert(key, abort);
    }

    /// Works like [`spawn_local`](JoinMap::spawn_local), in `local`.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, key: K, task: F, local: &LocalSet)
    where
        F: Future<Output = V> + 'static,
    {
        let abort = self.set.spawn_local_on(task, local);
        self.insert(key, abort);
    }

    fn insert(&mut self, key: K, abort: AbortHandle) {
        let before = self.find(&key);
        if let Some(before) = before {
            self.forget_key(before);
        }
        let id = abort.id();
        self.by_hash.entry(self.hasher.hash_one(&key)).or_default().push(id);
        self.tasks.insert(id, Member { abort, key: Some(key) });
        self.len += 1;
        // An abort may drop the future, which runs user code: the map is consistent by now.
        if let Some(before) = before.and_then(|before| self.tasks.get(&before)) {
            before.abort.abort();
        }
    }

    fn find<Q>(&self, key: &Q) -> Option<Id>
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q>,
    {
        let ids = self.by_hash.get(&self.hasher.hash_one(key))?;
        let has_key = |id: &&Id| {
            let member = self.tasks.get(id).and_then(|member| member.key.as_ref());
            member.is_some_and(|own| own.borrow() == key)
        };
        ids.iter().find(has_key).copied()
    }

    /// Takes the key of a task away.
    fn forget_key(&mut self, id: Id) -> Option<K> {
        let key = self.tasks.get_mut(&id)?.key.take()?;
        let hash = self.hasher.hash_one(&key);
        if let Some(ids) = self.by_hash.get_mut(&hash) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_hash.remove(&hash);
            }
        }
        self.len -= 1;
        Some(key)
    }

    /// Waits for the next task with a key to end; returns its key and its result.
    ///
    /// Returns `None` if no key has a task.
    ///
    /// No result is lost if the future is dropped before it is ready, for example by `select!`.
    pub async fn join_next(&mut self) -> Option<(K, Result<V, JoinError>)> {
        while !self.is_empty() {
            let joined = self.set.join_next_with_id().await?;
            if let Some(ended) = self.take(joined) {
                return Some(ended);
            }
        }
        None
    }

    /// Returns the key and the result of a task that has ended, if there is one right now.
    ///
    /// See [`join_next`](JoinMap::join_next).
    ///
    /// ```
    /// let mut map = blitz::task::JoinMap::new();
    /// map.spawn_cpu("seven", || 7);
    /// let (key, result) = loop {
    ///     if let Some(ended) = map.try_join_next() {
    ///         break ended;
    ///     }
    ///     std::thread::yield_now();
    /// };
    /// assert_eq!((key, result.unwrap()), ("seven", 7));
    /// ```
    pub fn try_join_next(&mut self) -> Option<(K, Result<V, JoinError>)> {
        while let Some(joined) = self.set.try_join_next_with_id() {
            if let Some(ended) = self.take(joined) {
                return Some(ended);
            }
        }
        None
    }

    /// Returns the result of a task, unless another task has its key by now.
    fn take(&mut self, joined: Result<(Id, V), JoinError>) -> Option<(K, Result<V, JoinError>)> {
        let (id, result) = match joined {
            Ok((id, value)) => (id, Ok(value)),
            Err(error) => (error.id(), Err(error)),
        };
        let key = self.forget_key(id);
        self.tasks.remove(&id);
        key.map(|key| (key, result))
    }

    /// Whether `key` has a task.
    #[must_use]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q>,
    {
        self.find(key).is_some()
    }

    /// Aborts the task of `key`, which stays in the map until it is joined. Returns whether there
    /// is one.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut map = blitz::task::JoinMap::new();
    /// map.spawn("stuck".to_owned(), std::future::pending::<()>());
    /// assert!(map.abort("stuck") && !map.abort("another"));
    /// let (key, result) = map.join_next().await.unwrap();
    /// assert!(key == "stuck" && result.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort<Q>(&mut self, key: &Q) -> bool
    where
        Q: Hash + Eq + ?Sized,
        K: Borrow<Q>,
    {
        match self.find(key).and_then(|id| self.tasks.get(&id)) {
            Some(member) => {
                member.abort.abort();
                true
            }
            None => false,
        }
    }

    /// Aborts the tasks of those keys for which `predicate` returns true.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut map = blitz::task::JoinMap::new();
    /// for user in ["anna", "bert", "berta"] {
    ///     map.spawn(user, std::future::pending::<()>());
    /// }
    /// map.abort_matching(|user| user.starts_with("bert"));
    /// for _ in 0..2 {
    ///     let (_, result) = map.join_next().await.unwrap();
    ///     assert!(result.unwrap_err().is_cancelled());
    /// }
    /// assert!(map.contains_key("anna") && !map.contains_key("bert"));
    /// # });
    /// ```
    pub fn abort_matching(&mut self, mut predicate: impl FnMut(&K) -> bool) {
        for member in self.tasks.values() {
            if member.key.as_ref().is_some_and(&mut predicate) {
                member.abort.abort();
            }
        }
    }

    /// Aborts all tasks. They stay in the map until they are joined.
    pub fn abort_all(&mut self) {
        self.set.abort_all();
    }

    /// Aborts all tasks, including those that have lost their keys to other tasks, and waits for
    /// their end. Drops results and panics.
    ///
    /// ```
    /// # blitz::block_on(async {
    /// let mut map = blitz::task::JoinMap::new();
    /// map.spawn(1, std::future::pending::<()>());
    /// map.shutdown().await;
    /// assert!(map.is_empty());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        // Tasks that have lost their keys may still run, so an empty map is not the end.
        while let Some(joined) = self.set.join_next_with_id().await {
            drop(self.take(joined));
        }
    }

    /// Takes all tasks out of the map without aborting them.
    pub fn detach_all(&mut self) {
        self.tasks.clear();
        self.by_hash.clear();
        self.len = 0;
        self.set.detach_all();
    }
}

impl<K, V, S: Default> Default for JoinMap<K, V, S> {
    fn default() -> JoinMap<K, V, S> {
        JoinMap::with_hasher(S::default())
    }
}

impl<K: fmt::Debug, V, S> fmt::Debug for JoinMap<K, V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys()).finish()
    }
}

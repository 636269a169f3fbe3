//! Programs that must not compile. Nearly every program stands beside a twin that compiles. Only
//! the mistake differs, so the program cannot fail for another reason.

/// A closure that another thread may run must be `Send`.
///
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// blitz::join(|| *shared, || 2);
/// ```
/// ```
/// let shared = std::sync::Arc::new(1);
/// blitz::join(|| *shared, || 2);
/// ```
pub struct JoinNeedsSendClosures;

/// A result must be `Send`, too.
///
/// ```compile_fail,E0277
/// blitz::join(|| 1, || std::rc::Rc::new(2));
/// ```
/// ```
/// blitz::join(|| 1, || std::sync::Arc::new(2));
/// ```
pub struct JoinNeedsSendResults;

/// The two halves cannot change the same value.
///
/// ```compile_fail,E0499
/// let mut count = 0;
/// blitz::join(|| count += 1, || count += 2);
/// ```
/// ```
/// let mut counts = (0, 0);
/// blitz::join(|| counts.0 += 1, || counts.1 += 2);
/// ```
pub struct JoinHalvesDoNotShareMutably;

/// A job of a scope cannot borrow from the scope's own body.
///
/// ```compile_fail,E0373
/// blitz::scope(|s| {
///     let inside = 1;
///     s.spawn(|_| assert_eq!(inside, 1));
/// });
/// ```
/// ```
/// let outside = 1;
/// blitz::scope(|s| {
///     s.spawn(|_| assert_eq!(outside, 1));
/// });
/// ```
pub struct ScopeJobsOutliveTheBody;

/// A value that a job of a scope borrows must live until the scope has ended.
///
/// ```compile_fail,E0597
/// let mut last = None;
/// blitz::scope(|s| {
///     let text = String::from("short-lived");
///     let borrowed = &text;
///     s.spawn(move |_| println!("{borrowed}"));
///     last = Some(1);
/// });
/// ```
/// ```
/// let mut last = None;
/// let text = String::from("long-lived");
/// blitz::scope(|s| {
///     let borrowed = &text;
///     s.spawn(move |_| println!("{borrowed}"));
///     last = Some(1);
/// });
/// ```
pub struct ScopeJobsBorrowLongEnough;

/// A scope does not leave its body.
///
/// ```compile_fail,E0521
/// let mut leaked = None;
/// blitz::scope(|s| leaked = Some(s));
/// ```
/// ```
/// let mut name = None;
/// blitz::scope(|s| name = Some(format!("{s:?}")));
/// assert!(name.unwrap().contains("Scope"));
/// ```
pub struct ScopesStayInside;

/// A scope's lifetime does not shrink.
///
/// A shorter lifetime would let jobs borrow values that do not live long enough.
///
/// ```compile_fail
/// fn shrink<'long: 'short, 'short, 'a>(scope: &'a blitz::Scope<'long>) -> &'a blitz::Scope<'short> {
///     scope
/// }
/// ```
/// ```
/// fn same<'long, 'a>(scope: &'a blitz::Scope<'long>) -> &'a blitz::Scope<'long> {
///     scope
/// }
/// ```
pub struct ScopeLifetimesAreInvariant;

/// A scope's lifetime does not grow, either.
///
/// ```compile_fail
/// fn grow<'long: 'short, 'short, 'a>(scope: &'a blitz::Scope<'short>) -> &'a blitz::Scope<'long> {
///     scope
/// }
/// ```
pub struct ScopeLifetimesDoNotGrow;

/// A scope's jobs must be `Send`; the body of an in-place scope need not be.
///
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// blitz::in_place_scope(|s| {
///     let shared = &shared;
///     s.spawn(move |_| assert_eq!(**shared, 1));
/// });
/// ```
/// ```
/// let shared = std::rc::Rc::new(1);
/// blitz::in_place_scope(|s| {
///     let number = *shared;
///     s.spawn(move |_| assert_eq!(number, 1));
/// });
/// ```
pub struct ScopeJobsAreSend;

/// A spawned job borrows nothing.
///
/// ```compile_fail,E0597
/// let handle;
/// {
///     let text = String::from("gone");
///     let borrowed = &text;
///     handle = blitz::spawn_cpu(move || borrowed.len());
/// }
/// handle.join().unwrap();
/// ```
/// ```
/// let handle;
/// {
///     let text = String::from("moved");
///     handle = blitz::spawn_cpu(move || text.len());
/// }
/// assert_eq!(handle.join().unwrap(), 5);
/// ```
pub struct SpawnedJobsAreStatic;

/// A context belongs to one thread and stays there.
///
/// ```compile_fail,E0277
/// blitz::join_context(|context| blitz::join(|| context.migrated(), || ()), |_| ());
/// ```
/// ```
/// blitz::join_context(|context| { let m = context.migrated(); blitz::join(|| m, || ()) }, |_| ());
/// ```
pub struct ContextsStayOnTheirThread;

/// An installed closure must be `Send`.
///
/// ```compile_fail,E0277
/// let pool = blitz::Pool::builder().workers(1).build().unwrap();
/// let shared = std::rc::Rc::new(1);
/// pool.install(|| *shared);
/// ```
/// ```
/// let pool = blitz::Pool::builder().workers(1).build().unwrap();
/// let shared = std::sync::Arc::new(1);
/// pool.install(|| *shared);
/// ```
pub struct InstallNeedsSend;

/// `#[blitz::main]` is for async functions.
///
/// ```compile_fail
/// #[blitz::main]
/// fn main() {}
/// ```
/// ```
/// #[blitz::main]
/// async fn main() {}
/// ```
pub struct MainIsAsync;

/// The function below `#[blitz::main]` has no caller that could pass arguments.
///
/// ```compile_fail
/// #[blitz::main]
/// async fn run(workers: usize) {}
/// # fn main() {}
/// ```
/// ```
/// #[blitz::main]
/// async fn run() {}
/// # fn main() {}
/// ```
pub struct MainHasNoArguments;

/// The function below `#[blitz::main]` has no caller that could choose generics.
///
/// ```compile_fail
/// #[blitz::main]
/// async fn run<T>() {}
/// # fn main() {}
/// ```
/// ```
/// #[blitz::main]
/// async fn run() {}
/// # fn main() {}
/// ```
pub struct MainHasNoGenerics;

/// The function below `#[blitz::main]` is safe.
///
/// ```compile_fail
/// #[blitz::main]
/// async unsafe fn run() {}
/// # fn main() {}
/// ```
/// ```
/// #[blitz::main]
/// pub async fn run() {}
/// # fn main() {}
/// ```
pub struct MainIsSafe;

/// The item below `#[blitz::main]` is a function.
///
/// ```compile_fail
/// #[blitz::main]
/// struct Run;
/// # fn main() {}
/// ```
pub struct MainIsAFunction;

/// Only names of schedulers are accepted.
///
/// ```compile_fail
/// #[blitz::main(scheduler = "stealin")]
/// async fn main() {}
/// ```
/// ```compile_fail
/// #[blitz::main(scheduler = blitz::Scheduler::Stealin)]
/// async fn main() {}
/// ```
/// ```
/// #[blitz::main(scheduler = "stealing")]
/// async fn main() {}
/// ```
/// ```
/// #[blitz::main(scheduler = blitz::Scheduler::Stealing)]
/// async fn main() {}
/// ```
pub struct SchedulersHaveNames;

/// Only known arguments are accepted, each once, with a value.
///
/// ```compile_fail
/// #[blitz::main(threads = 2)]
/// async fn main() {}
/// ```
/// ```compile_fail
/// #[blitz::main(flavor = "many_threads")]
/// async fn main() {}
/// ```
/// ```compile_fail
/// #[blitz::main(flavor = "current_thread", worker_threads = 2)]
/// async fn main() {}
/// ```
/// ```compile_fail
/// #[blitz::main(workers = 2, worker_threads = 2)]
/// async fn main() {}
/// ```
/// ```compile_fail
/// #[blitz::main(workers)]
/// async fn main() {}
/// ```
/// ```compile_fail
/// #[blitz::main(workers = "2")]
/// async fn main() {}
/// ```
/// ```compile_fail
/// #[blitz::main(workers = 2, workers = 2)]
/// async fn main() {}
/// ```
/// ```
/// #[blitz::main(workers = 2)]
/// async fn main() {}
/// ```
pub struct ArgumentsAreChecked;

/// `#[blitz::test]` is a `#[test]` already.
///
/// ```compile_fail
/// # fn main() {}
/// #[blitz::test]
/// #[test]
/// async fn run() {}
/// ```
/// ```
/// # fn main() {}
/// #[blitz::test]
/// #[ignore]
/// async fn run() {}
/// ```
pub struct TestsAreMarkedOnce;

/// Values that a task keeps across an await must be `Send`.
///
/// At an await the task may move to another worker. The values of a local task need not be `Send`.
///
/// ```compile_fail
/// drop(blitz::spawn(async {
///     let stays = std::rc::Rc::new(1);
///     blitz::task::yield_now().await;
///     drop(stays);
/// }));
/// ```
/// ```
/// let set = blitz::LocalSet::new();
/// drop(set.spawn_local(async {
///     let stays = std::rc::Rc::new(1);
///     blitz::task::yield_now().await;
///     drop(stays);
/// }));
/// ```
pub struct TasksAreSend;

/// The result of a local task stays on its thread, unless it is `Send`.
///
/// ```compile_fail,E0277
/// let set = blitz::LocalSet::new();
/// let handle = set.spawn_local(async { std::rc::Rc::new(1) });
/// std::thread::spawn(move || drop(handle));
/// ```
/// ```
/// let set = blitz::LocalSet::new();
/// let handle = set.spawn_local(async { std::sync::Arc::new(1) });
/// std::thread::spawn(move || drop(handle));
/// ```
pub struct LocalResultsStay;

/// A local set stays on its thread, because its futures are dropped there.
///
/// ```compile_fail,E0277
/// let set = blitz::LocalSet::new();
/// std::thread::spawn(move || drop(set));
/// ```
/// ```
/// std::thread::spawn(|| drop(blitz::LocalSet::new()));
/// ```
pub struct LocalSetsStay;

/// A task that awaits a local set stays on the set's thread, too.
///
/// ```compile_fail
/// let set = blitz::LocalSet::new();
/// drop(blitz::spawn(set));
/// ```
/// ```
/// let set = blitz::LocalSet::new();
/// blitz::block_on(set);
/// ```
pub struct LocalSetsAreNotSpawned;

/// Items of a parallel iterator must be `Send`.
///
/// ```compile_fail,E0277
/// use blitz::prelude::*;
/// (0..3).into_par_iter().map(|n| std::rc::Rc::new(n)).for_each(drop);
/// ```
/// ```
/// use blitz::prelude::*;
/// (0..3).into_par_iter().map(|n| std::sync::Arc::new(n)).for_each(drop);
/// ```
pub struct ItemsAreSent;

/// Values that a closure of a parallel iterator captures must be `Sync`.
///
/// ```compile_fail,E0277
/// use blitz::prelude::*;
/// let count = std::cell::Cell::new(0);
/// (0..3).into_par_iter().for_each(|n| count.set(n));
/// ```
/// ```
/// use blitz::prelude::*;
/// let count = std::sync::atomic::AtomicI32::new(0);
/// (0..3).into_par_iter().for_each(|n| count.store(n, std::sync::atomic::Ordering::Relaxed));
/// ```
pub struct ClosuresOfLoopsAreShared;

/// Closures of a parallel iterator cannot capture an `Rc`, even if they only read it.
///
/// ```compile_fail,E0277
/// use blitz::prelude::*;
/// let limit = std::rc::Rc::new(2);
/// assert_eq!((0..3).into_par_iter().filter(|n| *n < *limit).count(), 2);
/// ```
/// ```
/// use blitz::prelude::*;
/// let limit = std::sync::Arc::new(2);
/// assert_eq!((0..3).into_par_iter().filter(|n| *n < *limit).count(), 2);
/// ```
pub struct ClosuresOfLoopsCaptureNoRc;

/// Only iterators that know where each item is can be zipped.
///
/// ```compile_fail,E0599
/// use blitz::prelude::*;
/// let some = (0..9).into_par_iter().filter(|n| n % 2 == 0);
/// assert_eq!(some.zip(0..9).count(), 5);
/// ```
/// ```
/// use blitz::prelude::*;
/// let some = (0..9).into_par_iter().step_by(2);
/// assert_eq!(some.zip(0..9).count(), 5);
/// ```
pub struct FilteredItemsHaveNoIndex;

/// A collection of cells cannot be shared, but its items can be changed one by one.
///
/// ```compile_fail,E0599
/// use blitz::prelude::*;
/// let cells = vec![std::cell::Cell::new(1)];
/// cells.par_iter().for_each(|cell| cell.set(2));
/// ```
/// ```
/// use blitz::prelude::*;
/// let mut cells = vec![std::cell::Cell::new(1)];
/// cells.par_iter_mut().for_each(|cell| cell.set(2));
/// ```
pub struct SharedItemsAreSync;

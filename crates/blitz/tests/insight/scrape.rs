//! Metrics in the format of Prometheus.

use super::common::{wait_for, wait_for_parked, watched};
use blitz::Pool;
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

/// The contents of a page: types by family, and values by name and labels.
#[derive(Default)]
struct Page {
    types: HashMap<String, String>,
    values: BTreeMap<String, f64>,
}

impl Page {
    /// Reads a page line by line, and fails where a scraper would.
    fn parse(text: &str) -> Page {
        let mut page = Page::default();
        let mut family = String::new();
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(page.types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name}");
                family = name.to_owned();
            } else if !line.starts_with("# HELP ") {
                let (key, value) = line.rsplit_once(' ').unwrap();
                assert!(key.starts_with(&family), "{key} in {family}");
                let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
                assert!(page.values.insert(key.to_owned(), value).is_none(), "{key} twice");
            }
        }
        page
    }

    /// Returns all values whose keys begin with `begin`.
    fn all(&self, begin: &str) -> Vec<(&str, f64)> {
        let all = self.values.iter().filter(|(key, _)| key.starts_with(begin));
        all.map(|(key, value)| (key.as_str(), *value)).collect()
    }
}

fn busy_pool() -> Pool {
    let pool = Pool::builder().workers(2).spares(0).build().unwrap();
    pool.scope(|s| (0..10).for_each(|_| s.spawn(|_| ())));
    let tasks: Vec<_> = (0..300).map(|_| pool.spawn(blitz::task::yield_now())).collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
    pool.spawn_blocking(|| ()).join().unwrap();
    // A task may be joined before its end is counted.
    wait_for(|| pool.metrics().tasks.completed == 300);
    pool
}

#[test]
fn threads_that_may_block_are_counted_by_what_they_do() {
    watched("threads_that_may_block_are_counted_by_what_they_do", |watch| {
        let pool = watch.pool(Pool::builder().workers(1).build().unwrap());
        let count = |state: &str| {
            let page = Page::parse(&pool.metrics().to_prometheus());
            page.values[&format!("blitz_blocking_threads{{state=\"{state}\"}}")]
        };
        assert_eq!((count("busy"), count("idle")), (0.0, 0.0));
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (began, begun) = std::sync::mpsc::channel();
        let blocks = pool.spawn_blocking(move || {
            began.send(()).unwrap();
            wait.recv().unwrap();
        });
        begun.recv().unwrap();
        assert_eq!((count("busy"), count("idle")), (1.0, 0.0));
        go.send(()).unwrap();
        blocks.join().unwrap();
        wait_for(|| (count("busy"), count("idle")) == (0.0, 1.0));
    });
}

#[test]
fn each_task_that_has_not_ended_is_counted_in_one_state() {
    watched("each_task_that_has_not_ended_is_counted_in_one_state", |watch| {
        let pool = watch.pool(Pool::builder().workers(1).spares(0).build().unwrap());
        let _waits = pool.spawn(std::future::pending::<()>());
        let (wake, woken) = blitz::sync::oneshot::channel::<()>();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (began, begun) = std::sync::mpsc::channel();
        let runs = pool.spawn(async move {
            woken.await.unwrap();
            began.send(()).unwrap();
            wait.recv().unwrap();
        });
        wait_for_parked(&pool.handle(), 2);
        wake.send(()).unwrap();
        begun.recv().unwrap();
        let queued = pool.spawn(async {});
        let page = Page::parse(&pool.metrics().to_prometheus());
        let counts = ["waiting", "queued", "running"]
            .map(|state| page.values[&format!("blitz_tasks{{state=\"{state}\"}}")]);
        assert_eq!(counts, [1.0, 1.0, 1.0]);
        go.send(()).unwrap();
        runs.join().unwrap();
        queued.join().unwrap();
    });
}

#[test]
fn a_page_has_every_family_once_and_buckets_that_add_up() {
    watched("a_page_has_every_family_once_and_buckets_that_add_up", |_| {
        let page = Page::parse(&busy_pool().metrics().to_prometheus());
        assert_eq!(page.values["blitz_workers"], 2.0);
        assert_eq!(page.values["blitz_tasks_spawned_total"], 300.0);
        assert_eq!(page.values["blitz_tasks_ended_total{outcome=\"completed\"}"], 300.0);
        assert!(page.values["blitz_polls_total"] >= 600.0);
        assert_eq!(page.all("blitz_worker_state_seconds_total").len(), 5);
        assert!(page.values["blitz_run_delay_seconds_total"] >= 0.0);
        for name in ["steal_latency", "timer_lateness"] {
            assert_eq!(page.types[&format!("blitz_{name}_seconds")], "histogram");
        }
        for name in ["poll_duration", "schedule_delay", "job_duration", "blocking_delay"] {
            let family = format!("blitz_{name}_seconds");
            assert_eq!(page.types[&family], "histogram");
            let end = |key: &str| key.split('"').nth(1).unwrap().parse::<f64>().unwrap();
            let mut buckets: Vec<_> = page.all(&format!("{family}_bucket"));
            buckets.sort_by(|a, b| end(a.0).total_cmp(&end(b.0)));
            assert_eq!(buckets.len(), 30);
            assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{buckets:?}");
            assert_eq!(end(buckets[29].0), f64::INFINITY);
            assert_eq!(buckets[29].1, page.values[&format!("{family}_count")]);
            assert!(page.values[&format!("{family}_sum")] > 0.0, "{family}");
        }
        let counters = page.types.iter().filter(|(_, kind)| *kind == "counter");
        assert!(counters.into_iter().all(|(name, _)| name.ends_with("_total")));
    });
}

#[test]
fn open_metrics_names_counters_without_their_suffix() {
    let text = busy_pool().metrics().to_open_metrics();
    assert!(text.ends_with("\n# EOF\n"));
    assert!(text.contains("# TYPE blitz_jobs counter\nblitz_jobs_total "));
    let page = Page::parse(&text);
    assert!(page.types.keys().all(|name| !name.ends_with("_total")));
}

#[test]
fn labels_are_escaped_and_workers_are_separate_if_requested() {
    let metrics = busy_pool().metrics();
    let exposition = metrics.exposition().pool("a\"b\\c\nd} 1").per_worker(true);
    let page = Page::parse(&exposition.to_prometheus());
    assert!(page.values.keys().all(|key| key.contains(r#"{pool="a\"b\\c\nd} 1""#)));
    let jobs = page.all("blitz_jobs_total");
    let workers: Vec<_> = ["0", "1"].map(|w| format!("worker=\"{w}\"")).to_vec();
    assert!(workers.iter().all(|worker| jobs.iter().any(|(key, _)| key.contains(worker))));
    let sum: f64 = jobs.iter().map(|(_, count)| count).sum();
    assert_eq!(sum, metrics.total().jobs as f64);
}

/// A future that is ready at once. Each `N` makes a type of its own.
struct Kind<const N: usize>;

impl<const N: usize> Future for Kind<N> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// Spawns a task of each of the types, and waits for it.
macro_rules! each_kind {
    ($pool:expr, $($n:literal)*) => {
        $($pool.spawn(Kind::<$n>).join().unwrap();)*
    };
}

#[test]
fn types_beyond_fifty_are_counted_together() {
    watched("types_beyond_fifty_are_counted_together", |_| {
        // With a handler of slow polls the pool times each poll.
        let builder = Pool::builder().workers(1).slow_poll_handler(Duration::MAX, |_, _| ());
        let pool = builder.build().unwrap();
        each_kind!(pool, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27);
        each_kind!(pool, 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51);
        each_kind!(pool, 52 53 54 55 56 57 58 59);
        // The last poll may not have been counted when its task was joined.
        wait_for(|| pool.metrics().tasks.poll_times.count() == 60);
        let metrics = pool.metrics();
        assert!(metrics.types.iter().map(|row| row.polls).sum::<u64>() == 60);
        let page = Page::parse(&metrics.to_prometheus());
        let polls = page.all("blitz_type_polls_total");
        assert_eq!((metrics.types.len(), polls.len()), (60, 51));
        assert!(polls.contains(&("blitz_type_polls_total{type=\"other\"}", 10.0)), "{polls:?}");
        assert_eq!(polls.iter().map(|(_, count)| count).sum::<f64>(), 60.0);
    });
}

#[test]
fn steals_and_timers_are_measured() {
    watched("steals_and_timers_are_measured", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).build().unwrap());
        let taken = AtomicBool::new(false);
        pool.join(|| wait_for(|| taken.load(SeqCst)), || taken.store(true, SeqCst));
        pool.block_on(blitz::time::sleep(Duration::from_millis(1)));
        let metrics = pool.metrics();
        assert!(metrics.steal_latencies.count() >= 1, "{metrics}");
        assert_eq!(metrics.timer_lateness.count(), 1);
        assert!(metrics.timer_lateness.sum() < Duration::from_secs(3_600));
    });
}

#[test]
fn a_paused_clock_is_never_late() {
    let pool = Pool::builder().workers(1).start_paused(true).build().unwrap();
    pool.block_on(blitz::time::sleep(Duration::from_secs(3_600)));
    assert_eq!(pool.metrics().timer_lateness.count(), 0);
}

#[test]
fn times_of_workers_never_decrease() {
    watched("times_of_workers_never_decrease", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).build().unwrap());
        let mut last = pool.metrics().total().time;
        for round in 0..200 {
            // In turns, the workers run jobs, poll tasks, and have nothing to do.
            match round % 3 {
                0 => pool.scope(|s| (0..20).for_each(|_| s.spawn(|_| ()))),
                1 => (0..20).for_each(|_| pool.spawn(blitz::task::yield_now()).join().unwrap()),
                _ => (),
            }
            let now = pool.metrics().total().time;
            for (now, last) in [
                (now.poll, last.poll),
                (now.job, last.job),
                (now.search, last.search),
                (now.driver, last.driver),
                (now.park, last.park),
            ] {
                assert!(now >= last, "{last:?}, then {now:?}");
            }
            last = now;
        }
        assert!(last.poll > Duration::ZERO && last.job > Duration::ZERO, "{last:?}");
    });
}

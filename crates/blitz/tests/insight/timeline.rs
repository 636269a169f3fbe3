//! Programs whose timelines are known.

use super::common::{pool, wait_for, watched};
use super::{ALL, slice, slices};
use blitz::{MarkKind, Pool, SliceKind, TraceSlice, region};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

fn lies_in(inner: &TraceSlice, outer: &TraceSlice) -> bool {
    outer.begin <= inner.begin && inner.end <= outer.end
}

#[test]
fn regions_nest_in_the_job_that_they_are_in() {
    let pool = pool(1);
    pool.install(|| {
        region("outer", || {
            region("first", || ());
            region("second", || ());
        });
        region("after", || ());
    });
    let trace = pool.trace(ALL);
    let track = &trace.tracks[0];
    let [outer, first, second, after] =
        ["outer", "first", "second", "after"].map(|name| slice(track, name));
    assert!([outer, first, second, after].iter().all(|slice| slice.kind == SliceKind::Region));
    assert!(lies_in(first, outer) && lies_in(second, outer));
    assert!(first.end <= second.begin && outer.end <= after.begin);
    // The end of the job may not be recorded yet.
    let job = slice(track, "job");
    assert!(job.kind == SliceKind::Job && lies_in(outer, job) && lies_in(after, job));
    let order: Vec<_> =
        track.slices.iter().filter(|slice| slice.kind == SliceKind::Region).collect();
    assert_eq!(order, [outer, first, second, after]);
}

#[test]
fn a_region_ends_with_a_panic() {
    let pool = pool(1);
    pool.install(|| {
        let panics = || region("panics", || std::panic::resume_unwind(Box::new(())));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        region("later", || ());
    });
    let trace = pool.trace(ALL);
    let (panics, later) = (slice(&trace.tracks[0], "panics"), slice(&trace.tracks[0], "later"));
    assert!(!panics.is_open && panics.end <= later.begin);
}

#[test]
fn a_region_that_goes_on_is_open() {
    let pool = pool(1);
    let trace = pool.install(|| region("open", || blitz::trace(ALL)));
    let open = slice(&trace.tracks[0], "open");
    assert!(open.is_open && open.end == trace.end);
}

#[test]
fn a_region_outside_of_the_pool_only_calls_its_closure() {
    let pool = pool(1);
    assert_eq!(region("outside", || 7), 7);
    assert!(slices(&pool.trace(ALL), "outside").is_empty());
}

async fn named_task() {
    blitz::task::yield_now().await;
}

#[test]
fn polls_have_the_name_of_their_task() {
    watched("polls_have_the_name_of_their_task", |watch| {
        let runtime = watch.workers(1);
        runtime.spawn(named_task()).join().unwrap();
        let trace = runtime.trace(ALL);
        let polls = slices(&trace, "named_task");
        assert!(polls.iter().all(|poll| poll.kind == SliceKind::Poll) && !polls.is_empty());
        let metrics = runtime.metrics();
        let row = metrics.types.iter().find(|row| row.name.contains("named_task")).unwrap();
        assert_eq!(row.polls, 1, "the first poll is timed, and the second one is not");
    });
}

#[test]
fn short_polls_are_recorded_in_batches() {
    watched("short_polls_are_recorded_in_batches", |watch| {
        let runtime = watch.workers(1);
        runtime
            .spawn(async {
                for _ in 0..10_000 {
                    blitz::task::yield_now().await;
                }
            })
            .join()
            .unwrap();
        let trace = runtime.trace(ALL);
        let batches: Vec<_> =
            trace.tracks[0].slices.iter().filter(|s| s.kind == SliceKind::Batch).collect();
        assert!(batches.iter().any(|batch| batch.name == "127 polls"), "{batches:?}");
        let events = runtime.metrics().trace.busy;
        assert!(events < 10_000, "{events} events");
        // A timed poll also counts for the polls that were not timed.
        let tasks = runtime.metrics().tasks;
        assert!(tasks.poll_times.count() > 9_000 && tasks.poll_times.count() <= tasks.polled);
    });
}

#[test]
fn closures_that_block_have_a_track_of_their_own() {
    let pool = pool(1);
    pool.spawn_blocking(|| ()).join().unwrap();
    let trace = pool.trace(ALL);
    let track = trace.tracks.iter().find(|track| track.name == "blocking 1").unwrap();
    assert!(track.thread.is_some_and(|thread| thread != 0), "the thread has not ended");
    assert_eq!(track.slices.len(), 1);
    assert_eq!(track.slices[0].kind, SliceKind::Blocking);
    assert!(track.slices[0].name.contains("closures_that_block"), "{track:?}");
    assert_eq!(pool.metrics().blocking_delays.count(), 1);
}

#[test]
fn a_worker_that_waits_for_work_parks() {
    watched("a_worker_that_waits_for_work_parks", |watch| {
        let runtime = watch.workers(1);
        let parks = || {
            let trace = runtime.trace(ALL);
            let mut slices = trace.tracks[0].slices.iter();
            slices.any(|slice| slice.kind == SliceKind::Park && slice.is_open)
        };
        wait_for(parks);
        runtime.install(|| ());
        let trace = runtime.trace(ALL);
        let park = trace.tracks[0].slices.iter().find(|s| s.kind == SliceKind::Park).unwrap();
        let job = slice(&trace.tracks[0], "job");
        assert!(!park.is_open && park.end <= job.begin);
        let time = runtime.metrics().workers[0].time;
        assert!(time.park > Duration::ZERO, "{time:?}");
        assert_eq!(time.poll, Duration::ZERO, "the worker has never polled: {time:?}");
        // A job may reach the worker just before the worker sleeps. Then no wake-up is needed, and
        // the test tries again.
        wait_for(|| {
            wait_for(parks);
            runtime.install(|| ());
            runtime.metrics().wake_latencies.count() > 0
        });
    });
}

#[test]
fn a_job_that_another_worker_took_is_marked_as_stolen() {
    watched("a_job_that_another_worker_took_is_marked_as_stolen", |watch| {
        let pool = watch.pool(pool(2));
        let taken = AtomicBool::new(false);
        pool.join(|| wait_for(|| taken.load(SeqCst)), || taken.store(true, SeqCst));
        let trace = pool.trace(ALL);
        let marks = || trace.tracks.iter().flat_map(|track| &track.marks);
        assert!(marks().any(|m| m.kind == MarkKind::Steal && m.name.contains("job")), "{trace:?}");
    });
}

#[test]
fn a_worker_that_does_not_come_back_is_counted_as_stalled() {
    watched("a_worker_that_does_not_come_back_is_counted_as_stalled", |watch| {
        let pool = watch.pool(Pool::builder().workers(1).spares(1).build().unwrap());
        let (handle, begun) = (pool.handle(), Arc::new(AtomicBool::new(false)));
        let stuck = pool.spawn({
            let begun = begun.clone();
            async move {
                begun.store(true, SeqCst);
                wait_for(|| handle.metrics().stalls > 0);
            }
        });
        wait_for(|| begun.load(SeqCst));
        // The watch checks workers only while work waits. This work is a job, because a relief
        // worker would take a task, but takes no jobs.
        let waits = pool.spawn_cpu(|| ());
        stuck.join().unwrap();
        waits.join().unwrap();
        let trace = pool.trace(ALL);
        let watch = trace.tracks.iter().find(|track| track.name == "watch").unwrap();
        assert!(watch.marks.iter().any(|mark| mark.kind == MarkKind::Stall), "{watch:?}");
    });
}

#[test]
fn without_memory_nothing_is_recorded_and_times_are_taken_all_the_same() {
    let pool = Pool::builder().workers(1).trace_memory(0).build().unwrap();
    pool.install(|| region("work", || ()));
    pool.spawn(named_task()).join().unwrap();
    pool.spawn_blocking(|| ()).join().unwrap();
    let trace = pool.trace(ALL);
    assert!(trace.tracks.iter().all(|t| t.slices.is_empty() && t.marks.is_empty()), "{trace:?}");
    let metrics = pool.metrics();
    assert_eq!((metrics.trace.busy, metrics.trace.rare, metrics.trace.outside), (0, 0, 0));
    assert!(metrics.tasks.poll_times.count() > 0 && metrics.blocking_delays.count() == 1);
}

#[test]
fn old_events_are_overwritten_and_counted() {
    let pool = Pool::builder().workers(1).trace_memory(5 << 10).build().unwrap();
    pool.install(|| (0..1_000).for_each(|_| region("again", || ())));
    let trace = pool.trace(ALL);
    let again = slices(&trace, "again");
    assert!((20..64).contains(&again.len()), "{}", again.len());
    assert!(trace.lost > 1_900, "{}", trace.lost);
    assert!(pool.metrics().trace.rare >= 2_000);
}

#[test]
fn a_trace_goes_back_as_far_as_it_was_asked_to() {
    let pool = pool(1);
    pool.install(|| region("before", || ()));
    let before = pool.trace(Duration::ZERO);
    assert!(slices(&before, "before").is_empty() && before.begin == before.end);
    // A trace of a pool that has ended is possible, too.
    let handle = pool.handle();
    drop(pool);
    assert_eq!(slices(&handle.trace(Duration::MAX), "before").len(), 1);
}

#[test]
fn traces_are_taken_while_workers_work() {
    watched("traces_are_taken_while_workers_work", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).trace_memory(2 << 10).build().unwrap());
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    let trace = pool.trace(ALL);
                    let whole = |slice: &TraceSlice| slice.begin <= slice.end;
                    assert!(trace.tracks.iter().flat_map(|track| &track.slices).all(whole));
                    drop((trace.to_perfetto(), trace.to_chrome_json()));
                }
            });
            for _ in 0..200 {
                pool.scope(|s| (0..50).for_each(|_| s.spawn(|_| region("work", || ()))));
                let tasks: Vec<_> = (0..20).map(|_| pool.spawn(named_task())).collect();
                tasks.into_iter().for_each(|task| task.join().unwrap());
            }
            done.store(true, SeqCst);
        });
    });
}

#[test]
fn regions_are_counted_without_a_recorder() {
    watched("regions_are_counted_without_a_recorder", |watch| {
        let pool = watch.pool(Pool::builder().workers(2).trace_memory(0).build().unwrap());
        pool.install(|| {
            blitz::region("outer", || {
                blitz::region("inner", || ());
                blitz::region("inner", || ());
            });
            blitz::region("parallel", || {
                let (send, receive) = std::sync::mpsc::channel();
                // The first half ends only if the other worker takes the second half.
                blitz::join(move || receive.recv().unwrap(), move || send.send(()).unwrap());
            });
        });
        let metrics = pool.metrics();
        let of = |name: &str| *metrics.regions.iter().find(|row| row.name == name).unwrap();
        let (outer, inner, parallel) = (of("outer"), of("inner"), of("parallel"));
        assert_eq!((outer.runs, inner.runs, parallel.runs), (1, 2, 1));
        assert!(outer.wall >= inner.wall && !parallel.wall.is_zero(), "{metrics:?}");
        assert_eq!((outer.stolen, inner.stolen, parallel.stolen), (0, 0, 1));
        let text = metrics.to_prometheus();
        for line in ["runs_total{region=\"inner\"} 2", "stolen_jobs_total{region=\"parallel\"} 1"] {
            assert!(text.contains(&format!("\nblitz_region_{line}\n")), "{text}");
        }
        assert!(text.contains("\nblitz_region_seconds_total{region=\"outer\"} "), "{text}");
    });
}

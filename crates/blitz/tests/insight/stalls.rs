//! Reports of stuck workers: which worker, since when, and what it does.

use super::common::{Watch, pool, wait_for, watched};
use blitz::{Pool, PoolBuilder, Scheduler, StallKind, StallReport, task};
use std::io::{self, BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::panic::Location;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, sleep};
use std::time::Duration;

/// Returns the report of the only stuck worker once `is_right` accepts it.
fn report(pool: &Pool, is_right: impl Fn(&StallReport) -> bool) -> StallReport {
    loop {
        let mut reports = pool.stalls();
        reports.retain(&is_right);
        if let Some(report) = reports.pop() {
            return report;
        }
        thread::yield_now();
    }
}

/// Returns a check: is the worker blocked in `call`, as far as the system says?
fn is_blocked_in<'a>(call: &'a str) -> impl Fn(&StallReport) -> bool + 'a {
    move |report| match report.kind() {
        StallKind::Blocked => report.system_call().is_none_or(|found| found == call),
        kind => kind == StallKind::Unknown,
    }
}

/// Blocks the worker that polls this future, until a message comes.
async fn blocks(wait: Receiver<()>) {
    wait.recv().unwrap();
}

#[test]
fn a_task_that_waits_for_a_lock_or_a_channel_is_named() {
    watched("a_task_that_waits_for_a_lock_or_a_channel_is_named", |watch| {
        let pool = watch.pool(pool(2));
        let (go, wait) = mpsc::channel();
        let (here, stuck) = (Location::caller(), pool.spawn(blocks(wait)));
        let report = report(&pool, is_blocked_in("futex"));
        assert_eq!(report.task(), Some(stuck.id()));
        assert!(report.type_name().unwrap().contains("blocks"), "{report}");
        let site = report.site().unwrap();
        assert_eq!((site.file(), site.line()), (here.file(), here.line()));
        assert_eq!(report.name(), None);
        assert!(report.worker() < 2 && report.length() >= Duration::from_millis(20), "{report}");
        let text = report.to_string();
        assert!(text.starts_with(&format!("worker {} has not come back", report.worker())));
        assert!(text.contains(&format!("task {} ", stuck.id())), "{text}");
        assert_eq!(pool.metrics().stalled_workers, 1);
        go.send(()).unwrap();
        stuck.join().unwrap();
        wait_for(|| pool.stalls().is_empty() && pool.metrics().stalled_workers == 0);
    });
}

#[test]
fn a_task_that_sleeps_or_reads_is_named_with_its_system_call() {
    watched("a_task_that_sleeps_or_reads_is_named_with_its_system_call", |watch| {
        let pool = watch.pool(pool(1));
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        // The sleep is what the report has to find.
        let sleeper = pool.spawn(async move {
            while !is_over.load(SeqCst) {
                sleep(Duration::from_millis(100));
            }
        });
        assert_eq!(report(&pool, is_blocked_in("clock_nanosleep")).task(), Some(sleeper.id()));
        over.store(true, SeqCst);
        sleeper.join().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let reader = pool.spawn(async move { socket.recv(&mut [0]).unwrap() });
        assert_eq!(report(&pool, is_blocked_in("recvfrom")).task(), Some(reader.id()));
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"x", address).unwrap();
        assert_eq!(reader.join().unwrap(), 1);
    });
}

#[test]
fn a_task_that_computes_is_not_blocked() {
    watched("a_task_that_computes_is_not_blocked", |watch| {
        let pool = watch.pool(pool(1));
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let computes = pool.spawn(async move {
            while !is_over.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        // On a busy machine the worker may have no processor. Then it counts as preempted.
        let report = report(&pool, |report| report.kind() != StallKind::Blocked);
        assert_eq!(report.task(), Some(computes.id()));
        assert_eq!((report.system_call(), report.wait_channel()), (None, None));
        over.store(true, SeqCst);
        computes.join().unwrap();
    });
}

#[test]
fn a_job_is_reported_without_a_task_and_a_job_that_forks_is_not_stuck() {
    watched("a_job_is_reported_without_a_task_and_a_job_that_forks_is_not_stuck", |watch| {
        let pool = watch.pool(pool(2));
        // A worker has polled this task before. The report of a job must not name the task.
        pool.spawn(async {}).join().unwrap();
        let (go, wait) = mpsc::channel();
        let stuck = pool.spawn_cpu(move || wait.recv().unwrap());
        let over = Arc::new(AtomicBool::new(false));
        let is_over = over.clone();
        let (forks, counted) = mpsc::channel();
        let busy = pool.spawn_cpu(move || {
            while !is_over.load(SeqCst) {
                blitz::join(|| (), || ());
            }
            forks.send(blitz::current_worker_index()).unwrap();
        });
        let report = report(&pool, is_blocked_in("futex"));
        assert_eq!((report.task(), report.site(), report.type_name()), (None, None, None));
        assert!(report.to_string().contains(": a job"), "{report}");
        over.store(true, SeqCst);
        assert_ne!(counted.recv().unwrap(), Some(report.worker()));
        go.send(()).unwrap();
        stuck.join().unwrap();
        busy.join().unwrap();
    });
}

#[test]
fn a_task_is_named_although_its_worker_has_polled_others_inside_of_it() {
    watched("a_task_is_named_although_its_worker_has_polled_others_inside_of_it", |watch| {
        let pool = watch.pool(pool(1));
        let (go, wait) = mpsc::channel();
        let outer = pool.spawn(async move {
            // The only worker polls `inner` while this task waits for it.
            let inner = blitz::spawn(async { task::yield_now().await });
            blitz::block_on(inner).unwrap();
            blocks(wait).await;
        });
        assert_eq!(report(&pool, is_blocked_in("futex")).task(), Some(outer.id()));
        go.send(()).unwrap();
        outer.join().unwrap();
    });
}

#[test]
fn a_report_is_json_whatever_the_name() {
    watched("a_report_is_json_whatever_the_name", |watch| {
        let pool = watch.pool(pool(1));
        let (go, wait) = mpsc::channel();
        let named = task::Builder::new().name("</script>\"\n");
        let stuck = named.spawn_on(blocks(wait), &pool.handle()).unwrap();
        let report = report(&pool, |report| report.name().is_some());
        let json = report.to_json();
        assert!(json.starts_with(&format!("{{\"worker\":{},", report.worker())), "{json}");
        assert!(json.contains(&format!("\"task\":{{\"id\":\"{}\",\"type\":\"", stuck.id())));
        assert!(json.contains(r#""name":"</script>\"\u000a"}"#), "{json}");
        assert!(json.contains("\"since_ns\":\"") && json.contains("\"events\":["), "{json}");
        assert!(!report.events().is_empty(), "the worker has slept before");
        go.send(()).unwrap();
        stuck.join().unwrap();
    });
}

/// Makes the pool's watch check the workers until `done` returns true.
///
/// The watch checks them while there is work.
fn with_work(pool: &Pool, done: impl Fn() -> bool) {
    while !done() {
        pool.spawn(task::yield_now()).join().unwrap();
    }
}

/// Builds a pool of two workers with this stall handler.
fn handled(handler: impl Fn(&StallReport) + Send + Sync + 'static) -> Pool {
    Pool::builder().workers(2).stall_handler(handler).build().unwrap()
}

#[test]
fn the_handler_is_called_once_per_stall_and_not_on_a_worker() {
    watched("the_handler_is_called_once_per_stall_and_not_on_a_worker", |watch| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let reports = seen.clone();
        let pool = watch.pool(handled(move |report| {
            reports.lock().unwrap().push((report.task(), blitz::current_worker_index()));
        }));
        let mut ids = Vec::new();
        for _ in 0..2 {
            let (go, wait) = mpsc::channel();
            let stuck = pool.spawn(blocks(wait));
            let is_seen = || seen.lock().unwrap().iter().any(|seen| seen.0 == Some(stuck.id()));
            with_work(&pool, is_seen);
            ids.push((Some(stuck.id()), None));
            // A second report of the same stall would come before the report of the next stall.
            go.send(()).unwrap();
            stuck.join().unwrap();
        }
        seen.lock().unwrap().retain(|seen| ids.contains(seen));
        assert_eq!(*seen.lock().unwrap(), ids);
        let metrics = pool.metrics();
        let kinds = [StallKind::Computing, StallKind::Preempted, StallKind::Blocked];
        let known: u64 = kinds.iter().map(|&kind| metrics.stalls_of(kind)).sum();
        assert_eq!(known + metrics.stalls_of(StallKind::Unknown), metrics.stalls);
        assert!(metrics.stalls >= 2);
        let text = metrics.to_prometheus();
        assert!(text.contains("\nblitz_stalls_total{kind=\"blocked\"} "), "{text}");
        assert!(text.contains("\nblitz_stalled_workers "), "{text}");
    });
}

/// Blocks workers that have nothing else to do, and waits for each report.
fn stalls_alone(watch: &Watch, builder: PoolBuilder) {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let handler = move |report: &StallReport| {
        let _ = tell.lock().unwrap().send(report.task());
    };
    let pool = watch.pool(builder.stall_handler(handler).build().unwrap());
    for _ in 0..2 {
        let (go, wait) = mpsc::channel();
        let stuck = pool.spawn(blocks(wait));
        assert_eq!(told.recv().unwrap(), Some(stuck.id()));
        go.send(()).unwrap();
        stuck.join().unwrap();
    }
    // A job that blocks its worker is reported, too.
    let (go, wait) = mpsc::channel();
    let stuck = pool.spawn_cpu(move || wait.recv().unwrap());
    assert_eq!(told.recv().unwrap(), None);
    go.send(()).unwrap();
    stuck.join().unwrap();
}

#[test]
fn the_handler_hears_of_a_stall_although_no_other_work_waits() {
    watched("the_handler_hears_of_a_stall_although_no_other_work_waits", |watch| {
        for scheduler in [Scheduler::Stealing, Scheduler::Signal] {
            stalls_alone(watch, Pool::builder().workers(2).scheduler(scheduler));
            stalls_alone(watch, Pool::builder().workers(2).spares(0).scheduler(scheduler));
        }
    });
}

#[test]
fn the_handler_hears_of_the_only_worker_of_a_pool_without_spares() {
    watched("the_handler_hears_of_the_only_worker_of_a_pool_without_spares", |watch| {
        stalls_alone(watch, Pool::builder().workers(1).spares(0));
    });
}

#[test]
fn a_stall_after_a_wait_of_the_same_task_is_reported() {
    watched("a_stall_after_a_wait_of_the_same_task_is_reported", |watch| {
        let (tell, told) = mpsc::channel();
        let tell = Mutex::new(tell);
        let pool = watch.pool(handled(move |report| {
            let _ = tell.lock().unwrap().send(report.task());
        }));
        let (ring, rung) = blitz::sync::oneshot::channel::<()>();
        let (go, wait) = mpsc::channel();
        let stuck = pool.spawn(async move {
            rung.await.unwrap();
            blocks(wait).await;
        });
        // Wait until all workers sleep and the watch sleeps, too.
        wait_for(|| pool.tasks().len() == 1 && !pool.dump().watch && pool.dump().all_sleep);
        ring.send(()).unwrap();
        assert_eq!(told.recv().unwrap(), Some(stuck.id()));
        go.send(()).unwrap();
        stuck.join().unwrap();
    });
}

#[test]
fn a_worker_that_says_that_it_blocks_is_not_stuck() {
    watched("a_worker_that_says_that_it_blocks_is_not_stuck", |watch| {
        let pool = watch.pool(pool(2));
        let (go, wait) = mpsc::channel();
        let (began, begun) = mpsc::channel();
        let stuck_before = pool.spawn(async move {
            blitz::block_in_place(|| {
                began.send(()).unwrap();
                wait.recv().unwrap();
            });
            // The task blocks its worker again, this time without `block_in_place`.
            began.send(()).unwrap();
            wait.recv().unwrap();
        });
        begun.recv().unwrap();
        let (other_go, other_wait) = mpsc::channel();
        let other = pool.spawn(blocks(other_wait));
        // The other task blocked later. So once that task is reported, a report of the first task
        // would be there, too.
        let reports = loop {
            let reports = pool.stalls();
            if reports.iter().any(|report| report.task() == Some(other.id())) {
                break reports;
            }
            thread::yield_now();
        };
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!(pool.metrics().stalled_workers, 1);
        go.send(()).unwrap();
        begun.recv().unwrap();
        other_go.send(()).unwrap();
        other.join().unwrap();
        let report = report(&pool, is_blocked_in("futex"));
        assert_eq!(report.task(), Some(stuck_before.id()), "still the same poll");
        go.send(()).unwrap();
        stuck_before.join().unwrap();
    });
}

#[test]
fn a_handler_that_panics_is_called_again() {
    watched("a_handler_that_panics_is_called_again", |watch| {
        let calls = Arc::new(AtomicUsize::new(0));
        let panics = Arc::new(AtomicUsize::new(0));
        let (called, panicked) = (calls.clone(), panics.clone());
        let builder = Pool::builder().workers(2).panic_handler(move |_| {
            panicked.fetch_add(1, SeqCst);
        });
        let builder = builder.stall_handler(move |_| {
            called.fetch_add(1, SeqCst);
            panic!("the handler of a test");
        });
        let pool = watch.pool(builder.build().unwrap());
        for stall in 1..=2 {
            let (go, wait) = mpsc::channel();
            let stuck = pool.spawn(blocks(wait));
            with_work(&pool, || panics.load(SeqCst) >= stall);
            go.send(()).unwrap();
            stuck.join().unwrap();
        }
        assert!(calls.load(SeqCst) >= 2);
    });
}

#[test]
fn a_handler_that_blocks_keeps_no_task_from_being_rescued() {
    watched("a_handler_that_blocks_keeps_no_task_from_being_rescued", |watch| {
        let (began, begun) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let (began, ends) = (Mutex::new(began), Mutex::new(ends));
        let handler = move |_: &StallReport| {
            let _ = began.lock().unwrap().send(());
            let _ = ends.lock().unwrap().recv();
        };
        let builder = Pool::builder().workers(1).spares(2).stall_handler(handler);
        let pool = watch.pool(builder.build().unwrap());
        let mut stuck: Vec<(Sender<()>, _)> = Vec::new();
        for _ in 0..2 {
            let (go, wait) = mpsc::channel();
            stuck.push((go, pool.spawn(blocks(wait))));
            // A spare polls this task: the watch has noticed that the worker is stuck.
            pool.spawn(async {}).join().unwrap();
            if stuck.len() == 1 {
                with_work(&pool, || begun.try_recv().is_ok());
            }
        }
        pool.spawn_cpu(|| ()).join().unwrap();
        for (go, task) in stuck {
            go.send(()).unwrap();
            task.join().unwrap();
        }
        // The end of the pool does not wait for the handler, which still blocks.
        drop(pool);
        drop(end);
    });
}

/// The environment variable that is set in a child process, which gets stuck.
const ROLE: &str = "BLITZ_TEST_STALLS_ROLE";

/// Keeps a worker stuck until the standard input ends.
#[test]
fn a_program_that_is_stuck_for_a_while() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let pool = pool(2);
    let (go, wait) = mpsc::channel();
    let stuck = pool.spawn(blocks(wait));
    let input = thread::spawn(|| io::stdin().read_to_end(&mut Vec::new()).unwrap());
    with_work(&pool, || input.is_finished());
    go.send(()).unwrap();
    stuck.join().unwrap();
}

#[test]
fn with_the_variable_a_program_writes_its_stalls_to_standard_error() {
    let (_, module) = module_path!().split_once("::").unwrap();
    let program = |value: &str| {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program
            .arg(format!("{module}::a_program_that_is_stuck_for_a_while"))
            .args(["--exact", "--nocapture", "--test-threads=1"])
            .envs([(ROLE, "stuck"), ("BLITZ_STALLS", value)])
            .stdout(Stdio::null())
            .stdin(Stdio::null());
        program
    };
    let mut child = program("1").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.into_iter().find(|line| line.starts_with("blitz: worker")).unwrap();
    assert!(line.contains("blocks"), "{line}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let off = program("0").output().unwrap();
    let text = String::from_utf8(off.stderr).unwrap();
    assert!(off.status.success() && !text.contains("blitz: worker"), "{text}");
    let wrong = program("often").output().unwrap();
    let text = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && text.contains("BLITZ_STALLS is \"often\""), "{text}");
}

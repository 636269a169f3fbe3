//! A filter of system calls forbids io_uring after rings were created. Each test runs in a process
//! of its own, because a filter cannot be removed.
#![cfg(target_os = "linux")]

mod common;

use blitz::fs::File;
use blitz::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use blitz::net::{TcpListener, UnixStream};
use blitz::{Backend, BackendChoice, Builder, JoinHandle, Runtime};
use common::{Dir, io_metrics, wait_for, watched};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompFilter, apply_filter, apply_filter_all_threads,
};
use std::future::Future;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};

/// The environment variable with the error that forbidden calls return in a child.
const ROLE: &str = "BLITZ_URING_FORBIDDEN";

/// Runs `test` in another process for each error that a filter may return.
///
/// `name` is the name of the calling test.
fn in_child(name: &str, errors: &[Errno], test: impl FnOnce(Errno)) {
    if let Ok(error) = std::env::var(ROLE) {
        return test(Errno::from_raw_os_error(error.parse().unwrap()));
    }
    for error in errors {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([&format!("{}{name}", prefix()), "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, error.raw_os_error().to_string())
            // The buffers of a forbidden ring are leaked on purpose.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let passed = output.status.success() && text.contains("1 passed");
        assert!(passed, "{error}: {}\n{text}\n{errors}", output.status);
        assert!(!errors.contains("panicked"), "{error}: a thread has panicked\n{errors}");
    }
}

/// Returns the prefix of this file's test names.
///
/// The file may be a module of another target.
fn prefix() -> String {
    match module_path!().split_once("::") {
        Some((_, modules)) => format!("{modules}::"),
        None => String::new(),
    }
}

/// The numbers of `io_uring_setup`, `io_uring_enter` and `io_uring_register`.
///
/// They are the same on every architecture that this test supports.
const IO_URING: [i64; 3] = [425, 426, 427];

/// Returns a filter under which the calls of io_uring return `error`.
fn filter(error: Errno) -> BpfProgram {
    filter_of(&IO_URING, error)
}

fn filter_of(calls: &[i64], error: Errno) -> BpfProgram {
    let rules = calls.iter().map(|&call| (call, Vec::new())).collect();
    let error = SeccompAction::Errno(error.raw_os_error().unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    SeccompFilter::new(rules, SeccompAction::Allow, error, arch).unwrap().try_into().unwrap()
}

/// Builds a runtime with this backend; returns `None` if it has no io_uring.
fn runtime(workers: usize, backend: Backend) -> Option<Runtime> {
    with_io_uring(Runtime::builder().workers(workers).backend(backend))
}

/// Builds a runtime; returns `None` if it has no io_uring.
fn with_io_uring(builder: Builder) -> Option<Runtime> {
    let runtime = builder.build();
    let runtime = runtime.inspect_err(|error| println!("no io_uring here: {error}")).ok()?;
    (BackendChoice::of(&runtime).unwrap().backend == Backend::IoUring).then_some(runtime)
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

async fn write_and_read(path: std::path::PathBuf, bytes: &[u8]) {
    let mut file = File::create_new(path).await.unwrap();
    file.write_all(bytes).await.unwrap();
    file.flush().await.unwrap();
    file.rewind().await.unwrap();
    let mut read = Vec::new();
    file.read_to_end(&mut read).await.unwrap();
    assert!(read == bytes);
}

/// The operations that a runtime had begun when io_uring was forbidden.
struct Begun {
    runtime: Runtime,
    listener: Arc<TcpListener>,
    accepts: JoinHandle<()>,
    here: UnixStream,
    receives: JoinHandle<()>,
    /// Receives for ever.
    silent: (UnixStream, JoinHandle<()>),
}

fn begin(runtime: Runtime, dir: &Dir, number: usize) -> Begun {
    runtime.block_on(write_and_read(dir.at(&format!("before-{number}")), &[1; 10_000]));
    let entered = runtime.enter();
    let listener = Arc::new(runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap());
    let at = listener.clone();
    let accepts = runtime.spawn(async move { drop(at.accept().await.unwrap()) });
    let (here, there) = UnixStream::pair().unwrap();
    let receives = runtime.spawn(async move {
        for _ in 0..3 {
            // The first receive began before the filter; the others come after it.
            let (count, buffer) = there.recv_owned(vec![0; 8]).await;
            assert_eq!(&buffer[..count.unwrap()], b"hello");
            assert_eq!(there.send_owned(b"thanks".to_vec()).await.0.unwrap(), 6);
        }
    });
    let (one, other) = UnixStream::pair().unwrap();
    let receives_nothing = runtime.spawn(async move { drop(other.recv_owned(vec![0; 8]).await) });
    drop(entered);
    wait_for(|| io_metrics(&runtime.handle()).under_way == 3);
    Begun { runtime, listener, accepts, here, receives, silent: (one, receives_nothing) }
}

fn finish(begun: Begun, dir: &Dir, number: usize) {
    let Begun { runtime, listener, accepts, here, receives, silent } = begun;
    let address = listener.local_addr().unwrap();
    // Operations under way complete; later ones are done without io_uring.
    runtime.block_on(async {
        let mut answer = [0; 6];
        let mut here = here;
        for _ in 0..3 {
            here.write_all(b"hello").await.unwrap();
            here.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"thanks");
        }
        receives.await.unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        accepts.await.unwrap();
        let client = std::net::TcpStream::connect(address).unwrap();
        assert_eq!(listener.accept().await.unwrap().1, client.local_addr().unwrap());
    });
    runtime.block_on(write_and_read(dir.at(&format!("after-{number}")), &[2; 300_000]));
    // An operation that cannot be cancelled any more is left to the system.
    silent.1.abort();
    assert!(silent.1.join().unwrap_err().is_cancelled());
    let choice = BackendChoice::of(&runtime).unwrap();
    assert_eq!(choice.backend, Backend::Readiness);
    assert!(choice.reason.unwrap().contains("takes no more operations"));
    drop(runtime);
    drop(silent.0);
}

#[test]
fn operations_under_way_complete_and_later_ones_do_without_the_ring() {
    let name = "operations_under_way_complete_and_later_ones_do_without_the_ring";
    in_child(name, &[Errno::PERM, Errno::NOSYS], |error| {
        watched(name, |watch| {
            let dir = Dir::new();
            let mut begun = Vec::new();
            for (number, workers) in [1, 2, 8].into_iter().enumerate() {
                let Some(runtime) = runtime(workers, Backend::IoUring) else { return };
                begun.push(begin(watch.runtime(runtime), &dir, number));
            }
            apply_filter_all_threads(&filter(error)).unwrap();
            for (number, begun) in begun.into_iter().enumerate() {
                finish(begun, &dir, number);
            }
            let refused = Runtime::builder().workers(1).backend(Backend::IoUring).build();
            assert!(refused.is_err());
        });
    });
}

#[test]
fn files_of_the_automatic_backend_go_on_with_threads() {
    let name = "files_of_the_automatic_backend_go_on_with_threads";
    in_child(name, &[Errno::PERM, Errno::NOSYS], |error| {
        watched(name, |watch| {
            let dir = Dir::new();
            let path = |what: &str, number: usize| dir.at(&format!("{what}-{number}"));
            let mut open = Vec::new();
            for (number, workers) in [1, 2, 8].into_iter().enumerate() {
                let Some(runtime) = runtime(workers, Backend::Auto) else { return };
                let runtime = watch.runtime(runtime);
                let file = runtime.block_on(async {
                    let mut file = File::create_new(path("open", number)).await.unwrap();
                    file.write_all(b"before ").await.unwrap();
                    file
                });
                open.push((runtime, file));
            }
            apply_filter_all_threads(&filter(error)).unwrap();
            for (number, (runtime, mut file)) in open.into_iter().enumerate() {
                runtime.block_on(async {
                    file.write_all(b"after").await.unwrap();
                    file.flush().await.unwrap();
                    let text = blitz::fs::read_to_string(path("open", number)).await.unwrap();
                    assert_eq!(text, "before after");
                });
                let tasks: Vec<_> = (0..20)
                    .map(|task| {
                        let path = path("task", 20 * number + task);
                        runtime.spawn(async { write_and_read(path, &[3; 100_000]).await })
                    })
                    .collect();
                tasks.into_iter().for_each(|task| task.join().unwrap());
                let choice = BackendChoice::of(&runtime).unwrap();
                assert_eq!(choice.backend, Backend::Readiness, "{choice}");
            }
            // A runtime that is built now never has a ring.
            let late = watch.runtime(Runtime::builder().workers(2).build().unwrap());
            late.block_on(write_and_read(dir.at("late"), &[4; 10_000]));
            assert!(BackendChoice::of(&late).unwrap().reason.is_some());
        });
    });
}

#[test]
fn completions_that_cannot_be_fetched_are_errors() {
    let name = "completions_that_cannot_be_fetched_are_errors";
    in_child(name, &[Errno::PERM, Errno::NOSYS], |error| {
        watched(name, |watch| {
            // These are far more operations than the completion queue holds.
            let operations = 4_000;
            let mut begun = Vec::new();
            for workers in [1, 2, 8] {
                let Some(runtime) = runtime(workers, Backend::IoUring) else { return };
                let runtime = watch.runtime(runtime);
                let handle = runtime.handle();
                let entered = runtime.enter();
                let (here, there) = UnixStream::pair().unwrap();
                drop(entered);
                let there = Arc::new(there);
                let (send, received) = channel();
                for _ in 0..operations {
                    let (there, send) = (there.clone(), send.clone());
                    drop(runtime.spawn(async move {
                        send.send(there.recv_owned(vec![0; 1]).await.0).unwrap();
                    }));
                }
                wait_for(|| io_metrics(&handle).under_way == operations);
                begun.push((runtime, workers, here, there, received));
            }
            apply_filter_all_threads(&filter(error)).unwrap();
            for (runtime, workers, here, there, received) in begun {
                let barrier = Arc::new(Barrier::new(workers + 1));
                for _ in 0..workers {
                    let barrier = barrier.clone();
                    drop(runtime.spawn_cpu(move || {
                        barrier.wait();
                        barrier.wait();
                    }));
                }
                barrier.wait();
                assert_eq!(here.try_write(&vec![7; operations]).unwrap(), operations);
                barrier.wait();
                let results: Vec<_> = received.iter().collect();
                let (done, lost): (Vec<_>, Vec<_>) =
                    results.into_iter().partition(|result| result.is_ok());
                assert_eq!(done.len() + lost.len(), operations);
                let (done, all) = (done.len(), operations);
                assert!(done >= 1_024, "{done} of {all} are collected with {workers} workers");
                for error in lost.into_iter().filter_map(Result::err) {
                    assert!(error.to_string().contains("io_uring was forbidden"), "{error}");
                }
                drop((runtime, there));
            }
        });
    });
}

#[test]
fn a_file_is_free_again_after_the_completion_of_its_write_was_lost() {
    let name = "a_file_is_free_again_after_the_completion_of_its_write_was_lost";
    in_child(name, &[Errno::PERM], |error| {
        watched(name, |watch| {
            let Some(runtime) = runtime(1, Backend::IoUring) else { return };
            let runtime = watch.runtime(runtime);
            let handle = runtime.handle();
            let entered = runtime.enter();
            let (here, there) = UnixStream::pair().unwrap();
            drop(entered);
            let there = Arc::new(there);
            // These are more operations than the completion queue holds.
            let operations = 4_000;
            for _ in 0..operations {
                let there = there.clone();
                drop(runtime.spawn(async move { drop(there.recv_owned(vec![0; 1]).await) }));
            }
            // The socket has no room, so the write does not complete.
            let (full, _silent) = std::os::unix::net::UnixStream::pair().unwrap();
            full.set_nonblocking(true).unwrap();
            while std::io::Write::write(&mut &full, &[0; 4_096]).is_ok() {}
            full.set_nonblocking(false).unwrap();
            let mut file = File::from_std(OwnedFd::from(full).into());
            runtime.block_on(file.write_all(b"too much")).unwrap();
            wait_for(|| io_metrics(&handle).under_way == operations + 1);
            apply_filter_all_threads(&filter(error)).unwrap();
            // The only worker is busy, so the completions overflow the queue.
            let barrier = Arc::new(Barrier::new(2));
            let busy = barrier.clone();
            drop(runtime.spawn_cpu(move || {
                busy.wait();
                busy.wait();
            }));
            barrier.wait();
            assert_eq!(here.try_write(&vec![7; operations]).unwrap(), operations);
            barrier.wait();
            let error = runtime.block_on(file.flush()).unwrap_err();
            assert!(error.to_string().contains("io_uring was forbidden"), "{error}");
            drop(runtime.block_on(file.into_std()));
        });
    });
}

/// Completions count as lost only if the system says that it keeps some back.
///
/// The filter also forbids the calls that would say so.
#[test]
fn nothing_is_lost_unless_completions_were_kept_back() {
    let name = "nothing_is_lost_unless_completions_were_kept_back";
    // poll, ppoll.
    let polls: &[i64] = match std::env::consts::ARCH {
        "x86_64" => &[7, 271],
        "aarch64" => &[73],
        _ => return,
    };
    in_child(name, &[Errno::PERM, Errno::NOSYS], |error| {
        watched(name, |watch| {
            let Some(runtime) = runtime(2, Backend::IoUring) else { return };
            let runtime = watch.runtime(runtime);
            let entered = runtime.enter();
            let (here, there) = UnixStream::pair().unwrap();
            drop(entered);
            // These are more operations than the completion queue holds.
            let operations = 1_100;
            let (there, (send, received)) = (Arc::new(there), channel());
            for _ in 0..operations {
                let (there, send) = (there.clone(), send.clone());
                drop(runtime.spawn(async move {
                    send.send(there.recv_owned(vec![0; 1]).await.0).unwrap();
                }));
            }
            wait_for(|| io_metrics(&runtime.handle()).under_way == operations);
            apply_filter_all_threads(&filter_of(&[&IO_URING, polls].concat(), error)).unwrap();
            // The bytes come one by one, so that the queue has room for all completions.
            for _ in 0..operations {
                assert_eq!(here.try_write(b"x").unwrap(), 1);
                assert_eq!(received.recv().unwrap().unwrap(), 1);
            }
        });
    });
}

/// Starts an operation when it is woken.
struct Again {
    handle: blitz::Handle,
    stream: UnixStream,
    woken: AtomicBool,
}

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        let _entered = self.handle.enter();
        let mut receive = Box::pin(self.stream.recv_owned(vec![0; 8]));
        assert!(poll_once(&mut receive).is_pending());
        self.woken.store(true, SeqCst);
    }
}

/// A submission for which the system has no memory collects completions.
///
/// Collected completions free memory. If that does not help, the submission gives up eventually.
#[test]
fn a_busy_submission_calls_no_waker_under_its_lock() {
    let name = "a_busy_submission_calls_no_waker_under_its_lock";
    in_child(name, &[Errno::AGAIN, Errno::NOMEM], |error| {
        watched(name, |watch| {
            let builder = Runtime::builder().workers(1).spares(0);
            let Some(runtime) = with_io_uring(builder.backend(Backend::IoUring)) else { return };
            let runtime = watch.runtime(runtime);
            let _entered = runtime.enter();
            let pair = || UnixStream::pair().unwrap();
            let ((here, there), (silent, stream), (other, last)) = (pair(), pair(), pair());
            let handle = runtime.handle();
            let again = Arc::new(Again { handle, stream, woken: AtomicBool::new(false) });
            // The only worker is busy, and there is no spare that could be a relief worker: only
            // the submission below collects completions.
            let barrier = Arc::new(Barrier::new(2));
            let busy = barrier.clone();
            let busy = runtime.spawn_cpu(move || {
                busy.wait();
                busy.wait();
            });
            barrier.wait();
            let mut receive = Box::pin(there.recv_owned(vec![0; 8]));
            let waker = Waker::from(again.clone());
            let begun = receive.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(begun.is_pending());
            here.try_write(b"hello").unwrap();
            // The filter is for this thread alone.
            apply_filter(&filter(error)).unwrap();
            let mut refused = Box::pin(last.recv_owned(vec![0; 8]));
            assert!(poll_once(&mut refused).is_pending(), "this receive waits for readiness");
            barrier.wait();
            busy.join().unwrap();
            wait_for(|| again.woken.load(SeqCst));
            let Poll::Ready((count, buffer)) = poll_once(&mut receive) else {
                panic!("the waker of this receive was called");
            };
            assert_eq!(&buffer[..count.unwrap()], b"hello");
            other.try_write(b"at last").unwrap();
            let (count, buffer) = runtime.block_on(refused);
            assert_eq!(&buffer[..count.unwrap()], b"at last");
            drop((receive, silent));
        });
    });
}

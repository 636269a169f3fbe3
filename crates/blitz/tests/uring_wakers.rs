//! Wakers that use io_uring themselves: while they are cloned, woken and dropped.

mod common;

use blitz::net::UnixStream;
use blitz::{Backend, Handle, Runtime};
use common::{io_metrics, wait_for, watched};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// Begins and drops an operation when its waker is cloned, woken or dropped.
struct Hook {
    handle: Handle,
    stream: UnixStream,
    cloned: AtomicUsize,
    woken: AtomicUsize,
    dropped: AtomicUsize,
}

impl Hook {
    fn use_ring(&self) {
        let _entered = self.handle.enter();
        let mut receive = Box::pin(self.stream.recv_owned(vec![0; 8]));
        assert!(poll_with(&mut receive, Waker::noop()).is_pending());
    }

    fn waker(self: &Arc<Self>) -> Waker {
        let data = Arc::into_raw(self.clone()).cast();
        // SAFETY: the table's functions keep the contract of `RawWaker`: each waker has one count
        // of the `Arc`.
        unsafe { Waker::new(data, &TABLE) }
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Returns the hook of a waker with this data, without taking the waker's count.
fn hook_of(data: *const ()) -> ManuallyDrop<Arc<Hook>> {
    // SAFETY: the data of a waker is made by `Arc::into_raw`, and the waker has a count meanwhile.
    ManuallyDrop::new(unsafe { Arc::from_raw(data.cast()) })
}

fn clone(data: *const ()) -> RawWaker {
    let hook = hook_of(data);
    hook.cloned.fetch_add(1, SeqCst);
    hook.use_ring();
    RawWaker::new(Arc::into_raw(Arc::clone(&hook)).cast(), &TABLE)
}

fn wake(data: *const ()) {
    wake_by_ref(data);
    drop_waker(data);
}

fn wake_by_ref(data: *const ()) {
    let hook = hook_of(data);
    hook.use_ring();
    hook.woken.fetch_add(1, SeqCst);
}

fn drop_waker(data: *const ()) {
    let hook = hook_of(data);
    hook.use_ring();
    hook.dropped.fetch_add(1, SeqCst);
    drop(ManuallyDrop::into_inner(hook));
}

fn poll_with<F: Future>(future: &mut Pin<Box<F>>, waker: &Waker) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// Calls `test` in an entered runtime that uses io_uring, with hooks for wakers.
fn with_hooks(name: &'static str, test: impl Fn(&Runtime, &dyn Fn() -> Arc<Hook>)) {
    for workers in [1, 2, 8] {
        let built = Runtime::builder().workers(workers).backend(Backend::IoUring).build();
        let Ok(runtime) = built else { return println!("no io_uring here") };
        watched(name, |watch| {
            let runtime = watch.runtime(runtime);
            let entered = runtime.enter();
            let (silent, stream) = UnixStream::pair().unwrap();
            let stream = stream.into_std().unwrap();
            let hook = || {
                let stream = UnixStream::from_std(stream.try_clone().unwrap()).unwrap();
                Arc::new(Hook {
                    handle: runtime.handle(),
                    stream,
                    cloned: AtomicUsize::new(0),
                    woken: AtomicUsize::new(0),
                    dropped: AtomicUsize::new(0),
                })
            };
            test(&runtime, &hook);
            wait_for(|| io_metrics(&runtime.handle()).under_way == 0);
            drop((silent, entered));
        });
    }
}

#[test]
fn a_waker_may_use_the_ring_while_it_is_cloned_and_replaced() {
    with_hooks("clones of wakers", |_, hook| {
        let (_here, there) = UnixStream::pair().unwrap();
        let mut receive = Box::pin(there.recv_owned(vec![0; 8]));
        let (first, second) = (hook(), hook());
        let (one, other) = (first.waker(), second.waker());
        assert!(poll_with(&mut receive, &one).is_pending());
        assert_eq!((first.cloned.load(SeqCst), first.dropped.load(SeqCst)), (1, 0));
        assert!(poll_with(&mut receive, &one).is_pending());
        assert_eq!(first.cloned.load(SeqCst), 1, "the same waker need not be cloned again");
        assert!(poll_with(&mut receive, &other).is_pending());
        assert_eq!((second.cloned.load(SeqCst), first.dropped.load(SeqCst)), (1, 1));
        drop(receive);
        assert_eq!(second.dropped.load(SeqCst), 1, "the future drops the waker that it has kept");
    });
}

#[test]
fn a_waker_may_use_the_ring_while_it_is_woken() {
    with_hooks("wakes of wakers", |_, hook| {
        let (here, there) = UnixStream::pair().unwrap();
        let mut receive = Box::pin(there.recv_owned(vec![0; 8]));
        let hook = hook();
        let waker = hook.waker();
        assert!(poll_with(&mut receive, &waker).is_pending());
        here.try_write(b"hello").unwrap();
        wait_for(|| hook.woken.load(SeqCst) == 1);
        let Poll::Ready((count, buffer)) = poll_with(&mut receive, &waker) else {
            panic!("the waker of this receive was called");
        };
        assert_eq!(&buffer[..count.unwrap()], b"hello");
    });
}

#[test]
fn a_waker_may_use_the_ring_at_the_end_of_its_runtime() {
    for workers in [1, 2, 8] {
        let built = Runtime::builder().workers(workers).backend(Backend::IoUring).build();
        let Ok(runtime) = built else { return println!("no io_uring here") };
        watched("wakers at the end", |watch| {
            let runtime = watch.runtime(runtime);
            let entered = runtime.enter();
            let (_here, there) = UnixStream::pair().unwrap();
            let (_silent, stream) = UnixStream::pair().unwrap();
            drop(entered);
            let handle = runtime.handle();
            let tally = common::Tally::default();
            let mut receive = Box::pin(there.recv_owned(vec![0; 8]));
            // This waker starts an operation, which is refused because the runtime has ended.
            let waker = Waker::from(Arc::new(Late {
                handle: handle.clone(),
                stream,
                tally: tally.clone(),
            }));
            let entered = handle.enter();
            assert!(poll_with(&mut receive, &waker).is_pending());
            drop(entered);
            drop(waker);
            drop(runtime);
            assert!(tally.made() == 1 && tally.is_even());
            let Poll::Ready((count, _)) = poll_with(&mut receive, Waker::noop()) else {
                panic!("the waker of this receive was called");
            };
            assert!(count.unwrap_err().to_string().contains("has ended"));
        });
    }
}

struct Late {
    handle: Handle,
    stream: UnixStream,
    tally: common::Tally,
}

impl std::task::Wake for Late {
    fn wake(self: Arc<Self>) {
        let _entered = self.handle.enter();
        let mut receive = Box::pin(self.stream.recv_owned(vec![0; 8]));
        let Poll::Ready((count, _)) = poll_with(&mut receive, Waker::noop()) else {
            panic!("no operation begins any more");
        };
        assert!(count.unwrap_err().to_string().contains("has ended"));
        drop(self.tally.token());
    }
}

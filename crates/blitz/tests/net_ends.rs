//! Operations that are cancelled, runtimes that end, sockets that are used from elsewhere.

mod common;

use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use common::{io_metrics, tcp_pair, wait_for, watched};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Polls once, and expects that the future is pending.
fn must_wait<R>(future: impl Future<Output = R>) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(pin!(future).poll(&mut cx), Poll::Pending));
}

#[test]
fn cancelled_operations_leave_nothing_behind() {
    for workers in [1, 2, 8] {
        watched("cancelled", |watch| {
            let runtime = watch.workers(workers);
            let _guard = runtime.enter();
            let handle = runtime.handle();
            assert_eq!(io_metrics(&handle).registered, 0);
            let listener = blitz::block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
            let udp = blitz::block_on(UdpSocket::bind("127.0.0.1:0")).unwrap();
            let (here, there) = UnixStream::pair().unwrap();
            assert_eq!(io_metrics(&handle).registered, 4);
            for _ in 0..100 {
                must_wait(listener.accept());
                must_wait(udp.recv_from(&mut [0; 8]));
                must_wait(here.readable());
            }
            assert_eq!(io_metrics(&handle).waiting, 0);
            // Tasks that are aborted while they wait leave nothing behind, either.
            let udp = Arc::new(udp);
            let tasks: Vec<_> = (0..10)
                .map(|_| {
                    let udp = udp.clone();
                    blitz::spawn(async move { udp.recv(&mut [0; 8]).await })
                })
                .collect();
            wait_for(|| io_metrics(&handle).waiting == 10);
            for task in tasks {
                task.abort();
                assert!(task.join().unwrap_err().is_cancelled());
            }
            assert_eq!(io_metrics(&handle).waiting, 0);
            drop((listener, udp, here, there));
            assert_eq!(io_metrics(&handle).registered, 0);
        });
    }
}

#[test]
fn a_cancelled_accept_or_read_loses_nothing() {
    for workers in [1, 2, 8] {
        watched("nothing lost", |watch| {
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                must_wait(listener.accept());
                let mut there = TcpStream::connect(address).await.unwrap();
                let (mut here, _) = listener.accept().await.unwrap();
                let mut buf = [0; 4];
                must_wait(here.read(&mut buf));
                there.write_all(b"text").await.unwrap();
                here.read_exact(&mut buf).await.unwrap();
                assert_eq!(&buf, b"text");
            });
        });
    }
}

#[test]
fn a_connect_that_is_cancelled_closes_its_socket() {
    watched("cancelled connect", |watch| {
        let runtime = watch.workers(2);
        let _guard = runtime.enter();
        let listener = blitz::block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..50 {
            // The connection may be ready at once; it is dropped in that case, too.
            let mut cx = Context::from_waker(Waker::noop());
            drop(pin!(TcpStream::connect(address)).poll(&mut cx));
        }
        assert_eq!(io_metrics(&runtime.handle()).registered, 1);
    });
}

#[test]
fn the_end_of_a_runtime_is_an_error_for_waiting_tasks() {
    for workers in [1, 2, 8] {
        watched("the end", |watch| {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            let (mut here, mut there) = runtime.block_on(tcp_pair());
            let waiting = std::thread::spawn({
                move || {
                    // This thread polls the future. The driver of the runtime that ends watches the
                    // socket.
                    blitz::block_on(async move {
                        let error = here.read(&mut [0; 4]).await.unwrap_err();
                        (here, error)
                    })
                }
            });
            wait_for(|| io_metrics(&handle).waiting == 1);
            drop(runtime);
            let (mut here, error) = waiting.join().unwrap();
            assert!(error.to_string().contains("has ended"), "{error}");
            // Operations that need not wait still work.
            blitz::block_on(async {
                there.write_all(b"late").await.unwrap();
                let mut buf = [0; 4];
                here.read_exact(&mut buf).await.unwrap();
                assert_eq!(&buf, b"late");
                let error = here.readable().await.unwrap_err();
                assert!(error.to_string().contains("has ended"), "{error}");
            });
            let _guard = handle.enter();
            let error = UnixStream::pair().unwrap_err();
            assert!(error.to_string().contains("has ended"), "{error}");
        });
    }
}

/// Counts its calls; panics in each if `panics` is set.
struct Bell {
    rung: AtomicUsize,
    panics: bool,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, SeqCst);
        assert!(!self.panics, "a waker may do this");
    }
}

#[test]
fn all_wakers_are_called_at_the_end_even_if_one_panics() {
    watched("panicking wakers", |watch| {
        let runtime = watch.workers(1);
        let guard = runtime.enter();
        let bells: Vec<_> = [true, false, true, false]
            .map(|panics| Arc::new(Bell { rung: AtomicUsize::new(0), panics }))
            .into_iter()
            .collect();
        let pairs: Vec<_> = bells.iter().map(|_| UnixStream::pair().unwrap()).collect();
        for (bell, (here, _)) in bells.iter().zip(&pairs) {
            let waker = Waker::from(bell.clone());
            assert!(here.poll_read_ready(&mut Context::from_waker(&waker)).is_pending());
        }
        let late = Arc::new(Bell { rung: AtomicUsize::new(0), panics: false });
        let waker = Waker::from(late.clone());
        let mut sleep = pin!(blitz::time::sleep(Duration::from_secs(3_600)));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(guard);
        drop(runtime);
        for bell in bells.iter().chain([&late]) {
            assert_eq!(bell.rung.load(SeqCst), 1);
        }
    });
}

#[test]
fn a_runtime_ends_with_sockets_open_and_tasks_at_them() {
    for workers in [1, 2, 8] {
        watched("open sockets", |watch| {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            let (listener, address) = runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                (listener, address)
            });
            drop(runtime.spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    drop(blitz::spawn(common::echo(stream)));
                }
            }));
            let clients: Vec<_> =
                (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
            wait_for(|| io_metrics(&handle).waiting == 21);
            drop(runtime);
            for mut client in clients {
                // The server's end was closed with its task.
                assert_eq!(std::io::Read::read(&mut client, &mut [0; 4]).unwrap(), 0);
            }
            // The port may have another listener by now, so the test does not connect again.
            assert_eq!(io_metrics(&handle).registered, 0);
        });
    }
}

#[test]
fn sockets_can_be_used_across_runtimes_and_from_foreign_threads() {
    watched("across", |watch| {
        let (one, other) = (watch.workers(1), watch.workers(2));
        let (mut here, mut there) = one.block_on(tcp_pair());
        let echo = other.spawn(async move {
            let mut buf = [0; 4];
            for _ in 0..500 {
                here.read_exact(&mut buf).await.unwrap();
                here.write_all(&buf).await.unwrap();
            }
        });
        // This thread belongs to neither runtime.
        blitz::block_on(async {
            for round in 0..500u32 {
                there.write_all(&round.to_le_bytes()).await.unwrap();
                let mut buf = [0; 4];
                there.read_exact(&mut buf).await.unwrap();
                assert_eq!(u32::from_le_bytes(buf), round);
            }
        });
        echo.join().unwrap();
        assert_eq!(io_metrics(&other.handle()).registered, 0);
    });
}

#[test]
fn a_close_ends_the_other_sides_wait() {
    for workers in [1, 2, 8] {
        watched("close", |watch| {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            let (here, mut there) = runtime.block_on(tcp_pair());
            let waits = runtime.spawn(async move { there.read(&mut [0; 4]).await });
            wait_for(|| io_metrics(&handle).waiting == 1);
            drop(here);
            assert_eq!(waits.join().unwrap().unwrap(), 0);
        });
    }
}

#[test]
fn one_task_ends_the_direction_that_another_waits_in() {
    for workers in [1, 2, 8] {
        watched("shutdown while waiting", |watch| {
            let runtime = watch.workers(workers);
            let handle = runtime.handle();
            let (here, _there) = runtime.block_on(tcp_pair());
            let (mut read, write) = here.into_split();
            let waits = runtime.spawn(async move { read.read(&mut [0; 4]).await });
            wait_for(|| io_metrics(&handle).waiting == 1);
            let socket: &TcpStream = write.as_ref();
            socket2::SockRef::from(socket).shutdown(std::net::Shutdown::Both).unwrap();
            assert_eq!(waits.join().unwrap().unwrap(), 0);
        });
    }
}

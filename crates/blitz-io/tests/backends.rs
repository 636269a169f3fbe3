//! The same operations on each backend that this system supports.

use blitz_core::{BuildError, Handle, Pool};
use blitz_io::net::{TcpListener, TcpStream, UnixStream};
use blitz_io::{Backend, BackendChoice, IoDriver};
use std::future::Future;
use std::io;
use std::task::{Context, Poll, Waker};

fn pool(workers: usize, backend: Backend) -> Result<Pool, BuildError> {
    Pool::builder().workers(workers).backend(backend).build()
}

fn driver(handle: &Handle) -> std::sync::Arc<IoDriver> {
    IoDriver::of(handle).unwrap()
}

/// A pool for each backend that this system has, and each number of workers.
fn pools() -> impl Iterator<Item = (Pool, Backend)> {
    [Backend::Auto, Backend::Readiness, Backend::IoUring].into_iter().flat_map(|backend| {
        [1, 2, 8].into_iter().filter_map(move |workers| {
            // A backend that the system forbids is not a failure; `the_chosen_backend_is_reported`
            // reports it.
            Some((pool(workers, backend).ok()?, backend))
        })
    })
}

async fn send_all(stream: &TcpStream, mut rest: Vec<u8>) -> io::Result<()> {
    while !rest.is_empty() {
        let (sent, buffer) = stream.send_owned(rest).await;
        rest = buffer[sent?..].to_vec();
    }
    Ok(())
}

async fn receive_all(stream: &TcpStream, wanted: usize) -> io::Result<Vec<u8>> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; 4_096]);
    while all.len() < wanted {
        let (received, filled) = stream.recv_owned(buffer).await;
        match received? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => all.extend_from_slice(&filled[..count]),
        }
        buffer = filled;
    }
    Ok(all)
}

#[test]
fn the_chosen_backend_is_reported() {
    let chosen = |pool: Pool| BackendChoice::of(&pool).unwrap();
    let readiness = chosen(pool(1, Backend::Readiness).unwrap());
    assert_eq!((readiness.backend, readiness.reason.as_deref()), (Backend::Readiness, None));
    assert_eq!(readiness.to_string(), "readiness");
    let automatic = chosen(pool(1, Backend::Auto).unwrap());
    let demanded = pool(1, Backend::IoUring);
    match (automatic.backend, demanded) {
        (Backend::IoUring, Ok(demanded)) => assert_eq!(chosen(demanded), automatic),
        (Backend::Readiness, Err(error)) => {
            println!("no io_uring here: {error}");
            assert_eq!(automatic.reason, error.io_error().map(ToString::to_string));
            assert!(automatic.to_string().starts_with("readiness ("));
        }
        (automatic, demanded) => panic!("{automatic:?}, but {demanded:?}"),
    }
    if !cfg!(feature = "io-uring") {
        assert!(automatic.reason.is_some_and(|reason| reason.contains("feature io-uring")));
    }
}

#[test]
fn bytes_come_as_they_were_sent() {
    for (pool, _) in pools() {
        let listener = pool.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let server = pool.spawn(async move {
            let mut echoes = Vec::new();
            for _ in 0..20 {
                let (stream, peer) = listener.accept().await.unwrap();
                assert_eq!(stream.peer_addr().unwrap(), peer);
                echoes.push(blitz_core::spawn(async move {
                    let bytes = receive_all(&stream, 100_000).await?;
                    send_all(&stream, bytes).await
                }));
            }
            for echo in echoes {
                echo.await.unwrap().unwrap();
            }
        });
        let clients: Vec<_> = (0..20_u8)
            .map(|n| {
                pool.spawn(async move {
                    let stream = TcpStream::connect(address).await.unwrap();
                    let bytes: Vec<u8> =
                        (0..100_000_u32).map(|i| (i as u8).wrapping_mul(n)).collect();
                    send_all(&stream, bytes.clone()).await.unwrap();
                    assert!(receive_all(&stream, bytes.len()).await.unwrap() == bytes);
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        server.join().unwrap();
        assert_eq!(driver(&pool.handle()).metrics().under_way, 0);
    }
}

#[test]
fn few_events_at_a_time_are_enough() {
    let pool = Pool::builder().workers(2).max_io_completions(1).build().unwrap();
    let pairs: Vec<_> =
        pool.block_on(async { (0..50).map(|_| UnixStream::pair().unwrap()).collect() });
    let waiting: Vec<_> = pairs
        .into_iter()
        .map(|(here, there)| {
            let reads = pool.spawn(async move { there.recv_owned(vec![0; 1]).await.0.unwrap() });
            (here, reads)
        })
        .collect();
    let driver = driver(&pool.handle());
    while driver.metrics().waiting < 50 {
        std::thread::yield_now();
    }
    waiting.iter().for_each(|(here, _)| assert_eq!(here.try_write(b"x").unwrap(), 1));
    waiting.into_iter().for_each(|(_, reads)| assert_eq!(reads.join().unwrap(), 1));
}

#[test]
fn the_end_of_a_stream_and_its_errors_are_seen() {
    for (pool, _) in pools() {
        pool.block_on(async {
            let (here, there) = UnixStream::pair().unwrap();
            drop(here);
            let (received, buffer) = there.recv_owned(vec![1; 8]).await;
            assert_eq!((received.unwrap(), buffer), (0, vec![1; 8]));
            let (sent, buffer) = there.send_owned(vec![2; 8]).await;
            assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
            assert_eq!(buffer, vec![2; 8]);
        });
    }
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_dropped_read_leaves_nothing_behind() {
    for (pool, backend) in pools() {
        let _entered = pool.enter();
        let (here, there) = UnixStream::pair().unwrap();
        let driver = driver(&pool.handle());
        for _ in 0..100 {
            let mut read = Box::pin(there.recv_owned(vec![0; 1_000]));
            assert!(poll_once(&mut read).is_pending());
            assert_eq!(driver.metrics().under_way > 0, backend == Backend::IoUring);
            drop(read);
        }
        while driver.metrics().under_way > 0 {
            std::thread::yield_now();
        }
        // The stream still works.
        pool.block_on(async {
            here.send_owned(b"hello".to_vec()).await.0.unwrap();
            let (received, buffer) = there.recv_owned(vec![0; 16]).await;
            assert_eq!(&buffer[..received.unwrap()], b"hello");
        });
    }
}

#[test]
fn a_dropped_accept_loses_no_connection() {
    for (pool, _) in pools() {
        let _entered = pool.enter();
        let listener = pool.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..20 {
            let mut accept = Box::pin(listener.accept());
            assert!(poll_once(&mut accept).is_pending());
            let client = std::net::TcpStream::connect(address).unwrap();
            drop(accept);
            let (_, peer) = pool.block_on(listener.accept()).unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
        }
    }
}

#[test]
fn several_tasks_may_accept() {
    for (pool, _) in pools() {
        let listener = pool.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let listener = std::sync::Arc::new(listener);
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let listener = listener.clone();
                pool.spawn(async move { listener.accept().await.unwrap().1 })
            })
            .collect();
        let clients: Vec<_> =
            (0..8).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
        let mut accepted: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
        let mut connected: Vec<_> =
            clients.iter().map(|client| client.local_addr().unwrap()).collect();
        accepted.sort();
        connected.sort();
        assert_eq!(accepted, connected);
    }
}

#[test]
fn waits_end_when_the_pool_ends() {
    for (pool, _) in pools() {
        let (here, there) = {
            let _entered = pool.enter();
            UnixStream::pair().unwrap()
        };
        let (begun, begins) = std::sync::mpsc::channel();
        let handle = pool.handle();
        // Waits outside the pool for an event that the pool's driver would have reported.
        let waiting = std::thread::spawn(move || {
            handle.block_on(async {
                let mut read = Box::pin(there.recv_owned(vec![0; 64]));
                std::future::poll_fn(|cx| {
                    let read = read.as_mut().poll(cx);
                    let _ = begun.send(());
                    read
                })
                .await
                .0
            })
        });
        begins.recv().unwrap();
        drop(pool);
        let error = waiting.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("has ended"), "{error}");
        drop(here);
    }
}

use ::flume::bounded;
use blitz::Runtime;
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

#[blitz::test(workers = 2)]
async fn as_is() {
    let (send, receive) = bounded(1);
    let sender = blitz::spawn(async move {
        for n in 0..100_u32 {
            send.send_async(n).await.unwrap();
        }
    });
    let mut sum = 0;
    while let Ok(n) = receive.recv_async().await {
        sum += n;
    }
    sender.await.unwrap();
    assert_eq!(sum, 4_950);
}

/// Waits for a timer, for a socket, and for a task that it spawns.
async fn everything() {
    blitz::time::sleep(Duration::from_millis(1)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let connecting = TcpStream::connect(listener.local_addr().unwrap());
    let (mut there, (mut here, _)) = (connecting.await.unwrap(), listener.accept().await.unwrap());
    here.write_all(b"ping").await.unwrap();
    let mut text = [0; 4];
    there.read_exact(&mut text).await.unwrap();
    assert_eq!(&text, b"ping");
    assert_eq!(blitz::spawn(async { 7 }).await.unwrap(), 7);
}

/// The channels know no budget, so a task that loops on one never waits. There is such a task on
/// every worker.
#[test]
fn others_go_on_beside_ready_channels() {
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let begun = bounded(workers);
        let hogs: Vec<_> = (0..workers)
            .map(|_| {
                let (over, begun) = (over.clone(), begun.0.clone());
                runtime.spawn(async move {
                    begun.send(()).unwrap();
                    let (send, receive) = bounded(4);
                    while !over.load(SeqCst) {
                        send.send_async(7).await.unwrap();
                        assert_eq!(receive.recv_async().await, Ok(7));
                    }
                })
            })
            .collect();
        (0..workers).for_each(|_| begun.1.recv().unwrap());
        for _ in 0..20 {
            runtime.spawn(everything()).join().unwrap();
        }
        over.store(true, SeqCst);
        hogs.into_iter().for_each(|hog| hog.join().unwrap());
    }
}

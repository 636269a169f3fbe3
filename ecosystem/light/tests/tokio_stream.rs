use ::tokio_stream::StreamExt;
use ::tokio_stream::wrappers::{IntervalStream, ReceiverStream, WatchStream};
use std::pin::pin;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

#[blitz::test(workers = 2)]
async fn as_is() {
    let (send, receive) = blitz::sync::mpsc::channel(1);
    let sender = blitz::spawn(async move {
        for n in 0..10_u32 {
            send.send(n).await.unwrap();
        }
    });
    let (_watch, watched) = blitz::sync::watch::channel(7_u32);
    let merged = ReceiverStream::new(receive).merge(WatchStream::new(watched).take(1));
    assert_eq!(merged.fold(0, |sum, n| sum + n).await, 52);
    sender.await.unwrap();
}

#[blitz::test(tokio)]
async fn as_a_guest() {
    let ticks = IntervalStream::new(tokio::time::interval(SHORT));
    assert_eq!(ticks.take(3).collect::<Vec<_>>().await.len(), 3);
    let mut late = pin!(::tokio_stream::pending::<u32>().timeout(SHORT));
    assert!(late.next().await.unwrap().is_err());
    let slow = pin!(::tokio_stream::iter([1, 2, 3]).throttle(SHORT));
    assert_eq!(slow.collect::<Vec<u32>>().await, [1, 2, 3]);
}

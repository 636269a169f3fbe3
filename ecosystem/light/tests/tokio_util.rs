use ::futures_util::{SinkExt, StreamExt};
use ::tokio_util::codec::{Framed, LinesCodec};
use ::tokio_util::io::{ReaderStream, SyncIoBridge};
use ::tokio_util::sync::{CancellationToken, PollSender};
use ::tokio_util::task::{JoinMap, TaskTracker};
use ::tokio_util::time::{DelayQueue, FutureExt};
use blitz::net::UnixStream;
use std::future::pending;
use std::io::Read;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

#[blitz::test(workers = 2)]
async fn as_is() {
    let (here, there) = UnixStream::pair().unwrap();
    let mut lines = Framed::new(here, LinesCodec::new());
    let mut echoed = Framed::new(there, LinesCodec::new());
    let echo = blitz::spawn(async move {
        while let Some(line) = echoed.next().await {
            echoed.send(line.unwrap()).await.unwrap();
        }
    });
    lines.send("one line").await.unwrap();
    assert_eq!(lines.next().await.unwrap().unwrap(), "one line");
    drop(lines);
    echo.await.unwrap();

    let token = CancellationToken::new();
    let child = token.child_token();
    let waits = blitz::spawn(async move { child.run_until_cancelled(pending::<()>()).await });
    token.cancel();
    assert_eq!(waits.await.unwrap(), None);

    let tracker = TaskTracker::new();
    let tracked = blitz::spawn(tracker.track_future(async { 7 }));
    tracker.close();
    tracker.wait().await;
    assert_eq!(tracked.await.unwrap(), 7);

    let (send, mut receive) = blitz::sync::mpsc::channel(1);
    PollSender::new(send).send(7).await.unwrap();
    assert_eq!(receive.recv().await, Some(7));

    let bytes: Vec<_> = ReaderStream::new(&b"bytes"[..]).collect().await;
    assert_eq!(bytes[0].as_ref().unwrap(), "bytes");
}

#[blitz::test(tokio, workers = 2)]
async fn as_a_guest() {
    let tracker = TaskTracker::new();
    let tracked = tracker.spawn(async { 7 });
    tracker.close();
    tracker.wait().await;
    assert_eq!(tracked.await.unwrap(), 7);

    let mut tasks = JoinMap::new();
    tasks.spawn("key", async { 7 });
    let (key, ended) = tasks.join_next().await.unwrap();
    assert_eq!((key, ended.unwrap()), ("key", 7));

    let mut queue = DelayQueue::new();
    queue.insert("late", 2 * SHORT);
    queue.insert("early", SHORT);
    assert_eq!(queue.next().await.unwrap().into_inner(), "early");
    assert_eq!(queue.next().await.unwrap().into_inner(), "late");

    assert!(FutureExt::timeout(pending::<()>(), SHORT).await.is_err());

    let mut bridge = SyncIoBridge::new(&b"bytes"[..]);
    let read = blitz::spawn_blocking(move || {
        let mut text = String::new();
        bridge.read_to_string(&mut text).unwrap();
        text
    });
    assert_eq!(read.await.unwrap(), "bytes");
}

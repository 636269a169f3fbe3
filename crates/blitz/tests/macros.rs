//! Several futures in one task, by the macros that come with the feature `macros`.
#![cfg(feature = "macros")]

use blitz::sync::{mpsc, watch};
use blitz::time::{Duration, interval, sleep};
use std::future::{pending, ready};

#[blitz::test]
async fn select_takes_what_is_ready_and_loses_nothing() {
    let (send, mut receive) = mpsc::channel(1);
    let (stop, mut stopped) = watch::channel(false);
    let sender = blitz::spawn(async move {
        for n in 1..=100u32 {
            send.send(n).await.unwrap();
        }
        send.closed().await;
    });
    let mut sum = 0;
    loop {
        blitz::select! {
            Some(n) = receive.recv() => {
                sum += n;
                if n == 100 {
                    stop.send(true).unwrap();
                }
            }
            _ = stopped.changed() => break,
        }
    }
    assert_eq!(sum, 5_050);
    drop(receive);
    sender.await.unwrap();
}

#[blitz::test(start_paused = true)]
async fn select_waits_for_timers() {
    let mut every = interval(Duration::from_secs(10));
    let end = sleep(Duration::from_secs(35));
    blitz::pin!(end);
    let mut ticks = 0;
    loop {
        blitz::select! {
            biased;
            () = &mut end => break,
            _ = every.tick() => ticks += 1,
        }
    }
    assert_eq!(ticks, 4);
}

#[blitz::test]
async fn the_macro_and_the_function_join_are_both_there() {
    assert_eq!(blitz::macros::join!(async { 1 }, async { 2 }), blitz::join(|| 1, || 2));
    let never = pending::<Result<(), &str>>();
    assert_eq!(blitz::try_join!(never, ready(Err::<(), _>("oh"))), Err("oh"));
}

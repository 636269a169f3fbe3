//! Timers, and yields of tasks.

use super::stage::{Ctx, Outcome, Stop};
use crate::plan::op::TimerKind;
use blitz::time::{Duration, Instant, interval, sleep, timeout};
use std::future::{Future, pending};

/// Lets other tasks go first.
pub async fn yields(times: u8) -> Outcome {
    for turn in 0..times {
        if turn % 2 == 0 {
            blitz::task::yield_now().await;
        } else {
            blitz::task::consume_budget().await;
        }
    }
    Ok(0)
}

/// Uses timers of about `millis` milliseconds.
pub async fn run(ctx: &Ctx, kind: TimerKind, millis: u8) -> Outcome {
    let time = Duration::from_millis(millis.into());
    let begin = Instant::now();
    match kind {
        TimerKind::Sleep => sleep(time).await,
        TimerKind::Elapses => {
            let elapsed = timeout(time, pending::<()>()).await.is_err();
            ctx.check(elapsed, "a future that is always pending was ready");
        }
        TimerKind::InTime => {
            let in_time = timeout(Duration::from_secs(100_000), sleep(time)).await.is_ok();
            ctx.check(in_time, "a timeout of a day elapsed");
        }
        TimerKind::Interval => {
            let mut ticks = interval(time.max(Duration::from_millis(1)));
            for _ in 0..3 {
                ticks.tick().await;
            }
        }
        TimerKind::Many => many(time).await?,
        TimerKind::Reset => {
            let mut sleep = Box::pin(sleep(Duration::from_secs(100_000)));
            // Poll it once, so that it is in the wheel.
            std::future::poll_fn(|cx| {
                let _ = sleep.as_mut().poll(cx);
                std::task::Poll::Ready(())
            })
            .await;
            sleep.as_mut().reset(begin + time);
            sleep.await;
        }
    }
    let early = !matches!(kind, TimerKind::Interval) && begin.elapsed() < time;
    ctx.check(!early, "a timer fired early");
    Ok(1)
}

/// Starts many sleeps at once, and cancels half of them.
async fn many(time: Duration) -> Result<(), Stop> {
    let mut sleeps: Vec<_> = (0..64).map(|_| Box::pin(sleep(time))).collect();
    std::future::poll_fn(|cx| {
        for sleep in &mut sleeps {
            let _ = sleep.as_mut().poll(cx);
        }
        std::task::Poll::Ready(())
    })
    .await;
    sleeps.truncate(32);
    for sleep in sleeps {
        sleep.await;
    }
    Ok(())
}

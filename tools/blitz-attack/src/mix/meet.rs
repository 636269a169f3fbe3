//! Tasks that meet in channels and locks of `blitz::sync`. All participants are tasks that await.

use super::stage::{Ctx, Outcome, Stop, ticketed};
use crate::ledger::Kind;
use crate::plan::op::MeetKind;
use blitz::JoinHandle;
use blitz::sync::{Barrier, Mutex, Notify, RwLock, Semaphore};
use blitz::sync::{broadcast, mpsc, oneshot, watch};
use std::future::Future;
use std::sync::Arc;

/// How many messages or turns each task has.
const TURNS: u64 = 8;

type Done = JoinHandle<u64>;

/// Lets `count` tasks meet.
pub async fn run(ctx: &Ctx, kind: MeetKind, count: u8) -> Outcome {
    let count = u64::from(count);
    let (tasks, wanted) = match kind {
        MeetKind::Mpsc => (mpsc_tasks(ctx, count), count * TURNS),
        MeetKind::Oneshot => (oneshot_tasks(ctx, count), count),
        MeetKind::Broadcast => (broadcast_tasks(ctx, count), count * TURNS),
        MeetKind::Watch => (watch_tasks(ctx, count), count * TURNS),
        MeetKind::Mutex => (mutex_tasks(ctx, count), count * TURNS),
        MeetKind::RwLock => (rw_lock_tasks(ctx, count), count * TURNS),
        MeetKind::Semaphore => (semaphore_tasks(ctx, count), count * TURNS),
        MeetKind::Notify => (notify_tasks(ctx, count), count),
        MeetKind::Barrier => (barrier_tasks(ctx, count), count),
    };
    let mut sum = Ok(0);
    for task in tasks {
        let one = ctx.settle(task.await);
        sum = sum.and_then(|sum| Ok::<u64, Stop>(sum + one?));
    }
    // If the runtime ends and cancels the other side of a channel, some messages are missing.
    if sum? != wanted && !ctx.is_ending() {
        ctx.complain(format!("{kind:?} of {count} brought {sum:?}, not {wanted}"));
    }
    Ok(1)
}

fn task(ctx: &Ctx, future: impl Future<Output = u64> + Send + 'static) -> Done {
    blitz::spawn(ticketed(ctx.ticket(Kind::Task), future).0)
}

fn mpsc_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let (send, mut receive) = mpsc::channel(1);
    let mut tasks: Vec<_> = (0..count)
        .map(|_| {
            let send = send.clone();
            task(ctx, async move {
                for _ in 0..TURNS {
                    if send.send(1u64).await.is_err() {
                        break;
                    }
                }
                0
            })
        })
        .collect();
    tasks.push(task(ctx, async move {
        let mut sum = 0;
        while let Some(one) = receive.recv().await {
            sum += one;
        }
        sum
    }));
    tasks
}

fn oneshot_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    (0..count)
        .flat_map(|_| {
            let (send, receive) = oneshot::channel();
            let receiver = task(ctx, async { receive.await.unwrap_or(0) });
            let sender = task(ctx, async {
                blitz::task::yield_now().await;
                // The receiver is gone if the runtime ends.
                let _ = send.send(1);
                0
            });
            [receiver, sender]
        })
        .collect()
}

fn broadcast_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let (send, _) = broadcast::channel(TURNS as usize);
    let mut tasks: Vec<_> = (0..count)
        .map(|_| {
            let mut receive = send.subscribe();
            task(ctx, async move {
                let mut sum = 0;
                while let Ok(one) = receive.recv().await {
                    sum += one;
                }
                sum
            })
        })
        .collect();
    tasks.push(task(ctx, async move {
        for _ in 0..TURNS {
            let _ = send.send(1u64);
            blitz::task::yield_now().await;
        }
        0
    }));
    tasks
}

fn watch_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let (send, receive) = watch::channel(0);
    let mut tasks: Vec<_> = (0..count)
        .map(|_| {
            let mut receive = receive.clone();
            task(ctx, async move {
                match receive.wait_for(|value| *value == TURNS).await {
                    Ok(value) => *value,
                    Err(_) => 0,
                }
            })
        })
        .collect();
    tasks.push(task(ctx, async move {
        for value in 1..=TURNS {
            send.send_replace(value);
            blitz::task::yield_now().await;
        }
        0
    }));
    tasks
}

fn mutex_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let lock = Arc::new(Mutex::new(0u64));
    let turn = |lock: Arc<Mutex<u64>>| async move {
        for _ in 0..TURNS {
            let mut guard = lock.lock().await;
            let before = *guard;
            blitz::task::yield_now().await;
            *guard = before + 1;
        }
        match Arc::into_inner(lock) {
            Some(last) => last.into_inner(),
            None => 0,
        }
    };
    // The task that ends last has the last reference, so exactly one task returns the value.
    let mut tasks: Vec<_> = (1..count).map(|_| task(ctx, turn(lock.clone()))).collect();
    tasks.push(task(ctx, turn(lock)));
    tasks
}

fn rw_lock_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let lock = Arc::new(RwLock::new(0u64));
    (0..count)
        .map(|_| {
            let lock = lock.clone();
            task(ctx, async move {
                let mut written = 0;
                for _ in 0..TURNS {
                    *lock.write().await += 1;
                    written += u64::from(*lock.read().await > 0);
                }
                written
            })
        })
        .collect()
}

fn semaphore_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let permits = Arc::new(Semaphore::new(1));
    (0..count)
        .map(|_| {
            let permits = permits.clone();
            task(ctx, async move {
                let mut turns = 0;
                for _ in 0..TURNS {
                    let permit = permits.acquire().await;
                    blitz::task::yield_now().await;
                    turns += u64::from(permit.is_ok());
                }
                turns
            })
        })
        .collect()
}

fn notify_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let bell = Arc::new(Notify::new());
    let rung = bell.clone();
    let first = task(ctx, async move {
        rung.notify_one();
        0
    });
    let rest = (0..count).map(|_| {
        let bell = bell.clone();
        task(ctx, async move {
            bell.notified().await;
            // Passes the only notification on to the next task.
            bell.notify_one();
            1
        })
    });
    let rest: Vec<_> = rest.collect();
    [first].into_iter().chain(rest).collect()
}

fn barrier_tasks(ctx: &Ctx, count: u64) -> Vec<Done> {
    let barrier = Arc::new(Barrier::new(count as usize));
    (0..count)
        .map(|_| {
            let barrier = barrier.clone();
            task(ctx, async move {
                barrier.wait().await;
                1
            })
        })
        .collect()
}

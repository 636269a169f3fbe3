//! Runs tasks of Blitz on one worker, with a Tokio guest or without. Count the instructions of this
//! program instead of measuring time: the times of two equal pools differ by more than a guest
//! could cost.
//!
//! ```text
//! cargo build --release -p speed --example tasks
//! valgrind --tool=callgrind --separate-threads=yes …/tasks guest yield 100000
//! ```
//!
//! The cost of a step follows from two runs with different numbers of steps: compare the counts of
//! the worker's thread.

use blitz::sync::mpsc;
use std::error::Error;

/// Spawns a task and awaits it, `steps` times.
async fn spawn(steps: usize) {
    for _ in 0..steps {
        blitz::spawn(async {}).await.unwrap();
    }
}

/// Lets other tasks go first, `steps` times.
async fn yields(steps: usize) {
    for _ in 0..steps {
        blitz::task::yield_now().await;
    }
}

/// Sends a message to another task and awaits its answer, `steps` times.
async fn ping_pong(steps: usize) {
    let (ping, mut pings) = mpsc::channel(1);
    let (pong, mut pongs) = mpsc::channel(1);
    let other = blitz::spawn(async move {
        while let Some(ball) = pings.recv().await {
            pong.send(ball).await.unwrap();
        }
    });
    for step in 0..steps {
        ping.send(step).await.unwrap();
        assert_eq!(pongs.recv().await, Some(step));
    }
    drop(ping);
    other.await.unwrap();
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pool, what, steps] = &words[..] else {
        return Err("usage: tasks guest|plain spawn|yield|ping-pong STEPS".into());
    };
    let builder = blitz::Runtime::builder().workers(1);
    let runtime = match pool.as_str() {
        "guest" => builder.tokio_guest(),
        _ => builder,
    }
    .build()?;
    let steps = steps.parse()?;
    let task = match what.as_str() {
        "spawn" => runtime.spawn(spawn(steps)),
        "yield" => runtime.spawn(yields(steps)),
        _ => runtime.spawn(ping_pong(steps)),
    };
    task.join().map_err(|_| "the task panicked or was cancelled".into())
}

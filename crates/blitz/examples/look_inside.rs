//! A program that shows its pools on a page: requests, computations, and tasks that hang.
//!
//! ```text
//! cargo run --release --features inspect --example look_inside -- --seconds 60 --hang
//! ```
//!
//! Without `--seconds` the program runs for a moment only. With `--hang` a task blocks its worker
//! until the program ends, and two tasks wait for each other.

#[cfg(feature = "inspect")]
mod shown {
    use blitz::inspect::{Inspect, pages};
    use blitz::prelude::*;
    use blitz::sync::mpsc;
    use blitz::{JoinHandle, Pool, task, time};
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;

    /// Computes on all workers that are free.
    fn mandelbrot(rows: usize) -> usize {
        let inside = |x: f64, y: f64| {
            let (mut a, mut b) = (0.0, 0.0);
            (0..200).all(|_| {
                (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
                a * a + b * b < 4.0
            })
        };
        let row = |i: usize| {
            let y = i as f64 / rows as f64 * 2.4 - 1.2;
            (0..80).filter(|&j| inside(f64::from(j) / 80.0 * 3.0 - 2.0, y)).count()
        };
        blitz::region("mandelbrot", || (0..rows).into_par_iter().map(row).sum())
    }

    async fn request(number: u64) -> u64 {
        time::sleep(Duration::from_micros(200 + number % 7 * 300)).await;
        let found = mandelbrot(8 + (number % 5) as usize * 4);
        time::sleep(Duration::from_micros(500)).await;
        found as u64
    }

    async fn clients(send: mpsc::Sender<u64>) {
        for number in 0.. {
            let sum = blitz::spawn(request(number)).await.unwrap_or(0);
            if send.send(sum).await.is_err() {
                return;
            }
            time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// Blocks its worker, like a lock that is held too long.
    async fn report_writer(lock: Arc<(Mutex<bool>, Condvar)>) {
        let (held, freed) = &*lock;
        let mut held = held.lock().unwrap();
        while *held {
            held = freed.wait(held).unwrap();
        }
    }

    /// Waits for another task, which waits for this one.
    async fn waits_for(other: mpsc::Receiver<JoinHandle<()>>) {
        let mut other = other;
        if let Some(handle) = other.recv().await {
            drop(handle.await);
        }
    }

    /// Serves the page for `seconds`.
    pub fn run(seconds: f64, hang: bool) -> Result<(), Box<dyn std::error::Error>> {
        let pool =
            Pool::builder().workers(4).inspect(Inspect::at("127.0.0.1:0").name("api")).build()?;
        let other =
            Pool::builder().workers(2).inspect(Inspect::at("127.0.0.1:0").name("batch")).build()?;
        println!("{}", pages()[0].url());
        let lock = Arc::new((Mutex::new(hang), Condvar::new()));
        let handle = pool.handle();
        pool.block_on(async {
            let (send, mut receive) = mpsc::channel(64);
            let tasks: Vec<_> = (0..6).map(|_| blitz::spawn(clients(send.clone()))).collect();
            let named = task::Builder::new().name("<script>alert(1)</script>");
            let odd = named.spawn(std::future::pending::<()>())?;
            let mut stuck = Vec::new();
            if hang {
                let writer = task::Builder::new().name("report writer");
                stuck.push(writer.spawn_on(report_writer(lock.clone()), &handle)?);
                let ((to_a, at_a), (to_b, at_b)) = (mpsc::channel(1), mpsc::channel(1));
                let (a, b) = (blitz::spawn(waits_for(at_a)), blitz::spawn(waits_for(at_b)));
                stuck.extend([a.abort_handle(), b.abort_handle()].map(|handle| {
                    blitz::spawn(async move {
                        time::sleep(Duration::from_secs(3_600)).await;
                        drop(handle);
                    })
                }));
                to_a.send(b).await?;
                to_b.send(a).await?;
            }
            let batches = other.spawn(async {
                loop {
                    mandelbrot(40);
                    time::sleep(Duration::from_millis(20)).await;
                }
            });
            let counts = async { while receive.recv().await.is_some() {} };
            let _ = time::timeout(Duration::from_secs_f64(seconds), counts).await;
            batches.abort();
            odd.abort();
            *lock.0.lock().unwrap() = false;
            lock.1.notify_all();
            tasks.iter().for_each(JoinHandle::abort);
            stuck.iter().for_each(JoinHandle::abort);
            Ok(())
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let after =
        |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
    let seconds: f64 = after("--seconds").map_or(Ok(0.2), |text| text.parse())?;
    let hang = words.iter().any(|word| word == "--hang");
    #[cfg(feature = "inspect")]
    return shown::run(seconds, hang);
    #[cfg(not(feature = "inspect"))]
    {
        println!("{seconds} s, hang: {hang}: a page needs a build with --features inspect");
        Ok(())
    }
}

//! Measures the cost of a Tokio guest, and compares Blitz's HTTP client with reqwest.
//!
//! Run it in `ecosystem/` by `cargo run --release -p speed`. With a word after `--`, it measures
//! only the rows whose names contain that word. A row compares two contestants, which are measured
//! one after the other, in several rounds. It has two lines of ratios: of the time by the clock,
//! and of the CPU time of the process. A line has the median of all rounds, the lowest and the
//! highest ratio, and the ratio of the best measurements. The peer is a server of plain threads in
//! the same process, so it costs every contestant the same.

use blitz_hyper::Client;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
const ROUNDS: usize = 31;
/// Tasks, and the requests of each.
const MANY: (usize, usize) = (16, 300);
const ALONE: (usize, usize) = (1, 1_500);
const TASKS: usize = 100_000;
const IDLE: Duration = Duration::from_secs(2);

/// Starts a server that gives the same answer to each request, with a thread per connection.
fn start_server() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        if line == "\r\n" {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")?;
        }
        line.clear();
    }
    Ok(())
}

async fn by_reqwest(client: reqwest::Client, url: String, requests: usize) {
    for _ in 0..requests {
        let text = client.get(&url).send().await.unwrap().bytes().await.unwrap();
        assert_eq!(text, "hello");
    }
}

async fn by_blitz(client: Client<Empty<Bytes>>, url: String, requests: usize) {
    for _ in 0..requests {
        let answer = client.get(url.parse().unwrap()).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "hello");
    }
}

/// Polls `future` in the context of `runtime`, whichever thread polls it. Blitz's threads do the
/// same for tasks of a pool with a guest.
async fn inside_of<F: Future>(runtime: tokio::runtime::Handle, future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let _inside = runtime.enter();
        future.as_mut().poll(context)
    })
    .await
}

/// Seconds by the clock, and of CPU time.
type Cost = [f64; 2];

/// Measures how long `f` takes.
fn time(f: impl FnOnce()) -> Cost {
    let (start, before) = (Instant::now(), cpu_time());
    f();
    [start.elapsed().as_secs_f64(), cpu_time() - before]
}

/// Awaits all tasks.
async fn all(tasks: Vec<tokio::task::JoinHandle<()>>) {
    for task in tasks {
        task.await.unwrap();
    }
}

/// Measures `one` and `other` in turns. Prints the goal and the ratios.
fn compare(what: &str, goal: &str, mut one: impl FnMut() -> Cost, mut other: impl FnMut() -> Cost) {
    if std::env::args().nth(1).is_some_and(|word| !what.contains(&word)) {
        return;
    }
    // Warm up: open connections and touch memory.
    let _warm = (one(), other());
    let costs: Vec<[Cost; 2]> = (0..ROUNDS)
        .map(|round| {
            // Alternate which of the two goes first.
            if round % 2 == 0 {
                let first = one();
                [first, other()]
            } else {
                let first = other();
                [one(), first]
            }
        })
        .collect();
    println!("{what}: {goal}");
    for (which, name) in ["clock", "CPU time"].into_iter().enumerate() {
        let of_round = |[one, other]: &[Cost; 2]| one[which] / other[which];
        let mut ratios: Vec<f64> = costs.iter().map(of_round).collect();
        ratios.sort_by(f64::total_cmp);
        let (low, high) = (ratios[0], ratios[ROUNDS - 1]);
        // The measurement that was disturbed least.
        let best = |who: usize| costs.iter().map(|cost| cost[who][which]).fold(f64::MAX, f64::min);
        let (median, best) = (ratios[ROUNDS / 2], best(0) / best(1));
        println!("    {name:10} {median:5.3}  ({low:5.3} .. {high:5.3}), of the best {best:5.3}");
    }
}

/// The CPU time of this process in seconds, including that of threads that have ended.
fn cpu_time() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = format!("http://{}/", start_server()?);
    let host = blitz::Runtime::builder().workers(WORKERS).tokio_guest().build()?;
    let plain = blitz::Runtime::builder().workers(WORKERS).build()?;
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;

    // Tokio as its own guest shows the cost of crossing from one runtime to another.
    let second =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;

    // One client for each runtime: a client's connections belong to the runtime that made them.
    let clients: [reqwest::Client; 3] = Default::default();
    let own = blitz_hyper::client::<Empty<Bytes>>();
    let ask = |client: usize, requests| by_reqwest(clients[client].clone(), url.clone(), requests);
    let on_tokio = |(tasks, requests): (usize, usize)| {
        time(|| {
            let tasks: Vec<_> = (0..tasks).map(|_| tokio.spawn(ask(0, requests))).collect();
            tokio.block_on(all(tasks));
        })
    };
    let on_guest = |(tasks, requests): (usize, usize)| {
        time(|| {
            let tasks: Vec<_> = (0..tasks).map(|_| host.spawn(ask(1, requests))).collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
        })
    };
    let guest = host.handle().tokio().ok_or("the pool has no guest")?;
    let in_guest = |(tasks, requests): (usize, usize)| {
        time(|| {
            let tasks: Vec<_> = (0..tasks).map(|_| guest.spawn(ask(1, requests))).collect();
            host.block_on(all(tasks));
        })
    };
    let on_two = |(tasks, requests): (usize, usize)| {
        time(|| {
            let inside = |future| tokio.spawn(inside_of(second.handle().clone(), future));
            let tasks: Vec<_> = (0..tasks).map(|_| inside(ask(2, requests))).collect();
            tokio.block_on(all(tasks));
        })
    };
    let on_blitz = |(tasks, requests): (usize, usize)| {
        time(|| {
            let ask = || by_blitz(own.clone(), url.clone(), requests);
            let tasks: Vec<_> = (0..tasks).map(|_| plain.spawn(ask())).collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
        })
    };
    // These runtimes have one worker each, so that stealing does not disturb the measurement.
    let with = blitz::Runtime::builder().workers(1).tokio_guest().build()?;
    let [without, another] = [(); 2].map(|()| blitz::Runtime::builder().workers(1).build());
    let (without, another) = (without?, another?);
    let tasks_of = |runtime: &blitz::Runtime| {
        time(|| {
            runtime
                .block_on(runtime.spawn(async {
                    let mut set: blitz::JoinSet<()> =
                        (0..TASKS).map(|_| blitz::task::yield_now()).collect();
                    while set.join_next().await.is_some() {}
                }))
                .unwrap();
        })
    };

    for (how, load) in [("16 tasks", MANY), ("one task", ALONE)] {
        let row = |who: &str, goal, one: &dyn Fn((usize, usize)) -> Cost| {
            compare(
                &format!("{how}, {who} : reqwest on Tokio"),
                goal,
                || one(load),
                || on_tokio(load),
            );
        };
        row("reqwest in Blitz's tasks with a guest", "goal: at most 1.1", &on_guest);
        row("reqwest in the guest's own tasks", "goal: at most 1.1", &in_guest);
        row("reqwest on Tokio with another Tokio as guest", "shows the cost of crossing", &on_two);
        row("blitz_hyper::client", "goal: at most 1.0", &on_blitz);
    }
    compare(
        "tasks that yield once, one worker with a guest : without",
        "goal: at most 1.01",
        || tasks_of(&with),
        || tasks_of(&without),
    );
    compare(
        "tasks that yield once, one worker without a guest : another one without",
        "shows the noise of the machine",
        || tasks_of(&another),
        || tasks_of(&without),
    );

    drop((clients, own, plain, tokio, second, with, without, another));
    // Wait until connections and threads have ended.
    std::thread::sleep(IDLE);
    let before = cpu_time();
    std::thread::sleep(IDLE);
    let used = 1e6 * (cpu_time() - before);
    println!("CPU time of an idle pool with a guest in {IDLE:?}: {used:.0} us");
    drop(host);
    Ok(())
}

//! `blitz demo`: a server with parallel work, a page that shows its pools, and buttons that break
//! it, so that everything about looking inside can be tried in one command.

mod http;
mod server;
mod trouble;
mod work;

use std::{
    net::{Ipv4Addr, TcpListener},
    thread,
    time::Duration,
};

use blitz::{
    Pool,
    inspect::{Inspect, pages},
};

use crate::{Failure, args::DemoArgs, print};
use trouble::Trouble;

/// Where the page is, unless the user says where or another program is there.
const USUAL_PORT: u16 = 6680;
/// How many workers the demo has at least: a stall of one of them must not be all there is to see.
const WORKERS_MIN: usize = 4;
/// How many workers the pool beside it has.
const BATCH_WORKERS: usize = 2;
/// How long pools get to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves until the time is over, or until the process is ended.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::new("the demo cannot start", error);
    let page = format!("127.0.0.1:{}", args.port.unwrap_or_else(usual_port));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = args.workers.unwrap_or_else(|| cores.max(WORKERS_MIN));
    let pool = |workers: usize, name: &str| {
        let settings = Inspect::at(page.clone()).name(name);
        Pool::builder().workers(workers).inspect(settings).build().map_err(|error| cannot(&error))
    };
    let (api, batch) = (pool(workers, "api")?, pool(BATCH_WORKERS, "batch")?);

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| cannot(&error))?;
    let own = listener.local_addr().map_err(|error| cannot(&error))?;
    let url = pages().first().map(|page| page.url()).unwrap_or_default();
    let trouble = Trouble::new(&api.handle(), workers - 1);
    server::start(&api, listener, trouble.clone(), &url).map_err(|error| cannot(&error))?;
    work::start(&api, &batch, own).map_err(|error| cannot(&error))?;

    let pid = std::process::id();
    print(&format!(
        "look inside   {url}\nbreak things  http://{own}/\nin a terminal blitz top {pid}\n"
    ))?;
    match args.seconds {
        Some(seconds) => thread::sleep(Duration::from_secs_f64(seconds)),
        None => loop {
            thread::park();
        },
    }
    trouble.end();
    // What is left ends with the process.
    for pool in [api, batch] {
        let _ = pool.shutdown_within(PATIENCE);
    }
    Ok(())
}

fn usual_port() -> u16 {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, USUAL_PORT)) {
        Ok(_) => USUAL_PORT,
        Err(_) => 0,
    }
}

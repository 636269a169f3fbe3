//! `blitz demo`: a server with parallel work, a page that shows its pools, and buttons that break
//! the server. With it, users can try in one command everything that looks inside a pool.

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
    inspect::{Inspect, Token, pages},
};

use crate::{Failure, args::DemoArgs, print};
use trouble::{PATIENCE, Trouble};

/// The port of the page, unless the user names a port, or this one is in use.
const USUAL_PORT: u16 = 6680;
/// There are at least this many workers by default: when one stalls, users see the others go on.
const WORKERS_MIN: usize = 4;
/// The number of workers of the second pool.
const BATCH_WORKERS: usize = 2;

/// Serves until the time is over or the process is killed.
pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::new("the demo cannot start", error);
    let page = format!("127.0.0.1:{}", args.port.unwrap_or_else(usual_port));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = args.workers.unwrap_or_else(|| cores.max(WORKERS_MIN));
    let token = match args.token {
        true => Some(Token::random().map_err(|error| cannot(&error))?),
        false => None,
    };
    let pool = |workers: usize, name: &str| {
        let settings = Inspect::at(page.clone()).name(name);
        let settings = match &token {
            Some(token) => settings.token(token.clone()),
            None => settings,
        };
        Pool::builder().workers(workers).inspect(settings).build().map_err(|error| cannot(&error))
    };
    let (api, batch) = (pool(workers, "api")?, pool(BATCH_WORKERS, "batch")?);

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| cannot(&error))?;
    let own = listener.local_addr().map_err(|error| cannot(&error))?;
    let url = pages().first().map(|page| page.url()).unwrap_or_default();
    work::start(&api, &batch, own).map_err(|error| cannot(&error))?;
    let trouble = Trouble::new(&api.handle(), workers - 1, batch);
    server::start(&api, listener, trouble.clone(), &url).map_err(|error| cannot(&error))?;

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
    // Tasks that are left end with the process.
    for pool in [Some(api), trouble.take_second()].into_iter().flatten() {
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

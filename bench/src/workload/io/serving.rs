//! Many clients, each with one request on its way at a time: how long a request takes, and what it
//! costs the server's process.

use std::{
    any::Any,
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use super::{Contest, Pace, bare};
use crate::{
    load::{Ask, Clients, Load, LoadProcess, Talk},
    os,
    rival::RivalKind,
    runtime::{Outside, with_outside},
    workload::{Metric, Sample, nanoseconds},
};

/// A server of `rival` with its clients.
pub(super) fn open(
    rival: RivalKind,
    workers: usize,
    talk: Talk,
    connections: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let server = start(rival, workers, talk, connections, listener)?;
    let load = Load { address, connections, talk };
    let clients: Box<dyn Ask> = match pace {
        // A test's program cannot be started again as something else.
        Pace::Smoke => Box::new(Clients::connect(load)?),
        Pace::Quick | Pace::Full => Box::new(LoadProcess::start(load)?),
    };
    Ok(Box::new(Serving { clients, _server: server, time: pace.turn_time() * 5 }))
}

/// Starts a server in the background; it may end when what is returned is dropped.
fn start(
    rival: RivalKind,
    workers: usize,
    talk: Talk,
    connections: usize,
    listener: TcpListener,
) -> Result<Box<dyn Any>, String> {
    match (rival, talk) {
        (RivalKind::Bare, Talk::Echo(_)) => {
            let server = bare::echo(listener, connections, workers);
            Ok(Box::new(server.map_err(|error| error.to_string())?))
        }
        _ => with_outside!(rival, R => {
            let runtime = R::build_for_outside(workers)?;
            match talk {
                Talk::Echo(_) => runtime.echo(listener)?,
                Talk::Hello => runtime.hello(listener)?,
            }
            Ok(Box::new(runtime))
        }),
    }
}

/// The clients come first: their connections end before the server does.
struct Serving {
    clients: Box<dyn Ask>,
    _server: Box<dyn Any>,
    time: Duration,
}

impl Contest for Serving {
    fn turn(&mut self) -> Result<Sample, String> {
        // Another contestant had the caches since the last turn.
        self.clients.ask(self.time / 8)?;
        let before = os::cpu_time();
        let harvest = self.clients.ask(self.time)?;
        let after = os::cpu_time();
        let answers = harvest.answers as f64;
        let mut sample = Sample::from([
            (Metric::Wall, harvest.nanoseconds / answers),
            (Metric::ReturnP50, harvest.p50),
            (Metric::ReturnP99, harvest.p99),
        ]);
        if let Some((before, after)) = before.zip(after) {
            let used = nanoseconds(after.saturating_sub(before));
            sample.insert(Metric::Cpu, used / answers);
        }
        Ok(sample)
    }
}

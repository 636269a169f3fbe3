//! Many clients, each with one request on its way at a time: how long a request takes, and what it
//! costs the server's process.

use std::{
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use super::{Contest, Pace};
use crate::{
    load::{Ask, Clients, Load, LoadProcess, Talk},
    os,
    runtime::Outside,
    workload::{Metric, Sample, nanoseconds},
};

pub(super) fn open<R: Outside>(
    runtime: R,
    talk: Talk,
    connections: usize,
    pace: Pace,
) -> Result<Box<dyn Contest>, String> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    match talk {
        Talk::Echo(_) => runtime.echo(listener)?,
        Talk::Hello => runtime.hello(listener)?,
    }
    let load = Load { address, connections, talk };
    let clients: Box<dyn Ask> = match pace {
        // A test's program cannot be started again as something else.
        Pace::Smoke => Box::new(Clients::connect(load)?),
        Pace::Quick | Pace::Full => Box::new(LoadProcess::start(load)?),
    };
    Ok(Box::new(Serving { clients, _runtime: runtime, time: pace.turn_time() * 5 }))
}

/// The clients come first: their connections end before the server does.
struct Serving<R> {
    clients: Box<dyn Ask>,
    _runtime: R,
    time: Duration,
}

impl<R: Outside> Contest for Serving<R> {
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

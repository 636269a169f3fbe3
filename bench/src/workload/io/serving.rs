//! Many clients with one request at a time each. Measures the time of a request, and its cost in
//! the server's process.

use std::{
    any::Any,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    time::Duration,
};

use socket2::{Domain, Socket, Type};

use super::{Contest, Pace, bare};
use crate::{
    load::{self, Ask, Load, LoadProcess, Talk, Tool, ToolRun},
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
    let (server, load) = start(rival, workers, talk, connections)?;
    let clients = connect(load, pace)?;
    let time = pace.turn_time() * 5;
    // Warm up: another contestant used the caches since the last turn.
    Ok(Box::new(Serving { clients, _server: server, warm_up: Some(time / 8), time }))
}

/// Connects the clients, in a process of their own where that is possible.
pub(in crate::workload) fn connect(load: Load, pace: Pace) -> Result<Box<dyn Ask + Send>, String> {
    match pace {
        // A test program cannot start itself again in another role.
        Pace::Smoke => load::connect(load),
        Pace::Quick | Pace::Full => Ok(Box::new(LoadProcess::start(load)?)),
    }
}

/// A server of `rival` to which `tool` sends requests.
pub(super) fn open_driven(
    rival: RivalKind,
    workers: usize,
    tool: Tool,
    connections: usize,
) -> Result<Box<dyn Contest>, String> {
    let (server, load) = start(rival, workers, Talk::Hello, connections)?;
    let clients = Box::new(ToolRun::new(tool, load));
    Ok(Box::new(Serving { clients, _server: server, warm_up: None, time: DRIVEN_TURN }))
}

/// Starts a server in the background, and returns its address. The server may end when the returned
/// value is dropped.
fn start(
    rival: RivalKind,
    workers: usize,
    talk: Talk,
    connections: usize,
) -> Result<(Box<dyn Any>, Load), String> {
    let listener = listen().map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let server = serve(rival, workers, talk, connections, listener)?;
    Ok((server, Load { address, connections, talk, rate: None }))
}

/// Listens at an address that has room for all clients at once.
pub(in crate::workload) fn listen() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn serve(
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

/// `clients` is the first field, so that the connections end before the server does.
struct Serving {
    clients: Box<dyn Ask>,
    _server: Box<dyn Any>,
    /// How long the clients send requests before the measurement, if at all.
    warm_up: Option<Duration>,
    time: Duration,
}

impl Contest for Serving {
    fn turn(&mut self) -> Result<Sample, String> {
        if let Some(time) = self.warm_up {
            self.clients.ask(time)?;
        }
        let before = os::cpu_time();
        let harvest = self.clients.ask(self.time)?;
        let after = os::cpu_time();
        let answers = harvest.answers as f64;
        let mut sample = harvest.latencies;
        sample.insert(Metric::Wall, harvest.nanoseconds / answers);
        if let Some((before, after)) = before.zip(after) {
            let used = nanoseconds(after.saturating_sub(before));
            sample.insert(Metric::Cpu, used / answers);
        }
        Ok(sample)
    }
}

/// The backlog of the listener: more than there are connections. With a backlog of 128, the default
/// of the standard library, a client that finds no room tries again after a second. If the run of
/// `h2load` is over by then, `h2load` never ends.
const BACKLOG: i32 = 1_024;

/// The shortest run of `wrk`.
const DRIVEN_TURN: Duration = Duration::from_secs(1);

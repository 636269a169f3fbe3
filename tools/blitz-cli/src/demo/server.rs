//! The server of the demo: pictures, and buttons that break it.

use std::{io, sync::Arc, time::Duration};

use blitz::{
    Pool,
    net::{TcpListener, TcpStream},
    task, time,
};

use super::{
    http::{Connection, Request, Response},
    trouble::Trouble,
    work::render,
};

/// How long a client may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How many rows a picture has at most.
const ROWS_MAX: usize = 400;
/// How long a worker is stuck by default.
const SECONDS: f64 = 30.0;

/// Serves the connections of `listener` on the workers of `pool`.
pub fn start(
    pool: &Pool,
    listener: std::net::TcpListener,
    trouble: Trouble,
    inspect: &str,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let page: Arc<str> = include_str!("page.html").replace("INSPECT", inspect).into();
    let serves = async move {
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    drop(blitz::spawn(connection(stream, trouble.clone(), page.clone())));
                }
                // The next call may fail at once, too, for example because no descriptor is left.
                Err(_) => time::sleep(Duration::from_millis(100)).await,
            }
        }
    };
    task::Builder::new().name("server").spawn_on(serves, &pool.handle()).map(drop)
}

/// Answers a client until it disconnects or is silent for too long.
async fn connection(stream: TcpStream, trouble: Trouble, page: Arc<str>) -> io::Result<()> {
    let mut connection = Connection::new(stream);
    loop {
        let Ok(request) = time::timeout(SILENCE_MAX, connection.request()).await else {
            return Ok(());
        };
        let Some(request) = request? else { return Ok(()) };
        connection.answer(&answer(&request, &trouble, &page)).await?;
    }
}

fn answer(request: &Request, trouble: &Trouble, page: &str) -> Response {
    if !request.is_own() {
        return Response::refusal(
            "403 Forbidden",
            "requests from pages of other sites are refused",
        );
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => Response::page(page.to_owned()),
        ("GET", "/render") => {
            let rows = request.number("rows").unwrap_or(24);
            Response::text(render(rows.clamp(1, ROWS_MAX)))
        }
        ("POST", path) => {
            let seconds = request.number("seconds").unwrap_or(SECONDS);
            let done = match path {
                "/stall" => trouble.stall(seconds),
                "/spin" => trouble.spin(seconds),
                "/deadlock" => trouble.deadlock(),
                "/forget" => trouble.forget(),
                "/end" => trouble.end_second(),
                "/free" => Ok(trouble.end()),
                _ => return Response::refusal("404 Not Found", "there is nothing here"),
            };
            match done {
                Ok(what) => Response::done(what),
                Err(error) => Response::refusal("409 Conflict", &error.to_string()),
            }
        }
        _ => Response::refusal("404 Not Found", "there is nothing here"),
    }
}

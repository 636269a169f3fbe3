//! The server of the process, which all pools share.

use crate::pools::{Pools, Source};
use crate::server::{Limits, Page, Server};
use crate::settings::Inspect;
use crate::socket;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The listeners of this process.
#[derive(Default)]
struct Listening {
    pages: Vec<Page>,
    socket: Option<PathBuf>,
}

struct Process {
    pools: Pools,
    server: Server,
    listening: Mutex<Listening>,
}

fn process() -> &'static Process {
    static PROCESS: OnceLock<Process> = OnceLock::new();
    PROCESS.get_or_init(|| {
        let pools = Pools::default();
        let server = Server::new(pools.clone(), Limits::default());
        Process { pools, server, listening: Mutex::default() }
    })
}

/// Shows a pool on the page of this process. Starts the page if it does not exist yet.
///
/// The page stays until the process ends. Settings with the same address mean the same page. With
/// port 0 a page is shared if it has the same token and all host names; else another one is opened.
///
/// A pool with a token is shown only on pages that ask for this token, whatever other pools want. A
/// pool with an address and no token is shown on all pages. A pool without an address is shown on
/// none. A pool that is shown several times appears on all these pages, under the last name that
/// its settings gave.
///
/// # Errors
/// - If the address is not valid, or if other machines can reach it and there is no token. Then the
///   pool is not shown at all.
/// - If the page cannot be served at the address, or is served there without the token or a host
///   name of the settings. The pool is shown to tools nevertheless.
/// - Without an address: if the socket for tools cannot be served.
pub fn show(settings: &Inspect, name: &str, source: Arc<dyn Source>) -> io::Result<Option<Page>> {
    let process = process();
    let address = settings.socket_addr()?;
    let id = source.id();
    // This call is not made under the lock of the listeners: it may drop pools that have ended, and
    // with them values of the user.
    process.pools.add_for_tools(settings.name.as_deref().unwrap_or(name), source);
    let page = listen(process, address, settings)?;
    if page.is_some() {
        process.pools.show_on_pages(id, settings.token.clone());
    }
    if let Some(name) = &settings.name {
        process.pools.rename(id, name);
    }
    Ok(page)
}

/// Serves the socket for tools, and the page of the settings if they have an address.
fn listen(
    process: &Process,
    address: Option<SocketAddr>,
    settings: &Inspect,
) -> io::Result<Option<Page>> {
    let mut listening = process.listening.lock().unwrap_or_else(PoisonError::into_inner);
    // If the socket could not be served for an earlier pool, try again.
    if listening.socket.is_none() {
        listening.socket = match (socket::listen(&process.server), address) {
            (Ok(path), _) => Some(path),
            (Err(error), None) => return Err(error),
            // The page does not need the socket.
            (Err(_), Some(_)) => None,
        };
    }
    let Some(asked) = address else { return Ok(None) };
    if let Some(page) = listening.pages.iter().find(|page| page.is_meant_by(asked, settings)) {
        return page.clone().admitted(settings).map(Some);
    }
    let page = process.server.open(settings)?;
    listening.pages.push(page.clone());
    Ok(Some(page))
}

/// Returns the pages of this process; the list is empty unless a pool asked for one.
#[must_use]
pub fn pages() -> Vec<Page> {
    process().listening.lock().unwrap_or_else(PoisonError::into_inner).pages.clone()
}

/// Returns the Unix socket at which tools of the same user find this process.
#[must_use]
pub fn tool_socket() -> Option<PathBuf> {
    let listening = process().listening.lock().unwrap_or_else(PoisonError::into_inner);
    listening.socket.as_deref().map(Path::to_owned)
}

/// Returns the folder in which processes of this user serve tools, each at its `PID.sock`. Systems
/// without Unix sockets have none.
///
/// ```
/// if let Some(folder) = blitz_inspect::tool_folder() {
///     assert!(folder.is_absolute());
/// }
/// ```
#[must_use]
pub fn tool_folder() -> Option<PathBuf> {
    socket::folder_of_user()
}

//! A socket in a folder that only the user of this process can open.

use crate::connection::Socket;
use crate::guard::Guard;
use crate::server::Server;
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The extension of a socket before it has its name, `PID.sock`. A process gives its socket that
/// name once it listens there.
const UNNAMED: &str = "new";
/// A socket that has had no name for this long never gets one: its process is gone.
const NAMING_MAX: Duration = Duration::from_secs(3_600);

impl Socket for UnixStream {
    fn set_patience(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }

    fn end_writing(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// Serves tools at `PID.sock` in the user's folder, and returns its path.
pub(crate) fn listen(server: &Server) -> io::Result<PathBuf> {
    listen_in(server, &own_folder())
}

/// Where processes of this user serve tools.
pub(crate) fn folder_of_user() -> Option<PathBuf> {
    Some(own_folder())
}

fn own_folder() -> PathBuf {
    folder(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), user())
}

fn listen_in(server: &Server, folder: &Path) -> io::Result<PathBuf> {
    let (listener, path) = bind_in(folder)?;
    server.accept(move || listener.accept().map(|(socket, _)| socket), Guard::unix())?;
    Ok(path)
}

/// Listens at `PID.sock` in this folder.
///
/// # Errors
/// If the system reports an error, if the folder belongs to another user, or if a process of
/// another namespace has the same process number and listens there.
fn bind_in(folder: &Path) -> io::Result<(UnixListener, PathBuf)> {
    prepare(folder, user())?;
    remove_stale(folder, NAMING_MAX);
    let path = folder.join(format!("{}.sock", std::process::id()));
    if is_live(&path) {
        let why = format!("another process serves tools at {}", path.display());
        return Err(io::Error::new(ErrorKind::AddrInUse, why));
    }
    // Until this process listens, other processes that start take its socket for a dead one. They
    // would remove it if it were called `PID.sock`.
    let unnamed = folder.join(format!("{:08x}.{UNNAMED}", random()));
    let listener = UnixListener::bind(&unnamed)?;
    // No other user can enter the folder, so the socket is safe before its permissions are set.
    fs::set_permissions(&unnamed, Permissions::from_mode(0o600))
        .and_then(|()| fs::rename(&unnamed, &path))
        .inspect_err(|_| drop(fs::remove_file(&unnamed)))?;
    Ok((listener, path))
}

/// A random number: another process that starts now is unlikely to choose the same one.
fn random() -> u32 {
    RandomState::new().build_hasher().finish() as u32
}

/// Returns the folder for the sockets of this user. A runtime folder of another user is not used:
/// `sudo -E` keeps `XDG_RUNTIME_DIR`, so root would make a folder that the other user cannot open.
fn folder(runtime: Option<PathBuf>, user: u32) -> PathBuf {
    let is_own = |folder: &PathBuf| {
        let found = fs::metadata(folder);
        folder.is_absolute() && found.is_ok_and(|found| found.is_dir() && found.uid() == user)
    };
    match runtime.filter(is_own) {
        Some(folder) => folder.join("blitz"),
        None => PathBuf::from(format!("/tmp/blitz-{user}")),
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Creates the folder, or checks that it belongs to the user and is closed to others.
fn prepare(folder: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Do not follow a link: it may belong to another user.
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != user {
        let why = format!("{} is not a folder of this user", folder.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Removes the sockets of processes that are gone: no process listens at them. A process may be
/// about to listen at a socket without a name, unless the socket is older than `naming`.
fn remove_stale(folder: &Path, naming: Duration) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_old = || {
            let made = entry.metadata().and_then(|found| found.modified());
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age >= naming))
        };
        let is_ours = match path.extension().and_then(OsStr::to_str) {
            Some("sock") => true,
            Some(UNNAMED) => is_old(),
            _ => false,
        };
        if is_ours && is_socket(&path) && is_refused(&path) {
            drop(fs::remove_file(path));
        }
    }
}

/// Whether a process listens at `path`, or may do so.
fn is_live(path: &Path) -> bool {
    is_socket(path) && !is_refused(path)
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// Whether no process listens at `path`. Never waits: a stopped process accepts no client, and its
/// socket may have no room for another one.
fn is_refused(path: &Path) -> bool {
    let connect = || {
        let socket = net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        ioctl_fionbio(&socket, true)?;
        net::connect(&socket, &SocketAddrUnix::new(path)?)
    };
    connect() == Err(Errno::CONNREFUSED)
}

#[cfg(test)]
mod tests {
    use super::{AddressFamily, Errno, NAMING_MAX, SocketAddrUnix, SocketType, ioctl_fionbio};
    use super::{bind_in, folder, listen_in, net, prepare, remove_stale, user};
    use crate::pools::Pools;
    use crate::server::{Limits, Server};
    use std::fs::{self, Permissions};
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let path =
                std::env::temp_dir().join(format!("blitz-test-{}-{name}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            fs::create_dir(&path).unwrap();
            Place(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn the_runtime_folder_goes_first() {
        let place = Place::new("runtime");
        let (runtime, own) = (Some(place.0.clone()), user());
        assert_eq!(folder(runtime.clone(), own), place.0.join("blitz"));
        let file = place.0.join("file");
        fs::write(&file, "").unwrap();
        for strange in [PathBuf::from("relative"), place.0.join("absent"), file] {
            assert_eq!(folder(Some(strange), own), PathBuf::from(format!("/tmp/blitz-{own}")));
        }
        assert_eq!(folder(None, 7), PathBuf::from("/tmp/blitz-7"));
        // `sudo -E` and `su` keep the variable of another user.
        let other = own + 1;
        assert_eq!(folder(runtime, other), PathBuf::from(format!("/tmp/blitz-{other}")));
    }

    #[test]
    fn tools_are_served_and_sockets_of_the_dead_are_removed() {
        let place = Place::new("serve");
        let inner = place.0.join("blitz");
        prepare(&inner, user()).unwrap();
        let (dead, living) = (inner.join("1.sock"), inner.join("2.sock"));
        drop(UnixListener::bind(&dead).unwrap());
        let listens = UnixListener::bind(&living).unwrap();
        fs::write(inner.join("3.sock"), "no socket").unwrap();
        let path = listen_in(&Server::new(Pools::default(), Limits::default()), &inner).unwrap();
        assert!(!dead.exists() && living.exists() && inner.join("3.sock").exists());
        drop(listens);
        let mode = |path: &PathBuf| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&inner), mode(&path)), (0o700, 0o600));
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(b"GET /api/v1/pools HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\"pools\":[]"), "{answer}");
    }

    /// Another process that starts at the same time must not take the new socket for a dead one.
    #[test]
    fn a_socket_is_not_removed_before_its_process_listens() {
        let place = Place::new("starts");
        let is_over = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    remove_stale(&place.0, NAMING_MAX);
                }
            });
            let is_lost = |_: &u32| match bind_in(&place.0) {
                // Removed before the listener is dropped, so there is never a dead socket.
                Ok((_listener, path)) => fs::remove_file(path).is_err(),
                Err(_) => true,
            };
            let lost = (0..5_000).filter(is_lost).count();
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(lost, 0);
        });
    }

    /// The process that made the socket ended before it gave the socket its name.
    #[test]
    fn a_socket_that_never_gets_a_name_is_removed() {
        let place = Place::new("unnamed");
        let (unnamed, file) = (place.0.join("1.new"), place.0.join("2.new"));
        drop(UnixListener::bind(&unnamed).unwrap());
        fs::write(&file, "no socket").unwrap();
        remove_stale(&place.0, NAMING_MAX);
        assert!(unnamed.exists(), "its process may be about to listen");
        remove_stale(&place.0, Duration::ZERO);
        assert!(!unnamed.exists() && file.exists());
    }

    /// A process of another namespace may have the same number.
    #[test]
    fn a_live_socket_of_the_same_name_stays() {
        let place = Place::new("taken");
        let path = place.0.join(format!("{}.sock", std::process::id()));
        let other = UnixListener::bind(&path).unwrap();
        let error = bind_in(&place.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        drop(UnixStream::connect(&path).unwrap());
        drop(other);
        let (_listener, own) = bind_in(&place.0).unwrap();
        assert_eq!(own, path);
        drop(UnixStream::connect(&path).unwrap());
    }

    /// The sockets of a process that is stopped fill up, since each start of another process
    /// connects once.
    #[test]
    fn a_socket_without_room_is_not_waited_for() {
        let place = Place::new("full");
        let path = place.0.join("1.sock");
        let stopped = UnixListener::bind(&path).unwrap();
        let address = SocketAddrUnix::new(&path).unwrap();
        let mut clients = Vec::new();
        let refused = loop {
            let client = net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
            ioctl_fionbio(&client, true).unwrap();
            match net::connect(&client, &address) {
                Ok(()) => clients.push(client),
                Err(error) => break error,
            }
        };
        // Systems other than Linux refuse a client for which there is no room. There a full socket
        // looks like a dead one.
        if refused == Errno::AGAIN {
            remove_stale(&place.0, NAMING_MAX);
            assert!(path.exists());
        }
        drop(stopped);
        remove_stale(&place.0, NAMING_MAX);
        assert!(!path.exists());
    }

    #[test]
    fn folders_of_others_are_not_used_and_open_ones_are_closed() {
        let place = Place::new("folders");
        let wide = place.0.join("wide");
        fs::create_dir(&wide).unwrap();
        fs::set_permissions(&wide, Permissions::from_mode(0o777)).unwrap();
        prepare(&wide, user()).unwrap();
        assert_eq!(fs::metadata(&wide).unwrap().mode() & 0o777, 0o700);
        let denied = |path: &PathBuf, user: u32| prepare(path, user).unwrap_err().kind();
        assert_eq!(denied(&wide, user() + 1), ErrorKind::PermissionDenied);
        let (link, file) = (place.0.join("link"), place.0.join("file"));
        symlink(&wide, &link).unwrap();
        fs::write(&file, "").unwrap();
        assert_eq!(denied(&link, user()), ErrorKind::PermissionDenied);
        assert_eq!(denied(&file, user()), ErrorKind::PermissionDenied);
    }
}

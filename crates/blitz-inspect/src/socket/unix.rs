//! A socket in a folder that only the user of this process can open.

use crate::connection::Socket;
use crate::guard::Guard;
use crate::server::Server;
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    prepare(folder, user())?;
    remove_stale(folder);
    let path = folder.join(format!("{}.sock", std::process::id()));
    // A socket of this name is left from an old process with the same id, which is gone.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    // No other user can enter the folder meanwhile.
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    server.accept(move || listener.accept().map(|(socket, _)| socket), Guard::unix())?;
    Ok(path)
}

/// Where the sockets of this user are.
fn folder(runtime: Option<PathBuf>, user: u32) -> PathBuf {
    match runtime.filter(|folder| folder.is_absolute() && folder.is_dir()) {
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

/// Removes the sockets of processes that are gone: no process listens at them.
fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_ours = path.extension().is_some_and(|end| end == "sock")
            && entry.file_type().is_ok_and(|kind| kind.is_socket());
        if is_ours && is_refused(&path) {
            drop(fs::remove_file(path));
        }
    }
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
    use super::{AddressFamily, Errno, SocketAddrUnix, SocketType, ioctl_fionbio};
    use super::{folder, listen_in, net, prepare, remove_stale, user};
    use crate::pools::Pools;
    use crate::server::{Limits, Server};
    use std::fs::{self, Permissions};
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;

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
        assert_eq!(folder(Some(place.0.clone()), 7), place.0.join("blitz"));
        for runtime in [None, Some(PathBuf::from("relative")), Some(place.0.join("absent"))] {
            assert_eq!(folder(runtime, 7), PathBuf::from("/tmp/blitz-7"));
        }
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
        // Other systems refuse a client for which there is no room.
        if refused == Errno::AGAIN {
            remove_stale(&place.0);
            assert!(path.exists());
        }
        drop(stopped);
        remove_stale(&place.0);
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

//! Notices the end of a child.

#![forbid(unsafe_code)]

use super::pidfd;
use crate::io::Interest;
use crate::io::unix::AsyncFd;
use crate::poll::ended;
use crate::signal::unix::{Signal, SignalKind, signal};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};

/// The source that announces the end of a child.
#[derive(Debug)]
pub(super) enum Exit {
    /// A descriptor for this child alone.
    Descriptor(AsyncFd<OwnedFd>),
    /// The signal that the system sends for every child. The listener starts before the first
    /// check, so that no end is missed.
    Signal(Signal),
}

impl Exit {
    /// Lets the current pool, else the global one, watch for the end of `child`.
    ///
    /// # Errors
    /// If the system refuses, or if the pool has ended.
    pub(super) fn of(child: &Child) -> io::Result<Exit> {
        match pidfd::open(child)? {
            Some(fd) => AsyncFd::with_interest(fd, Interest::READABLE).map(Exit::Descriptor),
            None => Exit::by_signal(),
        }
    }

    fn by_signal() -> io::Result<Exit> {
        signal(SignalKind::child()).map(Exit::Signal)
    }

    /// Waits until `child`, for which this source was made, has ended. If the future is dropped,
    /// the exit status is not lost.
    ///
    /// # Errors
    /// If the pool has ended, or if the system reports an error.
    pub(super) async fn wait(&mut self, child: &mut Child) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            match self {
                Exit::Descriptor(fd) => {
                    let mut guard = fd.readable().await?;
                    if let Some(status) = child.try_wait()? {
                        return Ok(status);
                    }
                    guard.clear_ready();
                }
                Exit::Signal(listener) => listener.recv().await.ok_or_else(ended)?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;
    use blitz_core::Pool;
    use std::process::{Command, Stdio};

    /// Waits for children that end at once, and for one that ends when its input is closed.
    fn children_end(make: impl Fn(&std::process::Child) -> Exit + Copy + Send + Sync + 'static) {
        for workers in [1, 2, 8] {
            let pool = Pool::builder().workers(workers).build().unwrap();
            let tasks: Vec<_> = (0..10)
                .map(|code| {
                    pool.spawn(async move {
                        let mut command = Command::new("sh");
                        command.args(["-c", &format!("exit {code}")]);
                        let mut child = command.spawn().unwrap();
                        let mut exit = make(&child);
                        assert_eq!(exit.wait(&mut child).await.unwrap().code(), Some(code));
                    })
                })
                .collect();
            pool.block_on(async {
                let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
                let mut exit = make(&cat);
                for task in tasks {
                    task.await.unwrap();
                }
                assert!(cat.try_wait().unwrap().is_none());
                drop(cat.stdin.take());
                assert!(exit.wait(&mut cat).await.unwrap().success());
            });
        }
    }

    #[test]
    fn ends_are_noticed_by_the_best_means_of_the_system() {
        children_end(|child| Exit::of(child).unwrap());
    }

    #[test]
    fn ends_are_noticed_by_sigchld() {
        children_end(|_| Exit::by_signal().unwrap());
    }
}

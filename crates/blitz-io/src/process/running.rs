//! A child that has not been waited for.

#![forbid(unsafe_code)]

use super::exit::Exit;
use super::orphans;
use blitz_core::Handle;
use std::io;
use std::process::{Child, ExitStatus};

/// A child that has to be waited for, even if this value is dropped.
#[derive(Debug)]
pub(super) struct Running {
    /// `None` only after the drop has taken it out.
    child: Option<Child>,
    /// `None` if the child could not be watched.
    exit: Option<Exit>,
    /// The pool that waits for the child if this value is dropped before the child ends.
    home: Handle,
    pub(super) kill_on_drop: bool,
}

impl Running {
    /// Watches `child` in the current pool, else in the global one. A child that cannot be watched
    /// is killed.
    ///
    /// # Errors
    /// If the system refuses, or if the pool has ended.
    pub(super) fn new(child: Child, home: Handle, kill_on_drop: bool) -> io::Result<Running> {
        let exit = Exit::of(&child);
        let mut running = Running { child: Some(child), exit: None, home, kill_on_drop: true };
        running.exit = Some(exit?);
        running.kill_on_drop = kill_on_drop;
        Ok(running)
    }

    pub(super) fn child(&mut self) -> &mut Child {
        match &mut self.child {
            Some(child) => child,
            None => unreachable!("only the drop takes the child out"),
        }
    }

    /// Its process id, which no other process has until the child was waited for.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Waits until the child has ended. If the future is dropped, the status is not lost.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match (&mut self.child, &mut self.exit) {
            (Some(child), Some(exit)) => exit.wait(child).await,
            _ => unreachable!("only the drop takes the child and its exit out"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if self.kill_on_drop {
            // An error does not matter: the child may have ended.
            let _ = child.kill();
        }
        orphans::adopt(child, self.exit.take(), &self.home);
    }
}

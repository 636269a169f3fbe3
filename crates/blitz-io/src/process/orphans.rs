//! Children whose `Child` is gone: the runtime waits for them, or they would stay as zombies.
//!
//! ```text
//!  dropped ─▶ a task of its pool waits for it ─▶ reaped
//!                      └ the pool ends first ─▶ a list ─▶ reaped when a child starts or is dropped
//! ```

#![forbid(unsafe_code)]

use super::exit::Exit;
use blitz_core::Handle;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Children whose pool has ended before them.
static ORPHANS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Makes the pool of `home` wait for `child`.
pub(super) fn adopt(mut child: Child, exit: Option<Exit>, home: &Handle) {
    sweep();
    if !is_alive(&mut child) {
        return;
    }
    let mut orphan = Orphan { child: Some(child) };
    if let Some(mut exit) = exit {
        let task = home.spawn(async move {
            if let Some(child) = &mut orphan.child {
                // If this fails, the child goes into the list.
                let _ = exit.wait(child).await;
            }
        });
        drop(task);
    }
}

/// Reaps the children in the list that have ended.
pub(super) fn sweep() {
    orphans().retain_mut(is_alive);
}

/// Whether the process still has to be waited for.
fn is_alive(child: &mut Child) -> bool {
    // An error means that it was waited for elsewhere.
    matches!(child.try_wait(), Ok(None))
}

/// A child that a task waits for. If the task is dropped before the child ends, the child goes into
/// the list.
struct Orphan {
    child: Option<Child>,
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(child) = self.child.take_if(is_alive) {
            orphans().push(child);
        }
    }
}

fn orphans() -> MutexGuard<'static, Vec<Child>> {
    // A panic under this lock leaves nothing half done.
    ORPHANS.lock().unwrap_or_else(PoisonError::into_inner)
}

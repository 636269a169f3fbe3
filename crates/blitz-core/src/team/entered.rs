//! Which pool the current thread has entered.

#![forbid(unsafe_code)]

use super::Team;
use crate::base::context;
use blitz_parts::prim::thread_local;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

thread_local! {
    static ENTERED: RefCell<Doors> = const { RefCell::new(Doors { open: Vec::new(), opened: 0 }) };
}

/// What this thread has entered and not left, oldest first.
struct Doors {
    open: Vec<Door>,
    /// How many there ever were.
    opened: u64,
}

struct Door {
    number: u64,
    /// The aside in which it was opened, and in which alone it counts.
    aside: u64,
    /// None hides what was entered before.
    team: Option<Arc<Team>>,
}

impl Doors {
    /// The team that was entered last, in this aside, and not left.
    fn newest(&self) -> Option<&Arc<Team>> {
        let aside = context::aside();
        self.open.iter().rev().find(|door| door.aside == aside)?.team.as_ref()
    }
}

/// The team that this thread has entered last and not left.
pub(crate) fn entered() -> Option<Arc<Team>> {
    if !context::is_entered() {
        return None;
    }
    ENTERED.try_with(|doors| doors.borrow().newest().cloned()).ok().flatten()
}

/// Whether this thread's locals are being destroyed, so that what it has entered is not known any
/// more.
pub(crate) fn is_entering_over() -> bool {
    ENTERED.try_with(|_| ()).is_err()
}

/// A pool, or none, is this thread's entered one until this is dropped; not for other threads.
pub(crate) struct Entered {
    /// None if there is nothing to undo.
    number: Option<u64>,
    here: PhantomData<*const ()>,
}

impl Entered {
    pub(crate) fn new(team: Arc<Team>) -> Entered {
        Entered::open(Some(team))
    }

    /// No pool is entered: for work that has nothing to do with what the thread is in.
    pub(crate) fn none() -> Entered {
        if !context::is_entered() {
            return Entered { number: None, here: PhantomData };
        }
        Entered::open(None)
    }

    fn open(team: Option<Arc<Team>>) -> Entered {
        // While the thread's locals are being destroyed nothing can be entered.
        let number = ENTERED.try_with(|doors| {
            let mut doors = doors.borrow_mut();
            let number = doors.opened;
            doors.opened += 1;
            doors.open.push(Door { number, aside: context::aside(), team });
            context::set_entered(doors.newest().is_some());
            number
        });
        Entered { number: number.ok(), here: PhantomData }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let leave = |doors: &RefCell<Doors>| {
            let mut doors = doors.borrow_mut();
            let at = doors.open.iter().rposition(|door| door.number == number)?;
            let left = doors.open.remove(at);
            context::set_entered(doors.newest().is_some());
            Some(left)
        };
        // The team that is left may end here; not while the cell is borrowed.
        drop(ENTERED.try_with(leave));
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entered")
    }
}

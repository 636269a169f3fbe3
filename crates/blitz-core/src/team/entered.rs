//! Tracks which pool the current thread has entered.

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

/// The pools that this thread has entered and not left, oldest first.
struct Doors {
    open: Vec<Door>,
    /// How many pools were ever entered.
    opened: u64,
}

struct Door {
    number: u64,
    /// The aside in which the pool was entered. The pool is current only in that aside.
    aside: u64,
    /// `None` hides the pools that were entered before.
    team: Option<Arc<Team>>,
}

impl Doors {
    /// The team that was entered last in this aside and not left.
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

/// Whether this thread's locals are being destroyed, so that the entered pools are unknown.
pub(crate) fn is_entering_over() -> bool {
    ENTERED.try_with(|_| ()).is_err()
}

/// Keeps a pool, or none, entered on this thread until this is dropped.
pub(crate) struct Entered {
    /// `None` if there is nothing to undo.
    number: Option<u64>,
    here: PhantomData<*const ()>,
}

impl Entered {
    pub(crate) fn new(team: Arc<Team>) -> Entered {
        Entered::open(Some(team))
    }

    /// Enters no pool. This is for work that is unrelated to the frames below it.
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
        // This may drop the last reference to the team, so do it after the borrow of the cell has
        // ended.
        drop(ENTERED.try_with(leave));
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entered")
    }
}

//! The names of a team's tasks.

#![forbid(unsafe_code)]

use crate::base::Id;
use blitz_parts::prim::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

/// The names of a team's tasks, by id. They are not stored in the tasks, so that a task without a
/// name pays nothing.
///
/// A task registers at its first poll. Its entry is removed when its future is dropped.
#[derive(Default)]
pub(crate) struct Names {
    by_id: Mutex<BTreeMap<Id, Arc<str>>>,
}

impl Names {
    pub(crate) fn get(&self, id: Id) -> Option<Arc<str>> {
        self.lock().get(&id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Id, Arc<str>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of one task, removed when this is dropped.
pub(crate) struct NameEntry {
    names: Arc<Names>,
    name: Arc<str>,
    /// Set once it is registered.
    id: Option<Id>,
}

impl NameEntry {
    /// Creates the entry of a task that has no id yet.
    pub(crate) fn new(names: Arc<Names>, name: Arc<str>) -> NameEntry {
        NameEntry { names, name, id: None }
    }

    /// Registers the task `id`; does nothing from the second call on.
    pub(crate) fn register(&mut self, id: impl FnOnce() -> Option<Id>) {
        if self.id.is_none() {
            self.id = id();
            if let Some(id) = self.id {
                self.names.lock().insert(id, self.name.clone());
            }
        }
    }
}

impl Drop for NameEntry {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.names.lock().remove(&id);
        }
    }
}

#[cfg(all(test, not(blitz_shuttle)))]
mod tests {
    use super::{NameEntry, Names};
    use crate::base::Id;
    use std::sync::Arc;

    #[test]
    fn a_name_is_there_from_the_first_poll_to_the_drop() {
        let names = Arc::new(Names::default());
        let id = Id::next();
        let mut entry = NameEntry::new(names.clone(), "journal".into());
        assert_eq!(names.get(id), None);
        entry.register(|| Some(id));
        entry.register(|| panic!("the entry has its id"));
        assert_eq!(names.get(id).as_deref(), Some("journal"));
        drop(entry);
        assert_eq!(names.get(id), None);
        drop(NameEntry::new(names.clone(), "never polled".into()));
        assert!(names.lock().is_empty());
    }
}

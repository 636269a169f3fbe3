//! The table of registered descriptors.

#![forbid(unsafe_code)]

use super::ended::ended;
use super::selector::RESERVED;
use blitz_parts::readiness::Readiness;
use blitz_parts::tuning::{CHAIN_KEEPS, LIST_PART};
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::task::Waker;

/// Every registered descriptor, by its token.
#[derive(Debug, Default)]
pub(super) struct Entries {
    table: Slab<Entry>,
    /// How many descriptors were ever registered: the number of the next one.
    numbers: usize,
    ended: bool,
}

#[derive(Debug)]
struct Entry {
    token: usize,
    readiness: Arc<Readiness>,
}

/// A token's lower half is the place in the table, its upper half the number.
const HALF: u32 = usize::BITS / 2;
const PLACE: usize = (1 << HALF) - 1;

impl Entries {
    /// Puts a descriptor into the table and returns its token.
    pub(super) fn insert(&mut self, readiness: Arc<Readiness>) -> io::Result<usize> {
        if self.ended {
            return Err(ended());
        }
        let place = self.table.vacant_key();
        let token = self.numbers.wrapping_shl(HALF) | place;
        if place > PLACE || token >= RESERVED {
            return Err(io::Error::other("more descriptors than the reactor has numbers for"));
        }
        self.numbers = self.numbers.wrapping_add(1);
        self.table.insert(Entry { token, readiness });
        Ok(token)
    }

    pub(super) fn remove(&mut self, token: usize) -> Option<Arc<Readiness>> {
        self.find(token)?;
        let removed = self.table.try_remove(token & PLACE).map(|entry| entry.readiness);
        let (len, room) = (self.table.len(), self.table.capacity());
        // Shrink when only an eighth of the room is in use, and when the table is empty. So
        // shrinking costs little compared with the removals.
        if room > CHAIN_KEEPS && (len == room / 8 || len == 0) {
            self.table.shrink_to_fit();
        }
        removed
    }

    /// Returns the descriptor with this token, unless it is gone.
    pub(super) fn find(&self, token: usize) -> Option<&Arc<Readiness>> {
        let entry = self.table.get(token & PLACE).filter(|entry| entry.token == token)?;
        Some(&entry.readiness)
    }

    /// Adds the descriptors in [`LIST_PART`] places of the table to `listed`, from `place` on, with
    /// their tokens. Returns the place to continue from, or `None` at the end.
    pub(super) fn list(
        &self,
        place: usize,
        listed: &mut Vec<(usize, Arc<Readiness>)>,
    ) -> Option<usize> {
        let end = place + LIST_PART;
        let entries = (place..end).filter_map(|place| self.table.get(place));
        listed.extend(entries.map(|entry| (entry.token, entry.readiness.clone())));
        (end < self.table.capacity()).then_some(end)
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn waiting(&self) -> usize {
        self.table.iter().map(|(_, entry)| entry.readiness.waiting()).sum()
    }

    /// Ends the table: notes the wakers of all waiting tasks, and takes no more descriptors.
    pub(super) fn end(&mut self, batch: &mut VecDeque<Waker>) {
        self.ended = true;
        for (_, entry) in &self.table {
            entry.readiness.end(batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CHAIN_KEEPS, Entries, LIST_PART};
    use blitz_parts::readiness::{Interest, Readiness};
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::task::{Context, Waker};

    #[test]
    fn an_old_token_does_not_find_the_next_descriptor_at_its_place() {
        let mut entries = Entries::default();
        let old = entries.insert(Arc::default()).unwrap();
        assert!(entries.remove(old).is_some() && entries.len() == 0);
        let readiness = Arc::new(Readiness::new());
        let new = entries.insert(readiness.clone()).unwrap();
        assert_ne!(old, new);
        assert!(entries.find(old).is_none() && entries.remove(old).is_none());
        assert!(Arc::ptr_eq(entries.find(new).unwrap(), &readiness));
        assert_eq!(entries.len(), 1);
    }

    #[test]
    fn a_table_that_was_large_gives_its_memory_back() {
        let mut entries = Entries::default();
        let kept = entries.insert(Arc::default()).unwrap();
        let many = 4 * CHAIN_KEEPS;
        let tokens: Vec<_> = (0..many).map(|_| entries.insert(Arc::default()).unwrap()).collect();
        assert!(entries.table.capacity() > many);
        for token in tokens.into_iter().rev() {
            assert!(entries.remove(token).is_some());
        }
        assert!(entries.table.capacity() <= CHAIN_KEEPS, "{}", entries.table.capacity());
        assert!(entries.find(kept).is_some() && entries.len() == 1);
        let new = entries.insert(Arc::default()).unwrap();
        assert!(entries.remove(kept).is_some() && entries.remove(new).is_some());
    }

    #[test]
    fn a_long_table_is_listed_part_by_part() {
        let mut entries = Entries::default();
        let mut tokens: Vec<_> =
            (0..3 * LIST_PART).map(|_| entries.insert(Arc::default()).unwrap()).collect();
        assert!(entries.remove(tokens.remove(LIST_PART)).is_some());
        let (mut listed, mut place, mut parts) = (Vec::new(), Some(0), 0);
        while let Some(from) = place {
            place = entries.list(from, &mut listed);
            parts += 1;
        }
        assert!(parts >= 3);
        assert!(listed.iter().map(|(token, _)| *token).eq(tokens));
    }

    #[test]
    fn the_end_notifies_waiting_tasks_and_refuses_new_descriptors() {
        let mut entries = Entries::default();
        let readiness = Arc::new(Readiness::new());
        entries.insert(readiness.clone()).unwrap();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(readiness.poll(&mut cx, Interest::READABLE).is_pending());
        assert_eq!(entries.waiting(), 1);
        let mut batch = VecDeque::new();
        entries.end(&mut batch);
        assert_eq!((batch.len(), entries.waiting()), (1, 0));
        let error = entries.insert(Arc::default()).unwrap_err();
        assert!(error.to_string().contains("has ended"), "{error}");
    }
}

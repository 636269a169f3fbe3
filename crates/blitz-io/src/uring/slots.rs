//! The operations that are under way, with what the system writes to or reads from meanwhile.

#![forbid(unsafe_code)]

use slab::Slab;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// Every operation that the system has not told the end of, or whose end nobody has fetched.
#[derive(Debug, Default)]
pub(super) struct Slots {
    table: Slab<Slot>,
    ended: bool,
}

#[derive(Debug)]
struct Slot {
    buffer: Vec<u8>,
    /// It ends soon and by itself, so that the end of the pool waits for it.
    is_of_file: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The system is at it.
    UnderWay(Option<Waker>),
    /// The system is at it, and nobody waits for it any more.
    Abandoned,
    /// What the system said.
    Done(i32),
}

/// How an operation was left by who started it.
#[must_use]
pub(super) enum Left {
    /// The system is still at it.
    UnderWay,
    /// It was done, with this result.
    Done(i32),
}

impl Slots {
    /// A new operation; none if there are no more.
    pub(super) fn insert(&mut self, buffer: Vec<u8>, is_of_file: bool) -> Result<usize, Vec<u8>> {
        if self.ended {
            return Err(buffer);
        }
        Ok(self.table.insert(Slot { buffer, is_of_file, state: State::UnderWay(None) }))
    }

    /// The operation that could not be started after all.
    pub(super) fn take_back(&mut self, key: usize) -> Vec<u8> {
        self.table.remove(key).buffer
    }

    /// Where the buffer is and how much of it there is, for the system.
    pub(super) fn buffer(&mut self, key: usize) -> (*mut u8, u32) {
        let buffer = &mut self.table[key].buffer;
        // What is longer is done in part, as any transfer may be.
        (buffer.as_mut_ptr(), u32::try_from(buffer.len()).unwrap_or(u32::MAX))
    }

    /// The result and the buffer, once the system is done; `None` if it will not say any more.
    pub(super) fn poll(
        &mut self,
        key: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Option<(i32, Vec<u8>)>> {
        let slot = &mut self.table[key];
        match &mut slot.state {
            State::Done(result) => {
                let result = *result;
                Poll::Ready(Some((result, self.table.remove(key).buffer)))
            }
            State::UnderWay(_) if self.ended => Poll::Ready(None),
            State::UnderWay(waker) => {
                if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    *waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
            State::Abandoned => unreachable!("who has left does not ask"),
        }
    }

    /// Nobody waits for the operation any more.
    pub(super) fn leave(&mut self, key: usize) -> Left {
        match std::mem::replace(&mut self.table[key].state, State::Abandoned) {
            State::Done(result) => {
                self.table.remove(key);
                Left::Done(result)
            }
            _ => Left::UnderWay,
        }
    }

    /// The system is done with the operation. The result comes back if nobody waits for it.
    pub(super) fn complete(
        &mut self,
        key: usize,
        result: i32,
        batch: &mut VecDeque<Waker>,
    ) -> Option<i32> {
        let slot = self.table.get_mut(key)?;
        match std::mem::replace(&mut slot.state, State::Done(result)) {
            State::UnderWay(waker) => {
                batch.extend(waker);
                None
            }
            _ => {
                self.table.remove(key);
                Some(result)
            }
        }
    }

    /// Nobody will tell of completions any more. Not yet, and false, if there are operations of files.
    pub(super) fn end(&mut self, batch: &mut VecDeque<Waker>) -> bool {
        if self.table.iter().any(|(_, slot)| slot.is_of_file && slot.is_under_way()) {
            return false;
        }
        self.ended = true;
        for (_, slot) in &mut self.table {
            if let State::UnderWay(waker) = &mut slot.state {
                batch.extend(waker.take());
            }
        }
        true
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// How many operations the system is at.
    pub(super) fn under_way(&self) -> usize {
        self.table.iter().filter(|(_, slot)| slot.is_under_way()).count()
    }
}

impl Slot {
    fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Done(_))
    }
}

#[cfg(test)]
mod tests {
    use super::{Left, Slots};
    use std::collections::VecDeque;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_result_comes_with_its_buffer() {
        let (mut slots, mut batch) = (Slots::default(), VecDeque::new());
        let mut cx = Context::from_waker(Waker::noop());
        let key = slots.insert(vec![1, 2, 3], false).unwrap();
        assert!(slots.poll(key, &mut cx).is_pending());
        assert_eq!((slots.under_way(), slots.buffer(key).1), (1, 3));
        assert_eq!(slots.complete(key, 2, &mut batch), None);
        assert_eq!((batch.len(), slots.under_way()), (1, 0));
        assert_eq!(slots.poll(key, &mut cx), Poll::Ready(Some((2, vec![1, 2, 3]))));
    }

    #[test]
    fn a_buffer_stays_until_the_system_is_done_with_it() {
        let (mut slots, mut batch) = (Slots::default(), VecDeque::new());
        let key = slots.insert(vec![0; 8], false).unwrap();
        let address = slots.buffer(key).0;
        assert!(matches!(slots.leave(key), Left::UnderWay));
        let other = slots.insert(vec![0; 8], false).unwrap();
        assert_ne!(other, key, "the slot is taken");
        assert_eq!(slots.buffer(key).0, address);
        assert_eq!(slots.complete(key, 5, &mut batch), Some(5), "for whoever closes what came");
        assert!(batch.is_empty());
        assert_eq!(slots.complete(other, -4, &mut batch), None);
        assert!(matches!(slots.leave(other), Left::Done(-4)));
        assert_eq!(slots.under_way(), 0);
    }

    #[test]
    fn the_end_tells_those_who_wait_and_those_who_come() {
        let (mut slots, mut batch) = (Slots::default(), VecDeque::new());
        let mut cx = Context::from_waker(Waker::noop());
        let key = slots.insert(vec![7], false).unwrap();
        assert!(slots.poll(key, &mut cx).is_pending());
        let of_file = slots.insert(vec![6], true).unwrap();
        assert!(!slots.end(&mut batch), "a file's operation is waited for");
        assert_eq!(slots.complete(of_file, 1, &mut batch), None);
        assert!(slots.end(&mut batch));
        assert_eq!((batch.len(), slots.has_ended()), (1, true));
        assert_eq!(slots.poll(key, &mut cx), Poll::Ready(None));
        assert_eq!(slots.insert(vec![8], false), Err(vec![8]));
        assert!(matches!(slots.leave(key), Left::UnderWay));
        assert_eq!(slots.under_way(), 1, "the system may still write to it");
    }
}

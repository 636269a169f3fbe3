//! The tasks that wait for one descriptor.

use super::{Interest, Ready};
use std::collections::VecDeque;
use std::task::Waker;

/// The tasks that wait, behind the lock.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Allocated separately, since few descriptors ever need it.
    crowd: Option<Box<Crowd>>,
}

/// Any number of tasks.
#[derive(Debug, Default)]
struct Crowd {
    list: Vec<Option<Listed>>,
    /// Places of the list that are free.
    free: Vec<usize>,
    /// How many places were given so far.
    given: u64,
}

#[derive(Debug)]
struct Listed {
    number: u64,
    interest: Interest,
    waker: Waker,
}

/// The direction in which a task waits for a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The task waits to read, for a priority event, or for errors alone.
    Read,
    /// The task waits to write.
    Write,
}

/// A place in the list of waiting tasks. A woken task has lost its place. If it still gives that
/// place back, nothing happens.
#[derive(Debug)]
pub struct Place {
    index: usize,
    number: u64,
}

/// Clones of a task's waker, one for each direction that the task waits for. They are made without
/// a lock, because cloning runs foreign code. The wakers that remain in here are dropped without a
/// lock, too: clones that are not needed, and older wakers that the clones have replaced.
pub(super) struct Spare {
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Spare {
    pub(super) fn new(interest: Interest, waker: &Waker) -> Spare {
        // A task that waits for priority events has the place of the reader.
        let reads = interest.is_readable() || interest.is_priority();
        Spare {
            reader: reads.then(|| waker.clone()),
            writer: interest.is_writable().then(|| waker.clone()),
        }
    }

    /// Makes one clone for the list, where a waker may have any interest.
    pub(super) fn one(waker: &Waker) -> Spare {
        Spare { reader: Some(waker.clone()), writer: None }
    }
}

impl Waiters {
    /// Stores the wakers, each for its direction.
    pub(super) fn put(&mut self, spare: &mut Spare) {
        replace(&mut self.reader, &mut spare.reader);
        replace(&mut self.writer, &mut spare.writer);
    }

    /// Stores the waker at `place`, or at a new place if `place` is `None` or lost.
    pub(super) fn list(
        &mut self,
        interest: Interest,
        spare: &mut Spare,
        place: &mut Option<Place>,
    ) {
        let Some(waker) = spare.reader.take() else { return };
        let crowd = self.crowd.get_or_insert_default();
        spare.reader = crowd.list(interest, waker, place);
    }

    /// Frees the place, unless it was lost; returns the waker that was there.
    pub(super) fn unlist(&mut self, place: Place) -> Option<Waker> {
        let crowd = self.crowd.as_mut()?;
        crowd.at(&place)?;
        crowd.vacate(place.index)
    }

    /// Moves the wakers that `ready` concerns to the batch.
    #[inline]
    pub(super) fn wake(&mut self, ready: Ready, batch: &mut VecDeque<Waker>) {
        if ready.is_readable() || ready.is_priority() {
            if let Some(reader) = self.reader.take() {
                batch.push_back(reader);
            }
        }
        if ready.is_writable() {
            if let Some(writer) = self.writer.take() {
                batch.push_back(writer);
            }
        }
        if let Some(crowd) = &mut self.crowd {
            crowd.wake(ready, batch);
        }
    }

    /// See [`Readiness::for_each_waiting`](super::Readiness::for_each_waiting).
    pub(super) fn for_each(&self, each: &mut dyn FnMut(&Waker, Direction)) {
        let crowd = self.crowd.iter().flat_map(|crowd| crowd.list.iter().flatten());
        let listed = crowd.map(|listed| {
            let interest = listed.interest;
            let reads = interest.is_readable() || interest.is_priority();
            let writes = interest.is_writable() && !reads;
            (&listed.waker, if writes { Direction::Write } else { Direction::Read })
        });
        let reader = self.reader.iter().map(|waker| (waker, Direction::Read));
        let writer = self.writer.iter().map(|waker| (waker, Direction::Write));
        for (waker, direction) in reader.chain(writer).chain(listed) {
            each(waker, direction);
        }
    }

    pub(super) fn len(&self) -> usize {
        let single = usize::from(self.reader.is_some()) + usize::from(self.writer.is_some());
        single + self.crowd.as_ref().map_or(0, |crowd| crowd.list.len() - crowd.free.len())
    }
}

impl Crowd {
    /// Does what [`Waiters::list`] does; returns the waker that was at `place`.
    fn list(
        &mut self,
        interest: Interest,
        waker: Waker,
        place: &mut Option<Place>,
    ) -> Option<Waker> {
        if let Some(listed) = place.as_ref().and_then(|place| self.at(place)) {
            listed.interest = interest;
            return Some(std::mem::replace(&mut listed.waker, waker));
        }
        let number = self.given;
        let listed = Some(Listed { number, interest, waker });
        let index = match self.free.pop() {
            Some(index) => {
                self.list[index] = listed;
                index
            }
            None => {
                self.list.push(listed);
                self.list.len() - 1
            }
        };
        self.given += 1;
        *place = Some(Place { index, number });
        None
    }

    #[cold]
    fn wake(&mut self, ready: Ready, batch: &mut VecDeque<Waker>) {
        for index in 0..self.list.len() {
            let concerned = |listed: &Listed| !ready.of(listed.interest).is_empty();
            if self.list[index].as_ref().is_some_and(concerned) {
                batch.extend(self.vacate(index));
            }
        }
        if self.free.len() == self.list.len() {
            // Forget the free places, so that later events do not walk an empty crowd.
            self.free.clear();
            self.list.clear();
        }
    }

    fn at(&mut self, place: &Place) -> Option<&mut Listed> {
        let listed = self.list.get_mut(place.index)?.as_mut()?;
        (listed.number == place.number).then_some(listed)
    }

    fn vacate(&mut self, index: usize) -> Option<Waker> {
        let listed = self.list[index].take()?;
        self.free.push(index);
        Some(listed.waker)
    }
}

fn replace(slot: &mut Option<Waker>, waker: &mut Option<Waker>) {
    if waker.is_some() {
        std::mem::swap(slot, waker);
    }
}

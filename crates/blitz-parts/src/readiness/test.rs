//! The readiness word and its waiters, on one thread and on several.

use super::{Direction, Ended, Evidence, Interest, Place, Readiness, Ready};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};

#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Bell {
    fn rings(&self) -> usize {
        self.0.load(SeqCst)
    }
}

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

fn set(readiness: &Readiness, ready: Ready) -> usize {
    let mut batch = VecDeque::new();
    readiness.set(ready, &mut batch);
    let woken = batch.len();
    batch.into_iter().for_each(Waker::wake);
    woken
}

fn seen(readiness: &Readiness, interest: Interest) -> Ready {
    readiness.look(interest).unwrap().map_or(Ready::EMPTY, |sight| sight.ready())
}

/// Waits in the list, and must not be ready.
fn list(readiness: &Readiness, bell: &Arc<Bell>, interest: Interest) -> Place {
    let waker = Waker::from(bell.clone());
    let mut place = None;
    let polled = readiness.poll_listed(&mut Context::from_waker(&waker), interest, &mut place);
    assert!(polled.is_pending());
    place.unwrap()
}

fn poll(readiness: &Readiness, bell: &Arc<Bell>, interest: Interest) -> bool {
    let waker = Waker::from(bell.clone());
    readiness.poll(&mut Context::from_waker(&waker), interest).is_ready()
}

#[test]
fn readiness_1_an_event_before_the_poll_and_after_it() {
    let (readiness, bell) = (Readiness::new(), Arc::new(Bell::default()));
    assert!(readiness.is_fresh());
    assert!(!poll(&readiness, &bell, Interest::READABLE));
    assert!(!poll(&readiness, &bell, Interest::READABLE), "the second poll adds no waker");
    assert_eq!(set(&readiness, Ready::READABLE), 1);
    assert!(bell.rings() == 1 && !readiness.is_fresh());
    assert!(poll(&readiness, &bell, Interest::READABLE));
    assert_eq!(set(&readiness, Ready::READABLE), 0, "no task waits");
    assert_eq!(readiness.waiting(), 0);
}

#[test]
fn readiness_1_only_the_newest_task_that_polls_is_woken() {
    let readiness = Readiness::new();
    let bells = [Arc::new(Bell::default()), Arc::new(Bell::default())];
    for bell in &bells {
        assert!(!poll(&readiness, bell, Interest::READABLE));
    }
    assert_eq!(Arc::strong_count(&bells[0]), 1, "the old waker is dropped");
    set(&readiness, Ready::READABLE);
    assert_eq!(bells.each_ref().map(|bell| bell.rings()), [0, 1]);
}

#[test]
fn readiness_2_a_stale_clear_does_nothing() {
    let readiness = Readiness::new();
    set(&readiness, Ready::READABLE | Ready::WRITABLE);
    let sight = readiness.look(Interest::READABLE).unwrap().unwrap();
    set(&readiness, Ready::READABLE);
    readiness.clear(sight, Evidence::WouldBlock);
    assert_eq!(seen(&readiness, BOTH), Ready::READABLE | Ready::WRITABLE);
    let sight = readiness.look(Interest::READABLE).unwrap().unwrap();
    readiness.clear(sight, Evidence::WouldBlock);
    assert_eq!(seen(&readiness, BOTH), Ready::WRITABLE, "a clear concerns its own direction only");
}

#[test]
fn readiness_3_each_direction_wakes_its_own() {
    let readiness = Readiness::new();
    let bells: [Arc<Bell>; 5] = core::array::from_fn(|_| Arc::default());
    assert!(!poll(&readiness, &bells[0], Interest::READABLE));
    assert!(!poll(&readiness, &bells[1], Interest::WRITABLE));
    let _places = [
        list(&readiness, &bells[2], Interest::READABLE),
        list(&readiness, &bells[3], Interest::WRITABLE),
        list(&readiness, &bells[4], BOTH),
    ];
    assert_eq!(readiness.waiting(), 5);
    assert_eq!(set(&readiness, Ready::WRITABLE), 3);
    assert_eq!(bells.each_ref().map(|bell| bell.rings()), [0, 1, 0, 1, 1]);
    assert_eq!(readiness.waiting(), 2);
    assert_eq!(set(&readiness, Ready::ERROR), 2);
    assert_eq!(bells.each_ref().map(|bell| bell.rings()), [1; 5]);
}

#[test]
fn readiness_4_after_the_end_no_task_waits() {
    let (readiness, bell) = (Readiness::new(), Arc::new(Bell::default()));
    set(&readiness, Ready::WRITABLE);
    assert!(!poll(&readiness, &bell, Interest::READABLE));
    let _place = list(&readiness, &bell, Interest::READABLE);
    let mut batch = VecDeque::new();
    readiness.end(&mut batch);
    assert_eq!((batch.len(), readiness.waiting()), (2, 0));
    let waker = Waker::noop();
    let mut cx = Context::from_waker(waker);
    assert_eq!(readiness.poll(&mut cx, Interest::READABLE), Poll::Ready(Err(Ended)));
    assert_eq!(seen(&readiness, Interest::WRITABLE), Ready::WRITABLE, "the end clears nothing");
}

#[test]
fn readiness_5_places_are_given_back_once() {
    let (readiness, bell) = (Readiness::new(), Arc::new(Bell::default()));
    let woken = list(&readiness, &bell, Interest::READABLE);
    set(&readiness, Ready::READABLE);
    let sight = readiness.look(Interest::READABLE).unwrap().unwrap();
    readiness.clear(sight, Evidence::WouldBlock);
    let other = list(&readiness, &bell, Interest::READABLE);
    readiness.unlist(woken);
    assert_eq!(readiness.waiting(), 1, "a lost place does not free the place of another task");
    let more = list(&readiness, &bell, Interest::READABLE);
    readiness.unlist(other);
    let again = list(&readiness, &bell, Interest::WRITABLE);
    assert_eq!(readiness.waiting(), 2);
    readiness.unlist(more);
    readiness.unlist(again);
    assert_eq!(readiness.waiting(), 0);
    assert_eq!(Arc::strong_count(&bell), 1, "no waker is left");
}

#[test]
fn readiness_5_a_task_that_polls_again_keeps_its_place() {
    let (readiness, bell) = (Readiness::new(), Arc::new(Bell::default()));
    let other = Arc::new(Bell::default());
    let mut place = Some(list(&readiness, &bell, Interest::READABLE));
    let waker = Waker::from(other.clone());
    let mut cx = Context::from_waker(&waker);
    for _ in 0..2 {
        assert!(readiness.poll_listed(&mut cx, Interest::READABLE, &mut place).is_pending());
    }
    assert_eq!((readiness.waiting(), Arc::strong_count(&bell)), (1, 1));
    assert_eq!(set(&readiness, Ready::READABLE), 1);
    assert_eq!((bell.rings(), other.rings()), (0, 1));
}

#[test]
fn readiness_6_closed_directions_stay_unless_an_attempt_blocks() {
    let readiness = Readiness::new();
    set(&readiness, Ready::READABLE | Ready::READ_CLOSED | Ready::WRITE_CLOSED);
    let sight = readiness.look(Interest::READABLE).unwrap().unwrap();
    readiness.clear(sight, Evidence::ShortTransfer);
    assert_eq!(seen(&readiness, Interest::READABLE), Ready::READ_CLOSED);
    let sight = readiness.look(Interest::READABLE).unwrap().unwrap();
    readiness.clear(sight, Evidence::WouldBlock);
    assert_eq!(seen(&readiness, Interest::READABLE), Ready::EMPTY);
    assert_eq!(seen(&readiness, BOTH), Ready::WRITE_CLOSED, "the other direction is not concerned");
}

#[test]
fn readiness_7_a_short_transfer_beside_urgent_data_says_nothing() {
    let readiness = Readiness::new();
    set(&readiness, Ready::READABLE | Ready::URGENT);
    let sight = readiness.look(BOTH).unwrap().unwrap();
    assert_eq!(sight.ready(), Ready::READABLE, "no task waits for urgent data");
    readiness.clear(sight, Evidence::ShortTransfer);
    assert_eq!(seen(&readiness, BOTH), Ready::READABLE);
    readiness.clear(sight, Evidence::WouldBlock);
    assert_eq!(seen(&readiness, BOTH), Ready::EMPTY);
    // The flag `URGENT` stays: no attempt shows whether the urgent data has been read.
    set(&readiness, Ready::READABLE);
    let sight = readiness.look(Interest::READABLE).unwrap().unwrap();
    readiness.clear(sight, Evidence::ShortTransfer);
    assert_eq!(seen(&readiness, BOTH), Ready::READABLE);
}

#[test]
fn readiness_3_a_priority_event_wakes_its_waiters() {
    let readiness = Readiness::new();
    let bells = [Interest::PRIORITY, Interest::WRITABLE].map(|interest| {
        let bell = Arc::new(Bell::default());
        list(&readiness, &bell, interest);
        bell
    });
    let polled = Arc::new(Bell::default());
    assert!(!poll(&readiness, &polled, Interest::PRIORITY));
    assert_eq!(set(&readiness, Ready::PRIORITY | Ready::URGENT), 2);
    assert_eq!((bells[0].rings(), bells[1].rings(), polled.rings()), (1, 0, 1));
    assert_eq!(seen(&readiness, BOTH), Ready::EMPTY, "a priority event makes no direction ready");
    assert_eq!(seen(&readiness, Interest::PRIORITY), Ready::PRIORITY);
    set(&readiness, Ready::READ_CLOSED);
    let sight = readiness.look(Interest::PRIORITY).unwrap().unwrap();
    readiness.clear(sight, Evidence::WouldBlock);
    assert_eq!(seen(&readiness, Interest::READABLE), Ready::READ_CLOSED, "readers need this bit");
    let text = format!("{:?} {:?}", Interest::PRIORITY | Interest::READABLE, Interest::ERROR);
    assert_eq!(text, "READABLE | PRIORITY ERROR");
}

/// A waker whose clone and drop take the lock of the readiness that keeps the waker.
struct Nosy(Arc<Readiness>);

impl Nosy {
    fn waker(readiness: &Arc<Readiness>) -> Waker {
        let nosy = Arc::into_raw(Arc::new(Nosy(readiness.clone())));
        // SAFETY: the functions of the table take pointers from `into_raw` of an `Arc<Nosy>`, each
        // with its count.
        unsafe { Waker::from_raw(RawWaker::new(nosy.cast(), &NOSY)) }
    }
}

const NOSY: RawWakerVTable = RawWakerVTable::new(
    |nosy| {
        // SAFETY: the waker that is cloned has a count.
        let nosy = unsafe { ManuallyDrop::new(Arc::from_raw(nosy.cast::<Nosy>())) };
        nosy.0.waiting();
        RawWaker::new(Arc::into_raw(Arc::clone(&nosy)).cast(), &NOSY)
    },
    |_| unreachable!("no thread wakes it"),
    |_| unreachable!("no thread wakes it"),
    |nosy| {
        // SAFETY: the count belongs to the waker that is dropped.
        let nosy = unsafe { Arc::from_raw(nosy.cast::<Nosy>()) };
        nosy.0.waiting();
    },
);

#[test]
fn wakers_are_cloned_and_dropped_where_no_lock_is_held() {
    let readiness = Arc::new(Readiness::new());
    let wakers = [Nosy::waker(&readiness), Nosy::waker(&readiness)];
    let mut place = None;
    for waker in &wakers {
        let mut cx = Context::from_waker(waker);
        assert!(readiness.poll(&mut cx, BOTH).is_pending());
        assert!(readiness.poll_listed(&mut cx, BOTH, &mut place).is_pending());
    }
    assert_eq!(readiness.waiting(), 3);
    let mut batch = VecDeque::new();
    readiness.end(&mut batch);
    assert_eq!(batch.len(), 3);
    drop((batch, wakers));
    assert_eq!(Arc::strong_count(&readiness), 1, "no waker is left");
}

#[test]
fn readiness_can_be_queried() {
    assert_eq!(format!("{:?}", Ready::EMPTY), "EMPTY");
    assert_eq!(format!("{:?}", Ready::READABLE | Ready::ERROR), "READABLE | ERROR");
    let mut ready = Ready::READ_CLOSED;
    assert!(ready.is_readable() && ready.is_read_closed() && !ready.is_writable());
    ready |= Ready::WRITE_CLOSED;
    assert!(ready.is_writable() && ready.is_write_closed() && !ready.is_error());
    assert_eq!(Ready::ALL.of(Interest::READABLE).of(Interest::WRITABLE), Ready::ERROR);
}

#[test]
fn readiness_1_no_byte_of_a_busy_pipe_is_forgotten() {
    const BYTES: usize = 20_000;
    let readiness = Readiness::new();
    let (written, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
            let mut cx = Context::from_waker(&waker);
            while read.load(SeqCst) < BYTES {
                match readiness.poll(&mut cx, Interest::READABLE) {
                    Poll::Ready(sight) => {
                        let there = written.load(SeqCst);
                        if read.swap(there, SeqCst) == there {
                            readiness.clear(sight.unwrap(), Evidence::WouldBlock);
                        }
                    }
                    Poll::Pending => std::thread::park(),
                }
            }
        });
        for _ in 0..BYTES {
            written.fetch_add(1, SeqCst);
            set(&readiness, Ready::READABLE);
        }
    });
    assert_eq!(read.load(SeqCst), BYTES);
}

#[test]
fn an_interest_lists_its_directions() {
    let names = [
        (Interest::READABLE, "READABLE"),
        (Interest::WRITABLE, "WRITABLE"),
        (Interest::READABLE | Interest::WRITABLE, "READABLE | WRITABLE"),
    ];
    for (interest, name) in names {
        assert_eq!(format!("{interest:?}"), name);
    }
}

#[test]
fn waiting_tasks_are_shown_with_their_directions() {
    let (readiness, bell) = (Readiness::new(), Arc::new(Bell::default()));
    let shown = || {
        let mut shown = Vec::new();
        readiness.for_each_waiting(&mut |waker, direction| {
            assert!(waker.will_wake(&Waker::from(bell.clone())));
            shown.push(direction);
        });
        shown
    };
    assert_eq!(shown(), []);
    assert!(!poll(&readiness, &bell, BOTH));
    assert_eq!(shown(), [Direction::Read, Direction::Write]);
    let interests =
        [Interest::WRITABLE, BOTH, Interest::PRIORITY | Interest::WRITABLE, Interest::ERROR];
    let places = interests.map(|interest| list(&readiness, &bell, interest));
    let [read, write] = [Direction::Read, Direction::Write];
    assert_eq!(shown()[2..], [write, read, read, read]);
    places.into_iter().for_each(|place| readiness.unlist(place));
    set(&readiness, Ready::READABLE);
    assert_eq!(shown(), [Direction::Write]);
}

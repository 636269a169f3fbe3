//! Every interleaving of a driver that brings events and the tasks that wait for them.

use super::{Evidence, Interest, Readiness, Ready, Sight};
use crate::prim::{AtomicUsize, Mutex, Relaxed, Step, canary, check, thread};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl Bell {
    fn rang(&self) -> bool {
        self.0.load(Relaxed) > 0
    }
}

/// A descriptor: its bytes in the system, and its known readiness.
struct Pipe {
    bytes: Mutex<usize>,
    readiness: Readiness,
}

impl Pipe {
    fn new() -> Arc<Pipe> {
        Arc::new(Pipe { bytes: Mutex::new(0), readiness: Readiness::new() })
    }

    /// One byte comes, and the driver records the event.
    fn byte_comes(&self) {
        *self.bytes.lock().unwrap() += 1;
        self.driver(|batch| self.readiness.set(Ready::READABLE, batch));
    }

    fn driver(&self, what: impl FnOnce(&mut VecDeque<Waker>)) {
        let mut batch = VecDeque::new();
        what(&mut batch);
        batch.into_iter().for_each(Waker::wake);
    }

    fn take_byte(&self) -> bool {
        let mut bytes = self.bytes.lock().unwrap();
        let there = *bytes > 0;
        *bytes -= usize::from(there);
        there
    }

    /// Tries until there is a byte or the task has to wait; returns whether it took a byte.
    fn read(&self, bell: &Arc<Bell>) -> bool {
        let waker = Waker::from(bell.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            match self.readiness.poll(&mut cx, Interest::READABLE) {
                Poll::Ready(Ok(_)) if self.take_byte() => return true,
                Poll::Ready(Ok(sight)) => self.readiness.clear(sight, Evidence::WouldBlock),
                Poll::Ready(Err(_)) => panic!("no driver ends it"),
                Poll::Pending => return false,
            }
        }
    }
}

/// A descriptor with one reader, on which only the readiness word orders system calls: an attempt
/// may see an old state of the system, unless the reader has acquired what the driver knew. In
/// [`Pipe`] the lock orders attempts, too. The system does not promise such an order.
struct Wire {
    arrived: AtomicUsize,
    readiness: Readiness,
}

impl Wire {
    fn byte_comes(&self, count: usize) {
        self.arrived.store(count, Relaxed);
        let mut batch = VecDeque::new();
        self.readiness.set(Ready::READABLE, &mut batch);
        batch.into_iter().for_each(Waker::wake);
    }

    /// Tries until there are more than `taken` bytes, or the task has to wait; returns whether
    /// there are more.
    fn read(&self, taken: usize, bell: &Arc<Bell>) -> bool {
        let waker = Waker::from(bell.clone());
        let mut cx = Context::from_waker(&waker);
        loop {
            match self.readiness.poll(&mut cx, Interest::READABLE) {
                Poll::Ready(Ok(_)) if self.arrived.load(Relaxed) > taken => return true,
                Poll::Ready(Ok(sight)) => self.readiness.clear(sight, Evidence::WouldBlock),
                Poll::Ready(Err(_)) => panic!("no driver ends it"),
                Poll::Pending => return false,
            }
        }
    }
}

/// Bytes come one after the other, each with its event, while a reader reads all of them.
fn bytes_on_a_wire(count: usize) {
    let wire = Arc::new(Wire { arrived: AtomicUsize::new(0), readiness: Readiness::new() });
    let bell = Arc::new(Bell::default());
    let reader = thread::spawn({
        let (wire, bell) = (wire.clone(), bell.clone());
        move || (0..count).take_while(|&taken| wire.read(taken, &bell)).count()
    });
    for byte in 1..=count {
        wire.byte_comes(byte);
    }
    let got = reader.join().unwrap();
    if got < count {
        assert!(bell.rang(), "the reader is not woken for the byte");
        assert!((got..count).all(|taken| wire.read(taken, &bell)), "the byte's event was cleared");
    }
}

fn one_byte_on_a_wire() {
    bytes_on_a_wire(1);
}

fn two_bytes_on_a_wire() {
    bytes_on_a_wire(2);
}

/// A byte comes while a reader reads, perhaps after an event without a byte.
fn event_against_reader(false_alarm: bool) {
    let pipe = Pipe::new();
    if false_alarm {
        pipe.driver(|batch| pipe.readiness.set(Ready::READABLE, batch));
    }
    let bell = Arc::new(Bell::default());
    let reader = thread::spawn({
        let (pipe, bell) = (pipe.clone(), bell.clone());
        move || pipe.read(&bell)
    });
    pipe.byte_comes();
    if !reader.join().unwrap() {
        assert!(bell.rang(), "no event wakes the reader for the byte");
        assert!(pipe.read(&bell), "the reader was woken and finds nothing");
    }
}

fn first_event() {
    event_against_reader(false);
}

fn after_a_false_alarm() {
    event_against_reader(true);
}

/// Two bytes come, one after the other. The second byte may come while the reader clears the event
/// of the first byte.
fn two_events() {
    let pipe = Pipe::new();
    let bell = Arc::new(Bell::default());
    let reader = thread::spawn({
        let (pipe, bell) = (pipe.clone(), bell.clone());
        move || usize::from(pipe.read(&bell)) + usize::from(pipe.read(&bell))
    });
    pipe.byte_comes();
    pipe.byte_comes();
    let got = reader.join().unwrap();
    if got < 2 {
        assert!(bell.rang(), "no event wakes the reader for the byte");
        for _ in got..2 {
            assert!(pipe.read(&bell), "a byte is left, but its event was cleared");
        }
    }
}

/// Two tasks enter the list, and one of them leaves it, while an event for both comes.
fn event_against_leaving() {
    let readiness = Arc::new(Readiness::new());
    let tasks: Vec<_> = [true, false]
        .map(|leaves| {
            let readiness = readiness.clone();
            thread::spawn(move || {
                let bell = Arc::new(Bell::default());
                let waker = Waker::from(bell.clone());
                let mut place = None;
                let mut cx = Context::from_waker(&waker);
                let seen = readiness.poll_listed(&mut cx, Interest::READABLE, &mut place);
                let place = place.filter(|_| leaves);
                place.into_iter().for_each(|place| readiness.unlist(place));
                (seen.is_ready(), bell)
            })
        })
        .into_iter()
        .collect();
    let mut batch = VecDeque::new();
    readiness.set(Ready::READABLE, &mut batch);
    let woken = batch.len();
    batch.into_iter().for_each(Waker::wake);
    let ends: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
    assert!(ends[1].0 || ends[1].1.rang(), "the task that stays is notified");
    assert_eq!(readiness.waiting(), 0);
    assert!(woken <= 2);
}

/// The end comes while a task begins to wait.
fn end_against_reader() {
    let pipe = Pipe::new();
    let bell = Arc::new(Bell::default());
    let reader = thread::spawn({
        let (pipe, bell) = (pipe.clone(), bell.clone());
        move || {
            let waker = Waker::from(bell);
            let mut place = None;
            let mut cx = Context::from_waker(&waker);
            pipe.readiness.poll_listed(&mut cx, Interest::READABLE, &mut place).is_ready()
        }
    });
    pipe.driver(|batch| pipe.readiness.end(batch));
    assert!(reader.join().unwrap() || bell.rang(), "the reader waits for ever");
    assert_eq!(pipe.readiness.waiting(), 0);
}

/// Two readers have seen the same event. Their clears come before, during or after a newer event.
fn late_clear() {
    let pipe = Pipe::new();
    let mut batch = VecDeque::new();
    pipe.readiness.set(Ready::READABLE, &mut batch);
    let sight: Sight = pipe.readiness.look(Interest::READABLE).unwrap().unwrap();
    let clears: Vec<_> = (0..2)
        .map(|_| {
            let pipe = pipe.clone();
            thread::spawn(move || pipe.readiness.clear(sight, Evidence::WouldBlock))
        })
        .collect();
    pipe.byte_comes();
    for clear in clears {
        clear.join().unwrap();
    }
    let left = pipe.readiness.look(Interest::READABLE).unwrap();
    assert!(left.is_some(), "a newer event was cleared");
}

#[test]
fn readiness_1_an_event_is_not_missed() {
    check(100, None, first_event);
}

#[test]
fn readiness_1_the_second_of_two_events_is_not_missed() {
    check(500, Some(3), two_events);
}

#[test]
fn readiness_2_an_attempt_sees_the_data_of_the_event() {
    check(50, None, one_byte_on_a_wire);
}

#[test]
fn readiness_2_an_attempt_sees_the_data_of_the_second_event() {
    check(500, Some(3), two_bytes_on_a_wire);
}

#[test]
fn canary_an_event_does_not_release() {
    canary(&[Step::ReadinessSetRelease], None, one_byte_on_a_wire);
}

#[test]
fn readiness_2_the_clear_of_a_false_alarm_spares_the_event() {
    check(5_000, None, after_a_false_alarm);
}

#[test]
fn readiness_2_a_late_clear_spares_a_newer_event() {
    check(1_000, Some(3), late_clear);
}

#[test]
fn readiness_5_a_task_that_leaves_is_gone() {
    check(1_000, Some(3), event_against_leaving);
}

#[test]
fn readiness_4_the_end_is_not_missed() {
    check(100, None, end_against_reader);
}

#[test]
fn canary_no_look_under_the_lock() {
    canary(&[Step::ReadinessLookLocked], None, first_event);
}

#[test]
fn canary_wakers_are_taken_before_the_word_is_set() {
    canary(&[Step::ReadinessSetFirst], None, first_event);
}

#[test]
fn canary_a_clear_does_not_compare_ticks() {
    canary(&[Step::ReadinessTick], None, after_a_false_alarm);
}

#[test]
fn canary_wakers_are_taken_before_the_end() {
    canary(&[Step::ReadinessEndFirst], None, end_against_reader);
}

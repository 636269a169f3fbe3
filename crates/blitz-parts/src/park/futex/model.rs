//! The futex of the model checker: one lock, one condition variable per word.
//!
//! It is as weak as the weakest backend: only the lock orders accesses, while Linux adds full
//! barriers.

use super::PAUSES_ARE_WOKEN;
use crate::prim::{AtomicU32, Condvar, Mutex, Relaxed, Step, broken, lazy_static, yield_now};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub(super) const NAME: &str = "model";

lazy_static! {
    static ref WAITING: Mutex<HashMap<usize, Arc<Condvar>>> = Mutex::new(HashMap::new());
}

fn key(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

pub(super) fn wait(word: &AtomicU32, expected: u32) {
    let too_early = broken(Step::FutexRecheck).then(|| word.load(Relaxed));
    let mut table = WAITING.lock().unwrap();
    if too_early.unwrap_or_else(|| word.load(Relaxed)) == expected {
        let key = key(word);
        let changed = table.entry(key).or_insert_with(|| Arc::new(Condvar::new())).clone();
        let mut table = changed.wait(table).unwrap();
        // The last waiter removes the entry. Another word may get this address later, and its waker
        // must not find an old entry. Otherwise the execution would depend on the allocator, and a
        // seed would not always replay.
        let is_last = Arc::strong_count(&changed) == 2;
        // Drop this reference before the lock is released, or the next waiter would count it.
        drop(changed);
        if is_last {
            table.remove(&key);
        }
    }
}

pub(super) fn wake_one(word: &AtomicU32) {
    let table = WAITING.lock().unwrap();
    if let Some(changed) = table.get(&key(word)) {
        changed.notify_one();
    }
}

/// The checkers have no time. Under loom a pause has to be ended by a wake; under shuttle it ends
/// early.
pub(super) fn pause(word: &AtomicU32, expected: u32, _time: Duration) {
    if PAUSES_ARE_WOKEN {
        wait(word, expected);
    } else {
        yield_now();
    }
}

pub(super) fn wake_all(word: &AtomicU32) {
    let table = WAITING.lock().unwrap();
    if let Some(changed) = table.get(&key(word)) {
        changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::WAITING;
    use crate::park::futex::{wait, wake_one};
    use crate::prim::{Acquire, AtomicU32, Release, Step, canary, check, thread};
    use std::sync::Arc;

    fn change_and_wake() {
        let word = Arc::new(AtomicU32::new(0));
        let waiter = thread::spawn({
            let word = word.clone();
            move || {
                while word.load(Acquire) == 0 {
                    wait(&word, 0);
                }
            }
        });
        word.store(1, Release);
        wake_one(&word);
        waiter.join().unwrap();
    }

    #[test]
    fn futex_1_a_modelled_change_followed_by_wake_is_never_missed() {
        check(10, None, change_and_wake);
    }

    /// Two threads wait for one word, and each is woken.
    fn two_wait() {
        let word = Arc::new(AtomicU32::new(0));
        let waiters = [(); 2].map(|()| {
            let word = word.clone();
            thread::spawn(move || {
                while word.load(Acquire) == 0 {
                    wait(&word, 0);
                }
            })
        });
        word.store(1, Release);
        wake_one(&word);
        wake_one(&word);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        assert!(WAITING.lock().unwrap().is_empty(), "the last waiter did not remove the entry");
    }

    #[test]
    fn futex_the_last_waiter_takes_the_entry_away() {
        check(10, Some(2), two_wait);
    }

    #[test]
    fn canary_the_word_is_read_before_the_lock() {
        canary(&[Step::FutexRecheck], None, change_and_wake);
    }
}

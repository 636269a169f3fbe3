//! A table of buckets, each a mutex and a condition variable, hashed by the word's address.
//!
//! This is the backend for systems without a futex. Two words may share a bucket. `wake_one` wakes
//! all threads of the bucket, so threads that wait for the other word return spuriously.

use crate::prim::{AtomicU32, Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The backend's name.
pub const NAME: &str = "mutex and condition variable";

struct Bucket {
    lock: Mutex<()>,
    changed: Condvar,
}

const BUCKETS: usize = 64;
static TABLE: [Bucket; BUCKETS] =
    [const { Bucket { lock: Mutex::new(()), changed: Condvar::new() } }; BUCKETS];

fn bucket(word: &AtomicU32) -> &'static Bucket {
    // Words rarely share a cache line, so the bits within a line add nothing to the hash.
    let line = std::ptr::from_ref(word).addr() >> 6;
    &TABLE[line.wrapping_mul(0x9E37_79B9) % BUCKETS]
}

/// Blocks as [`super::wait`] describes.
pub fn wait(word: &AtomicU32, expected: u32) {
    let bucket = bucket(word);
    let guard = bucket.lock.lock().unwrap_or_else(PoisonError::into_inner);
    if word.load(Relaxed) == expected {
        // O1: a waker changes the word first and takes the lock second.
        drop(bucket.changed.wait(guard).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Pauses as [`super::pause`] describes.
pub fn pause(word: &AtomicU32, expected: u32, time: Duration) {
    let bucket = bucket(word);
    let guard = bucket.lock.lock().unwrap_or_else(PoisonError::into_inner);
    if word.load(Relaxed) == expected {
        // O1, as in `wait`.
        drop(bucket.changed.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Wakes as [`super::wake_one`] describes, and perhaps more threads than one.
pub fn wake_one(word: &AtomicU32) {
    wake_all(word);
}

/// Wakes as [`super::wake_all`] describes.
pub fn wake_all(word: &AtomicU32) {
    let bucket = bucket(word);
    // O2: a thread between its re-read and its wait holds this lock.
    drop(bucket.lock.lock().unwrap_or_else(PoisonError::into_inner));
    bucket.changed.notify_all();
}

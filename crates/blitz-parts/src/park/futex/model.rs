//! The futex of the model checker: one lock, one condition variable per word.
//!
//! As weak as the weakest backend: the lock is all that orders, where Linux adds full barriers.

use crate::prim::{Acquire, AtomicU32, Condvar, Mutex, Step, broken, lazy_static};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const NAME: &str = "model";

lazy_static! {
    static ref WAITING: Mutex<HashMap<usize, Arc<Condvar>>> = Mutex::new(HashMap::new());
}

fn key(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

pub(super) fn wait(word: &AtomicU32, expected: u32) {
    let too_early = broken(Step::FutexRecheck).then(|| word.load(Acquire));
    let mut table = WAITING.lock().unwrap();
    if too_early.unwrap_or_else(|| word.load(Acquire)) == expected {
        let changed = table.entry(key(word)).or_insert_with(|| Arc::new(Condvar::new())).clone();
        drop(changed.wait(table).unwrap());
    }
}

pub(super) fn wake_one(word: &AtomicU32) {
    let table = WAITING.lock().unwrap();
    if let Some(changed) = table.get(&key(word)) {
        changed.notify_one();
    }
}

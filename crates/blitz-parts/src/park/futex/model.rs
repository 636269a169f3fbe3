//! The futex of the model checker: one lock, one condition variable per word.

use crate::prim::{AtomicU32, Condvar, Mutex, SeqCst, Step, broken, fence, lazy_static};
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
    fence(SeqCst); // O1
    let early = word.load(SeqCst);
    let mut table = WAITING.lock().unwrap();
    let now = if broken(Step::FutexRecheck) { early } else { word.load(SeqCst) };
    if now == expected {
        let changed = table.entry(key(word)).or_insert_with(|| Arc::new(Condvar::new())).clone();
        drop(changed.wait(table).unwrap());
    }
}

pub(super) fn wake_one(word: &AtomicU32) {
    fence(SeqCst); // O2
    let table = WAITING.lock().unwrap();
    if let Some(changed) = table.get(&key(word)) {
        changed.notify_one();
    }
}

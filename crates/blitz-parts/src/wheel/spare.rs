//! Wheels that were closed, for whoever opens the next one: a wheel's memory is never freed, so that an entry
//! may name its wheel without keeping it alive. There are as many as were ever open at once.

use super::Wheel;
use std::sync::{Mutex, PoisonError};

static SPARE: Mutex<Vec<&'static Wheel>> = Mutex::new(Vec::new());

pub(super) fn take() -> &'static Wheel {
    let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    spare.unwrap_or_else(|| Box::leak(Box::new(Wheel::new())))
}

pub(super) fn give_back(wheel: &'static Wheel) {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).push(wheel);
}

//! Empty trace points, without the feature `tracing`.

#![forbid(unsafe_code)]

use blitz_parts::task::Place;

#[inline(always)]
pub(in crate::sched) fn signal_set(_place: Option<Place>, _activated: bool) {}

#[inline(always)]
pub(in crate::sched) fn task_acquired(_place: Option<Place>, _worker: usize) {}

#[inline(always)]
pub(in crate::sched) fn permit_taken(_worker: usize) {}

//! The loops that paralight supports, written with its iterators.

use std::hint::black_box;

use blitz_contestant::ParProgram;
use paralight::prelude::*;

use super::{
    Run,
    data::{Data, NEEDLE, tiny, uneven},
};

/// A pool whose workers steal items from each other, which suits the uneven loop, too.
pub fn pool(workers: usize) -> Result<ThreadPool, String> {
    let num_threads = workers.try_into().map_err(|_| "needs a worker".to_owned())?;
    let (range_strategy, cpu_pinning) = (RangeStrategy::WorkStealing, CpuPinningPolicy::No);
    Ok(ThreadPoolBuilder { num_threads, range_strategy, cpu_pinning }.build())
}

/// The code for `program`, if these iterators have what it needs. They have indexed sources only,
/// and collect nothing into one vector.
pub fn of(program: ParProgram) -> Option<Run> {
    Some(match program {
        ParProgram::Loop { .. } => small_loop,
        ParProgram::Sum => sum,
        ParProgram::Zip => zip,
        ParProgram::Find { .. } => find,
        ParProgram::Uneven => uneven_loop,
        _ => return None,
    })
}

fn light(pool: &mut Option<ThreadPool>) -> &mut ThreadPool {
    pool.as_mut().expect("the data has a pool if paralight computes")
}

fn small_loop(data: &mut Data) {
    let numbers = black_box(&data.numbers).par_iter().with_thread_pool(light(&mut data.light));
    data.answer = numbers.map(|n| tiny(*n)).reduce(|| 0, u64::wrapping_add);
}

fn sum(data: &mut Data) {
    data.answer = data.numbers.par_iter().with_thread_pool(light(&mut data.light)).sum();
}

fn zip(data: &mut Data) {
    let pairs = (data.numbers.par_iter(), data.others.par_iter()).zip_eq();
    let pairs = pairs.with_thread_pool(light(&mut data.light));
    data.answer = pairs.map(|(a, b)| a.wrapping_mul(*b)).reduce(|| 0, u64::wrapping_add);
}

fn find(data: &mut Data) {
    let numbers = data.numbers.par_iter().with_thread_pool(light(&mut data.light));
    data.answer = u64::from(numbers.find_any(|n| **n == NEEDLE).is_some());
}

fn uneven_loop(data: &mut Data) {
    let count = data.count;
    let items = (0..count as usize).into_par_iter().with_thread_pool(light(&mut data.light));
    let each = items.map(|item| uneven(item as u64, count));
    data.answer = each.reduce(|| 0, u64::wrapping_add);
}

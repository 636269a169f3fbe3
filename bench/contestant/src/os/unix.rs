//! Unix, by rustix.

use std::{io, process::Child, time::Duration};

use rustix::{
    process::{Pid, Signal, kill_process},
    time::{ClockId, clock_gettime},
};

/// The CPU time of all threads of this process so far.
#[must_use]
pub fn cpu_time() -> Option<Duration> {
    read(ClockId::ProcessCPUTime)
}

/// The CPU time of the calling thread so far.
#[must_use]
pub fn thread_cpu_time() -> Option<Duration> {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Option<Duration> {
    let time = clock_gettime(clock);
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

/// Stops every thread of a contestant, so that a pool that ticks while idle cannot disturb others.
///
/// # Errors
///
/// Returns the system's error, for example if the process is gone.
pub fn hold(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::STOP)?)
}

/// Lets a held contestant go on.
///
/// # Errors
///
/// Returns the system's error, for example if the process is gone.
pub fn release(child: &Child) -> io::Result<()> {
    Ok(kill_process(Pid::from_child(child), Signal::CONT)?)
}

/// Asks the system to kill this process when its parent ends: a contestant that is held cannot
/// notice by itself that nobody waits for it.
///
/// # Errors
///
/// Returns the system's error.
pub fn die_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// The processors this process may run on, where the system tells.
#[must_use]
pub fn affinity() -> Option<Vec<usize>> {
    #[cfg(target_os = "linux")]
    {
        let set = rustix::thread::sched_getaffinity(None).ok()?;
        let all = 0..rustix::thread::CpuSet::MAX_CPU;
        Some(all.filter(|cpu| set.is_set(*cpu)).collect())
    }
    #[cfg(not(target_os = "linux"))]
    None
}

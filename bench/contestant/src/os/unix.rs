//! The functions on Unix, made of those of rustix.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    time::Duration,
};

use rustix::{
    process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpgid},
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

/// Prepares `command` so that [`end`] finds its process and all processes that it starts.
///
/// # Errors
///
/// Returns the system's error.
pub fn apart(command: &mut Command) -> io::Result<&mut Command> {
    // The children of a killed process get another parent, which gets their CPU time. Make this
    // process that parent.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(command.process_group(0))
}

/// Kills a process that was started [`apart`], together with all processes that it has started, and
/// waits for their end. Only a process that was waited for adds its CPU time to that of this
/// process's children. Returns how many processes there were besides `child`. Only Linux tells; on
/// other systems this returns 0.
///
/// # Errors
///
/// Returns the system's error, for example if none of them is left.
pub fn end(child: &mut Child) -> io::Result<usize> {
    let group = Pid::from_child(child);
    // Kill before the wait: the number of the group cannot be reused as long as the process, even a
    // dead one, has not been waited for.
    kill_process_group(group, Signal::KILL)?;
    child.wait()?;
    let mut others = 0;
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::empty()) {
        others += 1;
    }
    Ok(others)
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
/// notice by itself that its parent has gone.
///
/// # Errors
///
/// Returns the system's error.
pub fn die_with_parent() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

/// The processors this process may run on, if the system can tell.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{BufRead, BufReader},
        process::Stdio,
    };

    #[test]
    fn processes_of_a_contestant_end_with_it_and_are_waited_for() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "(echo begun; read x; read x) & read x"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = apart(&mut shell).unwrap().spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        let left_behind = end(&mut child).unwrap();
        assert_eq!(left_behind, usize::from(cfg!(target_os = "linux")));
        assert!(end(&mut child).is_err(), "no process is left");
    }
}

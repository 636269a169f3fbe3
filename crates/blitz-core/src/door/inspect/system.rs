//! Reads from the system whether this process had to wait for cores.

#![forbid(unsafe_code)]

use std::fs;
use std::time::Duration;

/// How long the control group of this process was throttled because its quota was spent.
pub(super) fn throttled() -> Option<Duration> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let text = fs::read_to_string(format!("/sys/fs/cgroup{path}/cpu.stat")).ok()?;
    let micros = text.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    micros.parse().ok().map(Duration::from_micros)
}

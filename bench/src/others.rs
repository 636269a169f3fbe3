//! How much of the machine other programs used during a measurement.
//!
//! Why not the load average? It looks back over minutes, so it mostly shows the run before this
//! one.

use std::{fs, time::Instant};

/// A reading of the clock, of the time used on all processors, and of our share of it.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    all_programs: u64,
    ourselves: u64,
}

impl Watch {
    /// Begins to watch, if the system can tell.
    #[must_use]
    pub fn start() -> Option<Self> {
        Some(Self {
            start: Instant::now(),
            all_programs: all_programs(&fs::read_to_string("/proc/stat").ok()?)?,
            ourselves: ourselves(&fs::read_to_string("/proc/self/stat").ok()?)?,
        })
    }

    /// How many processors other programs have kept busy since this reading, on average. The time
    /// of contestants and of their clients counts as ours once they have ended.
    #[must_use]
    pub fn others_cpus(&self) -> Option<f64> {
        let now = Self::start()?;
        let passed = now.start.duration_since(self.start).as_secs_f64() * TICKS_PER_SECOND;
        let all_programs = now.all_programs.saturating_sub(self.all_programs);
        let ourselves = now.ourselves.saturating_sub(self.ourselves);
        Some(all_programs.saturating_sub(ourselves) as f64 / passed)
    }
}

/// Adds up the times in which a processor did something or was lent to another machine: the first
/// line is `cpu user nice system idle iowait irq softirq steal …`.
fn all_programs(stat: &str) -> Option<u64> {
    let fields: Vec<u64> = stat
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .map_while(|text| text.parse().ok())
        .collect();
    let busy = [0, 1, 2, 5, 6, 7].map(|field| fields.get(field).copied());
    busy.into_iter().sum()
}

/// User and system time, our own and that of children that have ended: fields 14 to 17, counted
/// from the name's closing parenthesis, since a name may contain any character.
fn ourselves(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let times: Vec<u64> = after_name
        .split_whitespace()
        .skip(11)
        .take(4)
        .map_while(|text| text.parse().ok())
        .collect();
    (times.len() == 4).then(|| times.iter().sum())
}

/// The unit of both files on every system in use (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_all_but_idle_and_waiting() {
        let stat = "cpu  1 2 4 1000 1000 8 16 32 500 0\ncpu0 7 7 7\n";
        assert_eq!(all_programs(stat), Some(63));
        assert_eq!(all_programs("cpu 1 2\n"), None);
        assert_eq!(all_programs(""), None);
    }

    #[test]
    fn our_time_includes_children_and_survives_odd_names() {
        let stat = "7 (a) b) R 1 1 1 0 -1 4194304 100 0 0 0 10 20 3 4 20 0 1 0 55";
        assert_eq!(ourselves(stat), Some(37));
        assert_eq!(ourselves("7 (x) R 1"), None);
    }
}

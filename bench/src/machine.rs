//! The machine card: facts about the machine that a reader of the numbers needs.

use std::{fs, thread};

use serde::{Deserialize, Serialize};

use crate::{os, rival::RivalKind};

/// Facts about the machine and the build. Unknown facts are `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MachineCard {
    /// The processor's name.
    pub cpu: Option<String>,
    /// Processors the system has switched on.
    pub cpus_online: Option<usize>,
    /// Processors this process may use, by number.
    pub affinity: Option<Vec<usize>>,
    /// The standard library's `available_parallelism`.
    pub available_parallelism: Option<usize>,
    /// The system and the version of its kernel.
    pub kernel: Option<String>,
    /// How the first processor chooses its frequency.
    pub governor: Option<String>,
    /// The average number of runnable threads over the last 1, 5 and 15 minutes.
    pub load_average: Option<String>,
    /// Memory that could be used without swapping.
    pub memory_available_bytes: Option<u64>,
    /// The compiler that built the rivals.
    pub rustc: String,
    /// Whether the optimiser was on, that is, whether the numbers mean anything.
    pub optimised: bool,
    /// The rivals that have a version, even if this run does not measure them.
    pub rivals: Vec<RivalCard>,
}

/// A rival and its version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RivalCard {
    /// The rival.
    pub rival: RivalKind,
    /// The version, from the lock file.
    pub version: String,
    /// A remark for readers of the numbers, if there is one.
    pub remark: Option<String>,
}

impl MachineCard {
    /// Reads the facts.
    #[must_use]
    pub fn read() -> Self {
        Self {
            cpu: read_trimmed("/proc/cpuinfo").and_then(|text| field(&text, "model name")),
            cpus_online: read_trimmed("/sys/devices/system/cpu/online")
                .and_then(|text| count_ranges(&text)),
            affinity: os::affinity(),
            available_parallelism: thread::available_parallelism().ok().map(Into::into),
            kernel: kernel(),
            governor: read_trimmed("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            load_average: read_trimmed("/proc/loadavg")
                .map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" ")),
            memory_available_bytes: memory_available_bytes(),
            rustc: env!("BLITZ_BENCH_RUSTC").to_owned(),
            optimised: !cfg!(debug_assertions),
            rivals: rivals(),
        }
    }

    /// The card as pairs of a label and a text, in the order to show them.
    #[must_use]
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let number = |value: Option<usize>| value.map(|value| value.to_string());
        let known = |text: Option<String>| text.unwrap_or_else(|| "not visible".to_owned());
        let affinity = self.affinity.as_deref().map(|cpus| format!("{cpus:?}"));
        let memory = self
            .memory_available_bytes
            .map(|bytes| format!("{:.1} GiB available", bytes as f64 / f64::from(1 << 30)));
        let mut lines = vec![
            ("CPU", known(self.cpu.clone())),
            ("CPUs online", known(number(self.cpus_online))),
            ("affinity", known(affinity)),
            ("parallelism", known(number(self.available_parallelism))),
            ("kernel", known(self.kernel.clone())),
            ("governor", known(self.governor.clone())),
            ("load average", known(self.load_average.clone())),
            ("memory", known(memory)),
            ("compiler", self.rustc.clone()),
        ];
        if !self.optimised {
            let warning = "NOT OPTIMISED: the numbers mean nothing, use --release";
            lines.push(("build", warning.to_owned()));
        }
        for card in &self.rivals {
            let text = match &card.remark {
                Some(remark) => format!("{} ({remark})", card.version),
                None => card.version.clone(),
            };
            lines.push((card.rival.name(), text));
        }
        lines
    }
}

/// Memory that could be used without swapping, if the system can tell.
#[must_use]
pub fn memory_available_bytes() -> Option<u64> {
    kibibytes(&read_trimmed("/proc/meminfo")?, "MemAvailable")
}

/// Resident memory of this process, if the system can tell.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    kibibytes(&read_trimmed("/proc/self/status")?, "VmRSS")
}

/// The value of a line `name: value kB`, in bytes.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value: u64 = field(text, name)?.strip_suffix(" kB")?.parse().ok()?;
    Some(value * 1_024)
}

fn rivals() -> Vec<RivalCard> {
    let card = |rival: RivalKind| {
        Some(RivalCard {
            rival,
            version: rival.version()?.to_owned(),
            remark: rival.remark().map(str::to_owned),
        })
    };
    RivalKind::ALL.into_iter().filter_map(card).collect()
}

fn kernel() -> Option<String> {
    let name = read_trimmed("/proc/sys/kernel/ostype")?;
    let release = read_trimmed("/proc/sys/kernel/osrelease")?;
    Some(format!("{name} {release}"))
}

fn read_trimmed(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// The value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// How many numbers a list like `0-3,8` names.
fn count_ranges(list: &str) -> Option<usize> {
    list.split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            Some((last + 1).saturating_sub(first))
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lists_of_processors() {
        assert_eq!(count_ranges("0-3,8"), Some(5));
        assert_eq!(count_ranges("0"), Some(1));
        assert_eq!(count_ranges("none"), None);
    }

    #[test]
    fn reads_the_first_field_of_a_name() {
        let text = "processor\t: 0\nmodel name\t: Fast CPU\nmodel name\t: other\n";
        assert_eq!(field(text, "model name").as_deref(), Some("Fast CPU"));
        assert_eq!(field(text, "flags"), None);
    }

    #[test]
    fn reads_amounts_of_memory() {
        assert_eq!(kibibytes("VmHWM:\t 9 kB\nVmRSS:\t  3 kB\n", "VmRSS"), Some(3_072));
        assert_eq!(kibibytes("VmRSS: 3 pages", "VmRSS"), None);
    }

    #[test]
    fn a_card_names_every_rival_that_has_a_version() {
        let card = MachineCard::read();
        let labels: Vec<&str> = card.lines().into_iter().map(|(label, _)| label).collect();
        for name in ["CPU", "blitz", "rayon", "chili", "forte", "tokio", "smol"] {
            assert!(labels.contains(&name), "{name}");
        }
        let forte = card.lines().into_iter().find(|(label, _)| *label == "forte");
        assert!(forte.unwrap().1.contains("1.96"));
    }
}

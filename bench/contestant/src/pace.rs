//! How much time a turn may take.

use std::time::Duration;

/// How much time a turn may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As little as possible, for tests. The numbers mean nothing.
    Smoke,
    /// Short enough for the cases of a quick run to take about a minute.
    Quick,
    /// Long enough to quote the numbers.
    Full,
}

impl Pace {
    /// A turn of a throughput workload repeats it for about this long.
    #[must_use]
    pub fn turn_time(self) -> Duration {
        match self {
            Self::Smoke => Duration::from_micros(50),
            Self::Quick => Duration::from_millis(20),
            Self::Full => Duration::from_millis(50),
        }
    }

    /// A turn of a latency workload measures this many latencies. The 99th percentile of fewer than
    /// a hundred would be their maximum.
    #[must_use]
    pub fn latencies(self) -> usize {
        match self {
            Self::Smoke => 3,
            Self::Quick => 100,
            Self::Full => 300,
        }
    }

    /// The pace called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Smoke, Self::Quick, Self::Full].into_iter().find(|pace| pace.name() == name)
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn paces_have_names() {
        for pace in [Pace::Smoke, Pace::Quick, Pace::Full] {
            assert_eq!(Pace::from_name(pace.name()), Some(pace));
        }
        assert_eq!(Pace::from_name("slow"), None);
    }
}

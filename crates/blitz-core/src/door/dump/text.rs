//! A dump as text.

#![forbid(unsafe_code)]

use super::{Dump, SignalDump, TaskDump, WorkerDump};
use std::fmt;

/// How many tasks are written out. The others are only counted.
const TASKS_SHOWN: usize = 64;

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "pool: {} workers, sleeping {}, inactive {}, jec {} ({}), alive {}, task holds {}, stopping {}, \
             injector {}, task queue {}, watch {}",
            self.workers.len(),
            self.sleeping,
            self.inactive,
            self.jec,
            if self.jec % 2 == 0 { "sleepy" } else { "active" },
            self.alive,
            self.task_holds,
            self.stopping,
            if self.injected { "has jobs" } else { "empty" },
            self.queued,
            if self.watch { "on" } else { "off" },
        )?;
        if let Some(signal) = &self.signal {
            signal.fmt(f)?;
        }
        self.workers.iter().try_for_each(|worker| worker.fmt(f))?;
        self.tasks.iter().take(TASKS_SHOWN).try_for_each(|task| task.fmt(f))?;
        match self.tasks.len().saturating_sub(TASKS_SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "and {more} more tasks"),
        }
    }
}

impl fmt::Display for SignalDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "signals: permits {}, sleepers {}", self.permits, self.sleepers)?;
        for (index, root) in self.roots.iter().enumerate() {
            writeln!(f, "root {index}: {root:064b}")?;
        }
        let leaves = self.leaves.iter().zip(&self.owners).enumerate();
        for (index, (leaf, owner)) in leaves.filter(|(_, (leaf, _))| **leaf != 0) {
            writeln!(f, "leaf {index} of worker {owner}: {leaf:064b}")?;
        }
        Ok(())
    }
}

impl fmt::Display for WorkerDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "worker {}{}{}: word {}, parked bit {}, {}, mail {}, tasks {}, ",
            self.index,
            if self.in_service { "" } else { " (a resting spare)" },
            if self.seat_lost { " (has lost its seat)" } else { "" },
            self.word,
            u8::from(self.parked),
            self.deque,
            if self.mail { "yes" } else { "no" },
            self.queues,
        )?;
        if let (Some(status), Some(partition)) = (self.status, self.partition_summary) {
            write!(f, "status {status:02b}, partition {partition:b}, ")?;
        }
        writeln!(f, "{:?}", self.metrics)
    }
}

impl fmt::Display for TaskDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task")?;
        if let Some(id) = self.id {
            write!(f, " {id}")?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        if let Some((leaf, word, bit, generation)) = self.slot {
            write!(f, " at {leaf}.{word}.{bit} generation {generation}")?;
        }
        if let Some(site) = self.site {
            write!(f, " from {site}")?;
        }
        writeln!(f, ": {}", self.state)
    }
}

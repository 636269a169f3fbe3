//! An explanation in words.

#![forbid(unsafe_code)]

use super::length::length;
use super::look::Step;
use super::stacks::{Probed, TaskStack};
use super::{Explanation, WaitingTask};
use crate::base::Id;
use crate::door::task_info::TaskState;
use std::fmt;

/// How many findings of each kind are written. The others are only counted.
const SHOWN: usize = 20;

impl Explanation {
    /// Returns one line per finding, or one line that says that nothing is wrong.
    ///
    /// Of each kind of finding the first 20 have lines; one more line has the number of the others.
    #[must_use]
    pub fn verdict(&self) -> String {
        let mut lines = Vec::new();
        section(&mut lines, self.cycles.steps.iter().map(|cycle| self.deadlock(cycle)));
        let possible = self.possible.steps.iter().zip(&self.possible.open);
        section(&mut lines, possible.map(|(cycle, open)| self.possible_deadlock(cycle, open)));
        section(&mut lines, self.never.iter().map(|&id| format!("never wakes: {}", self.name(id))));
        section(&mut lines, self.behind.iter().map(|&id| self.waits_in_vain(id)));
        section(&mut lines, self.stalls.iter().map(|stall| format!("stuck: {stall}")));
        if lines.is_empty() {
            let waiting = self.tasks.len();
            lines.push(format!("no deadlock is known, and each of {waiting} tasks can be woken"));
        }
        lines.join("\n")
    }

    fn deadlock(&self, cycle: &[Step]) -> String {
        format!("deadlock: {}", self.circle(cycle))
    }

    fn possible_deadlock(&self, cycle: &[Step], open: &[Id]) -> String {
        let open: Vec<_> = open.iter().take(SHOWN).map(Id::to_string).collect();
        format!(
            "possible deadlock: {}; only unknown holders of a waker of {} could end it, such as \
             abort handles",
            self.circle(cycle),
            open.join(" or ")
        )
    }

    /// A circle: `A(api.rs:88) -> join B(api.rs:90) -> join A`.
    fn circle(&self, cycle: &[Step]) -> String {
        let Some(first) = cycle.first() else { return String::new() };
        let others: String = cycle[1..].iter().map(|step| self.step(step)).collect();
        match first {
            Step::Task(id) => format!("{}{others} -> join {id}", self.name(*id)),
            Step::Closure(name) => format!("{name}{others}{}", self.step(first)),
            Step::Thread(name) => format!("{name}{others} -> {name}"),
        }
    }

    fn step(&self, step: &Step) -> String {
        match step {
            Step::Task(id) => format!(" -> join {}", self.name(*id)),
            Step::Closure(name) => format!(" -> {name}"),
            Step::Thread(name) => format!(" -> blocks {name}"),
        }
    }

    /// Writes where the probed tasks wait. Tasks with the same stacks are written together.
    fn write_stacks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Probed { woken, polled }) = self.probed else { return Ok(()) };
        writeln!(f, "probed: {polled} of {woken} tasks were polled in time")?;
        let mut groups = Vec::<(&[TaskStack], Vec<&WaitingTask>)>::new();
        for task in self.tasks.iter().filter(|task| !task.stacks.is_empty()) {
            match groups.iter_mut().find(|(stacks, _)| **stacks == *task.stacks) {
                Some((_, tasks)) => tasks.push(task),
                None => groups.push((&task.stacks, vec![task])),
            }
        }
        for (stacks, tasks) in &groups {
            let wait = match tasks.len() - 1 {
                0 => "waits".to_owned(),
                more => format!("and {more} more of them wait"),
            };
            writeln!(f, "{} {wait} in", name(tasks[0]))?;
            for (number, stack) in stacks.iter().enumerate() {
                if number > 0 {
                    writeln!(f, "  and in")?;
                }
                stack.frames().iter().try_for_each(|frame| writeln!(f, "    {frame}"))?;
            }
        }
        Ok(())
    }

    fn waits_in_vain(&self, id: Id) -> String {
        let waits = self.get(id).map(waits).unwrap_or_default();
        format!("waits in vain: {}, {waits}", self.name(id))
    }

    /// The task in words: its id, its name or type, and where it was spawned.
    fn name(&self, id: Id) -> String {
        self.get(id).map_or_else(|| id.to_string(), name)
    }
}

/// Adds the first lines, and the number of further ones.
fn section(lines: &mut Vec<String>, mut section: impl Iterator<Item = String>) {
    lines.extend(section.by_ref().take(SHOWN));
    match section.count() {
        0 => {}
        more => lines.push(format!("and {more} more of them")),
    }
}

fn name(task: &WaitingTask) -> String {
    let info = &task.info;
    let (file, line) = (info.site().file(), info.site().line());
    match info.name() {
        Some(name) => format!("{} {name:?} ({file}:{line})", info.id()),
        None => format!("{} {} ({file}:{line})", info.id(), info.type_name()),
    }
}

fn waits(task: &WaitingTask) -> String {
    let details: Vec<_> = task.waits.iter().map(|edge| edge.detail.as_str()).collect();
    details.join(", ")
}

/// The verdict, the workers that wait for others, and the longest waits.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict())?;
        for worker in &self.workers {
            let (index, other) = (worker.index, worker.waits_for);
            writeln!(f, "worker {index} waits for the work of worker {other}")?;
        }
        let is_found = |id: Id| self.never.contains(&id) || self.behind.contains(&id);
        let waiting = |task: &&WaitingTask| task.info.idle().is_some() && !is_found(task.info.id());
        let mut lines = Vec::new();
        section(
            &mut lines,
            self.tasks.iter().filter(waiting).map(|task| {
                format!(
                    "waits {}: {}, {}",
                    length(task.info.idle().unwrap_or_default()),
                    name(task),
                    waits(task)
                )
            }),
        );
        let blocks = |task: &&WaitingTask| {
            let is_running = task.info.state() == TaskState::Running;
            is_running && !task.waits.is_empty() && !is_found(task.info.id())
        };
        let blocks = self.tasks.iter().filter(blocks);
        section(&mut lines, blocks.map(|task| format!("{} {}", name(task), waits(task))));
        lines.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        match self.unlisted {
            0 => {}
            1 => writeln!(f, "and 1 task that has not waited yet")?,
            more => writeln!(f, "and {more} tasks that have not waited yet")?,
        }
        self.write_stacks(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{SHOWN, section};

    #[test]
    fn further_findings_are_only_counted() {
        let mut lines = Vec::new();
        section(&mut lines, (0..SHOWN + 2).map(|line| line.to_string()));
        assert_eq!(lines.len(), SHOWN + 1);
        assert_eq!(lines[SHOWN], "and 2 more of them");
    }
}

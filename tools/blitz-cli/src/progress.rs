//! Shows the progress of a run on stderr: a bar on a terminal, a line per case elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The progress of a run of several cases.
pub struct Progress {
    bar: ProgressBar,
    cases: usize,
    done: usize,
    case_start: Instant,
}

impl Progress {
    /// Starts the display of a run of `cases` cases.
    pub fn new(cases: usize) -> Self {
        let bar = ProgressBar::new(cases as u64 * STEPS);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}% {elapsed} {msg}") {
            bar.set_style(style);
        }
        Self { bar, cases, done: 0, case_start: Instant::now() }
    }

    /// Shows that the case `name` begins.
    pub fn begin(&mut self, name: &str) {
        self.case_start = Instant::now();
        self.bar.set_message(name.to_owned());
    }

    /// Shows which part of the current case is done, from 0 to 1.
    pub fn advance(&self, part: f64) {
        let steps = (part * STEPS as f64) as u64;
        self.bar.set_position(self.done as u64 * STEPS + steps.min(STEPS));
    }

    /// Shows that the current case is done. Prints a line if there is no bar.
    pub fn end(&mut self, name: &str, rounds: usize) {
        self.done += 1;
        self.advance(0.0);
        if self.bar.is_hidden() {
            eprintln!("{}", self.line(name, rounds, self.case_start.elapsed()));
        }
    }

    /// Removes the bar at the end of the run.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self, name: &str, rounds: usize, took: Duration) -> String {
        let (done, cases) = (self.done, self.cases);
        format!("[{done:>2}/{cases}] {name}: {rounds} rounds in {:.1} s", took.as_secs_f64())
    }
}

/// Steps of the bar per case.
const STEPS: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_which_case_of_how_many() {
        let mut progress = Progress::new(12);
        progress.done = 3;
        let line = progress.line("fork-join/queens-12", 7, Duration::from_millis(1_540));
        assert_eq!(line, "[ 3/12] fork-join/queens-12: 7 rounds in 1.5 s");
    }
}

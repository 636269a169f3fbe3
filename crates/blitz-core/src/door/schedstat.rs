//! Reads from the system how long threads ran and waited for a core.

#![forbid(unsafe_code)]

use std::fs;
use std::time::Duration;

/// How long a thread ran, and how long it was runnable but had no core.
pub(super) fn run_and_delay(thread: u32) -> Option<(Duration, Duration)> {
    let text = fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    let (run, delay) = (numbers.next()?, numbers.next()?);
    Some((Duration::from_nanos(run), Duration::from_nanos(delay)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::run_and_delay;

    #[test]
    fn the_first_thread_of_this_process_has_run() {
        // A kernel may be built without these figures.
        if let Some((run, _)) = run_and_delay(std::process::id()) {
            assert!(run > std::time::Duration::ZERO);
        }
        assert_eq!(run_and_delay(0), None);
    }
}

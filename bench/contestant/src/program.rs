//! The `main` of a program that is built apart from `blitz bench` and takes turns for it.

use std::{env, io, process::ExitCode};

use crate::{Contest, Pace, os, serve};

/// The words with which the runner starts a contestant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order<'a> {
    /// The name of the case.
    pub case: &'a str,
    /// The name of the rival.
    pub rival: &'a str,
    /// How many threads compute.
    pub workers: usize,
    /// How long a turn takes.
    pub pace: Pace,
}

impl<'a> Order<'a> {
    fn from_words(words: &[&'a str]) -> Result<Self, String> {
        let ["contestant", "--case", case, "--rival", rival, "--workers", workers, "--pace", pace] =
            *words
        else {
            return Err("`blitz bench` starts this program; by hand, run its `check`".to_owned());
        };
        let pace = Pace::from_name(pace).ok_or("there is no such pace")?;
        let workers = workers.parse().map_err(|_| "the number of workers is not a number")?;
        Ok(Self { case, rival, workers, pace })
    }

    /// Takes turns until stdin ends.
    fn serve(
        self,
        open: impl FnOnce(Self) -> Result<Box<dyn Contest>, String>,
    ) -> Result<(), String> {
        os::die_with_parent().map_err(|error| format!("cannot end with the parent: {error}"))?;
        serve(|| open(self), io::stdin().lock(), io::stdout().lock())
            .map_err(|error| format!("cannot talk to the parent: {error}"))
    }
}

/// Runs `check` if the command line says so. Otherwise, takes turns in the contest that `open` sets
/// up.
pub fn program(
    check: impl FnOnce() -> Result<(), String>,
    open: impl FnOnce(Order<'_>) -> Result<Box<dyn Contest>, String>,
) -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["check"] => check(),
        _ => Order::from_words(&words).and_then(|order| order.serve(open)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_all_that_a_contest_needs() {
        let words = "contestant --case a/b --rival tokio --workers 2 --pace smoke";
        let words: Vec<&str> = words.split(' ').collect();
        let order = Order { case: "a/b", rival: "tokio", workers: 2, pace: Pace::Smoke };
        assert_eq!(Order::from_words(&words), Ok(order));
        assert!(Order::from_words(&words[1..]).unwrap_err().contains("check"));
        let mistaken = |at: usize| {
            let mut words = words.clone();
            words[at] = "?";
            Order::from_words(&words).unwrap_err()
        };
        assert!(mistaken(6).contains("workers") && mistaken(8).contains("pace"));
    }
}

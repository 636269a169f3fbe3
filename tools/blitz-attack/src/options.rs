//! The command line.

use std::time::Duration;

/// What `--help` prints.
pub const HELP: &str = "\
Attacks the pool: every scenario in a process of its own, then random mixes of every operation.

--minutes N     how long the random mix goes on (default 1; 0.5 is half a minute; 0 is none)
--seed N        the seed of the mix's first round (default: from the clock); the next rounds have the next seeds
--rounds N      at most this many rounds
--patience N    seconds without progress that count as a hang (default 30)
--only NAME     only the scenarios whose name begins with NAME; `mix` is the random mix alone
--list          the names of all scenarios, and the property that each checks
";

/// The options of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How long the random mix goes on.
    pub time: Duration,
    /// The first seed, if it was given.
    pub seed: Option<u64>,
    /// The largest number of rounds.
    pub rounds: u64,
    /// How long there may be no progress before the watchdog reports a hang.
    pub patience: Duration,
    /// The beginning of the names of the scenarios to run, or `mix`.
    pub only: Option<String>,
    /// The role of this process.
    pub role: Role,
}

/// The role of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Role {
    /// Starts scenarios and mixes as child processes.
    #[default]
    Parent,
    /// Prints the names of scenarios.
    List,
    /// Prints how to call the program.
    Help,
    /// Runs a scenario in this process.
    Scenario(String),
    /// Runs the mix in this process.
    Mix,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            time: Duration::from_secs(60),
            seed: None,
            rounds: u64::MAX,
            patience: Duration::from_secs(30),
            only: None,
            role: Role::Parent,
        }
    }
}

impl Options {
    /// Parses the command line.
    ///
    /// # Errors
    /// A message about the wrong argument.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut words = words.iter().map(AsRef::as_ref);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word {
                "--minutes" => options.time = seconds(value()?, 60.0)?,
                "--patience" => options.patience = seconds(value()?, 1.0)?,
                "--seed" => options.seed = Some(number(value()?)?),
                "--rounds" => options.rounds = number(value()?)?,
                "--only" => options.only = Some(value()?.to_owned()),
                "--list" => options.role = Role::List,
                "--help" | "-h" => options.role = Role::Help,
                "--child-scenario" => options.role = Role::Scenario(value()?.to_owned()),
                "--child-mix" => options.role = Role::Mix,
                _ => return Err(format!("unknown option {word}")),
            }
        }
        Ok(options)
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

fn seconds(text: &str, unit: f64) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok().and_then(|n| Duration::try_from_secs_f64(n * unit).ok());
    number.ok_or_else(|| format!("{text} is not a length of time"))
}

#[cfg(test)]
mod tests {
    use super::{Options, Role};
    use std::time::Duration;

    #[test]
    fn options_are_read() {
        let options = Options::parse(&["--minutes", "0.5", "--seed", "7", "--only", "nest"]);
        let wanted = Options {
            time: Duration::from_secs(30),
            seed: Some(7),
            only: Some("nest".into()),
            ..Options::default()
        };
        assert_eq!(options, Ok(wanted));
        assert_eq!(Options::parse(&["--list"]).unwrap().role, Role::List);
    }

    #[test]
    fn wrong_options_are_refused() {
        for words in [&["--minute", "1"][..], &["--seed"], &["--seed", "x"], &["--minutes", "-1"]] {
            assert!(Options::parse(words).is_err(), "{words:?}");
        }
    }
}

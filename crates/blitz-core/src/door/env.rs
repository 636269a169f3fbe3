//! Reads the environment variables of pools.

#![forbid(unsafe_code)]

use crate::base::BuildError;
use crate::state::default_workers;
use blitz_parts::sleep::WORKERS_MAX;
use std::ffi::OsString;

/// The variable that sets the number of workers of the global pool, and of pools that opt in.
pub(super) const WORKERS_VARIABLE: &str = "BLITZ_WORKERS";

/// The variable that sets how many threads a pool may start beyond its workers.
const SPARES_VARIABLE: &str = "BLITZ_SPARES";

/// The variable that turns on a line on standard error per stall.
const STALLS_VARIABLE: &str = "BLITZ_STALLS";

/// Returns the value of `BLITZ_WORKERS`, if it is set; 0 means one worker per core.
pub(super) fn workers_from_env() -> Result<Option<usize>, BuildError> {
    from_env(WORKERS_VARIABLE, parse_workers)
}

/// Returns the value of `BLITZ_SPARES`, if it is set.
pub(super) fn spares_from_env() -> Result<Option<usize>, BuildError> {
    from_env(SPARES_VARIABLE, parse_spares)
}

/// Returns whether `BLITZ_STALLS` asks for a line per stall.
pub(super) fn logs_stalls() -> Result<bool, BuildError> {
    Ok(from_env(STALLS_VARIABLE, parse_switch)?.unwrap_or(false))
}

fn from_env<T>(
    variable: &str,
    parse: impl FnOnce(&OsString) -> Result<T, BuildError>,
) -> Result<Option<T>, BuildError> {
    match std::env::var_os(variable) {
        None => Ok(None),
        // Unit files and shells unset a variable by `VARIABLE=`.
        Some(text) if text.is_empty() => Ok(None),
        Some(text) => parse(&text).map(Some),
    }
}

/// Parses a whole number that is at most [`WORKERS_MAX`].
fn parse_number(text: &OsString) -> Option<usize> {
    let number = text.to_str().and_then(|text| text.trim().parse::<usize>().ok());
    number.filter(|&number| number <= WORKERS_MAX)
}

fn parse_switch(text: &OsString) -> Result<bool, BuildError> {
    match text.to_str().map(str::trim) {
        Some("0") => Ok(false),
        Some("1") => Ok(true),
        _ => Err(BuildError::config(format!("{STALLS_VARIABLE} is {text:?}; it must be 0 or 1"))),
    }
}

fn parse_spares(text: &OsString) -> Result<usize, BuildError> {
    parse_number(text).ok_or_else(|| {
        BuildError::config(format!(
            "{SPARES_VARIABLE} is {text:?}; it must be a whole number from 0 to {WORKERS_MAX}"
        ))
    })
}

fn parse_workers(text: &OsString) -> Result<usize, BuildError> {
    parse_number(text).ok_or_else(|| {
        BuildError::config(format!(
            "{WORKERS_VARIABLE} is {text:?}; it must be a whole number from 1 to {WORKERS_MAX}, or 0 \
             for one worker per core (here {})",
            default_workers()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::{WORKERS_MAX, parse_spares, parse_switch, parse_workers};
    use std::ffi::OsString;

    #[test]
    fn good_numbers_are_taken() {
        for (text, number) in [("0", 0), ("1", 1), (" 12 ", 12), ("65535", WORKERS_MAX)] {
            assert_eq!(parse_workers(&OsString::from(text)).unwrap(), number);
        }
    }

    #[test]
    fn zero_spares_are_allowed_and_a_word_is_an_error() {
        assert_eq!(parse_spares(&OsString::from("0")).unwrap(), 0);
        let message = parse_spares(&OsString::from("many")).unwrap_err().to_string();
        assert!(
            message.contains("BLITZ_SPARES") && message.contains("from 0 to 65535"),
            "{message}"
        );
    }

    #[test]
    fn a_switch_is_on_or_off() {
        assert!(parse_switch(&OsString::from(" 1 ")).unwrap());
        assert!(!parse_switch(&OsString::from("0")).unwrap());
        let message = parse_switch(&OsString::from("yes")).unwrap_err().to_string();
        assert!(message.contains("BLITZ_STALLS is \"yes\""), "{message}");
    }

    #[test]
    fn errors_quote_bad_numbers_and_name_the_allowed_range() {
        for text in ["", "two", "-1", "65536", "1.5", "99999999999999999999"] {
            let error = parse_workers(&OsString::from(text)).unwrap_err();
            assert!(error.is_invalid_config());
            let message = error.to_string();
            assert!(message.contains(&format!("{text:?}")), "{message}");
            assert!(message.contains("from 1 to 65535"), "{message}");
        }
    }
}

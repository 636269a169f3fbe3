//! Lengths of time in words.

#![forbid(unsafe_code)]

use std::time::Duration;

/// A length of time with a space before its unit: `93 s`.
pub(super) fn length(time: Duration) -> String {
    match time {
        time if time < Duration::from_millis(1) => format!("{} us", time.as_micros()),
        time if time < Duration::from_secs(1) => format!("{} ms", time.as_millis()),
        time => format!("{} s", time.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::length;
    use std::time::Duration;

    #[test]
    fn lengths_have_one_unit() {
        assert_eq!(length(Duration::from_micros(40)), "40 us");
        assert_eq!(length(Duration::from_micros(40_999)), "40 ms");
        assert_eq!(length(Duration::from_millis(93_999)), "93 s");
    }
}

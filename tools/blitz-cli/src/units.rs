//! Numbers as people read them.

use blitz_bench::{stats::Spread, workload::Unit};

/// A time with three digits and the unit that makes it shortest. Times that a pool could not tell
/// from longer ones come as the largest number.
pub fn time(nanoseconds: f64) -> String {
    if nanoseconds >= u64::MAX as f64 {
        return "∞".to_owned();
    }
    let (value, unit) = match nanoseconds.abs() {
        ns if ns < 1e3 => (nanoseconds, "ns"),
        ns if ns < 1e6 => (nanoseconds / 1e3, "us"),
        ns if ns < 1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    let digits = match value.abs() {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// A count with at most four digits, for example `1234` or `1.2 M`.
pub fn count(number: f64) -> String {
    let (value, unit) = match number {
        number if number < 9_999.5 => (number, ""),
        number if number < 999.5e3 => (number / 1e3, " k"),
        number if number < 999.5e6 => (number / 1e6, " M"),
        _ => (number / 1e9, " G"),
    };
    let digits = usize::from(value < 9.95 && (value.fract() > 0.05 || !unit.is_empty()));
    format!("{value:.digits$}{unit}")
}

/// A share as whole per cent.
pub fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Text from another process, without control characters.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// The median of a cost; a dash if there is none.
pub fn median_cost(unit: Unit, spread: Option<Spread>) -> String {
    match (spread, unit) {
        (None, _) => "-".to_owned(),
        (Some(spread), Unit::Nanoseconds) => time(spread.median),
        (Some(spread), Unit::Bytes) => format!("{:.0} B", spread.median),
        (Some(spread), Unit::Times) => format!("{:.3}", spread.median),
    }
}

/// A ratio, for example `0.35x`.
pub fn ratio(ratio: f64) -> String {
    let digits = if ratio < 9.995 { 2 } else { 1 };
    format!("{ratio:.digits$}x")
}

/// A ratio with its spread, for example `0.35x (0.31..0.40)`; a dash if there is none.
pub fn ratio_with_spread(spread: Option<Spread>) -> String {
    spread.map_or_else(
        || "-".to_owned(),
        |spread| format!("{} ({:.2}..{:.2})", ratio(spread.median), spread.p10, spread.p90),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        assert_eq!(time(2.345), "2.35 ns");
        assert_eq!(time(-0.5), "-0.50 ns");
        assert_eq!(time(12_345.0), "12.3 us");
        assert_eq!(time(123_456_789.0), "123 ms");
        assert_eq!(time(2e9), "2.00 s");
        assert_eq!(time(u64::MAX as f64), "∞");
    }

    #[test]
    fn counts_are_short() {
        let counts = [0.0, 3.4, 7.0, 1_234.0, 12_345.0, 1_234_567.0, 2e9];
        let texts = ["0", "3.4", "7", "1234", "12 k", "1.2 M", "2.0 G"];
        assert_eq!(counts.map(count), texts);
        assert_eq!(percent(0.126), "13%");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc\u{9b}ü"), "a?[31mb?c?ü");
    }

    #[test]
    fn a_cost_has_its_own_unit() {
        let spread = Spread::of(&[1_234.0]);
        assert_eq!(median_cost(Unit::Nanoseconds, spread), "1.23 us");
        assert_eq!(median_cost(Unit::Bytes, spread), "1234 B");
        assert_eq!(median_cost(Unit::Bytes, None), "-");
        assert_eq!(median_cost(Unit::Times, Spread::of(&[0.25])), "0.250");
    }

    #[test]
    fn ratios_show_their_spread() {
        let spread = Spread { p10: 0.3, median: 0.35, p90: 0.4, median_low: 0.34 };
        assert_eq!(ratio_with_spread(Some(spread)), "0.35x (0.30..0.40)");
        assert_eq!(ratio_with_spread(None), "-");
        assert_eq!(ratio(12.34), "12.3x");
    }
}

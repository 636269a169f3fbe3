//! A bar per contestant of a case, with its spread, as elements of the page.

use std::fmt::Write as _;

use blitz_bench::{
    report::{CaseReport, ContestantReport},
    stats::Spread,
    workload::Unit,
};

use super::html::{element, escape};
use crate::units;

/// Draws what every contestant of `case` measured under the name `measure`, counted in `unit`.
pub fn plot(page: &mut String, case: &CaseReport, measure: &str, unit: Unit) {
    let spread = |one: &ContestantReport| one.measures.get(measure).copied();
    let ends = case.contestants.iter().filter_map(spread).map(|spread| spread.p90);
    let longest = ends.fold(f64::MIN_POSITIVE, f64::max);
    page.push_str("<div class=\"plot\">\n");
    element(page, "h4", measure);
    for one in &case.contestants {
        let class = if one.contestant.rival.is_ours() { "ours" } else { "rival" };
        let name = escape(&one.contestant.to_string());
        let value = escape(&units::median_cost(unit, spread(one)));
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(page, "<div class=\"row {class}\">\n<span>{name}</span><b>{value}</b>");
        page.push_str("<div class=\"track\">");
        if let Some(Spread { p10, median, p90, .. }) = spread(one) {
            for (class, (from, to)) in [("bar", (0.0, median)), ("spread", (p10, p90))] {
                let from = place(from, longest);
                let width = place(to, longest) - from;
                let _ = write!(
                    page,
                    "<i class=\"{class}\" style=\"left:{from:.1}%;width:{width:.1}%\"></i>"
                );
            }
        }
        page.push_str("</div>\n</div>\n");
    }
    page.push_str("</div>\n");
}

/// Where a value lies, in percent of the longest bar. A cost below that of the sequential twin is
/// negative and lies at the edge.
fn place(value: f64, longest: f64) -> f64 {
    (value / longest).clamp(0.0, 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::report;

    #[test]
    fn a_plot_names_every_contestant_with_its_value() {
        let mut page = String::new();
        plot(&mut page, &report().cases[0], "wall", Unit::Nanoseconds);
        for text in ["blitz x2", "rayon x2", "500 us", "1.00 ms", "width:50.0%", "width:100.0%"] {
            assert!(page.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn a_contestant_without_a_value_has_a_dash() {
        let mut page = String::new();
        plot(&mut page, &report().cases[0], "start p50", Unit::Nanoseconds);
        assert!(page.contains("<span>blitz x2</span><b>-</b>"), "{page}");
        assert!(!page.contains("class=\"bar\""));
    }

    #[test]
    fn values_stay_on_their_track() {
        assert_eq!(place(-3.0, 10.0), 0.0);
        assert_eq!(place(10.0, 10.0), 100.0);
        assert_eq!(place(20.0, 10.0), 100.0);
        assert_eq!(place(f64::INFINITY, 10.0), 100.0);
    }
}

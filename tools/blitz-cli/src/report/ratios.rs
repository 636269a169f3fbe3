//! A bar per comparison, from 1 to its ratio, with its spread, as elements of the page.

use std::fmt::Write as _;

use blitz_bench::{stats::Spread, verdict::Row};

use super::{
    groups::{Duel, Group},
    html::{element, escape},
};
use crate::units;

/// Draws the comparisons of `group`, a plot per rival.
pub fn plots(page: &mut String, group: &Group<'_>) {
    let scale = Scale::of(group.rows.iter().filter_map(|row| row.ratio));
    for duel in group.duels() {
        plot(page, group.name, &duel, &scale);
    }
}

fn plot(page: &mut String, group: &str, duel: &Duel<'_>, scale: &Scale) {
    page.push_str("<div class=\"plot\">\n");
    element(page, "h3", &format!("against {}", duel.rival));
    axis(page, scale);
    for row in &duel.rows {
        bar(page, group, row, scale);
    }
    page.push_str("</div>\n");
}

/// The numbers above the bars.
fn axis(page: &mut String, scale: &Scale) {
    page.push_str("<div class=\"axis\">");
    for tick in scale.ticks() {
        // Writing to a String cannot fail, here and below.
        let _ = write!(page, "<span style=\"left:{:.1}%\">{tick}x</span>", scale.place(tick));
    }
    page.push_str("</div>\n");
}

fn bar(page: &mut String, group: &str, row: &Row, scale: &Scale) {
    let label = escape(&label(group, row));
    let value = escape(&units::ratio_with_spread(row.ratio));
    let verdict = row.verdict.name();
    let _ = writeln!(page, "<div class=\"row {verdict}\">");
    let _ = writeln!(page, "<span>{label}</span><b>{value} {verdict}</b>");
    page.push_str("<div class=\"track\">");
    for tick in scale.ticks() {
        let class = if tick == 1.0 { "one" } else { "tick" };
        let _ = write!(page, "<i class=\"{class}\" style=\"left:{:.1}%\"></i>", scale.place(tick));
    }
    if let Some(ratio) = row.ratio {
        for (class, ends) in [("bar", (1.0, ratio.median)), ("spread", (ratio.p10, ratio.p90))] {
            let (from, to) = (scale.place(ends.0.min(ends.1)), scale.place(ends.0.max(ends.1)));
            let width = to - from;
            let _ = write!(
                page,
                "<i class=\"{class}\" style=\"left:{from:.1}%;width:{width:.1}%\"></i>"
            );
        }
    }
    page.push_str("</div>\n</div>\n");
}

/// Names a row of `group`: case, measure, workers.
pub(super) fn label(group: &str, row: &Row) -> String {
    let name = row.case.strip_prefix(group).unwrap_or(&row.case).trim_start_matches('/');
    let workers = match row.subject.workers == row.reference.workers {
        true => row.subject.to_string(),
        false => format!("{} to {}", row.subject, row.reference),
    };
    format!("{name}, {}, {workers}", row.measure)
}

/// A logarithmic scale that contains 1 and all ratios of a group.
pub(super) struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    /// The scale for `ratios` with their spreads. Ratios beyond a factor of 100 lie at the edge.
    pub(super) fn of(ratios: impl Iterator<Item = Spread>) -> Self {
        let (mut least, mut most) = (0.5_f64, 2.0_f64);
        for ratio in ratios {
            least = least.min(ratio.p10);
            most = most.max(ratio.p90);
        }
        Self { least: least.max(0.01) / 1.1, most: most.min(100.0) * 1.1 }
    }

    /// Where a ratio lies, in percent of the width.
    pub(super) fn place(&self, ratio: f64) -> f64 {
        let part = (ratio.max(f64::MIN_POSITIVE) / self.least).ln() / (self.most / self.least).ln();
        part.clamp(0.0, 1.0) * 100.0
    }

    /// Round ratios within the scale; only powers of ten if there are many decades.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let (least, most) = (self.least, self.most);
        let wide = most / least > 100.0;
        TICKS
            .into_iter()
            .filter(move |(tick, is_decade)| (least..=most).contains(tick) && (*is_decade || !wide))
            .map(|(tick, _)| tick)
    }
}

const TICKS: [(f64, bool); 13] = [
    (0.01, true),
    (0.02, false),
    (0.05, false),
    (0.1, true),
    (0.2, false),
    (0.5, false),
    (1.0, true),
    (2.0, false),
    (5.0, false),
    (10.0, true),
    (20.0, false),
    (50.0, false),
    (100.0, true),
];

#[cfg(test)]
mod tests {
    use blitz_bench::verdict::Verdict;

    use super::*;
    use crate::{report::groups::groups, table::tests::row};

    #[test]
    fn a_plot_has_a_bar_with_its_spread_for_each_row() {
        let rows =
            [row("io/a/b", 2.0, None, Verdict::Slower), row("io/c", 0.5, Some(0.6), Verdict::Met)];
        let mut page = String::new();
        plots(&mut page, &groups(&rows)[0]);
        assert_eq!(page.matches("class=\"bar\"").count(), 2);
        assert_eq!(page.matches("class=\"spread\"").count(), 2);
        let at = |needle: &str| page.find(needle).unwrap_or_else(|| panic!("no {needle}"));
        assert!(at("against rayon") < at("a/b, wall, blitz x2"));
        assert!(at("row slower") < at("row met"));
        assert!(page.contains("2.00x (2.00..2.00) slower"), "{page}");
    }

    #[test]
    fn one_lies_between_a_half_and_two() {
        let scale = Scale::of(std::iter::empty());
        assert!((scale.place(1.0) - 50.0).abs() < 1e-9);
        assert!(scale.place(0.5) > 0.0 && scale.place(2.0) < 100.0);
        assert_eq!(scale.ticks().collect::<Vec<_>>(), [0.5, 1.0, 2.0]);
    }

    #[test]
    fn far_ratios_lie_at_the_edge() {
        let far = [Spread::of(&[1e-6]), Spread::of(&[1e6])].into_iter().flatten();
        let scale = Scale::of(far);
        assert_eq!((scale.place(1e-6), scale.place(1e6)), (0.0, 100.0));
        assert_eq!(scale.ticks().collect::<Vec<_>>(), [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert_eq!(scale.place(0.0), 0.0);
    }
}

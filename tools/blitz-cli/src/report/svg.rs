//! A group's comparisons as one SVG file: for pages that cannot show HTML.

use std::fmt::Write as _;

use blitz_bench::verdict::{Row, Verdict};

use super::{
    groups::{Duel, Group},
    html::escape,
    ratios::{Scale, label},
};
use crate::units;

/// In pixels: the width of the picture, both ends of a track, the height of a row and a heading.
const WIDTH: f64 = 900.0;
const TRACK: (f64, f64) = (430.0, 760.0);
const ROW: f64 = 22.0;
const HEADING: f64 = 44.0;

/// Draws the comparisons of `group`, a plot per rival, losses first.
pub fn render(group: &Group<'_>) -> String {
    let scale = Scale::of(group.rows.iter().filter_map(|row| row.ratio));
    let duels = group.duels();
    let rows = duels.iter().map(|duel| duel.rows.len()).sum::<usize>();
    let height = HEADING * (duels.len() as f64) + ROW * (rows as f64) + ROW;
    let mut svg = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\n{STYLE}",
        escape(group.title())
    );
    let mut top = 0.0;
    for duel in &duels {
        top = plot(&mut svg, top, group.name, duel, &scale);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws the comparisons with one rival; returns where they end.
fn plot(svg: &mut String, top: f64, group: &str, duel: &Duel<'_>, scale: &Scale) -> f64 {
    let rows = top + HEADING;
    let bottom = rows + ROW * (duel.rows.len() as f64);
    text(svg, "heading", (8.0, rows - 18.0), &format!("against {}", duel.rival));
    for tick in scale.ticks() {
        let x = place(scale, tick);
        let class = if tick == 1.0 { "one" } else { "tick" };
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{rows}\" y2=\"{bottom}\"/>"
        );
        text(svg, "axis", (x, rows - 6.0), &format!("{tick}x"));
    }
    for (number, row) in duel.rows.iter().enumerate() {
        bar(svg, rows + ROW * (number as f64), group, row, scale);
    }
    bottom
}

fn bar(svg: &mut String, top: f64, group: &str, row: &Row, scale: &Scale) {
    let baseline = top + 15.0;
    text(svg, "label", (8.0, baseline), &label(group, row));
    let value = format!("{} {}", units::ratio_with_spread(row.ratio), row.verdict.name());
    text(svg, "value", (TRACK.1 + 8.0, baseline), &value);
    let Some(ratio) = row.ratio else { return };
    let verdict = class(row.verdict);
    for (class, y, height, ends) in [
        (verdict, top + 5.0, 12.0, (1.0, ratio.median)),
        ("spread", top + 10.0, 2.0, (ratio.p10, ratio.p90)),
    ] {
        let (from, to) = (place(scale, ends.0.min(ends.1)), place(scale, ends.0.max(ends.1)));
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{height}\"/>",
            (to - from).max(1.0)
        );
    }
}

fn text(svg: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\">{}</text>", escape(text));
}

/// Where a ratio is, in pixels.
fn place(scale: &Scale, ratio: f64) -> f64 {
    TRACK.0 + (TRACK.1 - TRACK.0) * scale.place(ratio) / 100.0
}

fn class(verdict: Verdict) -> &'static str {
    match verdict.name() {
        "met" | "faster" => "win",
        "near" => "near",
        _ if verdict.is_loss() => "loss",
        _ => "other",
    }
}

const STYLE: &str = "<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.heading { font-weight: 600; font-size: 14px; }
.axis { fill: #59636e; font-size: 10px; text-anchor: middle; }
.value { font-variant-numeric: tabular-nums; font-size: 10px; }
.tick { stroke: #d1d9e0; }
.one { stroke: #59636e; stroke-width: 2; }
.win { fill: #2e8b57; } .loss { fill: #cf222e; } .near { fill: #b35900; } .other { fill: #818b98; }
.spread { fill: #1f2328; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; } .axis { fill: #9198a1; } .tick { stroke: #3d444d; } .one { stroke: #9198a1; }
.win { fill: #3fb950; } .loss { fill: #f85149; } .near { fill: #e3a008; } .spread { fill: #f0f6fc; }
}
</style>";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::groups::groups, table::tests::row};

    #[test]
    fn a_picture_has_a_bar_with_its_spread_for_each_row() {
        let rows = [
            row("io/a<b", 2.0, None, Verdict::Slower),
            row("io/c", 0.5, Some(0.6), Verdict::Met),
            row("io/d", 1.1, Some(1.0), Verdict::Near),
        ];
        let svg = render(&groups(&rows)[0]);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        for (class, count) in [("loss", 1), ("win", 1), ("near", 1), ("spread", 3)] {
            let found = svg.matches(&format!("<rect class=\"{class}\"")).count();
            assert_eq!(found, count, "{class}");
        }
        assert!(svg.contains("a&lt;b, wall, blitz x2"), "{svg}");
        assert!(svg.contains("against rayon") && svg.contains("aria-label=\"Sockets and timers\""));
        assert!(svg.contains("2.00x (2.00..2.00) slower"));
    }

    #[test]
    fn a_cheaper_row_lies_left_of_one_and_a_dearer_one_right() {
        let scale = Scale::of(std::iter::empty());
        let (half, one, two) = (place(&scale, 0.5), place(&scale, 1.0), place(&scale, 2.0));
        assert!(TRACK.0 <= half && half < one && one < two && two <= TRACK.1);
    }
}

//! One bar per contestant, with whiskers, as SVG text.

use std::error::Error;

use blitz_bench::{
    report::{CaseReport, ContestantReport},
    stats::Spread,
    workload::Unit,
};
use plotters::prelude::*;

use crate::units;

/// Draws what every contestant of `case` measured under the name `measure`, counted in `unit`.
pub fn bars(case: &CaseReport, measure: &str, unit: Unit) -> Result<String, Box<dyn Error>> {
    let bars: Vec<Bar> = case.contestants.iter().map(|one| Bar::new(one, measure)).collect();
    let longest = bars.iter().filter_map(|bar| bar.spread).map(|spread| spread.p90);
    let longest = longest.fold(f64::MIN_POSITIVE, f64::max);

    let mut svg = String::new();
    {
        let height = HEAD + BAR * bars.len() as i32;
        let backend = SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32));
        let root = backend.into_drawing_area();
        root.draw(&Text::new(measure.to_owned(), (LABELS, 4), font()))?;
        for (line, bar) in bars.iter().enumerate() {
            let top = HEAD + BAR * line as i32;
            root.draw(&Text::new(bar.label.clone(), (4, top + 4), font()))?;
            root.draw(&Text::new(bar.value(unit), (bar.end(longest) + 8, top + 4), font()))?;
            let Some(spread) = bar.spread else { continue };
            let x = |value| position(value, longest);
            let corners = [(LABELS, top + 3), (x(spread.median), top + BAR - 5)];
            root.draw(&Rectangle::new(corners, bar.colour.filled()))?;
            let middle = top + BAR / 2 - 1;
            let whisker = vec![(x(spread.p10), middle), (x(spread.p90), middle)];
            root.draw(&PathElement::new(whisker, BLACK.stroke_width(1)))?;
        }
        root.present()?;
    }
    Ok(svg)
}

struct Bar {
    label: String,
    spread: Option<Spread>,
    colour: RGBColor,
}

impl Bar {
    fn new(contestant: &ContestantReport, measure: &str) -> Self {
        Self {
            label: contestant.contestant.to_string(),
            spread: contestant.measures.get(measure).copied(),
            colour: match contestant.contestant.rival {
                rival if rival.is_ours() => OURS,
                _ => RGBColor(0x9f, 0xb4, 0xc7),
            },
        }
    }

    fn value(&self, unit: Unit) -> String {
        units::median_cost(unit, self.spread)
    }

    /// Where the bar with its whisker ends.
    fn end(&self, longest: f64) -> i32 {
        self.spread.map_or(LABELS, |spread| position(spread.p90, longest))
    }
}

/// Where a value lies, from zero at the labels' edge to the longest bar's end. A cost below that of
/// the sequential twin is negative and lies at the edge.
fn position(value: f64, longest: f64) -> i32 {
    let part = (value / longest).clamp(0.0, 1.0);
    LABELS + (part * f64::from(BARS)) as i32
}

pub(super) fn font() -> TextStyle<'static> {
    ("sans-serif", 17).into_font().color(&BLACK)
}

/// The colour of the pools of this repository.
pub(super) const OURS: RGBColor = RGBColor(0xe0, 0x8a, 0x00);

pub(super) const WIDTH: i32 = 830;
/// The width of the names on the left.
const LABELS: i32 = 180;
/// The width of the longest bar; its value stands to the right of it.
const BARS: i32 = 540;
/// The height of the line above the bars.
const HEAD: i32 = 26;
const BAR: i32 = 22;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::report;

    #[test]
    fn a_plot_names_every_contestant_with_its_value() {
        let svg = bars(&report().cases[0], "wall", Unit::Nanoseconds).unwrap();
        for text in ["blitz x2", "rayon x2", "500 us", "1.00 ms"] {
            assert!(svg.contains(text), "{text} is missing");
        }
    }

    #[test]
    fn who_has_no_value_has_a_dash() {
        let svg = bars(&report().cases[0], "start p50", Unit::Nanoseconds).unwrap();
        assert!(svg.contains("blitz x2"));
        assert!(svg.contains('-'));
    }

    #[test]
    fn values_stay_on_the_canvas() {
        assert_eq!(position(-3.0, 10.0), LABELS);
        assert_eq!(position(10.0, 10.0), LABELS + BARS);
        assert_eq!(position(20.0, 10.0), LABELS + BARS);
        assert_eq!(position(f64::INFINITY, 10.0), LABELS + BARS);
    }
}

//! Distributions: a line per contestant through its percentiles, as SVG text.

use std::error::Error;

use blitz_bench::{report::CaseReport, stats::Spread, workload::Metric};
use plotters::prelude::*;

use crate::{table, units};

/// Draws the distributions of the contestants of `case`, if any has one.
pub fn lines(
    case: &CaseReport,
    name: &str,
    percentiles: &[(Metric, f64)],
) -> Option<Result<String, Box<dyn Error>>> {
    let of = |contestant: &blitz_bench::report::ContestantReport| {
        let values = contestant.distribution(percentiles)?;
        Some((contestant.contestant.to_string(), contestant.contestant.rival.is_ours(), values))
    };
    let known = case.contestants.iter().filter_map(of);
    let mut lines: Vec<Line> = Vec::new();
    for (label, is_ours, values) in known {
        let alike = lines.iter().filter(|line| line.is_ours == is_ours).count();
        lines.push(Line { label, is_ours, values, colour: colour(is_ours, alike) });
    }
    let scale = Scale::of(&lines)?;
    Some(draw(&lines, &scale, name, percentiles))
}

struct Line {
    label: String,
    is_ours: bool,
    /// One per percentile.
    values: Vec<Spread>,
    colour: RGBColor,
}

fn draw(
    lines: &[Line],
    scale: &Scale,
    name: &str,
    percentiles: &[(Metric, f64)],
) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let height = BOTTOM + FOOT.max(LINE * lines.len() as i32 - (BOTTOM - TOP) + FOOT);
        let backend = SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32));
        let root = backend.into_drawing_area();
        root.draw(&Text::new(name.to_owned(), (LEFT, 4), font()))?;
        for decade in scale.decades() {
            let y = scale.y(decade);
            let grid = vec![(LEFT, y), (RIGHT, y)];
            root.draw(&PathElement::new(grid, GRID.stroke_width(1)))?;
            root.draw(&Text::new(units::time(decade), (4, y - 9), font()))?;
        }
        let x =
            |at: usize| LEFT + (RIGHT - LEFT) * at as i32 / (percentiles.len() as i32 - 1).max(1);
        for (at, (_, percent)) in percentiles.iter().enumerate() {
            let grid = vec![(x(at), TOP), (x(at), BOTTOM)];
            root.draw(&PathElement::new(grid, GRID.stroke_width(1)))?;
            root.draw(&Text::new(table::percentile(*percent), (x(at) - 16, BOTTOM + 6), font()))?;
        }
        for (number, line) in lines.iter().enumerate() {
            let width = if line.is_ours { 3 } else { 2 };
            let points = line.values.iter().enumerate();
            let points: Vec<(i32, i32)> =
                points.map(|(at, value)| (x(at), scale.y(value.median))).collect();
            root.draw(&PathElement::new(points, line.colour.stroke_width(width)))?;
            for (at, value) in line.values.iter().enumerate() {
                let whisker = vec![(x(at), scale.y(value.p10)), (x(at), scale.y(value.p90))];
                root.draw(&PathElement::new(whisker, line.colour.stroke_width(1)))?;
            }
            let y = TOP + LINE * number as i32;
            let sample = vec![(LEGEND, y + 8), (LEGEND + 20, y + 8)];
            root.draw(&PathElement::new(sample, line.colour.stroke_width(width)))?;
            root.draw(&Text::new(line.label.clone(), (LEGEND + 26, y), font()))?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// Where times lie: on a logarithmic scale of whole decades.
struct Scale {
    least: i32,
    most: i32,
}

impl Scale {
    /// The decades that cover all values; `None` if there are no values.
    fn of(lines: &[Line]) -> Option<Self> {
        let values = || lines.iter().flat_map(|line| &line.values);
        let logs = |value: f64| value.max(1.0).log10();
        let least = values().map(|value| logs(value.p10)).reduce(f64::min)?.floor() as i32;
        let most = values().map(|value| logs(value.p90)).reduce(f64::max)?.ceil() as i32;
        Some(Self { least, most: most.max(least + 1) })
    }

    fn decades(&self) -> impl Iterator<Item = f64> + use<> {
        (self.least..=self.most).map(|exponent| 10_f64.powi(exponent))
    }

    fn y(&self, value: f64) -> i32 {
        let height = value.max(1.0).log10() - f64::from(self.least);
        let part = (height / f64::from(self.most - self.least)).clamp(0.0, 1.0);
        BOTTOM - (part * f64::from(BOTTOM - TOP)) as i32
    }
}

/// A colour for the `number`-th line of our pools, or of the others.
fn colour(is_ours: bool, number: usize) -> RGBColor {
    let colours: &[RGBColor] = if is_ours { &SHADES } else { &OTHERS };
    colours[number % colours.len()]
}

fn font() -> TextStyle<'static> {
    ("sans-serif", 17).into_font().color(&TEXT)
}

/// The page replaces these two colours by those of the reader's theme.
const TEXT: RGBColor = BLACK;
const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// The colour of the pools of this repository.
const OURS: RGBColor = RGBColor(0xe0, 0x8a, 0x00);

const SHADES: [RGBColor; 3] = [OURS, RGBColor(0xd6, 0x4a, 0x1c), RGBColor(0xc9, 0x9a, 0x10)];

const OTHERS: [RGBColor; 7] = [
    RGBColor(0x2f, 0x74, 0xb5),
    RGBColor(0x2e, 0x8b, 0x57),
    RGBColor(0x6f, 0xa8, 0xdc),
    RGBColor(0x9a, 0x6f, 0xc0),
    RGBColor(0x7f, 0x7f, 0x7f),
    RGBColor(0x17, 0xa2, 0xb8),
    RGBColor(0x8c, 0x6d, 0x46),
];

const WIDTH: i32 = 830;
/// The edges of the plot; percentiles are named below it.
const LEFT: i32 = 70;
const RIGHT: i32 = 590;
const TOP: i32 = 32;
const BOTTOM: i32 = 272;
const FOOT: i32 = 30;
const LEGEND: i32 = 620;
/// The height of a name.
const LINE: i32 = 22;

#[cfg(test)]
mod tests {
    use blitz_bench::report::Measured;

    use super::*;
    use crate::table::tests::report;

    fn with_latencies() -> CaseReport {
        let mut case = report().cases[0].clone();
        for (metric, percent) in Metric::RETURNS {
            let spread = Spread::of(&[percent * 1e3]).unwrap();
            let measured = Measured { spread, samples: Vec::new() };
            case.contestants[0].metrics.insert(metric, measured);
        }
        case
    }

    #[test]
    fn a_plot_has_a_line_for_each_contestant_with_a_distribution() {
        let svg = lines(&with_latencies(), "latency", &Metric::RETURNS).unwrap().unwrap();
        for text in ["latency", "blitz x2", "p50", "p99.9", "max", "10.0 us", "100 us"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert!(!svg.contains("rayon x2"));
    }

    #[test]
    fn without_a_distribution_there_is_no_plot() {
        assert!(lines(&report().cases[0], "latency", &Metric::RETURNS).is_none());
        assert!(lines(&with_latencies(), "lateness", &Metric::LATES).is_none());
    }

    #[test]
    fn times_lie_between_whole_decades() {
        let scale = Scale { least: 4, most: 6 };
        assert_eq!((scale.y(1e4), scale.y(1e6)), (BOTTOM, TOP));
        assert_eq!(scale.y(1e5), (BOTTOM + TOP) / 2);
        assert_eq!((scale.y(0.0), scale.y(1e9)), (BOTTOM, TOP));
        assert_eq!(scale.decades().count(), 3);
    }
}

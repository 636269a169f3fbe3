//! One self-contained page: no script, no font, nothing to load.

use std::{error::Error, fmt::Write as _};

use blitz_bench::{
    report::{CaseReport, Report},
    verdict::Row,
};

use super::{distribution, plot};
use crate::table;

/// The page for `report`.
pub fn render(report: &Report) -> String {
    let rows = report.rows();
    let (losses, others): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.verdict.is_loss());
    let mut page = String::new();
    page.push_str(HEAD);
    element(&mut page, "h2", "The machine");
    machine(&mut page, report);
    element(&mut page, "h2", "Losses: Blitz is slower than the rival or misses its goal");
    ratios(&mut page, &losses);
    element(&mut page, "h2", "Wins");
    ratios(&mut page, &others);
    for problem in table::problems(report) {
        element(&mut page, "p", &problem);
    }
    element(&mut page, "p", EXPLANATION);
    element(&mut page, "h2", "Every case");
    for case in report.cases_losses_first() {
        plots(&mut page, case);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn machine(page: &mut String, report: &Report) {
    page.push_str("<table>\n");
    for (label, value) in report.machine.lines() {
        table_row(page, "td", None, &[label.to_owned(), value]);
    }
    let run = format!("{}, seed {}", report.pace, report.seed);
    table_row(page, "td", None, &["pace".to_owned(), run]);
    for evidence in &report.evidence {
        table_row(page, "td", None, &["programs".to_owned(), evidence.clone()]);
    }
    page.push_str("</table>\n");
}

fn ratios(page: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        element(page, "p", "None.");
        return;
    }
    page.push_str("<table>\n");
    table_row(page, "th", None, &table::HEADINGS.map(str::to_owned));
    for row in rows {
        table_row(page, "td", Some(row.verdict.name()), &table::cells(row));
    }
    page.push_str("</table>\n");
}

fn plots(page: &mut String, case: &CaseReport) {
    element(page, "h3", &case.name);
    element(page, "p", &format!("{} {} rounds.", case.title, case.rounds));
    for (name, percentiles) in table::DISTRIBUTIONS {
        let svg = distribution::lines(case, name, &percentiles);
        svg.into_iter().for_each(|svg| push_plot(page, svg));
    }
    let mut drawn: Vec<&str> = Vec::new();
    for row in &case.rows {
        // Several rows may look at the same numbers.
        if drawn.contains(&row.measure.as_str()) {
            continue;
        }
        drawn.push(&row.measure);
        push_plot(page, plot::bars(case, &row.measure, row.unit));
    }
    if let Some(lines) = table::counts(case) {
        page.push_str("<table>\n");
        for (number, line) in lines.iter().enumerate() {
            table_row(page, if number == 0 { "th" } else { "td" }, None, line);
        }
        page.push_str("</table>\n");
    }
}

fn push_plot(page: &mut String, plot: Result<String, Box<dyn Error>>) {
    match plot {
        Ok(svg) => page.push_str(&svg),
        Err(error) => element(page, "p", &format!("This plot cannot be drawn: {error}")),
    }
}

fn element(page: &mut String, name: &str, text: &str) {
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(page, "<{name}>{}</{name}>", escape(text));
}

fn table_row(page: &mut String, cell: &str, class: Option<&str>, texts: &[String]) {
    let class = class.map(|class| format!(" class=\"{class}\"")).unwrap_or_default();
    let _ = write!(page, "<tr{class}>");
    for text in texts {
        let _ = write!(page, "<{cell}>{}</{cell}>", escape(text));
    }
    page.push_str("</tr>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const EXPLANATION: &str = "A ratio is Blitz's cost divided by the rival's in the same round: \
    median (10th..90th percentile), below 1 Blitz is cheaper. cpu is the same for CPU time, \
    speed-up is sequential time divided by Blitz's. Bars are medians, their whiskers reach from \
    the 10th to the 90th percentile of the rounds. Lines go through the percentiles of a turn's \
    latencies, each the median of the rounds; time is on a logarithmic scale. Forks, blocks and \
    inits are counted per run of a loop: cuts for another worker, blocks of items, states of map_init.";

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\"/>
<title>blitz bench</title>
<style>
body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
td, th { border-bottom: 1px solid #ddd; padding: 0.2em 0.8em 0.2em 0; }
td, th { text-align: left; white-space: nowrap; }
tr.MISSED td, tr.FAILED td { color: #b00020; }
tr.slower td, tr.near td { color: #a05a00; }
svg { display: block; max-width: 100%; height: auto; }
</style>
</head>
<body>
<h1>blitz bench</h1>
";

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every tag is closed in the order in which it was opened.
    fn assert_balanced(page: &str) {
        let mut open: Vec<&str> = Vec::new();
        for tag in page.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("a tag ends");
            let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
            if let Some(closed) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(closed), "closed what was not open");
            } else if !tag.starts_with('!') && !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "left open: {open:?}");
    }

    #[test]
    fn the_page_is_well_formed() {
        let page = render(&table::tests::report());
        assert!(page.starts_with("<!DOCTYPE html>"));
        assert_balanced(&page);
    }

    #[test]
    fn the_page_shows_losses_first_and_a_plot_per_case() {
        let page = render(&table::tests::report());
        let at = |needle: &str| page.find(needle).unwrap_or_else(|| panic!("no {needle}"));
        assert!(at("<td>group/lost</td>") < at("<td>group/won</td>"));
        assert!(at("The machine") < at("Losses"));
        assert_eq!(page.matches("<svg").count(), 2, "the skipped case has none");
        assert!(page.contains("group/won was skipped: needs memory"));
    }

    #[test]
    fn text_cannot_break_the_page() {
        let page = render(&table::tests::report());
        assert!(page.contains("Less &lt; more &amp; &quot;so on&quot;."));
    }
}

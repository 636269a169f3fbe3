//! One self-contained page: no script, no font, nothing to load.

use std::{error::Error, fmt::Write as _};

use blitz_bench::{
    report::{CaseReport, Report},
    verdict::Row,
};

use super::{
    costs, distribution,
    groups::{Group, groups},
    ratios,
};
use crate::table;

/// The page for `report`: plots by group, tables, every case, the machine.
pub fn render(report: &Report) -> String {
    let rows = report.rows();
    let groups = groups(&rows);
    let mut page = String::new();
    page.push_str(HEAD);
    element(&mut page, "p", &in_short(report, &rows));
    contents(&mut page, &groups);
    for group in &groups {
        let _ = writeln!(page, "<h2 id=\"{}\">{}</h2>", group.name, escape(group.title()));
        element(&mut page, "p", &group.summary());
        ratios::plots(&mut page, group);
    }
    let losses = rows.iter().take_while(|row| row.verdict.is_loss()).count();
    let (losses, others) = rows.split_at(losses);
    page.push_str("<h2 id=\"tables\">Tables</h2>\n");
    for problem in table::problems(report) {
        element(&mut page, "p", &problem);
    }
    element(&mut page, "h3", "Losses: Blitz is slower than the rival or misses its goal");
    table_of(&mut page, losses);
    element(&mut page, "h3", "Wins");
    table_of(&mut page, others);
    element(&mut page, "p", EXPLANATION);
    page.push_str("<h2 id=\"cases\">Every case</h2>\n");
    for case in report.cases_losses_first() {
        plots(&mut page, case);
    }
    page.push_str("<h2 id=\"machine\">The machine</h2>\n");
    machine(&mut page, report);
    page.push_str("</body>\n</html>\n");
    page
}

/// What ran, where, and how many rows were lost.
fn in_short(report: &Report, rows: &[Row]) -> String {
    let losses = rows.iter().filter(|row| row.verdict.is_loss()).count();
    let machine = report.machine.lines();
    let machine = machine.first().map_or_else(String::new, |(_, value)| format!(" on {value}"));
    format!(
        "A {} run of {} cases{machine}. A ratio is Blitz's cost divided by the rival's: Blitz \
         is cheaper where a bar lies left of 1, and dearer where it lies right of 1. {losses} of \
         {} rows are losses or miss a goal.",
        report.pace,
        report.cases.len(),
        rows.len()
    )
}

/// Links to the parts of the page.
fn contents(page: &mut String, groups: &[Group<'_>]) {
    page.push_str("<p class=\"contents\">");
    let groups = groups.iter().map(|group| (group.name, group.title()));
    let rest = [("tables", "Tables"), ("cases", "Every case"), ("machine", "The machine")];
    for (place, title) in groups.chain(rest) {
        let _ = write!(page, "<a href=\"#{place}\">{}</a> ", escape(title));
    }
    page.push_str("</p>\n");
}

fn machine(page: &mut String, report: &Report) {
    page.push_str(TABLE_BEGIN);
    for (label, value) in report.machine.lines() {
        table_row(page, "td", None, &[label.to_owned(), value]);
    }
    let run = format!("{}, seed {}", report.pace, report.seed);
    table_row(page, "td", None, &["pace".to_owned(), run]);
    for evidence in &report.evidence {
        table_row(page, "td", None, &["programs".to_owned(), evidence.clone()]);
    }
    page.push_str(TABLE_END);
}

fn table_of(page: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        element(page, "p", "None.");
        return;
    }
    page.push_str(TABLE_BEGIN);
    table_row(page, "th", None, &table::HEADINGS.map(str::to_owned));
    for row in rows {
        table_row(page, "td", Some(row.verdict.name()), &table::cells(row));
    }
    page.push_str(TABLE_END);
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
        // Several rows may compare the same numbers.
        if drawn.contains(&row.measure.as_str()) {
            continue;
        }
        drawn.push(&row.measure);
        costs::plot(page, case, &row.measure, row.unit);
    }
    if let Some(lines) = table::counts(case) {
        page.push_str(TABLE_BEGIN);
        for (number, line) in lines.iter().enumerate() {
            table_row(page, if number == 0 { "th" } else { "td" }, None, line);
        }
        page.push_str(TABLE_END);
    }
}

fn push_plot(page: &mut String, plot: Result<String, Box<dyn Error>>) {
    match plot {
        Ok(svg) => {
            let _ = writeln!(page, "<div class=\"wide\">{svg}</div>");
        }
        Err(error) => element(page, "p", &format!("This plot cannot be drawn: {error}")),
    }
}

pub(super) fn element(page: &mut String, name: &str, text: &str) {
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

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const EXPLANATION: &str = "A ratio is Blitz's cost divided by the rival's in the same round: \
    median (10th..90th percentile). Below 1 Blitz is cheaper. cpu is the same for CPU time; \
    speed-up is sequential time divided by Blitz's. Bars are medians; the thin lines on them reach \
    from the 10th to the 90th percentile of the rounds. Bars of ratios are on a logarithmic scale. \
    A line of latencies connects the percentiles of a turn, and each of its points is the median \
    of the rounds; time is on a logarithmic scale. Forks, blocks and inits are counts per run of a \
    loop: cuts for another worker, blocks of items, states of map_init.";

/// A wide table scrolls inside its box, and the page does not.
const TABLE_BEGIN: &str = "<div class=\"wide\"><table>\n";
const TABLE_END: &str = "</table></div>\n";

const HEAD: &str = concat!(
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n",
    "<meta name=\"color-scheme\" content=\"light dark\"/>\n",
    "<title>blitz bench</title>\n<style>\n",
    include_str!("style.css"),
    "</style>\n</head>\n<body>\n<h1>blitz bench</h1>\n",
);

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
    fn the_page_shows_plots_before_tables_and_losses_first() {
        let page = render(&table::tests::report());
        let at = |needle: &str| page.find(needle).unwrap_or_else(|| panic!("no {needle}"));
        assert!(at("against rayon") < at("<table>"));
        assert!(at("row slower") < at("row met"));
        assert!(at("<td>group/lost</td>") < at("<td>group/won</td>"));
        assert!(at("Losses") < at("id=\"machine\""));
        assert_eq!(page.matches("<h4>wall</h4>").count(), 2, "the skipped case has no plot");
        assert!(page.contains("Blitz is cheaper in 1 of 2 comparisons with rivals"));
        assert!(page.contains("group/won was skipped: needs memory"));
    }

    #[test]
    fn the_page_loads_nothing_and_has_dark_colours() {
        let page = render(&table::tests::report());
        for outside in ["http://", "https://", "src=", "@import", "<script", "<link"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("prefers-color-scheme: dark") && page.contains("width=device-width"));
    }

    #[test]
    fn text_cannot_break_the_page() {
        let page = render(&table::tests::report());
        assert!(page.contains("Less &lt; more &amp; &quot;so on&quot;."));
    }
}

//! The table of all sites, with the result of weakening each.

use super::sites::Site;
use std::collections::BTreeMap;

/// Where the table is.
pub const PATH: &str = "docs/orderings.md";

/// The table's text for a site that no run has tried.
const UNTRIED: &str = "not tried";

/// The beginning of the verdict of a killed site: a model fails if the site is weakened.
const KILLED: &str = "killed by ";

const HEAD: &str = "\
# Orderings

`cargo xtask orderings` writes this table. It weakens each ordering of `blitz-parts` to `Relaxed`,
or leaves the fence out, and runs the models that reach it: first those of the same folder, then the
others. An ordering stays if a model fails without it, or if
[`accepted.rs`](../xtask/src/orderings/accepted.rs) gives a reason; `--listed` tries the latter,
too. Tidy compares the table with the source.

An exchange has two orderings: one for its success, one for its failure. `cargo xtask orderings FOLDER` tries one
folder again, `--changed` those that differ from the main branch.
";

/// Verdicts by folder and key.
pub type Verdicts = BTreeMap<(String, String), String>;

/// The verdict of a site that `model` killed.
pub fn killed_by(model: &str) -> String {
    format!("{KILLED}`{model}`")
}

/// The model that killed a site with this verdict.
pub fn killer(verdict: &str) -> Option<&str> {
    verdict.strip_prefix(KILLED)?.trim_matches('`').split_whitespace().next()
}

/// Reads the verdicts of a table, each with its line number, counted from 0.
pub fn parse(text: &str) -> Vec<(usize, String, String, String)> {
    let mut found = Vec::new();
    let mut folder = "";
    for (number, line) in text.lines().enumerate() {
        if let Some(name) = line.strip_prefix("## ") {
            folder = name.trim().trim_matches('`');
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, function, operation, ordering, verdict, _] = cells[..] else { continue };
        if folder.is_empty() || !function.starts_with('`') {
            continue;
        }
        let key = format!("{function} {operation} {ordering}").replace('`', "");
        found.push((number, folder.to_owned(), key, verdict.to_owned()));
    }
    found
}

/// Verdicts of a table, by folder and key.
pub fn verdicts(text: &str) -> Verdicts {
    let rows = parse(text).into_iter();
    rows.map(|(_, folder, key, verdict)| ((folder, key), verdict)).collect()
}

/// The whole page.
pub fn render(sites: &[Site], verdicts: &Verdicts) -> String {
    let mut page = HEAD.to_owned();
    let mut folder = "";
    for site in sites {
        if site.folder != folder {
            folder = &site.folder;
            page += &format!(
                "\n## `{folder}`\n\n| function | operation | ordering | verdict |\n|---|---|---|---|\n"
            );
        }
        let verdict = verdicts.get(&(site.folder.clone(), site.key()));
        let Site { function, operation, ordering, .. } = site;
        let verdict = verdict.map_or(UNTRIED, String::as_str);
        page += &format!("| `{function}` | `{operation}` | {ordering} | {verdict} |\n");
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{Verdicts, killed_by, killer, render, verdicts};
    use crate::orderings::sites::Site;

    #[test]
    fn a_written_table_can_be_read_back() {
        let site = |function: &str, ordering: &str| Site {
            folder: "park/futex".into(),
            function: function.into(),
            operation: "word.load".into(),
            ordering: ordering.into(),
            place: String::new(),
        };
        let sites = [site("wait", "Acquire"), site("wait", "Acquire on failure")];
        let mut all = Verdicts::new();
        all.insert(("park/futex".into(), sites[0].key()), killed_by("park::futex::model::a"));
        let page = render(&sites, &all);
        let read = verdicts(&page);
        assert_eq!(read.len(), 2, "{page}");
        let first = &read[&("park/futex".into(), sites[0].key())];
        assert_eq!(killer(first), Some("park::futex::model::a"));
        let second = &read[&("park/futex".into(), sites[1].key())];
        assert_eq!(second, super::UNTRIED);
        assert_eq!(killer(second), None);
    }
}

//! Checks that calls go down inside a crate, by the table in `order.rs`, and that there are no
//! circles.

use super::Report;
use super::order::{Layer, ORDERS, Order};
use crate::modules::{Edge, Graph, is_within};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

const TABLE: &str = "xtask/src/tidy/order.rs";
const PAGE: &str = "ARCHITECTURE.md";

pub fn check(tree: &Tree, report: &mut Report) {
    for order in ORDERS {
        check_order(order, &Graph::of(tree, order.sources), report);
    }
    if let Some(page) = tree.file(PAGE) {
        match redrawn(&page.text) {
            None => report.about(PAGE, format!("the marks `{BEGIN}` and `{END}` are missing")),
            Some(text) if text != page.text => {
                let message = "the drawing of the order is old: `cargo xtask graph --write`";
                report.about(PAGE, message);
            }
            Some(_) => {}
        }
    }
}

/// Where a module stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place<'o> {
    layer: usize,
    row: usize,
    /// The line of the table that covers it.
    entry: &'o str,
}

impl Order {
    /// Every line of the table.
    fn entries(&self) -> impl Iterator<Item = Place<'_>> {
        self.layers.iter().enumerate().flat_map(|(layer, Layer { rows, .. })| {
            rows.iter().enumerate().flat_map(move |(row, entries)| {
                entries.iter().map(move |entry| Place { layer, row, entry })
            })
        })
    }

    /// The place of `module`: the longest line that contains it decides.
    fn place(&self, module: &str) -> Option<Place<'_>> {
        let around = self.entries().filter(|place| is_within(module, place.entry));
        around.max_by_key(|place| place.entry.len())
    }

    /// The complaint about `edge`, if it goes up or leads to a module of the same row.
    fn complaint(&self, edge: &Edge) -> Option<String> {
        let Edge { from, to, .. } = edge;
        if from.is_empty() {
            return None;
        }
        if to.is_empty() {
            return Some(format!("`{from}` names what the root of the crate defines"));
        }
        let (from_place, to_place) = (self.place(from)?, self.place(to)?);
        if from_place.entry == to_place.entry {
            return None;
        }
        let height = |place: Place<'_>| (place.layer, place.row);
        let looks_down = height(from_place) < height(to_place);
        let test_may = edge.test && (!self.tests_too || from_place.layer == to_place.layer);
        if looks_down || test_may {
            return None;
        }
        let [from_layer, to_layer] =
            [from_place, to_place].map(|place| self.layers[place.layer].name);
        Some(format!("`{from}` ({from_layer}) names `{to}` ({to_layer}), which is no lower"))
    }
}

fn covers((from, to): &(&str, &str), edge: &Edge) -> bool {
    is_within(&edge.from, from) && is_within(&edge.to, to)
}

fn check_order(order: &Order, graph: &Graph, report: &mut Report) {
    for module in graph.modules.iter().filter(|module| !module.is_empty()) {
        if order.place(module).is_none() {
            report.about(TABLE, format!("{}: `{module}` has no place", order.name));
        }
    }
    let mut seen = BTreeSet::new();
    for Place { entry, .. } in order.entries() {
        if !seen.insert(entry) {
            report.about(TABLE, format!("{}: `{entry}` has two places", order.name));
        }
        if !graph.modules.contains(entry) {
            report.about(TABLE, format!("{}: there is no `{entry}`", order.name));
        }
    }
    let mut needed = BTreeSet::new();
    let mut told = BTreeSet::new();
    for edge in &graph.edges {
        let Some(complaint) = order.complaint(edge) else { continue };
        match order.known.iter().find(|pair| covers(pair, edge)) {
            Some(pair) => drop(needed.insert(pair)),
            None if told.insert((&edge.from, &edge.to)) => {
                report.at(&edge.file, edge.line, complaint);
            }
            None => {}
        }
    }
    let in_known = |edge: &Edge, but: Option<&(&str, &str)>| {
        order.known.iter().filter(|pair| Some(*pair) != but).any(|pair| covers(pair, edge))
    };
    let in_recursive = |edge: &Edge, but: Option<&(&str, &str)>| {
        let mut pairs = order.recursive.iter().filter(|pair| Some(*pair) != but);
        pairs.any(|(from, to)| edge.from == *from && edge.to == *to)
    };
    // The circles inside one entry of the table, with the pair `but` left out.
    let circles = |but: Option<&(&str, &str)>| {
        graph.cycles(|edge| {
            let inside = order.place(&edge.from).map(|place| place.entry)
                == order.place(&edge.to).map(|place| place.entry);
            inside && is_code(edge) && !in_known(edge, but) && !in_recursive(edge, but)
        })
    };
    let found = circles(None);
    for cycle in &found {
        let edge = cycle[0];
        report.at(&edge.file, edge.line, format!("modules in a circle: {}", describe(cycle)));
    }
    let unneeded = order.known.iter().filter(|pair| !needed.contains(pair));
    for pair @ (from, to) in unneeded.chain(order.recursive) {
        if circles(Some(pair)).len() == found.len() {
            let message = format!("{}: (\"{from}\", \"{to}\") is no longer needed", order.name);
            report.about(TABLE, message);
        }
    }
}

fn is_code(edge: &Edge) -> bool {
    !edge.test
}

/// A cycle in one line.
fn describe(cycle: &[&Edge]) -> String {
    let steps: Vec<_> = cycle.iter().map(|edge| format!("{} -> {}", edge.from, edge.to)).collect();
    steps.join(", ")
}

const BEGIN: &str = "<!-- order: begin, written by `cargo xtask graph --write` -->";
const END: &str = "<!-- order: end -->";

/// The page with the drawings of all orders between its marks.
fn redrawn(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let drawings: Vec<String> = ORDERS.iter().map(drawing).collect();
    Some(format!("{before}{BEGIN}\n\n```text\n{}```\n\n{END}{after}", drawings.join("\n")))
}

/// The layers of `order` with their modules, one row per line.
fn drawing(order: &Order) -> String {
    let mut text = format!("{}\n", order.name);
    let width = order.layers.iter().map(|layer| layer.name.len()).max().unwrap_or(0);
    for (index, layer) in order.layers.iter().enumerate() {
        for (row, modules) in layer.rows.iter().enumerate() {
            let mark = if row > 0 {
                "│"
            } else if index > 0 {
                "▼"
            } else {
                " "
            };
            let name = if row == 0 { layer.name } else { "" };
            let _ = writeln!(text, "  {mark} {name:width$}  {}", modules.join("  "));
        }
    }
    text
}

/// Writes the drawings into the page in the workspace at `root`.
pub fn draw(root: &Path) -> io::Result<bool> {
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path)?;
    let missing = || io::Error::other(format!("{PAGE} lacks `{BEGIN}` or `{END}`"));
    fs::write(&path, redrawn(&page).ok_or_else(missing)?)?;
    Ok(true)
}

/// The graphs of all crates in the table, or of the one with this `name`.
pub fn graphs(tree: &Tree, name: Option<&str>) -> String {
    let wanted = ORDERS.iter().filter(|order| name.is_none_or(|name| name == order.name));
    wanted.map(|order| printed(tree, order)).collect::<Vec<_>>().join("\n")
}

/// Formats the edges of one crate.
fn printed(tree: &Tree, order: &Order) -> String {
    let graph = Graph::of(tree, order.sources);
    let mut text = format!("{}\n", order.name);
    let mut lines: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for edge in graph.edges.iter().filter(|edge| is_code(edge) && !edge.from.is_empty()) {
        *lines.entry((&edge.from, &edge.to)).or_default() += 1;
    }
    let mut last = "";
    for ((from, to), count) in lines {
        if from != last {
            let _ = writeln!(text, "  {from}");
            last = from;
        }
        let _ = writeln!(text, "    -> {to} ({count})");
    }
    for cycle in graph.cycles(is_code) {
        let _ = writeln!(text, "  circle: {}", describe(&cycle));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{check_order, drawing, redrawn};
    use crate::modules::Graph;
    use crate::tidy::Report;
    use crate::tidy::order::{Layer, Order};
    use crate::tree::Tree;

    const HOUSE: Order = Order {
        name: "house",
        sources: "h/src",
        layers: &[
            Layer { name: "roof", rows: &[&["door"], &["a", "b"]] },
            Layer { name: "ground", rows: &[&["stone"], &["a::deep"]] },
        ],
        tests_too: true,
        recursive: &[],
        known: &[],
    };

    fn found(order: &Order, files: &[(&str, &str)]) -> Vec<String> {
        let mut files: Vec<_> = files
            .iter()
            .map(|(path, text)| (format!("h/src/{path}"), (*text).to_owned()))
            .collect();
        for module in ["door.rs", "a/mod.rs", "b.rs", "stone.rs", "a/deep.rs", "a/side.rs"] {
            let path = format!("h/src/{module}");
            if !files.iter().any(|(given, _)| *given == path) {
                files.push((path, "pub struct X;".to_owned()));
            }
        }
        let mut report = Report { rule: "direction", findings: Vec::new() };
        check_order(order, &Graph::of(&Tree::of(files), order.sources), &mut report);
        report.findings.iter().map(|f| format!("{}:{} {}", f.path, f.line, f.message)).collect()
    }

    #[test]
    fn paths_downwards_are_fine() {
        let files = [
            ("lib.rs", "pub use door::X;\nmod door;"),
            ("door.rs", "use crate::a::X;\nuse crate::stone::X as Y;"),
            ("a/mod.rs", "use crate::a::deep::X;"),
            ("stone.rs", "use crate::a::deep::X;"),
            ("b.rs", "#[cfg(test)]\nuse crate::door::X;"),
        ];
        assert_eq!(found(&HOUSE, &files), Vec::<String>::new());
    }

    #[test]
    fn paths_upwards_and_sideways_are_found() {
        let files = [
            ("b.rs", "\nuse crate::a::side::X;"),
            ("stone.rs", "use crate::{door::X, Y};\nfn f() { crate::door::X; }"),
            ("a/deep.rs", "#[cfg(test)]\nuse crate::b::Z;"),
            ("lib.rs", "mod stone;\nstruct Y;"),
        ];
        let expected = [
            "h/src/a/deep.rs:2 `a::deep` (ground) names `b` (roof), which is no lower",
            "h/src/b.rs:2 `b` (roof) names `a::side` (roof), which is no lower",
            "h/src/stone.rs:1 `stone` names what the root of the crate defines",
            "h/src/stone.rs:1 `stone` (ground) names `door` (roof), which is no lower",
        ];
        assert_eq!(found(&HOUSE, &files), expected);
        let free = Order { tests_too: false, ..HOUSE };
        assert_eq!(found(&free, &files), expected[1..]);
    }

    #[test]
    fn circles_inside_of_a_folder_are_found() {
        let files = [
            ("a/mod.rs", "mod side;\nuse side::X;\nstruct Y;"),
            ("a/side.rs", "use super::Y;\npub struct X;"),
        ];
        let expected = ["h/src/a/mod.rs:2 modules in a circle: a -> a::side, a::side -> a"];
        assert_eq!(found(&HOUSE, &files), expected);
        let known = Order { known: &[("a::side", "a")], ..HOUSE };
        assert_eq!(found(&known, &files), Vec::<String>::new());
        let recursive = Order { recursive: &[("a", "a::side")], ..HOUSE };
        assert_eq!(found(&recursive, &files), Vec::<String>::new());
        assert_eq!(found(&recursive, &[]).len(), 1, "a pair without a circle is not needed");
    }

    #[test]
    fn a_known_pair_is_not_reported_and_must_still_be_needed() {
        let known = Order { known: &[("stone", "door")], ..HOUSE };
        let files = [("stone.rs", "use crate::door::X;")];
        assert_eq!(found(&known, &files), Vec::<String>::new());
        let expected =
            ["xtask/src/tidy/order.rs:0 house: (\"stone\", \"door\") is no longer needed"];
        assert_eq!(found(&known, &[]), expected);
    }

    #[test]
    fn each_module_has_one_place() {
        let layers = &[Layer { name: "roof", rows: &[&["door", "a"], &["b", "a", "gone"]] }];
        let order = Order { layers, ..HOUSE };
        let expected = [
            "xtask/src/tidy/order.rs:0 house: `stone` has no place",
            "xtask/src/tidy/order.rs:0 house: `a` has two places",
            "xtask/src/tidy/order.rs:0 house: there is no `gone`",
        ];
        assert_eq!(found(&order, &[]), expected);
    }

    #[test]
    fn the_drawing_follows_the_table() {
        let expected =
            "house\n    roof    door\n  │         a  b\n  ▼ ground  stone\n  │         a::deep\n";
        assert_eq!(drawing(&HOUSE), expected);
        let page = format!("before\n{}\nold\n{}\nafter", super::BEGIN, super::END);
        let new = redrawn(&page).expect("the marks are there");
        assert!(new.starts_with("before\n") && new.ends_with("\nafter") && !new.contains("old"));
        assert_eq!(redrawn(&new), Some(new.clone()));
        assert_eq!(redrawn("no marks"), None);
    }
}

//! Checks the shape of a protocol folder: the module doc has all headings in order, and a model
//! lies beside it.

use super::Report;
use crate::tree::Tree;

pub(super) const SOURCES: &str = "crates/blitz-parts/src";

/// Every protocol, and whether it needs a model of its own.
pub(super) const PROTOCOLS: &[(&str, bool)] = &[
    ("alarm", true),
    ("barrier", true),
    ("bitmap", true),
    ("deque", true),
    ("guests", true),
    ("inject", true),
    ("job", true),
    ("latch", true),
    ("life", true),
    ("lifo", true),
    ("mail", true),
    ("park/futex", true),
    ("park/parker", true),
    ("queue", true),
    ("readiness", true),
    ("recorder", true),
    ("ring", true),
    ("seats", true),
    ("sleep", true),
    ("task", true),
    ("trail", true),
    ("watch", true),
    ("wheel", true),
];

const HEADINGS: &[&str] = &[
    "# Who calls it",
    "# State",
    "# Invariants",
    "# Orderings",
    "# What this does not do",
    "# Lineage",
];

/// A model with at most this many lines counts as empty.
const EMPTY_MODEL: usize = 3;

pub fn check(tree: &Tree, report: &mut Report) {
    for (folder, needs_model) in PROTOCOLS {
        let path = format!("{SOURCES}/{folder}/mod.rs");
        let Some(file) = tree.file(&path) else {
            report.about(&path, "the protocol has no mod.rs");
            continue;
        };
        let doc = file.module_doc();
        let mut after = 0;
        for heading in HEADINGS {
            let place = doc.iter().position(|(_, line)| line.trim() == *heading);
            match place {
                None => report.about(&path, format!("the module doc lacks `{heading}`")),
                Some(place) if place < after => {
                    let order = HEADINGS.join(", ");
                    report.at(&path, doc[place].0, format!("`{heading}` is out of order: {order}"));
                }
                Some(place) => after = place,
            }
        }
        let model = format!("{SOURCES}/{folder}/model.rs");
        if *needs_model && tree.file(&model).is_none_or(|m| m.text.lines().count() <= EMPTY_MODEL) {
            report.about(&model, "the protocol has no model");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADINGS, PROTOCOLS, SOURCES};
    use crate::tidy::tests::run;

    fn house(doc: &str) -> Vec<String> {
        let folders: Vec<_> = PROTOCOLS
            .iter()
            .flat_map(|(folder, _)| {
                ["mod.rs", "model.rs"].map(|name| format!("{SOURCES}/{folder}/{name}"))
            })
            .collect();
        let files: Vec<_> = folders.iter().map(|path| (path.as_str(), doc)).collect();
        run("parts", &files)
    }

    #[test]
    fn headings_in_order_are_fine() {
        let doc = HEADINGS.map_doc();
        assert_eq!(house(&doc), Vec::<String>::new());
    }

    #[test]
    fn a_missing_and_a_misplaced_heading_are_found() {
        let doc = HEADINGS.map_doc();
        let found = house(&doc.replace("//! # State\n", ""));
        assert!(found[0].contains("lacks `# State`"), "{found:?}");
        let found = house(&format!("//! # Lineage\n{doc}"));
        assert!(found[0].contains("`# Lineage` is out of order"), "{found:?}");
        assert_eq!(found.len(), PROTOCOLS.len());
    }

    #[test]
    fn missing_files_are_found() {
        let found = run("parts", &[]);
        assert_eq!(found.len(), PROTOCOLS.len());
    }

    trait MapDoc {
        fn map_doc(&self) -> String;
    }

    impl MapDoc for [&str] {
        fn map_doc(&self) -> String {
            self.iter().map(|heading| format!("//! {heading}\n//! Text.\n")).collect()
        }
    }
}

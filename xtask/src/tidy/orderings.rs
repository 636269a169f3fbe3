//! Checks that each ordering of blitz-parts has a row in docs/orderings.md, and that each row and
//! each listed reason has an ordering.

use super::Report;
use crate::orderings::{accepted::ACCEPTED, sites, table};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = "xtask/src/orderings/accepted.rs";

pub fn check(tree: &Tree, report: &mut Report) {
    check_with(ACCEPTED, tree, report);
}

fn check_with(accepted: &[(&str, &str, &str)], tree: &Tree, report: &mut Report) {
    let sites = match sites::find(tree) {
        Ok(sites) => sites,
        Err(unclear) => {
            return unclear.iter().for_each(|u| report.at(&u.path, u.line, &*u.message));
        }
    };
    let places: BTreeMap<_, _> = sites
        .iter()
        .map(|site| ((site.folder.clone(), site.key()), (site.path(), site.line())))
        .collect();
    let listed: BTreeSet<_> =
        accepted.iter().map(|(folder, key, _)| ((*folder).to_owned(), (*key).to_owned())).collect();
    for site in listed.iter().filter(|site| !places.contains_key(*site)) {
        report.about(LIST, format!("`{}: {}` is no ordering of the source", site.0, site.1));
    }
    let tests: BTreeSet<&str> = tree.tests().into_iter().map(|(name, ..)| name).collect();
    let page = tree.file(table::PATH).map_or("", |file| &file.text);
    let mut in_table = BTreeSet::new();
    for (line, folder, key, verdict) in table::parse(page) {
        let site = (folder, key);
        let title = format!("`{}: {}`", site.0, site.1);
        match table::killer(&verdict).map(|name| name.rsplit(':').next().unwrap_or(name)) {
            _ if !places.contains_key(&site) => {
                report.at(table::PATH, line, format!("{title} is no ordering of the source"));
            }
            Some(test) if !tests.contains(test) => {
                report.at(table::PATH, line, format!("`{test}`, which needs {title}, is gone"));
            }
            None if !listed.contains(&site) => {
                let message = format!("{title} is needed by no model, and {LIST} has no reason");
                report.at(table::PATH, line, message);
            }
            _ => {}
        }
        in_table.insert(site);
    }
    for (site, (path, line)) in &places {
        if !in_table.contains(site) {
            let message = format!(
                "`{}` is not in {}: run `cargo xtask orderings {}`",
                site.1,
                table::PATH,
                site.0
            );
            report.at(path, *line, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check_with;
    use crate::orderings::sites::SOURCES;
    use crate::tidy::Report;
    use crate::tree::Tree;

    const CODE: &str = "fn f() {\na.load(Acquire);\nb.load(Acquire);\nc.load(Acquire);\n}";
    const TABLE: &str = "## `ring`\n| `f` | `a.load` | Acquire | killed by `ring::model::ring_1_x` |\n\
                         | `f` | `b.load` | Acquire | survived: why |\n";

    fn run(accepted: &[(&str, &str, &str)], table: &str) -> Vec<String> {
        let files = [
            (format!("{SOURCES}ring/mod.rs"), CODE.to_owned()),
            (format!("{SOURCES}ring/model.rs"), "#[test]\nfn ring_1_x() {}".to_owned()),
            (crate::orderings::table::PATH.to_owned(), table.to_owned()),
        ];
        let mut report = Report { rule: "orderings", findings: Vec::new() };
        check_with(accepted, &Tree::of(files.to_vec()), &mut report);
        report.findings.iter().map(|finding| finding.message.clone()).collect()
    }

    #[test]
    fn rows_and_reasons_name_existing_orderings() {
        let fine = format!("{TABLE}| `f` | `c.load` | Acquire | survived: why |\n");
        let why = [("ring", "f b.load Acquire", "why"), ("ring", "f c.load Acquire", "why")];
        assert_eq!(run(&why, &fine), Vec::<String>::new());

        let found = run(&[("ring", "f d.load Acquire", "why")], TABLE);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("`ring: f d.load Acquire` is no ordering"), "{found:?}");
        assert!(found[1].contains("`ring: f b.load Acquire` is needed by no model"), "{found:?}");
        assert!(found[2].contains("`f c.load Acquire` is not in docs/orderings.md"), "{found:?}");

        let found = run(&why, &fine.replace("ring_1_x", "ring_2_y").replace("b.load", "e.load"));
        assert!(found.iter().any(|message| message.contains("`ring_2_y`")), "{found:?}");
        assert!(found.iter().any(|message| message.contains("e.load")), "{found:?}");
    }
}

//! Generates the table of `docs/crates.md` from the catalogue and the lock file of the programs.

use super::catalogue::{ENTRIES, Entry};
use super::{promised, ways};
use crate::tree::{Tree, root};
use std::fmt::Write;
use std::fs;
use std::io;

const PAGE: &str = "docs/crates.md";
const LOCK: &str = "ecosystem/Cargo.lock";
const BEGIN: &str = "<!-- crates: begin, written by `cargo xtask crates --write` -->";
const END: &str = "<!-- crates: end -->";

/// The version of a crate that its program is locked to.
///
/// # Errors
/// If the file cannot be read.
pub fn version(entry: &Entry) -> io::Result<Option<String>> {
    Ok(locked(&fs::read_to_string(root().join(LOCK))?, entry))
}

/// The version of the crate that the package of `entry` depends on, by the text of a lock file.
fn locked(lock: &str, entry: &Entry) -> Option<String> {
    let of = |name| lock.split("[[package]]").filter(move |text| named(text, name));
    let wanted = of(entry.package).find_map(|package| {
        // A dependency has a version after its name if the file has several versions of the crate.
        let words = package.lines().filter_map(|line| line.trim().strip_prefix('"'));
        let mut words = words.map(|line| line.trim_end_matches(['"', ',']).split(' '));
        words.find_map(|mut words| (words.next() == Some(entry.name)).then(|| words.next()))
    })?;
    match wanted {
        Some(version) => Some(version.to_owned()),
        None => of(entry.name).find_map(|package| field(package, "version")).map(str::to_owned),
    }
}

fn named(package: &str, name: &str) -> bool {
    field(package, "name") == Some(name)
}

/// The text of a field of a package in a lock file.
fn field<'a>(package: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = package.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

/// The page with the table between its marks.
fn rewritten(page: &str, lock: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}\n{END}{after}", table(lock)))
}

fn table(lock: &str) -> String {
    let mut text = String::from(
        "| crate | tried | as it is | by a trait or hook of the crate | by a feature of the crate | \
         with the guest |\n\
         |---|---|---|---|---|---|\n",
    );
    // List only entries that have a program.
    for entry in ENTRIES.iter().filter(|entry| !entry.package.is_empty()) {
        let tried = locked(lock, entry).unwrap_or_else(|| "?".to_owned());
        let [(_, as_is), (_, by_trait), (_, feature), (_, guest)] = ways(entry);
        let name = entry.name;
        let _ = writeln!(text, "| {name} | {tried} | {as_is} | {by_trait} | {feature} | {guest} |");
    }
    text
}

/// Writes the table into the page.
///
/// # Errors
/// If a file cannot be read or written, or if the page lacks its marks.
pub fn write() -> io::Result<bool> {
    let path = root().join(PAGE);
    let (page, lock) = (fs::read_to_string(&path)?, fs::read_to_string(root().join(LOCK))?);
    let missing = || io::Error::other(format!("{PAGE} lacks `{BEGIN}` or `{END}`"));
    fs::write(&path, rewritten(&page, &lock).ok_or_else(missing)?)?;
    Ok(true)
}

/// The disagreements between page, catalogue and programs.
pub fn findings(tree: &Tree) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let lock = fs::read_to_string(root().join(LOCK)).unwrap_or_default();
    let page = tree.file(PAGE).map_or("", |file| file.text.as_str());
    if rewritten(page, &lock).as_deref() != Some(page) {
        let message = "the table is old: `cargo xtask crates --write` writes it";
        found.push((PAGE.to_owned(), message.to_owned()));
    }
    for entry in ENTRIES.iter().filter(|entry| !entry.package.is_empty()) {
        let path = program(entry);
        let text = tree.file(&path).map_or("", |file| file.text.as_str());
        for (_, test) in promised(entry.package).filter(|(other, _)| *other == entry) {
            let name = test.rsplit("::").next().unwrap_or_default();
            if !text.contains(&format!("async fn {name}()")) {
                found.push((
                    path.clone(),
                    format!("lacks the test `{name}`, which the catalogue promises"),
                ));
            }
        }
    }
    found
}

/// Where the tests of a crate are.
fn program(entry: &Entry) -> String {
    format!("ecosystem/{}/tests/{}.rs", entry.package, entry.name.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, ENTRIES, locked, rewritten};

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"axum\"\nversion = \"0.8.9\"\n\n\
                        [[package]]\nname = \"axum\"\nversion = \"0.9.0\"\n\n\
                        [[package]]\nname = \"bb8\"\nversion = \"0.9.1\"\n\n\
                        [[package]]\nname = \"light\"\nversion = \"0.0.0\"\n\
                        dependencies = [\n \"axum 0.8.9\",\n \"bb8\",\n]\n";

    #[test]
    fn the_version_that_the_program_uses_counts() {
        let of = |name| locked(LOCK, ENTRIES.iter().find(|entry| entry.name == name).unwrap());
        assert_eq!(of("axum").as_deref(), Some("0.8.9"), "another crate has a newer one");
        assert_eq!(of("bb8").as_deref(), Some("0.9.1"));
        assert_eq!(of("flume"), None);
    }

    #[test]
    fn the_table_is_written_between_its_marks() {
        let page = format!("# Crates\n{BEGIN}\nold\n{END}\nthe end\n");
        let new = rewritten(&page, LOCK).unwrap();
        assert!(new.starts_with("# Crates\n") && new.ends_with("the end\n"));
        assert!(new.contains("| axum | 0.8.9 |") && !new.contains("old"));
        let unshown = ENTRIES.iter().find(|entry| entry.package.is_empty()).unwrap();
        assert!(!new.contains(unshown.name), "{}", unshown.name);
        assert_eq!(rewritten(&new, LOCK).as_deref(), Some(new.as_str()));
        assert_eq!(rewritten("no marks", LOCK), None);
    }
}

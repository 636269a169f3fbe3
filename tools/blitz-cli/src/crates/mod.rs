//! `blitz doctor --crates`: which crates of a program need a Tokio guest.

mod catalogue;

use std::{fmt::Write, fs, path::Path};

use crate::{Failure, print};
use catalogue::{ENTRIES, Entry};

/// Reads a lock file, or the one in a folder, and prints what is known about its crates.
pub fn run(path: &Path) -> Result<(), Failure> {
    let path = if path.is_dir() { path.join("Cargo.lock") } else { path.to_owned() };
    let attempt = || format!("cannot read {}", path.display());
    let lock = fs::read_to_string(&path).map_err(|error| Failure::new(attempt(), error))?;
    print(&render(&packages(&lock)))
}

/// A package of a lock file.
#[derive(Debug, PartialEq, Eq)]
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    /// Whether the package names Tokio among its dependencies.
    uses_tokio: bool,
}

fn packages(lock: &str) -> Vec<Package<'_>> {
    lock.split("[[package]]").skip(1).filter_map(package).collect()
}

fn package(text: &str) -> Option<Package<'_>> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim_start_matches([' ', '=']).trim_matches('"'))
    };
    let is_tokio = |line: &str| {
        let word = line.trim().trim_end_matches(',').trim_matches('"');
        word.split(' ').next() == Some("tokio") && line.starts_with(' ')
    };
    let uses_tokio = text.lines().any(is_tokio);
    Some(Package { name: value("name")?, version: value("version")?, uses_tokio })
}

fn render(packages: &[Package<'_>]) -> String {
    let known = |package: &Package<'_>| ENTRIES.iter().find(|entry| entry.name == package.name);
    let (mut guest, mut fine, mut unknown) = (String::new(), String::new(), Vec::new());
    for package in packages {
        match known(package) {
            Some(entry) if entry.guest.is_empty() => describe(&mut fine, package, entry),
            Some(entry) => describe(&mut guest, package, entry),
            None if package.uses_tokio && !is_own(package.name) => unknown.push(package.name),
            None => {}
        }
    }
    let mut text = String::new();
    if !guest.is_empty() {
        text += "need a Tokio guest, or a replacement, for some of their functions\n";
        text += &guest;
        if packages.iter().filter_map(known).any(|entry| !entry.feature.is_empty()) {
            text += "  features without a guest: in the manifest, with `default-features = false` \
                     where the crate's defaults need Tokio\n";
        }
        text += "  a guest: feature `tokio-guest` of blitz-rt, then #[blitz::main(tokio)] or \
                 Builder::tokio_guest\n";
    }
    if !fine.is_empty() {
        text += "run without a guest\n";
        text += &fine;
    }
    if !unknown.is_empty() {
        text += "use Tokio and are not in the catalogue: with a guest they run; without one, it depends \
                 on what they call\n";
        let _ = writeln!(text, "  {}", unknown.join(", "));
    }
    if text.is_empty() {
        text += "no crate of this program is in the catalogue, and none uses Tokio\n";
    }
    text
}

/// Whether a package is Tokio's or Blitz's own.
fn is_own(name: &str) -> bool {
    matches!(name, "tokio" | "tokio-macros") || name.starts_with("blitz-")
}

/// Says which functions of a crate need the guest, and which do not.
fn describe(text: &mut String, package: &Package<'_>, entry: &Entry) {
    let mut name = format!("{} {}", package.name, package.version);
    let ways = [
        ("guest", entry.guest),
        ("feature without a guest", entry.feature),
        ("as it is", entry.as_is),
        ("by a hook", entry.by_trait),
    ];
    for (way, what) in ways.into_iter().filter(|(_, what)| !what.is_empty()) {
        let _ = writeln!(text, "  {name:38} {way}: {what}");
        name.clear();
    }
    if entry.package.is_empty() && !entry.guest.is_empty() {
        let _ = writeln!(text, "  {:38} (its source was read; it was not run)", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "reqwest"
version = "0.12.28"
dependencies = [
 "tokio",
 "url",
]

[[package]]
name = "moka"
version = "0.12.0"

[[package]]
name = "aws-smithy-async"
version = "1.2.6"

[[package]]
name = "strange"
version = "1.0.0"
dependencies = [
 "tokio 1.54.1",
]

[[package]]
name = "tokio-like"
version = "1.0.0"
dependencies = [
 "tokio-util",
]

[[package]]
name = "blitz-rt"
version = "0.1.0"
dependencies = [
 "tokio",
]
"#;

    #[test]
    fn a_lock_file_is_read() {
        let packages = packages(LOCK);
        let using: Vec<&str> = packages.iter().filter(|p| p.uses_tokio).map(|p| p.name).collect();
        assert_eq!(packages.len(), 6);
        assert_eq!(using, ["reqwest", "strange", "blitz-rt"]);
    }

    #[test]
    fn features_that_avoid_the_guest_are_named() {
        let lock = ["sqlx", "redis", "reqwest"]
            .map(|name| format!("[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\n"))
            .concat();
        let text = render(&packages(&lock));
        let features: Vec<&str> =
            text.lines().filter(|line| line.contains(" feature without a guest: ")).collect();
        assert_eq!(features.len(), 2, "{text}");
        assert!(features[0].contains("`runtime-smol`"), "{text}");
        assert!(features[1].contains("`smol-comp`"), "{text}");
        assert!(text.contains("features without a guest: in the manifest"), "{text}");
        let none = render(&packages("[[package]]\nname = \"reqwest\"\nversion = \"0.12.0\"\n"));
        assert!(!none.contains("without a guest: "), "{none}");
    }

    #[test]
    fn each_crate_is_listed_with_its_needs() {
        let text = render(&packages(LOCK));
        let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(at("reqwest 0.12.28") < at("tokio-guest"));
        assert!(at("run without a guest") < at("moka 0.12.0"));
        let by_trait = text.lines().find(|line| line.contains("aws-smithy-async")).unwrap();
        assert!(by_trait.contains("by a hook: `AsyncSleep`"), "{by_trait}");
        assert!(at("not in the catalogue") < at("  strange\n"));
        assert!(!text.contains("tokio-like"), "{text}");
        assert!(render(&[]).contains("no crate"));
    }
}

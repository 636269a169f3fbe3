//! Checks where `blitz-io` names Tokio: only where it imports Tokio's traits, channels and locks,
//! and where it exports the traits to users.
//!
//! The fewer files name Tokio, the easier it is to replace.

use super::Report;
use crate::tree::Tree;

const SOURCES: &str = "crates/blitz-io/src/";

/// The file that imports from Tokio, and the file that exports its traits.
const ALLOWED: &[&str] = &["crates/blitz-io/src/borrowed.rs", "crates/blitz-io/src/io/mod.rs"];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust().filter(|file| file.path.starts_with(SOURCES)) {
        if ALLOWED.contains(&file.path.as_str()) {
            continue;
        }
        if let Some(token) = file.tokens().iter().find(|token| token.text == "tokio") {
            report.at(&file.path, token.line, "import it from `crate::borrowed`");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::tidy::tests::run;

    #[test]
    fn other_files_that_name_tokio_are_found() {
        let found = run(
            "tokio",
            &[
                ("crates/blitz-io/src/borrowed.rs", "use tokio::io::AsyncRead;"),
                ("crates/blitz-io/src/net/a.rs", "// tokio\n\nuse tokio::io::ReadBuf;"),
                ("crates/blitz/src/lib.rs", "pub use tokio::sync;"),
            ],
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/blitz-io/src/net/a.rs:3:"), "{found:?}");
    }
}

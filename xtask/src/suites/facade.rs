//! Turns a copy of rayon into a package that holds only its tests and examples and depends on
//! `rayon`. So they test the package that is patched in under this name: the facade over Blitz's
//! parallel iterators.

use super::catalogue::LeftOut;
use super::moved::{examples, without_test};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const MANIFEST: &str = r#"[package]
name = "moved"
version = "0.0.0"
# In this edition all documentation examples are built as one program.
edition = "2024"

[workspace]

[dependencies]
rayon = "=1.12.0"
rayon-core = "=1.13.0"

[dev-dependencies]
rand = "0.9"
rand_xorshift = "0.4"
"#;

/// The imports that test modules took from their parents.
const IMPORTS: &str = "\
#[allow(unused_imports)]
use rayon::{iter::{*, plumbing::*}, prelude::*};
#[allow(unused_imports)]
use std::collections::LinkedList;
";

/// Files of `src` whose tests are run.
const FILES: &[&str] = &[
    "iter/test.rs",
    "slice/test.rs",
    "range.rs",
    "range_inclusive.rs",
    "iter/fold_chunks.rs",
    "iter/fold_chunks_with.rs",
];

/// Replacements in the tests: old text, new text.
const REPLACED: &[(&str, &str)] = &[
    ("use super::*;\n", ""),
    ("use crate::prelude::*;\n", ""),
    // A producer that only Rayon's ranges have.
    (
        "let producer = IterProducer { range: -100i8..100 };",
        "let mut iter = (-100i8..100).into_par_iter();\n    let producer = Cut::of(&mut iter);",
    ),
    (".range.map(", ".into_iter().map("),
    // The standard library's sorts, which sort the parts, may panic if there is no total order.
    (
        "v.$f(|_, _| *[Less, Equal, Greater].choose(&mut rand::rng()).unwrap());",
        "let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            v.$f(|_, _| *[Less, Equal, Greater].choose(&mut rand::rng()).unwrap());
        }));",
    ),
    ("crate::", "rayon::"),
];

/// Tests that are not run, by file, and why.
pub const LEFT_OUT: &[LeftOut] = &[
    (
        "iter/collect/test.rs",
        &[
            "produce_too_many_items",
            "produce_fewer_items",
            "left_produces_items_with_no_complete",
            "right_produces_items_with_no_complete",
            "produces_items_with_no_complete",
            "left_produces_too_many_items",
            "right_produces_too_many_items",
            "left_produces_fewer_items",
            "only_left_result",
            "only_right_result",
            "reducer_does_not_preserve_order",
            "right_produces_fewer_items",
            "left_panics",
            "right_panics",
            "left_produces_fewer_items_drops",
        ],
        "they call the consumer of `collect`; see `laws/drops.rs` and `collect/in_place.rs`",
    ),
    (
        "iter/find_first_last/test.rs",
        &[
            "same_range_first_consumers_return_correct_answer",
            "same_range_last_consumers_return_correct_answer",
            "find_first_folder_does_not_clobber_first_found",
            "find_last_folder_yields_last_match",
        ],
        "they call the consumers of `find_first` and `find_last`; see `laws/early.rs`",
    ),
    (
        "slice/sort.rs",
        &["test_heapsort", "test_split_for_merge"],
        "they call parts of Rayon's sorts; see `laws/sorts.rs`",
    ),
    (
        "delegate.rs",
        &["unindexed_example", "indexed_example"],
        "they expand macros that implement Rayon's plumbing",
    ),
    (
        "range.rs",
        &["test_i128_len_doesnt_overflow"],
        "it calls a length that only Rayon's ranges have; see `laws/numbers.rs`",
    ),
];

/// Moves the tests of the copy in `folder`.
pub fn move_tests_out(folder: &Path) -> io::Result<()> {
    let sources = folder.join("src");
    let mut files = Vec::new();
    rust_files(&sources, Path::new(""), &mut files)?;
    let mut lib = String::new();
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(sources.join(&file))?;
        let left_out: Vec<&str> = left_out(&name).collect();
        if FILES.contains(&name.as_str()) {
            let target = format!("unit_{}", name.replace("/test", "").replace('/', "_"));
            fs::write(folder.join("tests").join(target), from_outside(&text, &left_out))?;
        } else if let Some(test) = tests(&text).find(|test| !left_out.contains(test)) {
            let message = format!("{name} has a test `{test}` that is neither run nor listed");
            return Err(io::Error::other(message));
        }
        // Programs that must not compile are in the documentation of separate modules.
        if !name.starts_with("compile_fail") {
            for example in examples(&text) {
                lib.push_str(&format!("#[doc = {example:?}]\nmod example_{} {{}}\n", lib.len()));
            }
        }
    }
    lib.push_str("mod compile_fail;\n");
    fs::write(sources.join("lib.rs"), lib)?;
    fs::write(folder.join("Cargo.toml"), MANIFEST)
}

/// The tests of the file `name` of `src` that are not run.
fn left_out(name: &str) -> impl Iterator<Item = &'static str> {
    let of_file = LEFT_OUT.iter().filter(move |(file, ..)| *file == name);
    of_file.flat_map(|(_, tests, _)| tests.iter().copied())
}

/// Adds the Rust files below `folder/inside` to `found`, as paths relative to `folder`.
fn rust_files(folder: &Path, inside: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder.join(inside))?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = inside.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            rust_files(folder, &path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// The names of the test functions in `text`.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]").skip(1).filter_map(|rest| {
        let after = rest.split_once("fn ")?.1;
        after.split(['(', '<']).next().map(str::trim)
    })
}

/// The tests in the text of a module, for use outside its crate.
fn from_outside(text: &str, left_out: &[&str]) -> String {
    let mut tests = match text.split_once("#[cfg(test)]\nmod test {\n") {
        Some((_, module)) => module.trim_end().trim_end_matches('}').to_owned(),
        // A file of tests begins with imports. In other files the tests are at the end.
        None if text.contains("\nuse rand::") => text.replace("#![cfg(test)]", ""),
        None => {
            text.split_once("#[test]").map_or(String::new(), |(_, rest)| format!("#[test]{rest}"))
        }
    };
    for name in left_out {
        tests = without_test(&tests, name);
    }
    for (theirs, ours) in REPLACED {
        tests = tests.replace(theirs, ours);
    }
    format!("{IMPORTS}\n{tests}")
}

#[cfg(test)]
mod tests {
    use super::{from_outside, tests};

    #[test]
    fn tests_are_found_by_name() {
        let text = "#[test]\nfn a() {}\n#[test]\n#[x]\nfn b() {}\nfn c() {}\n";
        assert_eq!(tests(text).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn tests_of_a_module_are_moved() {
        let module = "use super::x;\nfn x() {}\n\n#[cfg(test)]\nmod test {\n    use super::*;\n    \
                      #[test]\n    fn a() { crate::join() }\n}\n";
        let moved = from_outside(module, &[]);
        assert!(moved.contains("fn a() { rayon::join() }"), "{moved}");
        assert!(!moved.contains("fn x()") && !moved.contains("super::"), "{moved}");
    }

    #[test]
    fn tests_at_the_end_of_a_file_are_moved() {
        let file = "fn x() {}\n\n#[test]\nfn a() {\n}\n\n#[test]\nfn b() {\n}\n";
        let moved = from_outside(file, &["a"]);
        assert!(moved.contains("fn b()"), "{moved}");
        assert!(!moved.contains("fn x()") && !moved.contains("fn a()"), "{moved}");
    }
}

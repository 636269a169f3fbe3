//! The list of suites.

use super::{facade, moved};
use std::io;
use std::path::Path;

/// A set of tests.
pub struct Suite {
    pub name: &'static str,
    pub source: Source,
    /// Folders of `shims` that stand in for published packages of the same name.
    pub shims: &'static [&'static str],
    /// Options of `cargo test`. If `--doc` is among them, they are for the run, otherwise only for
    /// the build (`--no-run`).
    pub options: &'static [&'static str],
    /// Test files that `--fast` leaves out.
    pub slow: &'static [&'static str],
    /// Tests that are not run: their file, their names, and why.
    pub left_out: &'static [LeftOut],
    /// Environment variables of the tests.
    pub variables: &'static [(&'static str, &'static str)],
    pub fast: bool,
    pub long: bool,
}

/// Tests that are not run: their file, their names, and why.
pub type LeftOut = (&'static str, &'static [&'static str], &'static str);

/// Where a suite comes from.
pub enum Source {
    /// A published package, the name of its copy, and the changes to the copy.
    Package {
        name: &'static str,
        version: &'static str,
        copy: &'static str,
        prepare: fn(&Path) -> io::Result<()>,
    },
    /// A folder of the repository.
    Folder(&'static str),
    /// A folder with a program to run instead of tests.
    Program(&'static str),
}

const fn package(name: &'static str, version: &'static str) -> Source {
    Source::Package { name, version, copy: name, prepare: |_| Ok(()) }
}

/// rayon-core's own tests, moved into a package that depends on rayon-core.
const MOVED: Source = Source::Package {
    name: "rayon-core",
    version: "1.13.0",
    copy: "rayon-core",
    prepare: moved::move_tests_out,
};

/// rayon's own tests, moved into a package that depends on the facade over Blitz's iterators.
const FACADE: Source = Source::Package {
    name: "rayon",
    version: "1.12.0",
    copy: "rayon-on-blitz-par",
    prepare: facade::move_tests_out,
};

const PLAIN: Suite = Suite {
    name: "",
    source: Source::Folder(""),
    shims: &["rayon-core"],
    options: &["--tests"],
    slow: &[],
    left_out: &[],
    variables: &[],
    fast: false,
    long: false,
};

/// All suites, the most telling first.
pub const SUITES: &[Suite] = &[
    Suite { name: "drop-in", source: Source::Program("examples/drop-in"), fast: true, ..PLAIN },
    Suite { name: "shim", source: Source::Folder("shims/rayon-core"), fast: true, ..PLAIN },
    Suite {
        name: "rayon-core, moved",
        source: MOVED,
        left_out: moved::LEFT_OUT,
        fast: true,
        ..PLAIN
    },
    Suite {
        name: "rayon-core, descendants",
        source: MOVED,
        variables: &[("BLITZ_WAIT", "descendants")],
        fast: true,
        ..PLAIN
    },
    Suite {
        name: "rayon-core, documentation",
        source: MOVED,
        options: &["--doc"],
        fast: true,
        ..PLAIN
    },
    Suite {
        name: "rayon",
        source: package("rayon", "1.12.0"),
        slow: &["octillion", "par_bridge_recursion", "sort-panic-safe"],
        fast: true,
        ..PLAIN
    },
    Suite {
        name: "rayon, documentation",
        source: package("rayon", "1.12.0"),
        options: &["--doc"],
        ..PLAIN
    },
    Suite {
        name: "blitz-par",
        source: FACADE,
        shims: &["rayon-core", "rayon"],
        slow: &["octillion", "par_bridge_recursion", "sort-panic-safe"],
        left_out: facade::LEFT_OUT,
        fast: true,
        ..PLAIN
    },
    Suite {
        name: "blitz-par, documentation",
        source: FACADE,
        shims: &["rayon-core", "rayon"],
        options: &["--doc"],
        fast: true,
        ..PLAIN
    },
    Suite {
        name: "hashbrown",
        source: package("hashbrown", "0.17.1"),
        options: &["--tests", "--features", "rayon"],
        ..PLAIN
    },
    Suite {
        name: "indexmap",
        source: package("indexmap", "2.14.2"),
        options: &["--tests", "--features", "rayon"],
        ..PLAIN
    },
    Suite {
        name: "ndarray",
        source: Source::Package {
            name: "ndarray",
            version: "0.16.1",
            copy: "ndarray",
            // This test needs a helper that is not published.
            prepare: |folder| without_test(folder, "oper"),
        },
        options: &["--tests", "--features", "rayon"],
        ..PLAIN
    },
    Suite { name: "jwalk", source: package("jwalk", "0.9.0"), ..PLAIN },
    Suite {
        name: "rav1e",
        source: package("rav1e", "0.8.1"),
        options: &["--release", "--lib", "--no-default-features", "--features", "threading"],
        long: true,
        ..PLAIN
    },
];

/// Takes the test file `name` out of the package in `folder`.
fn without_test(folder: &Path, name: &str) -> io::Result<()> {
    let manifest = folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)?;
    let entry = format!("[[test]]\nname = \"{name}\"\npath = \"tests/{name}.rs\"\n");
    std::fs::write(&manifest, text.replace(&entry, ""))?;
    std::fs::remove_file(folder.join(format!("tests/{name}.rs")))
}

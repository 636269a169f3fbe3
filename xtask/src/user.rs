//! Builds the documentation of a user's crate and of Blitz, with all features on.

use crate::commands::{cargo, target_dir};
use crate::tree::root;
use std::fs;
use std::io;
use std::process::Command;

/// The source of the crate: links as users write them, and a name of `blitz::io` that Tokio has,
/// too, with its feature `io-std`.
const LIBRARY: &str = "\
//! See [blitz::join], [`blitz::scope`], [`blitz::spawn`], [`blitz::Pool`], [`blitz::Pool::join`],
//! [`blitz::Runtime`], [`blitz::Runtime::block_on`], [`blitz::Builder::start_paused`],
//! [`blitz::task`], [`blitz::select`], [`blitz::macros::join`], [`blitz::main`], [`blitz::io`].

/// Returns Blitz's type, although Tokio has one of this name in this build.
pub fn input() -> blitz::io::Stdin {
    use blitz::io::*;
    stdin()
}
";

/// Every feature of Blitz.
const FEATURES: &[&str] = &[
    "futures-io",
    "inspect",
    "io-uring",
    "macros",
    "metrics",
    "stream",
    "tokio-guest",
    "tracing",
    "util",
];

/// Writes the crate, and returns the command that documents it and Blitz.
pub fn docs() -> io::Result<Command> {
    let place = target_dir().join("xtask/user");
    fs::create_dir_all(place.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\n\
         blitz-rt = {{ path = {:?}, features = {FEATURES:?} }}\n\
         # Another crate may turn this feature on.\n\
         tokio = {{ version = \"1\", default-features = false, features = [\"io-std\"] }}\n\n\
         [workspace]\n",
        root().join("crates/blitz")
    );
    fs::write(place.join("Cargo.toml"), manifest)?;
    fs::write(place.join("src/lib.rs"), LIBRARY)?;
    fs::copy(root().join("Cargo.lock"), place.join("Cargo.lock"))?;
    let mut docs = cargo();
    docs.env("RUSTDOCFLAGS", "-D warnings")
        .current_dir(&place)
        .env("CARGO_TARGET_DIR", place.join("target"));
    docs.args(["doc", "--no-deps", "--package", "user", "--package", "blitz-rt"]);
    Ok(docs)
}

#[cfg(test)]
mod tests {
    use super::{FEATURES, docs};
    use crate::tree::root;
    use std::fs;

    #[test]
    fn no_feature_is_left_out() {
        let manifest = fs::read_to_string(root().join("crates/blitz/Cargo.toml")).unwrap();
        let features = manifest.split("[features]").nth(1).expect("it has features");
        let features = features.split("\n[").next().unwrap_or_default().lines();
        let names = features.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
        let mut names: Vec<&str> =
            names.filter(|name| !name.starts_with('#') && *name != "default").collect();
        names.sort_unstable();
        assert_eq!(names, FEATURES);
    }

    #[test]
    fn the_crate_is_written_where_its_documentation_is_built() {
        let command = docs().expect("the crate can be written");
        let place = command.get_current_dir().expect("a place").to_owned();
        let manifest = fs::read_to_string(place.join("Cargo.toml")).expect("a manifest");
        assert!(manifest.contains("crates/blitz\", features = [\"futures-io\""), "{manifest}");
        assert!(place.join("src/lib.rs").is_file() && place.join("Cargo.lock").is_file());
    }
}

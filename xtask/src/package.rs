//! Makes the packages in the order in which they are published.

use crate::commands::cargo;
use crate::ladder;
use crate::tidy::{ORDER, name_of};
use std::io;
use std::process::Command;

/// Files that every package must contain.
const CONTENTS: &[&str] =
    &["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];

/// Lists and makes every package. With `verify` each is also built from its archive alone.
///
/// # Errors
/// If cargo cannot be run, or a package lacks a file.
pub fn run(verify: bool) -> io::Result<bool> {
    for folder in ORDER {
        let name = name_of(folder);
        let output = list(name).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let files = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Some(missing) = missing(&files) {
            return Err(io::Error::other(format!("{name} lacks {missing}")));
        }
        println!("{name:14} {} files", files.lines().count());
    }
    let mut command = make(verify);
    println!("$ {}", ladder::describe(&command));
    Ok(command.status()?.success())
}

/// The files of the package `name`.
fn list(name: &str) -> Command {
    let mut command = cargo();
    command.args(["package", "--list", "--allow-dirty", "--package", name]);
    command
}

/// Makes all packages with one command, so that cargo resolves unpublished packages among them.
pub fn make(verify: bool) -> Command {
    let mut command = cargo();
    command.args(["package", "--allow-dirty"]);
    if !verify {
        command.arg("--no-verify");
    }
    command.args(ORDER.iter().flat_map(|folder| ["--package", name_of(folder)]));
    command
}

/// The first file that a package needs and `files` does not list.
fn missing(files: &str) -> Option<&'static str> {
    CONTENTS.iter().copied().find(|wanted| !files.lines().any(|line| line == *wanted))
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn a_package_without_its_licence_is_found() {
        let files = "Cargo.toml\nLICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/lib.rs\n";
        assert_eq!(missing(files), None);
        assert_eq!(missing(&files.replace("LICENSE-MIT\n", "")), Some("LICENSE-MIT"));
    }
}

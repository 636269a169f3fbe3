//! Lays out the folder of a build and has cargo build it.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use super::Core;

/// Builds the programs on `core` in `folder` and returns what can be run.
pub fn build(core: Core, folder: &Path) -> Result<PathBuf, String> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let checkout = checkout.canonicalize().unwrap_or(checkout);
    lay_out(core, &checkout, folder).map_err(|error| {
        format!("the sources in {} cannot be copied: {error}", checkout.display())
    })?;
    let name = core.name();
    eprintln!("building the rayon programs on {name} (takes a while the first time)");
    let output = cargo(folder).output().map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo cannot build them on {name}; its messages say why"));
    }
    executable(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| format!("cargo does not say what it built on {name}"))
}

fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command
        .current_dir(folder)
        .args(["build", "--release", "--message-format", "json-render-diagnostics"])
        .args(loops_on_cache_lines())
        .env("CARGO_TARGET_DIR", folder.join("build"))
        // What the drop-in needs besides is not in the committed lock file.
        .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")
        .stderr(Stdio::inherit());
    command
}

/// Has every inner loop begin on a cache line. Where loops come to lie depends on the size of the
/// core in front of them, and one that straddles two lines takes up to twice as long: the sorts of
/// numbers in order differed by a factor of 1.6 between the cores, in either direction, with the
/// same instructions.
fn loops_on_cache_lines() -> Vec<String> {
    if env::consts::ARCH != "x86_64" {
        return Vec::new();
    }
    let flag = "llvm-args=-x86-experimental-pref-innermost-loop-alignment=6";
    vec!["--config".to_owned(), format!("build.rustflags = [\"-C\", \"{flag}\"]")]
}

/// Copies manifest and lock file, unless the ones of the last time are still good: cargo has
/// completed that lock file since, and needs no network as long as it stays.
fn lay_out(core: Core, checkout: &Path, folder: &Path) -> io::Result<()> {
    let sources = checkout.join("bench").join("rayon-programs");
    let manifest = manifest(core, checkout, &fs::read_to_string(sources.join("Cargo.toml"))?);
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

/// The programs' manifest for a folder elsewhere, with the core in it.
fn manifest(core: Core, checkout: &Path, committed: &str) -> String {
    let checkout = checkout.to_string_lossy().replace('\\', "/");
    let here = format!("path = \"{checkout}/bench/rayon-programs/");
    let mut manifest = committed.replace("path = \"", &here);
    if core == Core::Blitz {
        manifest.push_str(&format!(
            "\n[patch.crates-io]\nrayon-core = {{ path = \"{checkout}/shims/rayon-core\" }}\n"
        ));
    }
    manifest
}

/// The program among the messages of a build, one JSON value per line.
fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|message: Value| message["executable"].as_str().map(PathBuf::from))
        .next_back()
}

/// What the lock file was before cargo completed it.
const COMMITTED_LOCK: &str = "Cargo.lock.committed";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drop_in_is_patched_and_paths_lead_back() {
        let committed = "[dependencies]\na = { path = \"../contestant\" }\nrayon = \"1.12\"\n";
        let plain = manifest(Core::Rayon, Path::new("/c"), committed);
        let path = "a = { path = \"/c/bench/rayon-programs/../contestant\" }";
        assert_eq!(plain, format!("[dependencies]\n{path}\nrayon = \"1.12\"\n"));
        let patched = manifest(Core::Blitz, Path::new("/c"), committed);
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

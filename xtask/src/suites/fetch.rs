//! Gets published packages through cargo and makes copies that can be tested.

use super::catalogue::{Source, Suite};
use crate::commands::cargo;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Marks a complete copy, and holds the source code that made the copy.
const READY: &str = ".ready";

/// The source code that makes copies. Copies made by other code are made again.
const MADE_BY: &str = concat!(
    include_str!("catalogue.rs"),
    include_str!("fetch.rs"),
    include_str!("moved.rs"),
    include_str!("facade.rs"),
);

/// Copies every package of `suites` into `folder`, unless a copy that this code has made is there.
pub fn fetch(folder: &Path, suites: &[&Suite]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut missing = BTreeMap::new();
    for suite in suites {
        if let Source::Package { name, version, copy, prepare } = suite.source {
            let made_by = fs::read_to_string(place(folder, copy, version).join(READY));
            if made_by.ok().as_deref() != Some(MADE_BY) {
                missing.insert(copy, (name, version, prepare));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let packages: BTreeSet<_> =
        missing.values().map(|&(name, version, _)| (name, version)).collect();
    let described = describe(folder, &packages)?;
    for (copy, (name, version, prepare)) in missing {
        let source = manifest_folder(&described, name, version).ok_or_else(|| {
            io::Error::other(format!("cargo does not say where {name} {version} is"))
        })?;
        let copy = place(folder, copy, version);
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        copy_folder(&source, &copy)?;
        own_workspace(&copy.join("Cargo.toml"))?;
        prepare(&copy)?;
        fs::write(copy.join(READY), MADE_BY)?;
    }
    Ok(())
}

/// Where the copy of this name is.
pub fn place(folder: &Path, copy: &str, version: &str) -> PathBuf {
    folder.join(format!("{copy}-{version}"))
}

/// Runs `cargo metadata` on a scratch package that depends on `packages`, which downloads them.
fn describe(folder: &Path, packages: &BTreeSet<(&str, &str)>) -> io::Result<String> {
    let scratch = folder.join("scratch");
    fs::create_dir_all(scratch.join("src"))?;
    fs::write(scratch.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\n",
    );
    for (name, version) in packages {
        manifest.push_str(&format!(
            "{name} = {{ version = \"={version}\", default-features = false }}\n"
        ));
    }
    fs::write(scratch.join("Cargo.toml"), manifest)?;
    println!("fetching {}", packages.iter().map(|p| p.0).collect::<Vec<_>>().join(", "));
    let output = cargo()
        .current_dir(&scratch)
        .env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback")
        .args(["metadata", "--format-version", "1"])
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other("the packages cannot be fetched"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The folder of a package, out of cargo's description.
fn manifest_folder(described: &str, name: &str, version: &str) -> Option<PathBuf> {
    let end = format!("/{name}-{version}/Cargo.toml");
    let manifests = described.split("\"manifest_path\":\"").skip(1);
    let path = manifests.filter_map(|rest| rest.split('"').next()).find(|p| p.ends_with(&end))?;
    Path::new(path).parent().map(Path::to_path_buf)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Makes the copy a workspace of its own, because it lies inside this repository's workspace.
/// Removes its lock file, which may name another version of the patched package.
fn own_workspace(manifest: &Path) -> io::Result<()> {
    let text = fs::read_to_string(manifest)?;
    if !text.contains("\n[workspace]") {
        fs::write(manifest, text + "\n[workspace]\n")?;
    }
    match fs::remove_file(manifest.with_file_name("Cargo.lock")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::manifest_folder;
    use std::path::Path;

    #[test]
    fn a_package_is_found_by_name_and_version() {
        let described = r#"{"packages":[{"name":"a","manifest_path":"/r/xa-1.0.0/Cargo.toml"},
            {"name":"a","manifest_path":"/r/a-1.0.0/Cargo.toml","x":1}]}"#;
        assert_eq!(
            manifest_folder(described, "a", "1.0.0").as_deref(),
            Some(Path::new("/r/a-1.0.0"))
        );
        assert_eq!(manifest_folder(described, "a", "1.0.1"), None);
    }
}

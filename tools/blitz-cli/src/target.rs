//! Finds cargo's target folder, where this program also writes its files.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::Failure;

/// Cargo's target folder, as seen from the current folder.
pub fn folder() -> Result<PathBuf, Failure> {
    let here = env::current_dir()
        .map_err(|error| Failure::new("cannot find the current folder", error))?;
    Ok(seen_from(&here, env::var_os("CARGO_TARGET_DIR").map(PathBuf::from)))
}

/// The folder that `CARGO_TARGET_DIR` has named (`told`); otherwise that of the workspace around
/// `here`; otherwise one in `here`. Cargo's configuration files are not read.
fn seen_from(here: &Path, told: Option<PathBuf>) -> PathBuf {
    told.map(|told| here.join(told)).unwrap_or_else(|| {
        let root = here.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
        root.unwrap_or(here).join("target")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_where_cargo_builds() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let inside = package.join("src").join("report");
        let found = seen_from(&inside, None);
        assert!(found.parent().unwrap().join("Cargo.lock").is_file());
        assert!(inside.starts_with(found.parent().unwrap()));

        let told = seen_from(Path::new("/elsewhere"), Some("build".into()));
        assert_eq!(told, Path::new("/elsewhere/build"));
        let elsewhere = seen_from(Path::new("/"), None);
        assert_eq!(elsewhere, Path::new("/target"));
    }
}

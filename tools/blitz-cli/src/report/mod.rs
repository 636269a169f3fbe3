//! The HTML report in the target folder: the same rows as on stdout, with plots.

mod html;
mod plot;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use blitz_bench::report::Report;

use crate::Failure;

/// Writes the report and returns where it is.
pub fn write(report: &Report) -> Result<PathBuf, Failure> {
    let here = env::current_dir()
        .map_err(|error| Failure::new("cannot find the current folder", error))?;
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let folder = target_folder(&here, target).join("blitz");
    let path = folder.join("report.html");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, html::render(report)))
        .map_err(|error| Failure::new(format!("cannot write {}", path.display()), error))?;
    Ok(path)
}

/// Cargo's target folder: the one it was told to use, else that of the workspace around `here`,
/// else one right here.
fn target_folder(here: &Path, told: Option<PathBuf>) -> PathBuf {
    told.map(|told| here.join(told)).unwrap_or_else(|| {
        let root = here.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
        root.unwrap_or(here).join("target")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_goes_where_cargo_builds() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let inside = package.join("src").join("report");
        let found = target_folder(&inside, None);
        assert!(found.parent().unwrap().join("Cargo.lock").is_file());
        assert!(inside.starts_with(found.parent().unwrap()));

        let told = target_folder(Path::new("/elsewhere"), Some("build".into()));
        assert_eq!(told, Path::new("/elsewhere/build"));
        let elsewhere = target_folder(Path::new("/"), None);
        assert_eq!(elsewhere, Path::new("/target"));
    }
}

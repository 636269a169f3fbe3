//! The HTML report in the target folder: plots of all comparisons, then the rows of stdout.

mod costs;
mod distribution;
mod groups;
mod html;
mod ratios;
mod svg;

use std::{
    fs,
    path::{Path, PathBuf},
};

use blitz_bench::report::Report;

use crate::{Failure, target};

/// Writes the report and returns where it is.
pub fn write(report: &Report) -> Result<PathBuf, Failure> {
    let folder = target::folder()?.join("blitz");
    let path = folder.join("report.html");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&path, html::render(report)))
        .map_err(|error| Failure::new(format!("cannot write {}", path.display()), error))?;
    Ok(path)
}

/// Writes a picture of each group into `folder`, as `bench-GROUP.svg`; returns how many.
pub fn write_pictures(report: &Report, folder: &Path) -> Result<usize, Failure> {
    let rows = report.rows();
    let groups = groups::groups(&rows);
    for group in &groups {
        let path = folder.join(format!("bench-{}.svg", group.name));
        fs::write(&path, svg::render(group))
            .map_err(|error| Failure::new(format!("cannot write {}", path.display()), error))?;
    }
    Ok(groups.len())
}

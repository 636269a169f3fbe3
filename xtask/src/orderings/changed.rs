//! Which protocols differ from the main branch.

use super::sites::{SOURCES, folder_of};
use crate::tree::root;
use std::collections::BTreeSet;
use std::io;
use std::process::Command;

/// The folders of blitz-parts whose files differ from the last commit that HEAD shares with the
/// main branch. If HEAD is that commit itself, or if there is no `origin/main`, compares with the
/// commit before. Changes that are not committed count, too.
///
/// # Errors
/// If git fails, or if a shallow clone lacks the commit to compare with.
pub fn folders() -> io::Result<BTreeSet<String>> {
    let head = git(&["rev-parse", "HEAD"])?;
    let main = git(&["merge-base", "HEAD", "origin/main"]);
    let base = match main.ok().filter(|main| *main != head) {
        Some(main) => main,
        None => match git(&["rev-parse", "HEAD~1"]) {
            Ok(parent) => parent,
            // The first commit has no parent: then only changes that are not committed differ.
            Err(_) if git(&["rev-parse", "--is-shallow-repository"])?.trim() == "false" => head,
            Err(why) => {
                let advice = "the clone is shallow, fetch the commit before HEAD";
                return Err(io::Error::other(format!("{advice}: {why}")));
            }
        },
    };
    Ok(of_paths(&git(&["diff", "--name-only", base.trim()])?))
}

/// Whether git knows this folder. The sources may also come without their history.
pub fn is_checkout() -> bool {
    git(&["rev-parse", "--git-dir"]).is_ok()
}

/// The folders of the files that are named one per line.
fn of_paths(names: &str) -> BTreeSet<String> {
    let ours = names.lines().filter_map(|path| path.strip_prefix(SOURCES));
    ours.filter(|path| path.ends_with(".rs")).map(|path| folder_of(path).to_owned()).collect()
}

fn git(arguments: &[&str]) -> io::Result<String> {
    let output = Command::new("git").current_dir(root()).args(arguments).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("git {}: {why}", arguments.join(" "))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::of_paths;

    #[test]
    fn folders_are_those_of_the_library() {
        let names = "crates/blitz-parts/src/deque/mod.rs\ncrates/blitz-parts/src/park/futex/model.rs\n\
                     crates/blitz-parts/src/slots.rs\ncrates/blitz-core/src/team.rs\nREADME.md\n";
        assert_eq!(
            of_paths(names).into_iter().collect::<Vec<_>>(),
            ["deque", "park/futex", "slots"]
        );
    }
}

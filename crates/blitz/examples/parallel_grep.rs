//! Looks for a word in every file of a folder. Folders are walked and files are read in parallel.
//! The lines with the word are printed in the order of the files, as soon as they are known.
//!
//! `cargo run --release --example parallel_grep -- fork crates` looks for "fork" in `crates`.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use blitz::prelude::*;

/// Returns the entries of a folder, in order.
///
/// If `path` is no folder, the result is empty.
fn entries(path: &PathBuf) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(path) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = folder.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns all files below `root`, in order.
fn files(root: &Path) -> Vec<PathBuf> {
    let tree = blitz::par::iter::walk_tree_prefix(root.to_owned(), entries);
    tree.filter(|path| path.is_file()).collect()
}

/// Returns the lines of a file that contain `word`, with their numbers.
fn matches(path: &Path, word: &str) -> Vec<(usize, String)> {
    // A file that is not text has no lines.
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().zip(1..).filter(|(line, _)| line.contains(word));
    lines.map(|(line, number)| (number, line.to_owned())).collect()
}

/// Calls `print` with each match, in order; returns how many there are.
fn grep(root: &Path, word: &str, mut print: impl FnMut(&Path, usize, &str) + Send) -> usize {
    let (files, mut count) = (files(root), 0);
    files.par_iter().map(|path| (path, matches(path, word))).for_each_in_order(|(path, lines)| {
        for (number, line) in lines {
            print(path, number, &line);
            count += 1;
        }
    });
    count
}

/// Writes 3 x 3 folders with 30 files each. Every tenth file has a needle.
fn sample(root: &Path) -> io::Result<()> {
    let folders = (0..9).map(|n| root.join(format!("{}/{}", n / 3, n % 3)));
    for (number, folder) in folders.enumerate() {
        fs::create_dir_all(&folder)?;
        (0..30).into_par_iter().try_for_each(|file| {
            let word = if file % 10 == number % 10 { "a needle" } else { "hay" };
            let text = format!("hay\n{word} in file {file}\n").repeat(50);
            fs::write(folder.join(format!("{file:02}.txt")), text)
        })?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    if let (Some(word), Some(root)) = (env::args().nth(1), env::args().nth(2)) {
        let count = grep(root.as_ref(), &word, |path, number, line| {
            println!("{}:{number}: {line}", path.display());
        });
        println!("{count} lines");
        return Ok(());
    }
    let root = env::temp_dir().join(format!("blitz-grep-{}", std::process::id()));
    sample(&root)?;
    let mut places = Vec::new();
    let count = grep(&root, "needle", |path, number, _| places.push((path.to_owned(), number)));
    fs::remove_dir_all(&root)?;
    assert_eq!(count, 9 * 3 * 50);
    assert!(places.is_sorted(), "matches come in the order of the files");
    println!("{count} lines with a needle in {} files", 9 * 30);
    Ok(())
}

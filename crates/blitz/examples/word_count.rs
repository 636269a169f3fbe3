//! Counts the words of a large file: each part of the text is counted into a map of its own, and
//! the maps of neighbouring parts are merged.
//!
//! `cargo run --release --example word_count -- book.txt` counts the words of your file.

use std::collections::HashMap;
use std::{env, fs, io};

use blitz::prelude::*;

type Counts<'a> = HashMap<&'a str, usize>;

fn count(text: &str) -> Counts<'_> {
    text.par_lines()
        .flat_map_iter(str::split_whitespace)
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .fold(Counts::new, |mut counts, word| {
            *counts.entry(word).or_default() += 1;
            counts
        })
        .reduce(Counts::new, |mut all, counts| {
            counts.into_iter().for_each(|(word, count)| *all.entry(word).or_default() += count);
            all
        })
}

/// Returns the five most frequent words.
///
/// Words with the same count are in alphabetical order.
fn most_frequent<'a>(counts: &Counts<'a>) -> Vec<(&'a str, usize)> {
    let mut words: Vec<(&str, usize)> = counts.par_iter().map(|(w, c)| (*w, *c)).collect();
    words.par_sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
    words.truncate(5);
    words
}

/// Writes `lines` lines to a file and reads it. Each line has "the" three times.
fn sample(lines: usize) -> io::Result<String> {
    let path = env::temp_dir().join(format!("blitz-word-count-{}.txt", std::process::id()));
    let line = |n: usize| format!("The worker, the thief{} and the task.\n", n % 1_000);
    let text: String = (0..lines).into_par_iter().map(line).collect();
    fs::write(&path, text.to_lowercase())?;
    let text = fs::read_to_string(&path);
    fs::remove_file(&path)?;
    text
}

fn main() -> io::Result<()> {
    let lines = 200_000;
    let text = match env::args().nth(1) {
        Some(path) => fs::read_to_string(path)?,
        None => {
            let text = sample(lines)?;
            assert_eq!(count(&text)["the"], 3 * lines);
            text
        }
    };
    let counts = count(&text);
    let words: usize = counts.par_iter().map(|(_, count)| count).sum();
    println!("{words} words, {} different ones, in {} bytes", counts.len(), text.len());
    for (word, count) in most_frequent(&counts) {
        println!("{count:>9} {word}");
    }
    Ok(())
}

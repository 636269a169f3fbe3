//! Counts letters with one job per line; jobs borrow the text and a table of counters.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn main() {
    let text = include_str!("histogram.rs");
    let counts: Vec<AtomicUsize> = (0..26).map(|_| AtomicUsize::new(0)).collect();
    blitz::scope(|s| {
        for line in text.lines() {
            let counts = &counts;
            s.spawn(move |_| {
                for letter in line.bytes().filter(u8::is_ascii_alphabetic) {
                    counts[usize::from(letter.to_ascii_lowercase() - b'a')].fetch_add(1, Relaxed);
                }
            });
        }
    });
    let total: usize = counts.iter().map(|count| count.load(Relaxed)).sum();
    assert_eq!(total, text.bytes().filter(u8::is_ascii_alphabetic).count());
    for (letter, count) in ('a'..='z').zip(&counts) {
        println!("{letter} {}", "#".repeat(count.load(Relaxed) / 4));
    }
}

//! Rayon's iterators on a Blitz pool. The code uses Rayon only; the patch in the manifest puts
//! Blitz below it.

use rayon::prelude::*;

/// The number of steps from `n` to one in the Collatz sequence.
fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() {
    let longest = (1..300_000u64).into_par_iter().map(|n| (collatz(n), n)).max();
    assert_eq!(longest, Some((442, 230_631)));

    let mut words: Vec<String> =
        (0..100_000).map(|n| format!("{:05}", n * 7_919 % 100_000)).collect();
    words.par_sort_unstable();
    assert!(words.iter().enumerate().all(|(n, word)| word.parse() == Ok(n)));

    // Check whose threads these are.
    let mut names = rayon::broadcast(|_| std::thread::current().name().map(str::to_owned));
    names.sort();
    println!("threads: {names:?}");
    let on_blitz = names.iter().flatten().any(|name| name.starts_with("blitz-"));
    println!("on Blitz: {on_blitz}");
    assert!(on_blitz, "the patch is not in use; see README.md");
}

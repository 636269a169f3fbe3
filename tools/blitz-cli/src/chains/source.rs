//! The program with 40 loops: every source with every adaptor. The endings take turns.

/// The text of a program whose loops come from `prelude`. Another `version` gives a different text.
pub fn program(prelude: &str, version: usize) -> String {
    let mut text = format!("use {prelude}::*;\n\nconst VERSION: u64 = {version};\n\n");
    for number in 0..COUNT {
        let source = SOURCES[number % SOURCES.len()];
        let adaptor = ADAPTORS[number % ADAPTORS.len()];
        let ending = ENDINGS[number / SOURCES.len() % ENDINGS.len()];
        // Use a different number in each loop, so that the compiler merges none.
        let chain = format!("{source}{adaptor}{ending}").replace('K', &(number + 3).to_string());
        text.push_str(&format!("fn loop_{number}(numbers: &[u64]) -> u64 {{\n    {chain}\n}}\n\n"));
    }
    let names: Vec<String> = (0..COUNT).map(|number| format!("loop_{number}")).collect();
    text.push_str(&format!(
        "fn main() {{\n    let loops: [fn(&[u64]) -> u64; {COUNT}] = [{}];\n    \
         let numbers: Vec<u64> = (0..1_000).collect();\n    \
         let sum = loops.iter().fold(0, |sum: u64, each| sum.wrapping_mul(31) ^ each(&numbers));\n    \
         assert_ne!(VERSION, u64::MAX);\n    println!(\"{{sum:016x}}\");\n}}\n",
        names.join(", ")
    ));
    text
}

/// Every source with every adaptor.
const COUNT: usize = SOURCES.len() * ADAPTORS.len();

const SOURCES: [&str; 5] = [
    "numbers.par_iter().copied()",
    "(0..numbers.len() as u64).into_par_iter()",
    "numbers.par_chunks(7).map(|chunk| chunk.len() as u64)",
    "numbers.par_iter().zip(numbers.par_iter().rev()).map(|(a, b)| a ^ b)",
    "numbers.to_vec().into_par_iter()",
];

const ADAPTORS: [&str; 8] = [
    ".map(|n| n.wrapping_mul(K))",
    ".filter(|n| n % K != 0)",
    ".map(|n| n + K).filter(|n| n & 1 == 0)",
    ".filter_map(|n| n.checked_sub(K))",
    ".flat_map_iter(|n| [n, K])",
    ".inspect(|n| assert!(*n < u64::MAX - K)).map(|n| n ^ K)",
    ".update(|n| *n |= K)",
    ".map_init(|| K, |k, n: u64| n.wrapping_add(*k))",
];

const ENDINGS: [&str; 5] = [
    ".reduce(|| 0, u64::wrapping_add)",
    ".max().unwrap_or(0)",
    ".count() as u64",
    ".collect::<Vec<u64>>().len() as u64",
    ".any(|n| n == K) as u64",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_forty_different_loops() {
        let text = program("blitz::prelude", 7);
        assert!(text.starts_with("use blitz::prelude::*;"));
        assert_eq!(text.matches("\nfn loop_").count(), 40);
        let bodies = text.lines().filter(|line| line.contains("par_"));
        let different: std::collections::BTreeSet<&str> = bodies.collect();
        assert_eq!(different.len(), 40);
        assert_ne!(text, program("blitz::prelude", 8));
    }
}

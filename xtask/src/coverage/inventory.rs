//! The items of Rayon 1.12 that `blitz-par` must have, by name. The check expects every method in
//! the body of its trait. The laws, which are tests of `blitz-par`, must call every method and
//! every function.

use super::Finding;
use crate::source::{Token, after_group, starts_with};
use crate::tree::{File, Tree};

/// Where the traits and functions are.
const SOURCES: &str = "crates/blitz-par/src/";
/// Where the laws are.
const LAWS: &str = "crates/blitz-par/src/laws/";

/// The methods of traits: 131.
const METHODS: &[(&str, &[&str])] = &[
    (
        "ParallelIterator",
        &[
            "map",
            "map_with",
            "map_init",
            "cloned",
            "copied",
            "inspect",
            "update",
            "filter",
            "filter_map",
            "flat_map",
            "flat_map_iter",
            "flatten",
            "flatten_iter",
            "fold",
            "fold_with",
            "try_fold",
            "try_fold_with",
            "chain",
            "while_some",
            "panic_fuse",
            "intersperse",
            "take_any",
            "take_any_while",
            "skip_any",
            "skip_any_while",
            "for_each",
            "for_each_with",
            "for_each_init",
            "try_for_each",
            "try_for_each_with",
            "try_for_each_init",
            "count",
            "reduce",
            "reduce_with",
            "try_reduce",
            "try_reduce_with",
            "sum",
            "product",
            "min",
            "min_by",
            "min_by_key",
            "max",
            "max_by",
            "max_by_key",
            "find_any",
            "find_first",
            "find_last",
            "find_map_any",
            "find_map_first",
            "find_map_last",
            "any",
            "all",
            "collect",
            "collect_vec_list",
            "unzip",
            "partition",
            "partition_map",
        ],
    ),
    (
        "IndexedParallelIterator",
        &[
            "by_exponential_blocks",
            "by_uniform_blocks",
            "zip",
            "zip_eq",
            "interleave",
            "interleave_shortest",
            "chunks",
            "fold_chunks",
            "fold_chunks_with",
            "enumerate",
            "step_by",
            "skip",
            "take",
            "positions",
            "rev",
            "collect_into_vec",
            "unzip_into_vecs",
            "cmp",
            "partial_cmp",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "position_any",
            "position_first",
            "position_last",
            "len",
        ],
    ),
    // In `blitz-par` every parallel iterator has these methods, in Rayon only indexed ones do.
    ("ParallelIteratorExt", &["with_min_len", "with_max_len"]),
    (
        "ParallelSlice",
        &[
            "par_split",
            "par_split_inclusive",
            "par_windows",
            "par_array_windows",
            "par_chunks",
            "par_chunks_exact",
            "par_rchunks",
            "par_rchunks_exact",
            "par_chunk_by",
        ],
    ),
    (
        "ParallelSliceMut",
        &[
            "par_split_mut",
            "par_split_inclusive_mut",
            "par_chunks_mut",
            "par_chunks_exact_mut",
            "par_rchunks_mut",
            "par_rchunks_exact_mut",
            "par_chunk_by_mut",
            "par_sort",
            "par_sort_by",
            "par_sort_by_key",
            "par_sort_by_cached_key",
            "par_sort_unstable",
            "par_sort_unstable_by",
            "par_sort_unstable_by_key",
        ],
    ),
    (
        "ParallelString",
        &[
            "par_chars",
            "par_char_indices",
            "par_bytes",
            "par_encode_utf16",
            "par_split",
            "par_split_inclusive",
            "par_split_terminator",
            "par_lines",
            "par_split_whitespace",
            "par_split_ascii_whitespace",
            "par_matches",
            "par_match_indices",
        ],
    ),
    ("IntoParallelIterator", &["into_par_iter"]),
    ("IntoParallelRefIterator", &["par_iter"]),
    ("IntoParallelRefMutIterator", &["par_iter_mut"]),
    ("FromParallelIterator", &["from_par_iter"]),
    ("ParallelExtend", &["par_extend"]),
    ("ParallelDrainFull", &["par_drain"]),
    ("ParallelDrainRange", &["par_drain"]),
    ("ParallelBridge", &["par_bridge"]),
];

/// Functions that make iterators, methods of `Repeat`, and methods of exact chunks.
const FUNCTIONS: &[&str] = &[
    "empty",
    "once",
    "repeat",
    "repeat_n",
    "repeatn",
    "split",
    "walk_tree",
    "walk_tree_prefix",
    "walk_tree_postfix",
    "remainder",
    "into_remainder",
    "take_remainder",
];

/// The tables of types in `laws/surface.rs`, and how many entries each has: conversions, collect
/// targets, what can be extended, what can be drained, results of `try_` methods. The compiler
/// checks that the numbers which the tables state are true.
const TABLES: &[(&str, usize)] = &[
    ("CONVERSIONS", 74),
    ("COLLECT_TARGETS", 32),
    ("EXTENDED", 29),
    ("DRAINED", 6),
    ("RESULTS", 5),
];

/// The missing items.
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut complain = |message: String| found.push(Finding { line: 0, message });
    let of_crate = |file: &&File| file.path.starts_with(SOURCES);
    let (laws, sources): (Vec<&File>, Vec<&File>) =
        tree.rust().filter(of_crate).partition(|file| file.path.starts_with(LAWS));
    let sources: Vec<Vec<Token<'_>>> = sources.iter().map(|file| file.tokens()).collect();
    let laws: Vec<Vec<Token<'_>>> = laws.iter().map(|file| file.tokens()).collect();
    let is_called = |name: &str| laws.iter().any(|tokens| calls(tokens, name));
    for (of, names) in METHODS {
        for name in *names {
            if !sources.iter().any(|tokens| trait_has(tokens, of, name)) {
                complain(format!("{SOURCES}: the trait `{of}` has no method `{name}`"));
            }
            if !is_called(name) {
                complain(format!("{LAWS}: no law calls `{name}` of `{of}`"));
            }
        }
    }
    for name in FUNCTIONS {
        if !is_called(name) {
            complain(format!("{LAWS}: no law calls `{name}`"));
        }
    }
    for (table, len) in TABLES {
        if !laws.iter().any(|tokens| has_table(tokens, table, *len)) {
            complain(format!("{LAWS}: there is no table `{table}` of {len} types"));
        }
    }
    found
}

/// Whether the body of the trait `of` has a method `name`.
fn trait_has(tokens: &[Token<'_>], of: &str, name: &str) -> bool {
    let traits = (0..tokens.len()).filter(|&at| starts_with(tokens, at, &["trait", of]));
    traits.into_iter().any(|at| {
        let open = (at..tokens.len()).find(|&at| tokens[at].text == "{");
        open.is_some_and(|open| has_function(&tokens[open..after_group(tokens, open)], name))
    })
}

fn has_function(tokens: &[Token<'_>], name: &str) -> bool {
    (0..tokens.len()).any(|at| starts_with(tokens, at, &["fn", name]))
}

/// Whether something of this name is called.
fn calls(tokens: &[Token<'_>], name: &str) -> bool {
    (1..tokens.len()).any(|at| {
        let is_call = tokens.get(at + 1).is_some_and(|next| ["(", ":"].contains(&next.text));
        tokens[at].text == name && tokens[at - 1].text != "fn" && is_call
    })
}

/// Whether there is a constant `name` with `len` entries.
fn has_table(tokens: &[Token<'_>], name: &str, len: usize) -> bool {
    let len = len.to_string();
    (0..tokens.len()).any(|at| {
        starts_with(tokens, at, &["const", name])
            && tokens[at..].iter().take_while(|t| t.text != "=").any(|t| t.text == len)
    })
}

#[cfg(test)]
mod tests {
    use super::{METHODS, calls, findings, trait_has};
    use crate::source::{layers, tokens};
    use crate::tree::{Tree, root};

    #[test]
    fn everything_is_there_and_has_a_law() {
        let tree = Tree::load(&root()).expect("the workspace can be read");
        let found: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
    }

    #[test]
    fn the_list_is_complete() {
        assert_eq!(METHODS.iter().map(|(_, names)| names.len()).sum::<usize>(), 131);
    }

    #[test]
    fn missing_items_are_found() {
        let code = layers("trait A { fn a(&self) {} } fn b() { x.a(); c::<u8>(); }").code;
        let tokens = tokens(&code);
        assert!(trait_has(&tokens, "A", "a") && !trait_has(&tokens, "A", "b"));
        assert!(calls(&tokens, "a") && calls(&tokens, "c") && !calls(&tokens, "b"));
        assert!(findings(&Tree::default()).len() > 131);
    }
}

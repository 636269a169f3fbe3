//! Programs written with parallel iterators: Blitz's, Rayon's on its own core and on the drop-in,
//! and those of other crates. Their code is in `bench/rayon-programs`.

use crate::{Caller, rayon_program::Order};

/// A program written with parallel iterators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParProgram {
    /// A loop with a body of a few instructions.
    Loop {
        /// How many items it has.
        items: usize,
        /// Where it is called from.
        caller: Caller,
    },
    /// The sum of ten million numbers.
    Sum,
    /// Ten million mapped numbers, collected into a vector.
    Collect,
    /// The sum of the products of two vectors of ten million numbers.
    Zip,
    /// Ten million numbers in chunks of a thousand: the largest sum of a chunk.
    Chunks,
    /// The even ones of ten million numbers, collected into a vector.
    Filter,
    /// A million items, each of which becomes four.
    FlatMap,
    /// A loop over a thousand vectors, and in it a loop over the thousand numbers of each vector.
    Nested,
    /// A search among ten million numbers.
    Find {
        /// Whether the match is the last number; otherwise 1 % of the numbers lie before it.
        at_the_end: bool,
    },
    /// Ten thousand items; each of the last hundred takes a thousand times as long.
    Uneven,
    /// A million numbers, sorted in place.
    Sort {
        /// Their order before the sort.
        order: Order,
        /// Whether it calls `par_sort`; otherwise it calls `par_sort_unstable`.
        stable: bool,
    },
    /// The lines of a text of 100 MB.
    Lines,
    /// The words of a text of 100 MB.
    Words,
    /// A sequential iterator as a parallel one.
    Bridge {
        /// Whether an item takes long. Then there are a hundred thousand items instead of a
        /// million.
        heavy: bool,
    },
    /// The items of a `HashMap` of a million.
    HashMap {
        /// Whether an item takes long.
        heavy: bool,
    },
}

impl ParProgram {
    /// Every program, in the order of the report.
    ///
    /// ```
    /// use blitz_contestant::ParProgram;
    /// assert!(ParProgram::all().contains(&ParProgram::Sum));
    /// ```
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for caller in [Caller::Inside, Caller::Outside] {
            let sizes = [100, 1_000, 10_000, 100_000];
            all.extend(sizes.map(|items| Self::Loop { items, caller }));
        }
        all.extend([Self::Sum, Self::Collect, Self::Zip, Self::Chunks, Self::Filter]);
        all.extend([Self::FlatMap, Self::Nested]);
        all.extend([false, true].map(|at_the_end| Self::Find { at_the_end }));
        all.push(Self::Uneven);
        for stable in [true, false] {
            all.extend(Order::ALL.map(|order| Self::Sort { order, stable }));
        }
        all.extend([Self::Lines, Self::Words]);
        all.extend([false, true].map(|heavy| Self::Bridge { heavy }));
        all.extend([false, true].map(|heavy| Self::HashMap { heavy }));
        all
    }

    /// The name of its case in `blitz bench`.
    ///
    /// ```
    /// assert_eq!(blitz_contestant::ParProgram::Sum.case(), "par/sum-10m");
    /// ```
    #[must_use]
    pub fn case(self) -> String {
        let cost = |heavy| if heavy { "heavy" } else { "light" };
        match self {
            Self::Loop { items, caller } => format!("par/loop-{items}/{}", caller.name()),
            Self::Sum => "par/sum-10m".to_owned(),
            Self::Collect => "par/map-collect-10m".to_owned(),
            Self::Zip => "par/zip-10m".to_owned(),
            Self::Chunks => "par/chunks-10m".to_owned(),
            Self::Filter => "par/filter-collect-10m".to_owned(),
            Self::FlatMap => "par/flat-map-1m-x4".to_owned(),
            Self::Nested => "par/nested-1000x1000".to_owned(),
            Self::Find { at_the_end: false } => "par/find-10m/at-1-percent".to_owned(),
            Self::Find { at_the_end: true } => "par/find-10m/at-the-end".to_owned(),
            Self::Uneven => "par/uneven-10k".to_owned(),
            Self::Sort { order, stable } => {
                let sort = if stable { "sort-1m" } else { "sort-unstable-1m" };
                format!("par/{sort}/{}", order.name())
            }
            Self::Lines => "par/lines-100mb".to_owned(),
            Self::Words => "par/words-100mb".to_owned(),
            Self::Bridge { heavy } => format!("par/bridge/{}", cost(heavy)),
            Self::HashMap { heavy } => format!("par/hash-map-1m/{}", cost(heavy)),
        }
    }

    /// The program whose case is called `case`.
    ///
    /// ```
    /// use blitz_contestant::ParProgram;
    /// assert_eq!(ParProgram::of_case("par/sum-10m"), Some(ParProgram::Sum));
    /// ```
    #[must_use]
    pub fn of_case(case: &str) -> Option<Self> {
        Self::all().into_iter().find(|program| program.case() == case)
    }

    /// One sentence for a reader of the report.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Self::Loop { items, caller } => format!(
                "A parallel loop over {items} items of a few instructions, called from {} the pool.",
                caller.name()
            ),
            Self::Sum => "par_iter().sum() of ten million numbers.".to_owned(),
            Self::Collect => "into_par_iter().map().collect() of ten million numbers.".to_owned(),
            Self::Zip => {
                "par_iter().zip().map().reduce() of two vectors of ten million.".to_owned()
            }
            Self::Chunks => "par_chunks(1000).map().max() of ten million numbers.".to_owned(),
            Self::Filter => {
                "par_iter().filter().collect() of ten million numbers, half of them kept."
                    .to_owned()
            }
            Self::FlatMap => "flat_map() of a million items, into four items each.".to_owned(),
            Self::Nested => {
                "par_iter() over a thousand vectors, each summed by a par_iter().".to_owned()
            }
            Self::Find { at_the_end: false } => {
                "find_any() among ten million numbers; 1 % of them lie before the match.".to_owned()
            }
            Self::Find { at_the_end: true } => {
                "find_any() among ten million numbers; the match is the last one.".to_owned()
            }
            Self::Uneven => {
                "Ten thousand items; the last hundred take nearly all of the time.".to_owned()
            }
            Self::Sort { order, stable } => {
                let sort = if stable { "par_sort" } else { "par_sort_unstable" };
                format!("{sort}() of a million numbers {}.", order.description())
            }
            Self::Lines => "par_lines() of a text of 100 MB.".to_owned(),
            Self::Words => "par_split_whitespace() of a text of 100 MB.".to_owned(),
            Self::Bridge { heavy: false } => {
                "par_bridge() of a million items of a few instructions.".to_owned()
            }
            Self::Bridge { heavy: true } => {
                "par_bridge() of a hundred thousand items of a fraction of a microsecond."
                    .to_owned()
            }
            Self::HashMap { heavy: false } => {
                "par_iter() of a HashMap of a million, a few instructions per item.".to_owned()
            }
            Self::HashMap { heavy: true } => {
                "par_iter() of a HashMap of a million, a fraction of a microsecond per item."
                    .to_owned()
            }
        }
    }

    /// Estimates the memory of one contestant's data: input, output and buffers.
    #[must_use]
    pub fn memory_bytes(self) -> u64 {
        match self {
            Self::Loop { .. } | Self::Uneven => 1_000_000,
            Self::Zip => 160_000_000,
            Self::Collect | Self::Filter => 200_000_000,
            Self::Sum | Self::Chunks | Self::Find { .. } => 80_000_000,
            Self::Lines | Self::Words => 100_000_000,
            Self::HashMap { .. } => 60_000_000,
            _ => 24_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_lead_back() {
        let all = ParProgram::all();
        let names: BTreeSet<String> = all.iter().map(|program| program.case()).collect();
        assert_eq!(names.len(), all.len());
        for program in all {
            assert_eq!(ParProgram::of_case(&program.case()), Some(program));
            assert!(program.title().ends_with('.') && program.memory_bytes() > 0);
        }
        assert_eq!(ParProgram::of_case("rayon/sum-10m"), None);
    }
}

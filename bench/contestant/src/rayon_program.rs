//! The programs that run on Rayon's core and on the drop-in. Their code is in
//! `bench/rayon-programs`.

use crate::Caller;

/// A program written with the `rayon` crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RayonProgram {
    /// The sum of a vector of ten million numbers.
    Sum,
    /// Ten million mapped numbers, collected into a vector.
    Collect,
    /// A million numbers, sorted in place.
    Sort {
        /// Their order before the sort.
        order: Order,
        /// Whether it calls `par_sort`; otherwise it calls `par_sort_unstable`.
        stable: bool,
    },
    /// The first of two matches among ten million numbers, a third of the way through.
    FindFirst,
    /// Any of two matches among ten million numbers.
    FindAny,
    /// A parallel loop over a thousand vectors, and in it a loop over the thousand numbers of each
    /// vector.
    Nested,
    /// A loop with a body of a few instructions.
    SmallLoop {
        /// How many items it has.
        items: usize,
        /// Where it is called from.
        caller: Caller,
    },
    /// `ndarray`: a matrix computed from two others, element by element.
    MatrixZip,
    /// `ndarray`: the softmax of every row of a matrix.
    MatrixRows,
}

/// The order of numbers that are to be sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// No order.
    Random,
    /// Sorted already.
    Sorted,
    /// The largest first.
    Reversed,
    /// All the same.
    Equal,
}

impl Order {
    pub(crate) const ALL: [Self; 4] = [Self::Random, Self::Sorted, Self::Reversed, Self::Equal];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sorted => "sorted",
            Self::Reversed => "reversed",
            Self::Equal => "equal",
        }
    }

    /// The end of a sentence about numbers in this order.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Random => "in random order",
            Self::Sorted => "that are sorted already",
            Self::Reversed => "in reverse order",
            Self::Equal => "that are all the same",
        }
    }
}

impl RayonProgram {
    /// Every program, in the order of the report.
    ///
    /// ```
    /// use blitz_contestant::RayonProgram;
    /// assert!(RayonProgram::all().contains(&RayonProgram::Sum));
    /// ```
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Sum, Self::Collect];
        for stable in [true, false] {
            all.extend(Order::ALL.map(|order| Self::Sort { order, stable }));
        }
        all.extend([Self::FindFirst, Self::FindAny, Self::Nested]);
        for caller in [Caller::Inside, Caller::Outside] {
            let sizes = [100, 1_000, 10_000, 100_000];
            all.extend(sizes.map(|items| Self::SmallLoop { items, caller }));
        }
        all.extend([Self::MatrixZip, Self::MatrixRows]);
        all
    }

    /// The name of its case in `blitz bench`.
    ///
    /// ```
    /// assert_eq!(blitz_contestant::RayonProgram::Sum.case(), "rayon/sum-10m");
    /// ```
    #[must_use]
    pub fn case(self) -> String {
        match self {
            Self::Sum => "rayon/sum-10m".to_owned(),
            Self::Collect => "rayon/collect-10m".to_owned(),
            Self::Sort { order, stable } => {
                let sort = if stable { "sort-1m" } else { "sort-unstable-1m" };
                format!("rayon/{sort}/{}", order.name())
            }
            Self::FindFirst => "rayon/find-first-10m".to_owned(),
            Self::FindAny => "rayon/find-any-10m".to_owned(),
            Self::Nested => "rayon/nested-1000x1000".to_owned(),
            Self::SmallLoop { items, caller } => format!("rayon/loop-{items}/{}", caller.name()),
            Self::MatrixZip => "rayon/ndarray-zip".to_owned(),
            Self::MatrixRows => "rayon/ndarray-rows".to_owned(),
        }
    }

    /// The program whose case is called `case`.
    ///
    /// ```
    /// use blitz_contestant::RayonProgram;
    /// assert_eq!(RayonProgram::of_case("rayon/sum-10m"), Some(RayonProgram::Sum));
    /// ```
    #[must_use]
    pub fn of_case(case: &str) -> Option<Self> {
        Self::all().into_iter().find(|program| program.case() == case)
    }

    /// One sentence for a reader of the report.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            Self::Sum => "par_iter().sum() of ten million numbers.".to_owned(),
            Self::Collect => "into_par_iter().map().collect() of ten million numbers.".to_owned(),
            Self::Sort { order, stable } => {
                let sort = if stable { "par_sort" } else { "par_sort_unstable" };
                format!("{sort}() of a million numbers {}.", order.description())
            }
            Self::FindFirst => {
                "find_first() among ten million numbers; a third lie before the match.".to_owned()
            }
            Self::FindAny => "find_any() of two matches among ten million numbers.".to_owned(),
            Self::Nested => {
                "par_iter() over a thousand vectors, each summed by a par_iter().".to_owned()
            }
            Self::SmallLoop { items, caller } => format!(
                "A parallel loop over {items} items of a few instructions, called from {} the pool.",
                caller.name()
            ),
            Self::MatrixZip => {
                "ndarray: Zip::par_for_each() over three matrices of a million elements.".to_owned()
            }
            Self::MatrixRows => {
                "ndarray: the softmax of each row of a 1000x1000 matrix, rows in parallel."
                    .to_owned()
            }
        }
    }

    /// Estimates the memory of one contestant's data: input, output and buffers.
    #[must_use]
    pub fn memory_bytes(self) -> u64 {
        match self {
            Self::Sum | Self::FindFirst | Self::FindAny => 80_000_000,
            Self::Collect => 80_000_000,
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
        let all = RayonProgram::all();
        let names: BTreeSet<String> = all.iter().map(|program| program.case()).collect();
        assert_eq!(names.len(), all.len());
        for program in all {
            assert_eq!(RayonProgram::of_case(&program.case()), Some(program));
        }
        assert_eq!(RayonProgram::of_case("fork-join/fib-35"), None);
    }
}

//! Places: where a part of a loop lies among the others.

#![forbid(unsafe_code)]

/// The position of a part of a loop among the others: a range of numbers.
///
/// If the loop's length is exact, the numbers are its indexes. Otherwise they only give an order:
/// cuts, blocks and loops inside items get shares of the range, which is as long as possible. The
/// numbers of a later part are never below those of an earlier part. If both parts run at the same
/// time, they share a number only if the earlier part has just one number. So two places show only
/// whether one part certainly lies before the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    next: usize,
    /// The end of the block that was taken last, or its start if there is no share for that block.
    limit: usize,
    end: usize,
    is_exact: bool,
}

impl Place {
    /// The place of a whole loop of `len` items, or of one whose length is not known.
    #[inline]
    pub(crate) fn whole(len: Option<usize>) -> Place {
        Place { next: 0, limit: 0, end: len.unwrap_or(usize::MAX), is_exact: len.is_some() }
    }

    /// Keeps the first `steps` steps from here on, and returns the place of the `rest` steps.
    pub(crate) fn split_off(&mut self, steps: usize, rest: usize) -> Place {
        let mut beyond = *self;
        match self.share(steps, rest) {
            Some(middle) => {
                self.end = middle;
                (beyond.next, beyond.limit) = (middle, middle);
            }
            None => self.end = self.next.saturating_add(1),
        }
        beyond
    }

    /// Takes the first `steps` steps as a block; at most `rest` steps are left.
    #[inline]
    pub(crate) fn begin_block(&mut self, steps: usize, rest: usize) {
        self.limit = self.share(steps, rest).unwrap_or(self.next);
    }

    /// Returns the place of the block that was taken last, to be divided further.
    #[inline]
    pub(crate) fn block(&self) -> Place {
        let end = self.limit.max(self.next.saturating_add(1));
        Place { limit: self.next, end, is_exact: false, ..*self }
    }

    /// Takes the place of the next loop inside an item of this block: `share` numbers, or half of
    /// the remaining ones.
    #[inline]
    pub(crate) fn take_inner(&mut self, share: Option<usize>) -> Place {
        let width = self.width();
        let share = share.unwrap_or(width / 2);
        self.limit = if share <= width { self.next + share } else { self.next };
        let inner = self.block();
        // One number always stays for the loops inside later items.
        self.next = self.limit.min(self.end - 1);
        inner
    }

    /// How many numbers are left.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.end - self.next
    }

    /// Notes that the block has been folded.
    #[inline]
    pub(crate) fn end_block(&mut self) {
        self.next = self.limit;
    }

    /// The number after the share of `steps` steps, which lie before `rest` steps. `None` if there
    /// is no number left for one of the two.
    #[inline]
    fn share(&self, steps: usize, rest: usize) -> Option<usize> {
        if self.is_exact {
            Some(self.next.saturating_add(steps).min(self.end))
        } else if rest == 0 {
            Some(self.end)
        } else {
            self.vague_share(steps, rest)
        }
    }

    /// Does the same as [`share`](Self::share), for a range that only gives an order.
    fn vague_share(&self, steps: usize, rest: usize) -> Option<usize> {
        let width = self.width();
        // The share need not be exact, but is computed for each block, so avoid an integer
        // division.
        let part = steps as f64 / (steps as f64 + rest as f64);
        let share = (width as f64 * part) as usize;
        (0 < share && share < width).then(|| self.next + share)
    }

    /// The first number that has not been folded: an index, if places are exact.
    #[inline]
    pub(crate) fn next(&self) -> usize {
        self.next
    }

    /// The index after the last item of the current block.
    #[inline]
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The end of the range.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Whether the place is a range of indexes.
    #[inline]
    pub(crate) fn is_exact(&self) -> bool {
        self.is_exact
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    /// Cuts a place, takes blocks from it and enters them, all by random numbers from `seed`. After
    /// `depth` such steps it goes no deeper, and notes the place that it has reached.
    fn walk(mut place: Place, seed: &mut u64, depth: u32, leaves: &mut Vec<Place>) {
        let mut below = |limit: usize| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*seed >> 33) as usize % limit
        };
        let (kind, count) = (below(3), below(4));
        let steps = [1, 2, 1000, usize::MAX][below(4)];
        let rest = [0, 1, 30, usize::MAX][below(4)];
        if depth == 0 {
            return leaves.push(place);
        }
        if kind == 1 {
            place.begin_block(steps, rest);
            let mut inside = place.block();
            let share = [None, Some(inside.width() / count.max(1)), Some(steps)][rest % 3];
            for _ in 0..count {
                walk(inside.take_inner(share), seed, depth - 1, leaves);
            }
            return;
        }
        if kind == 0 {
            let beyond = place.split_off(steps, rest.max(1));
            walk(place, seed, depth - 1, leaves);
            return walk(beyond, seed, depth - 1, leaves);
        }
        for left in (0..count).rev() {
            place.begin_block(steps, rest.max(left));
            walk(place.block(), seed, depth - 1, leaves);
            place.end_block();
        }
    }

    #[test]
    fn a_match_ends_no_part_that_may_have_a_better_one() {
        for mut seed in 0..500 {
            let mut leaves = Vec::new();
            walk(Place::whole(None), &mut seed, 9, &mut leaves);
            for (index, before) in leaves.iter().enumerate() {
                for after in &leaves[index..] {
                    // A later match must not end the search for the first one, and an earlier match
                    // must not end the search for the last one.
                    assert!(before.next <= after.next, "{before:?} {after:?}");
                    assert!(after.end > before.next, "{before:?} {after:?}");
                }
            }
        }
    }

    #[test]
    fn shares_are_as_large_as_their_parts() {
        let mut place = Place::whole(None);
        let beyond = place.split_off(1, 3);
        assert_eq!((place.next, place.end), (0, usize::MAX / 4 + 1));
        assert_eq!((beyond.next, beyond.end), (place.end, usize::MAX));
        let mut all = Place::whole(Some(10));
        let rest = all.split_off(7, 3);
        assert_eq!((all.end, rest.next, rest.end), (7, 7, 10));
    }
}

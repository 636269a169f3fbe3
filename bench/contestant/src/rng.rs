//! A small seeded generator. The order of turns must be repeatable from the seed in the report, and
//! the data of a workload must be the same in every process.

/// Hashes `value`: each bit of the result depends on all bits of `value`. SplitMix64 returns this
/// hash of its state at each step.
#[must_use]
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SplitMix64: one word of state, every seed is a good seed.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Starts the sequence that belongs to `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let value = mix(self.state);
        self.state = self.state.wrapping_add(GOLDEN);
        value
    }

    /// Returns true or false, either equally likely.
    pub fn coin(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }

    /// Puts `items` into a random order, each order equally likely (up to the tiny bias of `%`).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let pick = self.next_u64() % (last as u64 + 1);
            items.swap(last, pick as usize);
        }
    }
}

/// 2^64 divided by the golden ratio: consecutive multiples are spread evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order() {
        let mut one: Vec<u32> = (0..50).collect();
        let mut two = one.clone();
        Rng::new(7).shuffle(&mut one);
        Rng::new(7).shuffle(&mut two);
        assert_eq!(one, two);
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_reaches_every_order() {
        let mut rng = Rng::new(1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut items = [1, 2, 3];
            rng.shuffle(&mut items);
            let mut sorted = items;
            sorted.sort_unstable();
            assert_eq!(sorted, [1, 2, 3]);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 6);
    }
}

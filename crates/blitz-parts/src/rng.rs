//! XorShift64*: chooses where a worker starts its search for work.

use core::cell::Cell;

/// A small generator for scheduling decisions; not for secrets.
#[derive(Debug)]
pub struct XorShift64Star(Cell<u64>);

impl XorShift64Star {
    /// A generator whose stream depends on `seed`, which may be any number.
    pub fn new(seed: u64) -> XorShift64Star {
        // Zero is the only state that the generator never leaves, so set a bit. The product with an
        // odd number differs for each seed. So at most two seeds share a state, and no two small
        // seeds do.
        XorShift64Star(Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1))
    }

    /// The next 64 bits.
    #[inline]
    pub fn next(&self) -> u64 {
        let mut x = self.0.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.set(x);
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n`, which must not be zero.
    #[inline]
    pub fn below(&self, n: usize) -> usize {
        // Multiply-shift instead of a remainder: no division, and no bias that matters here.
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::XorShift64Star;

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        for seed in 0..8 {
            let rng = XorShift64Star::new(seed);
            let mut seen = [0u32; 7];
            for _ in 0..7_000 {
                seen[rng.below(7)] += 1;
            }
            assert!(seen.iter().all(|&n| n > 700), "seed {seed}: {seen:?}");
        }
    }

    #[test]
    fn zero_seed_does_not_stick() {
        let rng = XorShift64Star::new(0);
        assert_ne!(rng.next(), rng.next());
    }
}

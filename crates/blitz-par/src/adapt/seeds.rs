//! Values that each part of a loop begins with: made by a function, or cloned.

#![forbid(unsafe_code)]

use blitz_parts::prim::Mutex;

/// How parts of a loop get the values that they begin with.
pub(crate) trait Init: Sync {
    /// The value that a part begins with.
    type Value;
    /// State that a part keeps for parts that are cut off from it.
    type Spare;

    /// Makes the values of a part that begins.
    fn start(&self) -> (Self::Spare, Self::Value);
    /// Called when another part is about to begin while the one with `spare` goes on.
    fn fork(&self, spare: &Self::Spare);
    /// Called when a part has ended.
    fn end(&self, spare: Self::Spare);
}

impl<T, G: Fn() -> T + Sync> Init for G {
    type Value = T;
    type Spare = ();

    fn start(&self) -> ((), T) {
        ((), self())
    }

    fn fork(&self, (): &()) {}

    fn end(&self, (): ()) {}
}

/// Clones of a value whose type need not be `Sync`. For each part that is about to begin, one clone
/// is in stock.
///
/// No thread ever waits until another thread has returned from `clone`: a call of `clone` may
/// itself run loops that need the waiting thread, and then both threads would wait for ever.
pub(crate) struct Seeds<T> {
    stock: Mutex<Vec<T>>,
}

impl<T> Seeds<T> {
    pub(crate) fn new(seed: T) -> Seeds<T> {
        Seeds { stock: Mutex::new(vec![seed]) }
    }

    fn stock(&self) -> impl std::ops::DerefMut<Target = Vec<T>> + '_ {
        self.stock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes the seed of a part that begins.
    pub(crate) fn take(&self) -> T {
        let seed = self.stock().pop();
        match seed {
            Some(seed) => seed,
            None => unreachable!("a seed is put into stock before a part begins"),
        }
    }

    /// Puts a seed into stock.
    pub(crate) fn put(&self, seed: T) {
        self.stock().push(seed);
    }
}

impl<T: Clone + Send> Init for &Seeds<T> {
    type Value = T;
    type Spare = T;

    fn start(&self) -> (T, T) {
        let seed = self.take();
        let value = seed.clone();
        (seed, value)
    }

    fn fork(&self, spare: &T) {
        self.put(spare.clone());
    }

    fn end(&self, spare: T) {
        self.put(spare);
    }
}

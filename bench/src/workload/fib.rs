//! Fibonacci with a fork at every call and no cut-off: the cost of forking and nothing else.

use super::batch::ForkJoin;
use crate::rival::Rival;

pub(super) struct Fib(pub(super) u32);

impl ForkJoin for Fib {
    fn run<R: Rival>(&self, ctx: &mut R::Ctx<'_>) -> u64 {
        fib::<R>(ctx, self.0)
    }
}

fn fib<R: Rival>(ctx: &mut R::Ctx<'_>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = R::join(ctx, |ctx| fib::<R>(ctx, n - 1), |ctx| fib::<R>(ctx, n - 2));
    a + b
}

/// Every call with `n >= 2` forks once; their number is fib(n + 1) - 1.
pub(super) fn forks(n: u32) -> u64 {
    let (mut this, mut next) = (0_u64, 1_u64);
    for _ in 0..=n {
        (this, next) = (next, this + next);
    }
    this - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rival::Seq;

    #[test]
    fn counts_its_forks() {
        // fib(4) calls: 4 -> 3, 2; 3 -> 2, 1; each 2 -> 1, 0. Those of 4, 3, 2, 2 fork.
        assert_eq!(forks(4), 4);
        assert_eq!((forks(0), forks(1), forks(2)), (0, 0, 1));
        assert_eq!(forks(35), 14_930_351);
    }

    #[test]
    fn is_the_fibonacci_number() {
        assert_eq!(Fib(20).run::<Seq>(&mut ()), 6_765);
    }
}

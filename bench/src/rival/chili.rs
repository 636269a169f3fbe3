//! chili: heartbeat scheduling; a `Scope` is handed from job to job.

use std::num::NonZero;

use super::{Build, Rival, Work};

/// A pool of its own, never chili's global one.
#[derive(Debug)]
pub struct Chili(::chili::ThreadPool);

impl Build for Chili {
    fn build(workers: usize) -> Result<Self, String> {
        let thread_count = NonZero::new(workers).ok_or("chili needs at least one thread")?;
        Ok(Self(::chili::ThreadPool::with_config(::chili::Config {
            thread_count: Some(thread_count),
            ..Default::default()
        })))
    }
}

impl Rival for Chili {
    type Ctx<'c> = ::chili::Scope<'c>;

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        f(&mut self.0.scope())
    }

    /// chili offers its first closure and runs its second, so they are swapped here.
    #[inline]
    fn join<A, B, RA, RB>(scope: &mut ::chili::Scope<'_>, a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>,
    {
        let (rb, ra) = scope.join(b, a);
        (ra, rb)
    }
}

//! Rayon: a work-stealing pool whose current worker is found through a thread-local.

use super::{Build, Post, Rival, Scoped, Work};

/// A pool of its own, never Rayon's global one.
#[derive(Debug)]
pub struct Rayon(::rayon::ThreadPool);

impl Build for Rayon {
    fn build(workers: usize) -> Result<Self, String> {
        ::rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

impl Rival for Rayon {
    type Ctx<'c> = ();

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        self.0.install(|| f(&mut ()))
    }

    #[inline]
    fn join<A, B, RA, RB>(_: &mut (), a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>,
    {
        ::rayon::join(|| a(&mut ()), || b(&mut ()))
    }
}

impl Scoped for Rayon {
    type Scope<'s> = ::rayon::Scope<'s>;

    #[inline]
    fn scope<'s>(f: impl FnOnce(&Self::Scope<'s>) + Send) {
        ::rayon::scope(f);
    }

    #[inline]
    fn spawn<'s>(scope: &Self::Scope<'s>, job: impl FnOnce(&Self::Scope<'s>) + Send + 's) {
        scope.spawn(job);
    }
}

impl Post for Rayon {
    fn post(&self, job: impl FnOnce() + Send + 'static) {
        self.0.spawn(job);
    }
}

//! Blitz itself, through the API that its users see.

use super::{Build, Post, Rival, Scoped, Work};

/// A pool of its own, never the global one.
#[derive(Debug)]
pub struct Blitz(::blitz::Pool);

impl Build for Blitz {
    fn build(workers: usize) -> Result<Self, String> {
        ::blitz::Pool::builder()
            .workers(workers)
            .build()
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

impl Rival for Blitz {
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
        ::blitz::join(|| a(&mut ()), || b(&mut ()))
    }
}

impl Scoped for Blitz {
    type Scope<'s> = ::blitz::Scope<'s>;

    #[inline]
    fn scope<'s>(f: impl FnOnce(&Self::Scope<'s>) + Send) {
        ::blitz::scope(f);
    }

    #[inline]
    fn spawn<'s>(scope: &Self::Scope<'s>, job: impl FnOnce(&Self::Scope<'s>) + Send + 's) {
        scope.spawn(job);
    }
}

impl Post for Blitz {
    fn post(&self, job: impl FnOnce() + Send + 'static) {
        self.0.spawn_detached(job);
    }
}

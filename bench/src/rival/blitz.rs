//! Blitz itself, through the API that its users see.

use super::{Build, Post, Rival, Scoped, Work};
use crate::insight::{self, Scraper};

/// A pool of its own, never the global one.
#[derive(Debug)]
pub struct Blitz {
    /// Dropped before the pool.
    _scraper: Option<Scraper>,
    pool: ::blitz::Pool,
}

impl Build for Blitz {
    fn build(workers: usize) -> Result<Self, String> {
        let (pool, _scraper) = insight::build(::blitz::Pool::builder().workers(workers))?;
        Ok(Self { pool, _scraper })
    }
}

impl Rival for Blitz {
    type Ctx<'c> = ();

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        self.pool.install(|| f(&mut ()))
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
        self.pool.spawn_detached(job);
    }
}

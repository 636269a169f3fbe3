//! The sequential twin: the same source as for all others, with every fork a plain call.

use super::{Build, Rival, Scoped, Work};

/// No pool at all.
#[derive(Debug)]
pub struct Seq;

impl Build for Seq {
    fn build(_workers: usize) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Rival for Seq {
    type Ctx<'c> = ();

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        f(&mut ())
    }

    #[inline]
    fn join<A, B, RA, RB>(ctx: &mut (), a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>,
    {
        (a(ctx), b(ctx))
    }
}

impl Scoped for Seq {
    type Scope<'s> = ();

    #[inline]
    fn scope<'s>(f: impl FnOnce(&Self::Scope<'s>) + Send) {
        f(&());
    }

    #[inline]
    fn spawn<'s>(scope: &Self::Scope<'s>, job: impl FnOnce(&Self::Scope<'s>) + Send + 's) {
        job(scope);
    }
}

/// The sequential twin with the second half of each fork first. It shows whether the data favours
/// one order.
#[derive(Debug)]
pub struct SeqRight;

impl Build for SeqRight {
    fn build(_workers: usize) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Rival for SeqRight {
    type Ctx<'c> = ();

    #[inline]
    fn enter<T: Send, F: Work<Self, T>>(&self, f: F) -> T {
        f(&mut ())
    }

    #[inline]
    fn join<A, B, RA, RB>(ctx: &mut (), a: A, b: B) -> (RA, RB)
    where
        RA: Send,
        RB: Send,
        A: Work<Self, RA>,
        B: Work<Self, RB>,
    {
        let b = b(ctx);
        (a(ctx), b)
    }
}

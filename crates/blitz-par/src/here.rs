//! The worker that a loop runs on, or a script in its place.

#![forbid(unsafe_code)]

#[cfg(test)]
use crate::script::{self, Script};

/// The worker that a loop runs on.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a>(Kind<'a>);

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    Worker(blitz_core::Here<'a>),
    /// A test decides when a fork is wanted and when it is stolen.
    #[cfg(test)]
    Script(&'a Script),
}

/// Runs `op` on the current worker, or else on a worker of the current or the global pool.
#[inline]
#[track_caller]
pub(crate) fn enter<R: Send>(op: impl FnOnce(Here<'_>) -> R + Send) -> R {
    let (mut op, mut out) = (Some(op), None);
    let mut run = |here: Here<'_>| {
        if let Some(op) = op.take() {
            out = Some(op(here));
        }
    };
    #[cfg(test)]
    if let Some(script) = script::current() {
        run(Here(Kind::Script(&script)));
        return ran(out);
    }
    if blitz_core::enter_here(|here| run(Here(Kind::Worker(here)))).is_err() {
        enter_worker(&mut run);
    }
    ran(out)
}

/// Runs `op` once on a worker. `op` has no type parameter, so a program compiles the entry from a
/// foreign thread into a pool once, not once per loop.
#[cold]
#[track_caller]
fn enter_worker(op: &mut (dyn FnMut(Here<'_>) + Send)) {
    blitz_core::enter(|here| op(Here(Kind::Worker(here))));
}

/// The result of a closure that has run.
pub(crate) fn ran<T>(out: Option<T>) -> T {
    match out {
        Some(out) => out,
        None => unreachable!("the closure runs once, or panics"),
    }
}

/// Whether the current thread is a worker, or plays a script.
pub(crate) fn is_inside() -> bool {
    #[cfg(test)]
    if script::current().is_some() {
        return true;
    }
    blitz_core::enter_here(|_| ()).is_ok()
}

impl Here<'_> {
    /// Whether another worker could use a part of this worker's work.
    #[inline]
    pub(crate) fn wanted(self) -> bool {
        match self.0 {
            Kind::Worker(here) => here.wanted(),
            #[cfg(test)]
            Kind::Script(script) => script.wanted(),
        }
    }

    /// How many workers there are.
    pub(crate) fn workers(self) -> usize {
        match self.0 {
            Kind::Worker(here) => here.workers(),
            #[cfg(test)]
            Kind::Script(script) => script.workers(),
        }
    }

    /// Runs both closures, potentially at once.
    ///
    /// The first argument of each closure is the worker that runs it. The second argument of `b`
    /// says whether a thief took `b`.
    #[inline]
    pub(crate) fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Here<'_>) -> RA,
        B: FnOnce(Here<'_>, bool) -> RB + Send,
        RB: Send,
    {
        match self.0 {
            Kind::Worker(here) => here.join(
                |here| a(Here(Kind::Worker(here))),
                |here, stolen| b(Here(Kind::Worker(here)), stolen),
            ),
            #[cfg(test)]
            Kind::Script(script) => script.join(|| a(self), |stolen| b(self, stolen)),
        }
    }

    /// How long the next block may be at most.
    #[inline]
    pub(crate) fn block_limit(self) -> usize {
        match self.0 {
            Kind::Worker(_) => usize::MAX,
            #[cfg(test)]
            Kind::Script(script) => script.block_limit(),
        }
    }
}

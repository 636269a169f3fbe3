//! How a pool's threads are started. The types are public in a private module, as in the original:
//! they occur in signatures but cannot be named.

#![forbid(unsafe_code)]

use blitz_core::{BuildError, Pool, PoolBuilder};
use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;

/// A worker that wants a thread; given to [`ThreadPoolBuilder::spawn_handler`].
///
/// [`ThreadPoolBuilder::spawn_handler`]: crate::ThreadPoolBuilder::spawn_handler
pub struct ThreadBuilder {
    inner: blitz_core::ThreadBuilder,
    /// Whether the user chose the name.
    named: bool,
    /// Goes from thread to thread, but one at a time.
    not_sync: PhantomData<Cell<()>>,
}

impl ThreadBuilder {
    /// The index that the thread will have in its pool.
    pub fn index(&self) -> usize {
        self.inner.index()
    }

    /// The name that the thread should have, if the pool's builder was given one.
    pub fn name(&self) -> Option<&str> {
        self.inner.name().filter(|_| self.named)
    }

    /// The stack size that the thread should have, if the pool's builder was given one.
    pub fn stack_size(&self) -> Option<usize> {
        self.inner.stack_size()
    }

    /// Is the pool's thread until the pool ends.
    pub fn run(self) {
        self.inner.run();
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name())
            .field("stack_size", &self.stack_size())
            .finish()
    }
}

/// Starts the threads of a pool.
pub trait ThreadSpawn {
    #[doc(hidden)]
    fn build(self, sealed: Sealed, builder: PoolBuilder, named: bool) -> Result<Pool, BuildError>;
    #[doc(hidden)]
    fn build_global(
        self,
        sealed: Sealed,
        builder: PoolBuilder,
        named: bool,
    ) -> Result<(), BuildError>;
}

/// Only this crate has one, so only this crate starts threads.
#[derive(Debug)]
pub struct Sealed(pub(crate) ());

/// As the standard library does.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn build(self, _: Sealed, builder: PoolBuilder, _: bool) -> Result<Pool, BuildError> {
        builder.build()
    }

    fn build_global(self, _: Sealed, builder: PoolBuilder, _: bool) -> Result<(), BuildError> {
        builder.build_global()
    }
}

/// As the user's closure does.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn into_spawner(
        mut self,
        named: bool,
    ) -> impl FnMut(blitz_core::ThreadBuilder) -> io::Result<()> {
        move |inner| (self.0)(ThreadBuilder { inner, named, not_sync: PhantomData })
    }
}

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn build(self, _: Sealed, builder: PoolBuilder, named: bool) -> Result<Pool, BuildError> {
        builder.build_with(self.into_spawner(named))
    }

    fn build_global(self, _: Sealed, builder: PoolBuilder, named: bool) -> Result<(), BuildError> {
        builder.build_global_with(self.into_spawner(named))
    }
}

//! How a pool's threads are started. As in the original, the types are public in a private module:
//! they occur in signatures, but only [`ThreadBuilder`], which is re-exported, can be named.

#![forbid(unsafe_code)]

use blitz_core::{BuildError, Pool, PoolBuilder};
use std::cell::Cell;
use std::fmt;
use std::io;
use std::marker::PhantomData;

/// A worker that needs a thread; given to [`ThreadPoolBuilder::spawn_handler`].
///
/// [`ThreadPoolBuilder::spawn_handler`]: crate::ThreadPoolBuilder::spawn_handler
pub struct ThreadBuilder {
    inner: blitz_core::ThreadBuilder,
    /// Whether the user chose the name.
    named: bool,
    /// `Send`, but not `Sync`.
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

    /// Runs the worker on the current thread until the pool ends.
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

/// Only this crate can create it, so only this crate can call the methods of [`ThreadSpawn`].
#[derive(Debug)]
pub struct Sealed(pub(crate) ());

/// Starts threads with the standard library.
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

/// Starts threads with the user's closure.
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

//! Values that belong to a task, whichever thread polls it.
//!
//! The value lies in the future. During a poll the value is in a cell of the thread, with the
//! nesting level of the poll (`context::layer`). Work on top of that poll, such as tasks that a
//! waiting worker polls, has another level and does not see the value.
//!
//! ```text
//!  depth 0:  floor 0 holds the value of the innermost scope
//!            with(|value| …): floor 0 is borrowed, and code inside may enter a scope
//!  depth 1:  floor 0 stays as it is; floor 1 holds the value of the innermost scope
//! ```
//!
//! A scope puts its value on the floor of the current depth and remembers the value that was there.
//! If a `with` further out on the stack borrows that floor, the scope uses the next floor up until
//! it ends. Scopes and `with` nest like calls, so a scope that ends finds its floor unchanged and
//! not borrowed. Floors are made when first needed and kept until the thread ends.

#![forbid(unsafe_code)]

use crate::base::context;
use pin_project_lite::pin_project;
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

/// Declares values that belong to a task: each is a static [`LocalKey`](crate::task::LocalKey).
///
/// ```
/// blitz::task_local! {
///     /// The user of the request.
///     pub static REQUEST: u32;
///     static USER: String;
/// }
///
/// async fn greet() -> String {
///     USER.with(|user| format!("{}: hello, {user}", REQUEST.get()))
/// }
///
/// # blitz::block_on(async {
/// let greeting = blitz::spawn(REQUEST.scope(7, USER.scope("Ada".to_owned(), greet())));
/// assert_eq!(greeting.await.unwrap(), "7: hello, Ada");
/// # });
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::task_local!($(#[$attribute])* $visibility static $name: $type);
        $crate::task_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty) => {
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static CELL: $crate::task::LocalCell<$type> =
                    const { $crate::task::LocalCell::new() };
            }
            $crate::task::LocalKey::new(CELL)
        };
    };
}

/// A value that belongs to a task, made by [`task_local!`](crate::task_local).
///
/// It has a value only inside [`scope`](LocalKey::scope) and [`sync_scope`](LocalKey::sync_scope).
/// Scopes nest, even inside [`with`](LocalKey::with). A task that is spawned inside a scope does
/// not inherit the value.
pub struct LocalKey<T: 'static> {
    cell: thread::LocalKey<LocalCell<T>>,
}

/// Holds the value on a thread while a scope is polled.
#[doc(hidden)]
pub struct LocalCell<T> {
    ground: Floor<T>,
    /// The number of the floor that has the value.
    depth: Cell<u32>,
}

/// One value, and the floor above it for scopes that are entered while this one is borrowed.
struct Floor<T> {
    scoped: RefCell<Option<Scoped<T>>>,
    above: OnceCell<Box<Floor<T>>>,
}

struct Scoped<T> {
    value: T,
    layer: u32,
}

impl<T> LocalCell<T> {
    /// Creates an empty cell, for `task_local!`.
    #[doc(hidden)]
    #[must_use]
    pub const fn new() -> LocalCell<T> {
        LocalCell { ground: Floor::new(), depth: Cell::new(0) }
    }

    /// Returns the floor that has the value.
    #[inline]
    fn floor(&self) -> &Floor<T> {
        let mut floor = &self.ground;
        for _ in 0..self.depth.get() {
            floor = floor.above();
        }
        floor
    }

    /// Stores a scope's value; returns the previous value and its floor.
    #[inline]
    fn enter(&self, scoped: Option<Scoped<T>>) -> Outer<T> {
        let floor = self.floor();
        match floor.scoped.try_borrow_mut() {
            Ok(mut place) => Outer { before: std::mem::replace(&mut *place, scoped), rose: false },
            Err(_) => self.rise(floor, scoped),
        }
    }

    /// Works like `enter`, one floor above the current one.
    #[cold]
    fn rise(&self, floor: &Floor<T>, scoped: Option<Scoped<T>>) -> Outer<T> {
        let before = floor.above().scoped.replace(scoped);
        self.depth.set(self.depth.get() + 1);
        Outer { before, rose: true }
    }

    /// Undoes `enter`; returns the scope's value.
    #[inline]
    fn leave(&self, outer: Outer<T>) -> Option<Scoped<T>> {
        let scoped = self.floor().scoped.replace(outer.before);
        if outer.rose {
            self.depth.set(self.depth.get() - 1);
        }
        scoped
    }
}

impl<T> Floor<T> {
    const fn new() -> Floor<T> {
        Floor { scoped: RefCell::new(None), above: OnceCell::new() }
    }

    fn above(&self) -> &Floor<T> {
        self.above.get_or_init(|| Box::new(Floor::new()))
    }
}

/// The previous value, which a scope restores when it ends.
struct Outer<T> {
    before: Option<Scoped<T>>,
    /// Whether the scope is one floor up.
    rose: bool,
}

impl<T: 'static> LocalKey<T> {
    /// Creates a key whose values lie in `cell`, for `task_local!`.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(cell: thread::LocalKey<LocalCell<T>>) -> LocalKey<T> {
        LocalKey { cell }
    }

    /// Runs `future` with this value of the key, whichever threads poll it. The drop of `future`
    /// sees the value, too.
    ///
    /// ```
    /// blitz::task_local!(static NUMBER: u32);
    ///
    /// # blitz::block_on(async {
    /// let (inner, outer) = NUMBER
    ///     .scope(1, async {
    ///         let inner = NUMBER.scope(2, async { NUMBER.get() }).await;
    ///         (inner, NUMBER.get())
    ///     })
    ///     .await;
    /// assert_eq!((inner, outer), (2, 1));
    /// # });
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture { key: self, slot: Some(value), future: Some(future) }
    }

    /// Calls `f` with this value of the key.
    ///
    /// ```
    /// blitz::task_local!(static NUMBER: u32);
    ///
    /// assert_eq!(NUMBER.sync_scope(7, || NUMBER.get() + 1), 8);
    /// ```
    #[track_caller]
    pub fn sync_scope<F, R>(&'static self, value: T, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        let mut slot = Some(value);
        match self.enter(&mut slot) {
            Some(_inside) => f(),
            None => thread_ends(),
        }
    }

    /// Calls `f` with the value. Code inside `f`, even other tasks that run while `f` waits, may
    /// enter scopes of the key: they have their own values.
    ///
    /// # Panics
    /// If called outside every scope of the key; [`try_with`](LocalKey::try_with) returns an error
    /// there.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// Calls `f` with the value, if there is one.
    ///
    /// ```
    /// blitz::task_local!(static NUMBER: u32);
    ///
    /// assert!(NUMBER.try_with(|number| *number).is_err());
    /// ```
    ///
    /// # Errors
    /// If called outside every scope of the key.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let result = self.cell.try_with(|cell| {
            let scoped = cell.floor().scoped.borrow();
            let own = scoped.as_ref().filter(|scoped| scoped.layer == context::layer());
            own.map(|scoped| f(&scoped.value))
        });
        // A thread whose locals are gone is in no scope.
        result.ok().flatten().ok_or(AccessError { _private: () })
    }

    /// Returns a clone of the value.
    ///
    /// # Panics
    /// If called outside every scope of the key.
    #[track_caller]
    #[must_use]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Returns a clone of the value, if there is one.
    ///
    /// # Errors
    /// If called outside every scope of the key.
    pub fn try_get(&'static self) -> Result<T, AccessError>
    where
        T: Clone,
    {
        self.try_with(T::clone)
    }

    /// Moves the value of `slot` into the thread's cell until the guard is dropped. Returns `None`
    /// if the thread's locals are gone.
    fn enter<'a>(&'static self, slot: &'a mut Option<T>) -> Option<Inside<'a, T>> {
        let entered = self.cell.try_with(|cell| {
            let layer = context::layer();
            cell.enter(slot.take().map(|value| Scoped { value, layer }))
        });
        Some(Inside { key: self, slot, outer: Some(entered.ok()?) })
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// Keeps a scope's value in the thread's cell until dropped.
struct Inside<'a, T: 'static> {
    key: &'static LocalKey<T>,
    slot: &'a mut Option<T>,
    outer: Option<Outer<T>>,
}

impl<T: 'static> Drop for Inside<'_, T> {
    fn drop(&mut self) {
        let Some(outer) = self.outer.take() else { return };
        let inside = self.key.cell.try_with(|cell| cell.leave(outer));
        *self.slot = inside.ok().flatten().map(|scoped| scoped.value);
    }
}

#[cold]
#[track_caller]
fn thread_ends() -> ! {
    panic!("a scope of a task_local was entered while its thread ends")
}

/// The error of a key that has no value, because the caller is outside its scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError {
    _private: (),
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a task_local was read outside of its scope; a task that is spawned does not inherit it: \
             wrap the task's own future in the key's `scope`",
        )
    }
}

impl std::error::Error for AccessError {}

pin_project! {
    /// Future returned by [`LocalKey::scope`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct TaskLocalFuture<T: 'static, F> {
        key: &'static LocalKey<T>,
        slot: Option<T>,
        #[pin]
        future: Option<F>,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            let mut future = this.future;
            // While a thread ends no scope can be entered: the future is dropped without the value.
            if let Some(_inside) = this.key.enter(this.slot) {
                future.set(None);
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value out of the future, for example after its end.
    ///
    /// A future that is polled without its value is outside the scope.
    ///
    /// ```
    /// use std::cell::Cell;
    /// blitz::task_local!(static COUNT: Cell<u32>);
    ///
    /// # blitz::block_on(async {
    /// let mut counted = Box::pin(COUNT.scope(Cell::new(0), async {
    ///     COUNT.with(|count| count.set(count.get() + 1));
    /// }));
    /// counted.as_mut().await;
    /// assert_eq!(counted.as_mut().take_value().unwrap().get(), 1);
    /// # });
    /// ```
    #[must_use]
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().slot.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut slot = this.future;
        let Some(_inside) = this.key.enter(this.slot) else { thread_ends() };
        let Some(future) = slot.as_mut().as_pin_mut() else {
            panic!("a scope of a task_local was polled after it had returned its result");
        };
        let polled = future.poll(cx);
        if polled.is_ready() {
            // The future's drop is inside the scope, too.
            slot.set(None);
        }
        polled
    }
}

impl<T: 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskLocalFuture").finish_non_exhaustive()
    }
}

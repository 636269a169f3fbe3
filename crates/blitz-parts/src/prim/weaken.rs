//! The model checker's atomics. The environment can weaken some of their orderings.
//!
//! `cargo xtask orderings` takes each ordering and each fence in turn, and runs models that reach
//! it, without building anything anew. An environment variable names the site whose ordering counts
//! as `Relaxed`, or whose fence is left out. A site is a place of the source,
//! `deque/mod.rs:252:21:0`: file, line and column of the call, and then 0, or 1 for the ordering of
//! a failed exchange. A function that passes on the ordering of its caller is
//! `#[cfg_attr(blitz_loom, track_caller)]`, so that each call of it is a site. Commas separate
//! sites that are weakened together.
//!
//! Without the variables every operation is the checker's own.

use super::{Ordering, Relaxed, checker};
use core::fmt;
use core::panic::Location;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Names the sites to weaken.
const WEAKEN: &str = "BLITZ_WEAKEN";
/// Names the file to which the sites that models reach are appended.
const REACHED: &str = "BLITZ_REACHED";
/// Limits the executions of a model that only shows which sites it reaches.
const EXECUTIONS: &str = "BLITZ_EXECUTIONS";

/// The slot of an operation's ordering; for an exchange, the ordering on success.
const FIRST: u32 = 0;
/// The slot of the ordering of an exchange that fails.
const FAILURE: u32 = 1;

/// A place of the source whose ordering is weakened, or whose fence is left out.
struct Site {
    file: String,
    line: u32,
    column: u32,
    slot: u32,
}

static WEAKENED: LazyLock<Vec<Site>> = LazyLock::new(|| {
    let sites = std::env::var(WEAKEN).unwrap_or_default();
    sites.split(',').filter(|site| !site.is_empty()).map(Site::parse).collect()
});
static RECORDS: LazyLock<bool> = LazyLock::new(|| std::env::var_os(REACHED).is_some());

std::thread_local! {
    /// What the models of this thread have reached: file, line, column, slot.
    static SEEN: RefCell<BTreeSet<(&'static str, u32, u32, u32)>> = const { RefCell::new(BTreeSet::new()) };
}

impl Site {
    fn parse(text: &str) -> Site {
        let mut parts = text.rsplitn(4, ':');
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        let (slot, column, line) = (number(), number(), number());
        match (parts.next(), line, column, slot) {
            (Some(file), Some(line), Some(column), Some(slot)) => {
                Site { file: file.to_owned(), line, column, slot }
            }
            _ => panic!("{WEAKEN}={text} is not FILE:LINE:COLUMN:SLOT"),
        }
    }

    fn is(&self, place: &Location<'_>, slot: u32) -> bool {
        self.line == place.line()
            && self.column == place.column()
            && self.slot == slot
            && place.file().ends_with(&self.file)
    }
}

/// Whether the models run for `cargo xtask orderings`. Then canaries and minimums are ignored.
pub(super) fn is_on_trial() -> bool {
    *RECORDS || !WEAKENED.is_empty()
}

/// How many executions are enough, if the environment says so.
pub(super) fn executions_max() -> Option<usize> {
    std::env::var(EXECUTIONS).ok()?.parse().ok()
}

/// Appends what models have reached to the file that the environment names, if it names one.
pub(super) fn note_reached() {
    use std::io::Write;
    let Some(path) = std::env::var_os(REACHED) else { return };
    let sites = SEEN.take();
    let lines =
        sites.iter().map(|(file, line, column, slot)| format!("{file}:{line}:{column}:{slot}\n"));
    let text: String = lines.collect();
    let file = std::fs::File::options().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("the sites cannot be noted");
}

/// Whether the ordering or the fence at `place` is to be weakened.
fn is_weakened(place: &'static Location<'static>, slot: u32) -> bool {
    if *RECORDS {
        SEEN.with_borrow_mut(|seen| {
            seen.insert((place.file(), place.line(), place.column(), slot))
        });
    }
    WEAKENED.iter().any(|site| site.is(place, slot))
}

/// Returns `order`, or `Relaxed` if the ordering of the caller's caller is to be weakened.
#[track_caller]
fn weakened(order: Ordering, slot: u32) -> Ordering {
    if order != Relaxed && is_weakened(Location::caller(), slot) { Relaxed } else { order }
}

/// Executes a fence, unless the environment says to leave it out.
#[track_caller]
pub fn fence(order: Ordering) {
    if !is_weakened(Location::caller(), FIRST) {
        checker::fence(order);
    }
}

/// One atomic, with the operations that this project uses.
macro_rules! atomic {
    ($(#[$what:meta])* $name:ident $(<$generic:ident>)?, $value:ty, $($update:ident)*) => {
        $(#[$what])*
        pub struct $name $(<$generic>)? (checker::$name $(<$generic>)?);

        impl $(<$generic>)? $name $(<$generic>)? {
            /// Creates an atomic.
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self(checker::$name::new(value))
            }

            /// Reads the value.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(weakened(order, FIRST))
            }

            /// Writes a value.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, weakened(order, FIRST));
            }

            /// Writes a value and returns the value before.
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                self.0.swap(value, weakened(order, FIRST))
            }

            /// Writes `new` if the value is `current`.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let (success, failure) = (weakened(success, FIRST), weakened(failure, FAILURE));
                self.0.compare_exchange(current, new, success, failure)
            }

            $(
                /// Updates the value and returns the value before.
                #[track_caller]
                pub fn $update(&self, value: $value, order: Ordering) -> $value {
                    self.0.$update(value, weakened(order, FIRST))
                }
            )*
        }
    };
}

macro_rules! integers {
    ($($name:ident $value:ty;)*) => {
        $(atomic! {
            /// An integer.
            #[derive(Debug, Default)]
            $name, $value, fetch_add fetch_sub fetch_and fetch_or fetch_min
        })*
    };
}

integers! {
    AtomicU32 u32;
    AtomicU64 u64;
    AtomicUsize usize;
    AtomicIsize isize;
}

atomic! {
    /// A flag.
    #[derive(Debug, Default)]
    AtomicBool, bool, fetch_and fetch_or
}

atomic! {
    /// A pointer.
    AtomicPtr<T>, *mut T,
}

impl AtomicU64 {
    /// Gives access to the value, which no other thread uses.
    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut u64) -> R) -> R {
        self.0.with_mut(f)
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(core::ptr::null_mut())
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

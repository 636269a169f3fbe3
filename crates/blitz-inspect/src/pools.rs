//! The pools that are shown, by name.

use crate::token::Token;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The data of a pool. Each method is called while the pool works, or hangs, so it must not wait
/// for a worker.
///
/// JSON texts are the fields of an object, without its braces; the server adds more fields.
pub trait Source: Send + Sync {
    /// A number that no other pool has while this value exists.
    fn id(&self) -> usize;
    /// Whether the pool has ended.
    fn is_over(&self) -> bool;
    /// The fields of `/api/v1/summary`.
    fn summary(&self) -> String;
    /// The fields of `/api/v1/workers`.
    fn workers(&self) -> String;
    /// The fields of `/api/v1/tasks`, with `limit` tasks at most.
    fn tasks(&self, limit: usize) -> String;
    /// The fields of `/api/v1/stalls`.
    fn stalls(&self) -> String;
    /// The fields of `/api/v1/explain`.
    fn explain(&self) -> String;
    /// The fields of `/api/v1/probe`, which polls tasks to see where they wait.
    fn probe(&self) -> String;
    /// The fields of `/api/v1/timeline`: the last `seconds` for the page.
    fn timeline(&self, seconds: f64) -> String;
    /// The last `seconds` in the format of a tool.
    fn trace(&self, seconds: f64, format: TraceFormat) -> Vec<u8>;
    /// Metrics as text, with the label `pool`.
    fn metrics(&self, pool: &str, per_worker: bool, format: MetricsFormat) -> String;
}

/// Formats of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Perfetto's.
    Perfetto,
    /// JSON, as Chrome and the Firefox Profiler read it.
    Chrome,
}

/// Formats of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// Text 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

/// The pools that a server shows. Clones share them.
#[derive(Clone, Default)]
pub struct Pools {
    shown: Arc<Mutex<Vec<Shown>>>,
    viewer: Viewer,
}

#[derive(Clone)]
struct Shown {
    name: Arc<str>,
    source: Arc<dyn Source>,
    /// The tokens of the pages that show the pool. If the list contains `None`, all pages show it.
    /// The user's own tools always see it.
    pages: Vec<Option<Token>>,
}

/// Which clients see the pools.
#[derive(Clone, Default, PartialEq, Eq)]
enum Viewer {
    /// The user's own tools, or the program itself: they see each pool.
    #[default]
    Own,
    /// Clients of a page. They have shown this token, if there is one.
    Page(Option<Token>),
}

impl Pools {
    /// Shows a pool under `name`, or `name-2` and so on if another pool has the name. Returns the
    /// name. A pool that is shown already keeps its name.
    pub fn add(&self, name: &str, source: Arc<dyn Source>) -> Arc<str> {
        let id = source.id();
        let name = self.add_for_tools(name, source);
        self.show_on_pages(id, None);
        name
    }

    /// Shows a pool to the user's tools only, until a page shows it. Names it as `add` does.
    pub(crate) fn add_for_tools(&self, name: &str, source: Arc<dyn Source>) -> Arc<str> {
        self.forget_ended();
        let mut pools = self.lock();
        let id = source.id();
        if let Some(shown) = pools.iter().find(|shown| shown.source.id() == id) {
            return shown.name.clone();
        }
        let name = free_name(&pools, id, name);
        pools.push(Shown { name: name.clone(), source, pages: Vec::new() });
        name
    }

    /// Also shows the pool with this `id` on pages that ask for `token`, or on all pages.
    pub(crate) fn show_on_pages(&self, id: usize, token: Option<Token>) {
        let mut pools = self.lock();
        let shown = pools.iter_mut().find(|shown| shown.source.id() == id);
        if let Some(shown) = shown.filter(|shown| !shown.pages.contains(&token)) {
            shown.pages.push(token);
        }
    }

    /// Shows the pool with this `id` under `name`, or `name-2` and so on.
    pub(crate) fn rename(&self, id: usize, name: &str) {
        let mut pools = self.lock();
        let name = free_name(&pools, id, name);
        if let Some(shown) = pools.iter_mut().find(|shown| shown.source.id() == id) {
            shown.name = name;
        }
    }

    /// Returns the same pools, for clients of a page. If the page has a `token`, the clients have
    /// shown it.
    pub(crate) fn for_page(&self, token: Option<Token>) -> Pools {
        Pools { shown: self.shown.clone(), viewer: Viewer::Page(token) }
    }

    /// The names of the pools that the viewer may see and that have not ended, the oldest first.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.alive().into_iter().map(|shown| shown.name).collect()
    }

    /// The pool of this name, or the oldest one.
    pub(crate) fn find(&self, name: Option<&str>) -> Option<(Arc<str>, Arc<dyn Source>)> {
        let mut alive = self.alive().into_iter();
        let found = alive.find(|shown| name.is_none_or(|name| *shown.name == *name));
        found.map(|shown| (shown.name, shown.source))
    }

    /// Returns the pools that the viewer may see and that have not ended.
    fn alive(&self) -> Vec<Shown> {
        let is_seen = |shown: &Shown| match &self.viewer {
            Viewer::Own => true,
            Viewer::Page(token) => {
                shown.pages.iter().any(|wanted| wanted.is_none() || wanted == token)
            }
        };
        self.forget_ended().into_iter().filter(is_seen).collect()
    }

    /// Returns all pools that have not ended, and forgets the others.
    fn forget_ended(&self) -> Vec<Shown> {
        // `is_over` is not called under the lock: a source may drop the last reference to its pool,
        // which drops closures of the user.
        let shown = self.lock().clone();
        let (over, alive): (Vec<_>, Vec<_>) =
            shown.into_iter().partition(|shown| shown.source.is_over());
        if !over.is_empty() {
            let is_over =
                |shown: &Shown| over.iter().any(|over| over.source.id() == shown.source.id());
            self.lock().retain(|shown| !is_over(shown));
        }
        alive
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns `name`, or `name-2` and so on if a pool other than `id` has the name.
fn free_name(pools: &[Shown], id: usize, name: &str) -> Arc<str> {
    let is_free =
        |name: &str| pools.iter().all(|shown| &*shown.name != name || shown.source.id() == id);
    let mut numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = if is_free(name) { None } else { numbered.find(|name| is_free(name)) };
    free.as_deref().unwrap_or(name).into()
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pools").field(&self.names()).finish()
    }
}

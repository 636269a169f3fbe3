//! Shows pools on a page: the page's data, and the settings that turn it on.
//!
//! `blitz-inspect` has the server, which does not depend on pools. The server refers to a pool
//! only weakly, so the page does not keep the pool alive.

#![forbid(unsafe_code)]

mod summary;
mod system;
mod tasks;
mod timeline;
mod workers;

use super::handle::Handle;
use super::metrics::PoolMetrics;
use super::pool::Pool;
use super::trace::Trace;
use super::unfinished::Unfinished;
use crate::base::BuildError;
use crate::base::panic::say;
use crate::team::Team;
pub use blitz_inspect::{Inspect, Page, Token, pages, tool_folder, tool_socket};
use blitz_inspect::{MetricsFormat, Source, TraceFormat};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The page settings of a builder.
#[derive(Default)]
pub(super) struct Wish {
    settings: Option<Inspect>,
    is_global: bool,
    is_from_env: bool,
}

impl Wish {
    /// Requests that the pool is shown with `settings`.
    pub(super) fn ask(&mut self, settings: Inspect) {
        self.settings = Some(settings);
    }

    pub(super) fn is_for_global(&mut self) {
        self.is_global = true;
    }

    /// Adds the settings of the environment, and checks everything that can be checked before the
    /// pool exists.
    pub(super) fn checked(mut self) -> Result<Wish, BuildError> {
        if self.settings.is_none() {
            self.settings = blitz_inspect::from_env().map_err(BuildError::inspect)?;
            self.is_from_env = true;
        }
        if let Some(settings) = &self.settings {
            settings.check().map_err(BuildError::inspect)?;
        }
        Ok(self)
    }

    /// Shows the new pool, if the settings ask for it.
    pub(super) fn fulfil(self, pool: &Handle) -> Result<(), BuildError> {
        let Some(settings) = self.settings else { return Ok(()) };
        let (name, before) = (if self.is_global { "global" } else { "pool" }, pages().len());
        match pool.show(&settings, name) {
            Ok(Some(page)) if self.is_from_env && pages().len() > before => {
                say(&format!("inspect process {} at {}", std::process::id(), page.url()));
            }
            Ok(_) => {}
            // Other programs that inherit the variable must still work when the port is taken.
            Err(error) if self.is_from_env => say(&format!(
                "BLITZ_INSPECT: {error}; the pool goes on without a page. Choose another port, or 0 \
                 for any that is free"
            )),
            Err(error) => return Err(BuildError::inspect(error)),
        }
        Ok(())
    }
}

impl Handle {
    /// Shows this pool on a page: see [`PoolBuilder::inspect`](crate::PoolBuilder::inspect).
    ///
    /// Returns the page, unless the settings are for [tools only](Inspect::tools_only). A later
    /// call may add a page. It renames the pool if the settings of that call have a name.
    ///
    /// ```
    /// use blitz::inspect::Inspect;
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// let page = pool.handle().inspect(Inspect::at("127.0.0.1:0").name("api")).unwrap();
    /// assert_ne!(page.unwrap().address().port(), 0);
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the address cannot be used, or if other machines can reach it and there is no token. Also
    /// fails if another pool has opened the page there with another token, or without one of the
    /// host names in the settings. Without an address: if the socket for tools cannot be served.
    pub fn inspect(&self, settings: impl Into<Inspect>) -> io::Result<Option<Page>> {
        self.show(&settings.into(), "pool")
    }

    fn show(&self, settings: &Inspect, name: &str) -> io::Result<Option<Page>> {
        blitz_inspect::show(settings, name, Arc::new(Watched(self.team().weak())))
    }
}

impl Pool {
    /// Works like [`Handle::inspect`].
    ///
    /// ```
    /// let pool = blitz::Pool::builder().workers(1).build()?;
    /// assert!(pool.inspect("127.0.0.1:0").unwrap().is_some());
    /// # Ok::<(), blitz::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Handle::inspect`] does.
    pub fn inspect(&self, settings: impl Into<Inspect>) -> io::Result<Option<Page>> {
        self.handle().inspect(settings)
    }
}

/// A pool that is shown.
struct Watched(Weak<Team>);

impl Watched {
    /// Reads the pool, unless it is gone.
    fn read<R: Default>(&self, read: impl FnOnce(&Team) -> R) -> R {
        self.0.upgrade().map(|team| read(&team)).unwrap_or_default()
    }
}

impl Source for Watched {
    fn id(&self) -> usize {
        // The reference keeps the address, even if the pool is gone.
        self.0.as_ptr().addr()
    }

    fn is_over(&self) -> bool {
        self.0.upgrade().is_none_or(|team| Unfinished::of(&team).is_empty())
    }

    fn summary(&self) -> String {
        self.read(summary::fields)
    }

    fn workers(&self) -> String {
        self.read(workers::fields)
    }

    fn tasks(&self, limit: usize) -> String {
        self.read(|team| tasks::fields(team, limit))
    }

    fn stalls(&self) -> String {
        self.read(tasks::stalls)
    }

    fn explain(&self) -> String {
        self.read(tasks::explain)
    }

    fn probe(&self) -> String {
        self.read(tasks::probe)
    }

    fn timeline(&self, seconds: f64) -> String {
        self.read(|team| timeline::fields(&Trace::of(team, Duration::from_secs_f64(seconds))))
    }

    fn trace(&self, seconds: f64, format: TraceFormat) -> Vec<u8> {
        self.read(|team| {
            let trace = Trace::of(team, Duration::from_secs_f64(seconds));
            match format {
                TraceFormat::Perfetto => trace.to_perfetto(),
                TraceFormat::Chrome => trace.to_chrome_json().into_bytes(),
            }
        })
    }

    fn metrics(&self, pool: &str, per_worker: bool, format: MetricsFormat) -> String {
        self.read(|team| {
            let metrics = PoolMetrics::of(team);
            let text = metrics.exposition().pool(pool).per_worker(per_worker);
            match format {
                MetricsFormat::Prometheus => text.to_prometheus(),
                MetricsFormat::OpenMetrics => text.to_open_metrics(),
            }
        })
    }
}

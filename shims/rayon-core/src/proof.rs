//! Shows that a program really ran on this core: if `BLITZ_SHIM_PROOF` names a file, a line with
//! the pools' counters is appended to it when the process ends.

use blitz_core::{Pool, PoolMetrics};
use std::ffi::{OsString, c_int};
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The counters of all pools of this process.
#[derive(Default)]
struct Tally {
    pools: u64,
    global: bool,
    workers: u64,
    jobs: u64,
    pushes: u64,
    steals: u64,
    parks: u64,
}

static TALLY: Mutex<Tally> = Mutex::new(Tally {
    pools: 0,
    global: false,
    workers: 0,
    jobs: 0,
    pushes: 0,
    steals: 0,
    parks: 0,
});

impl Tally {
    fn add(&mut self, metrics: &PoolMetrics) {
        let total = metrics.total();
        self.workers += metrics.workers.len() as u64;
        self.jobs += total.jobs;
        self.pushes += total.pushes;
        self.steals += total.steals_succeeded;
        self.parks += total.parks;
    }
}

/// The file, if one is wanted.
fn file() -> Option<&'static OsString> {
    static FILE: OnceLock<Option<OsString>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let name = std::env::var_os("BLITZ_SHIM_PROOF")?;
        // SAFETY: the declaration matches that of the C library, and so does the function that is
        // passed.
        (unsafe { atexit(write_down) } == 0).then_some(name)
    });
    file.as_ref()
}

unsafe extern "C" {
    fn atexit(then: extern "C" fn()) -> c_int;
}

fn with_tally(f: impl FnOnce(&mut Tally)) {
    if file().is_some() {
        f(&mut TALLY.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

pub(crate) fn pool_started() {
    with_tally(|tally| tally.pools += 1);
}

/// A pool is about to be dropped.
pub(crate) fn pool_ends(pool: &Pool) {
    with_tally(|tally| tally.add(&pool.metrics()));
}

/// The global pool exists, or is about to.
pub(crate) fn global_started() {
    with_tally(|tally| {
        tally.pools += 1;
        tally.global = true;
    });
}

/// Called when the process ends.
extern "C" fn write_down() {
    let mut tally = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    if tally.global {
        if let Ok(pool) = blitz_core::global() {
            tally.add(&pool.metrics());
        }
    }
    let Tally { pools, workers, jobs, pushes, steals, parks, .. } = *tally;
    let program = std::env::args_os().next().map(std::path::PathBuf::from);
    let program = program.as_deref().and_then(std::path::Path::file_name).unwrap_or_default();
    let line = format!(
        "blitz program={} pools={pools} workers={workers} jobs={jobs} pushes={pushes} \
         steals={steals} parks={parks}\n",
        program.to_string_lossy().replace(' ', "_"),
    );
    // The process ends, so there is no caller that could get an error of the write.
    let _ = file()
        .and_then(|file| File::options().create(true).append(true).open(file).ok())
        .map(|mut file| file.write_all(line.as_bytes()));
}

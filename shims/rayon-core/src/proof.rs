//! Proves that a program ran on this `rayon-core` and not on Rayon's: if `BLITZ_SHIM_PROOF` names a
//! file, the process appends a line with its pools' counters to that file when it ends.

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

/// Returns the name of the file, if there is one. The first call registers `write_down`.
fn file() -> Option<&'static OsString> {
    static FILE: OnceLock<Option<OsString>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let name = std::env::var_os("BLITZ_SHIM_PROOF")?;
        // SAFETY: `atexit` is declared as in the C library, and `write_down` has the signature that
        // it expects.
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

/// Called when a pool is about to be dropped.
pub(crate) fn pool_ends(pool: &Pool) {
    with_tally(|tally| tally.add(&pool.metrics()));
}

/// Called when the global pool has been built, or is about to be.
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
    // The process ends, so there is no caller to return an error to.
    let _ = file()
        .and_then(|file| File::options().create(true).append(true).open(file).ok())
        .map(|mut file| file.write_all(line.as_bytes()));
}

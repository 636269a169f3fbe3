//! The random mix: round after round, each derived from a seed, until the time is up or something
//! breaks.

mod curtain;
mod io;
mod jobs;
mod locals;
mod meet;
mod panics;
pub mod round;
mod run;
mod sets;
mod spawns;
mod stage;
mod timers;
mod wakers;

use crate::os;
use crate::plan::{Plan, Planned};
use crate::watch;
use round::Score;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How often the mix prints its progress.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
/// After this many rounds the number of open descriptors does not grow any more.
const WARM_UP: u64 = 20;
/// How many more may be open later: other threads of the program open some from time to time.
const SPARE_DESCRIPTORS: usize = 16;

/// The settings of the mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// The seed of the first round. The seed of each further round is one higher.
    pub seed: u64,
    /// How long to play.
    pub time: Duration,
    /// The largest number of rounds.
    pub rounds: u64,
    /// How long the mix may make no progress before the watchdog aborts it.
    pub patience: Duration,
}

/// Plays rounds; prints progress, and the seed of the round that broke.
#[must_use]
pub fn play(mix: Mix) -> ExitCode {
    println!("mix: from seed {} for {} s", mix.seed, mix.time.as_secs());
    silence_planned_panics();
    let folder = match folder() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("attack: no folder for files: {error}");
            return ExitCode::from(2);
        }
    };
    // This starts the thread of `outside`, so that it is among the threads that are counted below.
    jobs::outside(|| ());
    watch::start(mix.patience);
    let threads = os::threads();
    let begin = Instant::now();
    let (mut shown, mut all, mut rounds, mut open) = (begin, Score::default(), 0, None);
    while rounds < mix.rounds && (rounds == 0 || begin.elapsed() < mix.time) {
        let plan = Plan::new(mix.seed.wrapping_add(rounds));
        let mut played = round::play(&plan, &folder, threads);
        rounds += 1;
        if rounds == WARM_UP {
            open = os::descriptors();
        }
        if let (Some(before), Some(now)) = (open, os::descriptors()) {
            if now > before + SPARE_DESCRIPTORS {
                played = Err(vec![format!("{now} descriptors are open, not {before}")]);
            }
        }
        match played {
            Ok(score) => {
                all.workers += score.workers;
                all.tickets += score.tickets;
            }
            Err(complaints) => {
                eprintln!("\nattack: FAILED in round {rounds}\n{}", round::describe(&plan));
                complaints.iter().take(50).for_each(|complaint| eprintln!("  {complaint}"));
                eprintln!("{} complaints", complaints.len());
                return ExitCode::FAILURE;
            }
        }
        if shown.elapsed() > SIGN_OF_LIFE {
            shown = Instant::now();
            report(begin, rounds, &all);
        }
    }
    report(begin, rounds, &all);
    let _ = std::fs::remove_dir_all(folder);
    ExitCode::SUCCESS
}

fn report(begin: Instant, rounds: u64, all: &Score) {
    let (seconds, done) = (begin.elapsed().as_secs(), watch::done());
    let Score { workers, tickets } = all;
    println!(
        "mix: {seconds:>4} s  {rounds} rounds  {done} operations  {workers} workers  {tickets} tickets"
    );
}

fn folder() -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("blitz-attack-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Prints no message for planned panics, which would fill the screen, and none for the panic of a
/// `join_all` that the end of its runtime interrupts.
fn silence_planned_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let payload = info.payload();
        let interrupted =
            payload.downcast_ref::<String>().is_some_and(|text| text.starts_with("join_all needs"));
        if !payload.is::<Planned>() && !interrupted {
            usual(info);
        }
    }));
}

//! Checks that each ordering is needed: weakens one at a time and runs the models that reach it.

pub mod accepted;
mod changed;
pub mod sites;
pub mod table;
mod trial;

use crate::tree::{Tree, root};
use sites::{SOURCES, Site};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use trial::{Extent, Model, Models, Outcome};

/// How long `--changed` may take, the build not counted.
const BUDGET: Duration = Duration::from_secs(4 * 60);
/// How long a model may take without an ordering; most take seconds.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// What to try.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The protocols whose sites are tried; none means all protocols.
    folders: Vec<String>,
    /// If given, only sites that have this text in their names are tried.
    only: Option<String>,
    /// Whether to try only protocols that differ from the main branch, within [`BUDGET`].
    changed: bool,
    /// Whether to run only models of the site's own folder, for a first impression. Then the table
    /// stays as it is.
    own: bool,
    /// Whether to try also sites for which a reason is listed.
    listed: bool,
    /// How many models run at once.
    jobs: Option<usize>,
}

/// The result for a site without its ordering.
enum Verdict {
    /// This model fails, for this reason.
    Killed { model: String, why: String },
    /// Every model that reaches the site passes. This is their number.
    Survived { models: usize },
    /// No model reaches the site.
    Unreached,
    /// This model did not end in time, and no model fails.
    TimedOut { model: String },
    /// The list gives a reason, so the site was not tried.
    Accepted,
    /// The time was over. `doubtful` means that the model in the table passes without the ordering.
    Untried { doubtful: bool },
}

impl Options {
    /// Parses the options in `words`; none if they are not valid.
    pub fn parse(words: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--changed" => options.changed = true,
                "--own" => options.own = true,
                "--listed" => options.listed = true,
                "--only" => options.only = Some((*words.next()?).to_owned()),
                "--jobs" => options.jobs = Some(words.next()?.parse().ok().filter(|n| *n > 0)?),
                word if word.starts_with('-') => return None,
                folder => options.folders.push(folder.trim_end_matches('/').to_owned()),
            }
        }
        Some(options)
    }

    /// Whether the site is one to try, where `changed` folders differ from the main branch.
    fn chooses(&self, site: &Site, changed: &BTreeSet<String>) -> bool {
        let folder = self.folders.is_empty() || self.folders.contains(&site.folder);
        let only = self.only.as_ref().is_none_or(|text| site.key().contains(text));
        folder && only && (!self.changed || changed.contains(&site.folder))
    }
}

/// Tries the sites that `options` select; returns whether every ordering is needed.
pub fn run(options: &Options) -> io::Result<bool> {
    let tree = Tree::load(&root())?;
    let all = sites::find(&tree).map_err(|unclear| {
        let lines = unclear.iter().map(|u| format!("{}:{}: {}", u.path, u.line + 1, u.message));
        io::Error::other(lines.collect::<Vec<_>>().join("\n"))
    })?;
    if let Some(unknown) = options.folders.iter().find(|f| all.iter().all(|s| s.folder != **f)) {
        return Err(io::Error::other(format!("{unknown} has no ordering")));
    }
    let changed = match options.changed.then(changed::folders).transpose() {
        Ok(changed) => changed.unwrap_or_default(),
        Err(why) if changed::is_checkout() => return Err(why),
        Err(why) => {
            println!("skipped, because the changes are not known: {why}");
            return Ok(true);
        }
    };
    let chosen: Vec<&Site> = all.iter().filter(|site| options.chooses(site, &changed)).collect();
    if chosen.is_empty() {
        println!("no ordering to try");
        return Ok(true);
    }
    let models = Models::build()?;
    let page = Page::open(&all, !options.changed && !options.own);
    let court = Court {
        models: &models,
        page: &page,
        own: options.own,
        listed: options.listed,
        deadline: options.changed.then(|| Instant::now() + BUDGET),
    };
    let found = court.judge_all(&chosen, options.jobs)?;
    let mut fine = reaches_only_known(&models, &all, &tree);
    for (site, verdict) in chosen.iter().zip(&found) {
        if let Some(problem) = verdict.problem(site) {
            println!("{}: {}: {problem}", site.folder, site.key());
            fine = false;
        }
    }
    summary(&found);
    Ok(fine)
}

/// The table, which is written after each site: a run may be ended at any time.
struct Page<'a> {
    sites: &'a [Site],
    verdicts: Mutex<table::Verdicts>,
    is_written: bool,
}

impl Page<'_> {
    fn open(sites: &[Site], is_written: bool) -> Page<'_> {
        let text = fs::read_to_string(root().join(table::PATH)).unwrap_or_default();
        Page { sites, verdicts: Mutex::new(table::verdicts(&text)), is_written }
    }

    /// The model that has killed `site` in an earlier run.
    fn killer(&self, site: &Site) -> Option<String> {
        let verdicts = self.verdicts.lock().ok()?;
        let verdict = verdicts.get(&(site.folder.clone(), site.key()))?;
        table::killer(verdict).map(str::to_owned)
    }

    fn note(&self, site: &Site, verdict: &Verdict) -> io::Result<()> {
        let Some(text) = verdict.in_table(site) else { return Ok(()) };
        let Ok(mut verdicts) = self.verdicts.lock() else { return Ok(()) };
        verdicts.insert((site.folder.clone(), site.key()), text);
        if self.is_written {
            fs::write(root().join(table::PATH), table::render(self.sites, &verdicts))?;
        }
        Ok(())
    }
}

/// Which models are tried, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// Models of the site's folder that reach the site in their first executions.
    Own,
    /// Models of the site's folder that reach the site in any execution. They are tried only if no
    /// model of the folder reaches the site in its first executions.
    OwnAgain,
    /// Models of other folders that reach the site in their first executions.
    Others,
}

/// Tries sites. Each job tries one site at a time.
struct Court<'a> {
    models: &'a Models,
    page: &'a Page<'a>,
    own: bool,
    listed: bool,
    deadline: Option<Instant>,
}

impl Court<'_> {
    fn judge_all(&self, sites: &[&Site], jobs: Option<usize>) -> io::Result<Vec<Verdict>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let work = || -> io::Result<()> {
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    let Some(site) = sites.get(index) else { return Ok(()) };
                    let begin = Instant::now();
                    let verdict = self.judge(site)?;
                    let seconds = begin.elapsed().as_secs_f64();
                    let count = format!("[{}/{}]", index + 1, sites.len());
                    let name = format!("{}: {}", site.folder, site.key());
                    println!("{count} {name}: {} ({seconds:.1} s)", verdict.describe());
                    self.page.note(site, &verdict)?;
                    if let Ok(mut found) = found.lock() {
                        found.push((index, verdict));
                    }
                }
            };
            let workers: Vec<_> =
                (0..jobs.unwrap_or(cores).max(1)).map(|_| scope.spawn(work)).collect();
            let mut ends = workers.into_iter().map(|worker| worker.join());
            ends.try_for_each(|end| {
                end.unwrap_or_else(|_| Err(io::Error::other("a trial panicked")))
            })
        })?;
        let mut found = found.into_inner().map_err(|_| io::Error::other("a trial panicked"))?;
        found.sort_by_key(|(index, _)| *index);
        Ok(found.into_iter().map(|(_, verdict)| verdict).collect())
    }

    fn judge(&self, site: &Site) -> io::Result<Verdict> {
        if !self.listed && accepted::reason(&site.folder, &site.key()).is_some() {
            return Ok(Verdict::Accepted);
        }
        let hint = self.page.killer(site);
        let hint = self.models.tests.iter().find(|model| hint.as_ref() == Some(&model.name));
        let mut doubtful = false;
        if let Some(model) = hint {
            match self.weaken(&model.name, site)? {
                Outcome::Passed => doubtful = true,
                Outcome::Failed(why) => {
                    return Ok(Verdict::Killed { model: model.name.clone(), why });
                }
                Outcome::TimedOut => {}
            }
        }
        let mut late = None;
        let mut tried: BTreeSet<&str> = hint.iter().map(|model| &*model.name).collect();
        let mut has_own = false;
        for round in [Round::Own, Round::OwnAgain, Round::Others] {
            let is_left_out = match round {
                Round::Own => false,
                Round::OwnAgain => has_own,
                Round::Others => self.own,
            };
            if is_left_out {
                continue;
            }
            for model in self.candidates(site, round) {
                has_own |= round == Round::Own;
                if self.is_over() {
                    return Ok(Verdict::Untried { doubtful });
                }
                if !tried.insert(&*model.name) {
                    continue;
                }
                match self.weaken(&model.name, site)? {
                    Outcome::Passed => {}
                    Outcome::Failed(why) => {
                        return Ok(Verdict::Killed { model: model.name.clone(), why });
                    }
                    Outcome::TimedOut => late = Some(model.name.clone()),
                }
            }
        }
        Ok(match late {
            _ if self.is_over() => Verdict::Untried { doubtful },
            Some(model) => Verdict::TimedOut { model },
            None if tried.is_empty() => Verdict::Unreached,
            None => Verdict::Survived { models: tried.len() },
        })
    }

    /// The models that reach the site; the fastest first.
    fn candidates(&self, site: &Site, round: Round) -> Vec<&Model> {
        let own = round != Round::Others;
        let extent = if round == Round::OwnAgain { Extent::Whole } else { Extent::Glance };
        let models = self.models.tests.iter().filter(|model| model.is_of(&site.folder) == own);
        let models = models.filter(|_| !self.is_over());
        let mut found: Vec<_> =
            models.filter(|model| self.models.reach(model, extent).has(&site.place)).collect();
        found.sort_by_key(|model| self.models.reach(model, extent).took);
        found
    }

    fn weaken(&self, model: &str, site: &Site) -> io::Result<Outcome> {
        let left = self.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        self.models.weaken(model, &site.place, left.map_or(LIMIT, |left| left.min(LIMIT)))
    }

    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}

impl Verdict {
    fn describe(&self) -> String {
        match self {
            Verdict::Killed { model, why } => format!("KILLED by {model}: {why}"),
            Verdict::Survived { models } => format!("SURVIVED {models} models"),
            Verdict::Unreached => "UNREACHED".into(),
            Verdict::TimedOut { model } => format!("TIMEOUT in {model}"),
            Verdict::Accepted => "listed".into(),
            Verdict::Untried { doubtful: false } => "not tried, the time is over".into(),
            Verdict::Untried { doubtful: true } => "DOUBTFUL, the time is over".into(),
        }
    }

    /// The new text for the table, if it changes.
    fn in_table(&self, site: &Site) -> Option<String> {
        let how = match self {
            Verdict::Killed { model, .. } => return Some(table::killed_by(model)),
            Verdict::Survived { .. } | Verdict::Accepted => "survives",
            Verdict::Unreached => "in no model",
            Verdict::TimedOut { .. } => "timed out",
            Verdict::Untried { .. } => return None,
        };
        Some(match accepted::reason(&site.folder, &site.key()) {
            Some(reason) => format!("listed: {reason}"),
            None => format!("**{how}**"),
        })
    }

    /// The problem, if there is one.
    fn problem(&self, site: &Site) -> Option<&'static str> {
        let is_listed = accepted::reason(&site.folder, &site.key()).is_some();
        match self {
            Verdict::Killed { .. } if is_listed => Some("listed as accepted, but a model needs it"),
            Verdict::Survived { .. } | Verdict::Unreached | Verdict::TimedOut { .. }
                if !is_listed =>
            {
                Some("no model needs this ordering, and no reason is listed")
            }
            Verdict::Untried { doubtful: true } => Some(
                "the model that needed this ordering passes without it; retry without --changed",
            ),
            _ => None,
        }
    }
}

/// Checks that each ordering that a model reached was also found in the source.
fn reaches_only_known(models: &Models, sites: &[Site], tree: &Tree) -> bool {
    let known: BTreeSet<&str> = sites.iter().flat_map(|site| site.place.split(',')).collect();
    let reached = models.tests.iter().flat_map(Model::reached).collect::<BTreeSet<_>>();
    let mut fine = true;
    for place in reached.iter().filter(|place| !known.contains(place.as_str())) {
        let mut parts = place.split(':');
        let path = format!("{SOURCES}{}", parts.next().unwrap_or_default());
        let line = parts.next().and_then(|line| line.parse::<usize>().ok()).unwrap_or(1);
        if tree.file(&path).is_some_and(|file| !file.is_test(line - 1)) {
            println!("{place}: a model reaches an ordering here that was not found in the source");
            fine = false;
        }
    }
    fine
}

fn summary(found: &[Verdict]) {
    let count = |is: fn(&Verdict) -> bool| found.iter().filter(|verdict| is(verdict)).count();
    println!(
        "{} sites: {} killed, {} survived, {} in no model, {} timed out, {} not tried, {} listed",
        found.len(),
        count(|verdict| matches!(verdict, Verdict::Killed { .. })),
        count(|verdict| matches!(verdict, Verdict::Survived { .. })),
        count(|verdict| matches!(verdict, Verdict::Unreached)),
        count(|verdict| matches!(verdict, Verdict::TimedOut { .. })),
        count(|verdict| matches!(verdict, Verdict::Untried { .. })),
        count(|verdict| matches!(verdict, Verdict::Accepted)),
    );
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn options_are_understood() {
        let options = Options::parse(&["deque", "park/futex/", "--jobs", "1", "--only", "steal"]);
        let options = options.expect("all of them exist");
        assert_eq!(options.folders, ["deque", "park/futex"]);
        assert_eq!((options.jobs, options.only.as_deref()), (Some(1), Some("steal")));
        assert!(Options::parse(&["--changed"]).is_some_and(|options| options.changed));
        assert_eq!(Options::parse(&["--jobs", "0"]), None);
        assert_eq!(Options::parse(&["--other"]), None);
    }
}

//! Dumps the state of a pool as data, text and JSON, to find out why it hangs.

#![forbid(unsafe_code)]

pub(in crate::door) mod json;
mod text;

use super::metrics::WorkerMetrics;
use super::task_refs::references;
use crate::state::Scheduler;
use crate::task::Id;
use crate::team::Team;
use crate::team::Worker;
use blitz_parts::bitmap::{Bitmap, Position, SummaryTree};
use blitz_parts::task::TaskRef;
use std::panic::Location;
use std::sync::Arc;

/// The state of a pool, for example for a watchdog. It is read piece by piece while the pool works.
///
/// [`Display`](std::fmt::Display) writes it for people, [`to_json`](Dump::to_json) for programs.
///
/// ```
/// let pool = blitz::Pool::builder().workers(2).build().unwrap();
/// let dump = pool.dump();
/// assert_eq!(dump.workers.len(), 2);
/// assert!(dump.to_string().contains("worker 1"));
/// assert!(dump.to_json().starts_with("{\"scheduler\":\"stealing\""));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dump {
    /// The scheduler of the pool.
    pub scheduler: Scheduler,
    /// Workers that are registered as sleepers.
    pub sleeping: usize,
    /// Workers that run nothing, including those that sleep.
    pub inactive: usize,
    /// Whether every worker sleeps, not counting resting spares. Then the pool is idle.
    pub all_sleep: bool,
    /// The jobs event counter. A worker that gets sleepy makes it even, posted work makes it odd.
    pub jec: u32,
    /// Reasons for the pool to go on: its handle, spawned jobs and closures, calls of other threads
    /// that wait for jobs, and shielded sections.
    pub alive: usize,
    /// Reasons for tasks to be polled: the handle, and shielded sections.
    pub task_holds: usize,
    /// Whether the workers are ending.
    pub stopping: bool,
    /// Whether jobs from outside wait.
    pub injected: bool,
    /// Runnable tasks that no worker has.
    pub queued: usize,
    /// Whether the watch looks for stuck workers, or the pool needs no watch.
    pub watch: bool,
    /// The signal tree, if the pool has one.
    pub signal: Option<SignalDump>,
    /// Each worker.
    pub workers: Vec<WorkerDump>,
    /// Tasks that have waited at least once and have not ended, and tasks with a slot in the signal
    /// tree.
    pub tasks: Vec<TaskDump>,
}

/// The state of a signal tree.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SignalDump {
    /// Wake-ups that no worker has taken yet: 0 when the pool is idle.
    pub permits: usize,
    /// Workers that count as sleepers: all workers in service when the pool is idle.
    pub sleepers: usize,
    /// The roots of the tree. If bit l of word r is set, leaf 64 r + l may have runnable tasks.
    pub roots: Vec<u64>,
    /// The leaves of the tree. If bit w of a leaf is set, signal word w may have runnable tasks.
    pub leaves: Vec<u64>,
    /// The worker that searches each leaf first.
    pub owners: Vec<usize>,
}

/// The state of one worker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerDump {
    /// Its index.
    pub index: usize,
    /// Whether it may run work: false for a spare that rests until the pool calls it.
    pub in_service: bool,
    /// Whether its seat was given away: it is blocked, is inside of `block_in_place`, or computes
    /// for so long that another thread may run beside it.
    pub seat_lost: bool,
    /// Its word: UNSET, SLEEPY, SLEEPING or SET.
    pub word: &'static str,
    /// Whether its bit in the set of sleepers is set.
    pub parked: bool,
    /// Its jobs, as text.
    pub deque: String,
    /// Whether jobs that were posted to it wait.
    pub mail: bool,
    /// Its tasks, as text.
    pub queues: String,
    /// Tasks in its own queues.
    pub queued: usize,
    /// In the signal scheduler: bit 0, it may have tasks that yielded; bit 1, its part of the tree
    /// had tasks when it last looked.
    pub status: Option<u64>,
    /// In the signal scheduler: the leaves of its part that had tasks when it last looked.
    pub partition_summary: Option<u64>,
    /// Its counters.
    pub metrics: WorkerMetrics,
}

/// The state of one task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskDump {
    /// Its id, if it has waited at least once.
    pub id: Option<Id>,
    /// The name that [`task::Builder`](crate::TaskBuilder) gave it, if it has waited at least once.
    pub name: Option<Arc<str>>,
    /// Its slot in the signal tree: leaf, signal word, bit, and how many tasks had the slot before.
    pub slot: Option<(usize, usize, usize, u32)>,
    /// IDLE, SCHEDULED, RUNNING or COMPLETE, and the flags of its word. For a task that has never
    /// waited: `SCHEDULED`, or `SCHEDULED or RUNNING` if that is not known.
    pub state: String,
    /// The type of its future, if it has waited at least once.
    pub type_name: Option<&'static str>,
    /// Where it was spawned, if it has waited at least once.
    pub site: Option<&'static Location<'static>>,
}

impl Dump {
    pub(in crate::door) fn of(team: &Team) -> Dump {
        let counts = team.sleep().counters().load();
        Dump {
            scheduler: team.tasks.scheduler(),
            sleeping: counts.sleeping(),
            inactive: counts.inactive(),
            all_sleep: team.sleep().all_sleep(),
            jec: counts.jec(),
            alive: team.life.holds(),
            task_holds: team.life.task_holds(),
            stopping: team.sleep().is_stopping(),
            injected: !team.injector().is_empty(),
            queued: team.tasks.len(),
            watch: team.watch.is_on(),
            signal: team.bitmap().map(|bitmap| SignalDump::of(bitmap.tree(), team)),
            workers: team.workers().map(|worker| WorkerDump::of(worker, team)).collect(),
            tasks: tasks(team),
        }
    }
}

impl SignalDump {
    fn of(tree: &SummaryTree, team: &Team) -> SignalDump {
        let leaves = tree.snapshot_leaves();
        let owner = |leaf| SummaryTree::compute_partition_owner(leaf, team.num_workers());
        SignalDump {
            permits: tree.permits(),
            sleepers: tree.sleepers(),
            roots: tree.snapshot_summary(),
            owners: (0..leaves.len()).map(owner).collect(),
            leaves,
        }
    }
}

impl WorkerDump {
    fn of(worker: &Worker, team: &Team) -> WorkerDump {
        let index = worker.index();
        let tasks = &worker.queues;
        let waker = tasks.bitmap.as_ref().map(|marks| &marks.waker);
        WorkerDump {
            index,
            in_service: worker.bed().serves(),
            seat_lost: worker.seat.is_lost(),
            word: worker.bed().core().state_name(),
            parked: team.sleep().parked_word(index / 64) >> (index % 64) & 1 != 0,
            deque: format!("{:?}", worker.deque),
            mail: worker.has_mail(),
            queues: format!("{tasks:?}"),
            queued: tasks.len(),
            status: waker.map(|waker| waker.status()),
            partition_summary: waker.map(|waker| waker.partition_summary()),
            metrics: WorkerMetrics::of(worker),
        }
    }
}

/// The tasks that the team knows. Those in slots are in the order of their slots.
fn tasks(team: &Team) -> Vec<TaskDump> {
    let waiting = references(team);
    let known = |task: &TaskRef, slot| TaskDump {
        id: Some(Id::of(task)),
        name: team.names.get(Id::of(task)),
        slot,
        state: task.state().to_string(),
        type_name: Some(task.type_name()),
        site: Some(task.site()),
    };
    match team.bitmap() {
        None => waiting.iter().map(|task| known(task, None)).collect(),
        Some(signals) => in_slots(signals, &waiting, known),
    }
}

/// The slot of a task, and how many tasks had it before.
type Slot = Option<(usize, usize, usize, u32)>;

fn in_slots(
    signals: &Bitmap,
    waiting: &[TaskRef],
    known: impl Fn(&TaskRef, Slot) -> TaskDump,
) -> Vec<TaskDump> {
    let mut by_address: Vec<_> = waiting.iter().map(|task| (task.address(), task)).collect();
    by_address.sort_unstable_by_key(|&(address, _)| address);
    let find = |address| {
        let at = by_address.binary_search_by_key(&address, |&(at, _)| at);
        at.ok().map(|at| by_address[at].1)
    };
    let of_tenant = |tenant: blitz_parts::bitmap::Tenant| {
        let Position { leaf, word, bit } = Position::of(tenant.id.place());
        let slot = Some((leaf, word, bit, tenant.id.generation()));
        match find(tenant.address) {
            Some(task) => known(task, slot),
            // The task has never waited, so only the tree and the worker that polls it know it.
            None => TaskDump {
                id: None,
                name: None,
                slot,
                state: if tenant.signalled { "SCHEDULED" } else { "SCHEDULED or RUNNING" }
                    .to_owned(),
                type_name: None,
                site: None,
            },
        }
    };
    signals.tenants().into_iter().map(of_tenant).collect()
}

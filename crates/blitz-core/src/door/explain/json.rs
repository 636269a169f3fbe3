//! An explanation as JSON.

#![forbid(unsafe_code)]

use super::{Explanation, WaitEdge, WaitKind, WaitingTask};
use crate::base::Id;
use crate::door::dump::json::{inner, list, object, string};

/// How many of the longest waits are written.
const OLDEST: usize = 100;
/// How many edges are written.
const EDGES: usize = 1_000;

impl Explanation {
    /// As one line of JSON: `verdict`, `cycles`, `never`, `behind`, `oldest`, `tasks`, `edges`.
    ///
    /// `cycles`, `never` and `behind` have ids, and `tasks` has the tasks of these ids. `oldest`
    /// has the tasks that have waited longest, each with its `waits`. `edges` has up to 1,000 waits
    /// of tasks and workers: `from`, `kind`, `target` if it is a task or a worker, and `detail`.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!("{{{}}}", self.json_fields())
    }

    /// The fields of that object.
    pub(in crate::door) fn json_fields(&self) -> String {
        let ids = |ids: &[Id]| list(ids.iter().map(id));
        let named = || self.cycles.iter().flatten().chain(&self.never).chain(&self.behind);
        let named = named().take(EDGES).filter_map(|&id| self.get(id));
        let waiting = self.tasks.iter().filter(|task| task.info().idle().is_some());
        inner([
            ("verdict", string(&self.verdict())),
            ("cycles", list(self.cycles.iter().map(|cycle| ids(cycle)))),
            ("never", ids(&self.never)),
            ("behind", ids(&self.behind)),
            ("oldest", list(waiting.take(OLDEST).map(WaitingTask::to_json))),
            ("tasks", list(named.map(WaitingTask::to_json))),
            ("edges", list(self.edges().take(EDGES))),
        ])
    }

    fn edges(&self) -> impl Iterator<Item = String> {
        let of_workers = self.workers.iter().map(|worker| {
            let (from, target) = (worker.index, worker.waits_for);
            object([
                ("from", string(&format!("worker {from}"))),
                ("kind", string(WaitKind::Latch.name())),
                ("target", string(&format!("worker {target}"))),
                ("detail", string(&format!("what worker {target} runs"))),
            ])
        });
        let of_tasks = self.tasks.iter().flat_map(|task| {
            let from = task.info().id();
            task.waits().iter().map(move |wait| edge(Some(from), wait))
        });
        of_workers.chain(of_tasks)
    }
}

fn id(id: &Id) -> String {
    string(&id.to_string())
}

impl WaitingTask {
    /// As one line of JSON: what [`TaskInfo::to_json`](crate::TaskInfo::to_json) writes, with its
    /// `waits`.
    ///
    /// A wait has `kind`, `target` if it is a task or a closure, and `detail`.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.info().json_with(list(self.waits().iter().map(|wait| edge(None, wait))))
    }
}

fn edge(from: Option<Id>, edge: &WaitEdge) -> String {
    let from = from.map(|from| ("from", id(&from)));
    let kind = [("kind", string(edge.kind().name()))];
    let target = edge.target().map(|target| ("target", id(&target)));
    let detail = [("detail", string(edge.detail()))];
    object(from.into_iter().chain(kind).chain(target).chain(detail))
}

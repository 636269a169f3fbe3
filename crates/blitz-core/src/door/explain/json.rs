//! An explanation as JSON.

#![forbid(unsafe_code)]

use super::stacks::{Probed, TaskFrame};
use super::{Explanation, WaitEdge, WaitKind, WaitingTask};
use crate::base::Id;
use crate::door::dump::json::{inner, list, object, string};

/// How many of the longest waits are written.
const OLDEST: usize = 100;
/// How many edges are written, and how many entries of `tasks`.
const EDGES: usize = 1_000;

impl Explanation {
    /// Returns the explanation as one line of JSON.
    ///
    /// Its fields are `verdict`, `cycles`, `possible`, `never`, `behind`, `oldest`, `tasks` and
    /// `edges`.
    ///
    /// `cycles`, `possible`, `never` and `behind` have ids, and `tasks` has the tasks of the first
    /// 1,000 of these ids. `oldest` has the tasks that have waited longest, each with its `waits`.
    /// `edges` has up to 1,000 waits of tasks and workers: `from`, `kind`, `target` if the wait is
    /// for a task, a closure, a job or a worker, and `detail`. After a [`probe`](crate::probe()),
    /// `probed` says how many tasks were `woken` and `polled`, and `stacks` has the `id` and the
    /// `stacks` of each task that showed a stack.
    #[must_use]
    pub fn to_json(&self) -> String {
        format!("{{{}}}", self.json_fields())
    }

    /// The fields of the object that `to_json` returns.
    pub(in crate::door) fn json_fields(&self) -> String {
        let ids = |ids: &[Id]| list(ids.iter().map(id));
        let circles = || self.cycles.ids.iter().chain(&self.possible.ids).flatten();
        let named = || circles().chain(&self.never).chain(&self.behind);
        let named = named().take(EDGES).filter_map(|&id| self.get(id));
        let waiting = self.tasks.iter().filter(|task| task.info().idle().is_some());
        let cycles = |cycles: &[Vec<Id>]| list(cycles.iter().map(|cycle| ids(cycle)));
        let fields = [
            ("verdict", string(&self.verdict())),
            ("cycles", cycles(&self.cycles.ids)),
            ("possible", cycles(&self.possible.ids)),
            ("never", ids(&self.never)),
            ("behind", ids(&self.behind)),
            ("oldest", list(waiting.take(OLDEST).map(WaitingTask::to_json))),
            ("tasks", list(named.map(WaitingTask::to_json))),
            ("edges", list(self.edges().take(EDGES))),
        ];
        inner(fields.into_iter().chain(self.probe_fields()))
    }

    fn probe_fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let fields = |Probed { woken, polled }: Probed| {
            let counts = [("woken", woken.to_string()), ("polled", polled.to_string())];
            let shown = self.tasks.iter().filter(|task| !task.stacks.is_empty());
            let shown = shown.map(|task| {
                let stacks = task.stacks.iter().map(|stack| list(stack.frames().iter().map(frame)));
                object([("id", id(&task.info().id())), ("stacks", list(stacks))])
            });
            [("probed", object(counts)), ("stacks", list(shown))]
        };
        self.probed.map(fields).into_iter().flatten()
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

/// A function of a stack, with its place if that is known.
fn frame(frame: &TaskFrame) -> String {
    let place = frame.place().map(|place| ("at", string(place)));
    object([("fn", string(frame.function()))].into_iter().chain(place))
}

fn id(id: &Id) -> String {
    string(&id.to_string())
}

impl WaitingTask {
    /// Returns the task and its waits as one line of JSON.
    ///
    /// The fields are those of [`TaskInfo::to_json`](crate::TaskInfo::to_json), with a filled
    /// `waits`. A wait has `kind`, `target` if it is for a task, a closure or a job, and `detail`.
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

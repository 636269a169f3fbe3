//! Looks at what each task waits for, and finds the waits that never end.

#![forbid(unsafe_code)]

use super::blocked::{Awaits, Blocked};
use super::edge::WaitEdge;
use super::graph::Graph;
use crate::base::Id;
use crate::base::context::Frame;
use crate::door::task_refs::references;
use crate::state::AwaitedClosure;
use crate::team::Team;
use blitz_parts::sleep::DriverWait;
use blitz_parts::task::{Glance, Life, TaskRef};
use std::collections::{HashMap, HashSet};

/// What was found.
pub(super) struct Look {
    /// Tasks that have waited, and tasks whose polls wait.
    pub(super) tasks: Vec<TaskRef>,
    /// For each of them what could let it go on.
    pub(super) waits: Vec<Vec<WaitEdge>>,
    pub(super) never: Vec<Id>,
    pub(super) behind: Vec<Id>,
    pub(super) cycles: Circles,
    pub(super) possible: Circles,
}

/// Circles of tasks, closures and blocked threads. Each waits for the next one, and the last for
/// the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Circles {
    /// The tasks and closures of each circle.
    pub(super) ids: Vec<Vec<Id>>,
    pub(super) steps: Vec<Vec<Step>>,
    /// For each possible deadlock: the tasks whose wakers with unknown holders could end it.
    pub(super) open: Vec<Vec<Id>>,
}

/// One member of a circle.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Task(Id),
    /// A closure in words.
    Closure(String),
    /// A blocked thread in words.
    Thread(String),
}

/// A job or a blocking closure.
struct Closure {
    id: Id,
    /// In words, without its state.
    name: String,
    /// Where it runs, if it runs.
    frame: Option<Frame>,
}

/// The observed state of a task at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    glance: Glance,
    /// The address of the task that awaits it.
    awaited_by: Option<usize>,
    /// When its last poll began.
    stamp: u32,
}

impl Seen {
    fn of(task: &TaskRef) -> Seen {
        Seen { glance: task.glance(), awaited_by: task.awaited_by(), stamp: task.stamp() }
    }
}

/// Collects the nodes of the graph: first all tasks, then blocked threads, then closures.
struct Nodes {
    tasks: Vec<TaskRef>,
    threads: Vec<Blocked>,
    closures: Vec<Closure>,
    /// The numbers of tasks and blocked threads, by address.
    places: HashMap<usize, usize>,
    closure_places: HashMap<Id, usize>,
    /// Which closures tasks and blocked threads await: the address of the one that waits, and the
    /// closure.
    awaited: Vec<(usize, Id)>,
    /// For each task or blocked thread: what could let it go on, with its node, if it is one.
    edges: Vec<Vec<(Option<WaitEdge>, Option<usize>)>>,
}

impl Nodes {
    fn new(tasks: Vec<TaskRef>, threads: Vec<Blocked>) -> Nodes {
        let count = tasks.len();
        let of_tasks = tasks.iter().map(TaskRef::address).zip(0..);
        let sleeper = |(blocked, number): (&Blocked, usize)| match blocked.awaits {
            Awaits::Future { sleeper, .. } => Some((sleeper, number)),
            _ => None,
        };
        let of_threads = threads.iter().zip(count..).filter_map(sleeper);
        let places = of_tasks.chain(of_threads).collect();
        let edges = (0..count + threads.len()).map(|_| Vec::new()).collect();
        let (closures, closure_places, awaited) = (Vec::new(), HashMap::new(), Vec::new());
        Nodes { tasks, threads, closures, places, closure_places, awaited, edges }
    }

    /// Notes something that could wake the task or the sleeper at `address`.
    fn add(&mut self, address: usize, edge: WaitEdge, node: Option<usize>) {
        if let Some(&waiter) = self.places.get(&address) {
            self.edges[waiter].push((Some(edge), node));
        }
    }

    /// Returns the node of a closure.
    fn closure(&mut self, closure: Closure) -> usize {
        let next = self.edges.len() + self.closures.len();
        let node = *self.closure_places.entry(closure.id).or_insert(next);
        if node == next {
            self.closures.push(closure);
        }
        node
    }

    fn add_closures(&mut self, kind: &str, closures: Vec<AwaitedClosure>) {
        let edge = if kind == "job" { WaitEdge::of_job } else { WaitEdge::of_closure };
        for closure in closures {
            let AwaitedClosure { id, frame, type_name, .. } = closure;
            let name = format!("{kind} {id} {type_name}");
            let node = self.closure(Closure { id, name, frame });
            self.add(closure.waiter, edge(&closure), Some(node));
            self.awaited.push((closure.waiter, id));
        }
    }

    /// Returns the tasks and blocked threads that awaited a closure at the first look, and do not
    /// await it any more.
    fn gave_up<'a>(
        &'a self,
        awaited: impl Iterator<Item = AwaitedClosure>,
    ) -> impl Iterator<Item = usize> + 'a {
        let again: HashSet<_> = awaited.map(|closure| (closure.waiter, closure.id)).collect();
        let gone = self.awaited.iter().filter(move |wait| !again.contains(wait));
        gone.filter_map(|(waiter, _)| self.places.get(waiter).copied())
    }

    /// The blocked threads that have to go on before the frame can go on.
    fn above(&self, frame: Frame) -> impl Iterator<Item = usize> + '_ {
        let threads = self.threads.iter().zip(self.tasks.len()..);
        let above = threads.filter(move |(blocked, _)| frame.is_blocked_by(blocked.frame));
        above.map(|(_, node)| node)
    }

    /// The graph of the threads and closures. The tasks are not connected yet.
    fn graph(&mut self) -> Graph {
        let first = self.tasks.len();
        for number in 0..self.threads.len() {
            if let Awaits::Closure { id, type_name, frame } = self.threads[number].awaits {
                let name = format!("job {id} {type_name}");
                let node = self.closure(Closure { id, name, frame });
                self.edges[first + number].push((None, Some(node)));
            }
        }
        let ids: HashMap<_, _> = self.tasks.iter().map(Id::of).zip(0..).collect();
        let mut graph = Graph::new(self.edges.len() + self.closures.len());
        for (node, closure) in (self.edges.len()..).zip(&self.closures) {
            let above: Vec<_> =
                closure.frame.map(|frame| self.above(frame).collect()).unwrap_or_default();
            if above.is_empty() {
                graph.can_go_on(node);
            }
            graph.needs_all(node, above);
        }
        for (node, blocked) in (first..).zip(&self.threads) {
            let found = self.edges[node].iter().filter_map(|&(_, other)| other);
            let mut found: Vec<_> = found.collect();
            match blocked.awaits {
                Awaits::Future { task, wakers, .. } => {
                    found.extend(task.and_then(|task| ids.get(&task)));
                    if wakers != found.len() {
                        graph.can_go_on(node);
                    }
                    found.into_iter().for_each(|other| graph.needs(node, other));
                }
                Awaits::Closure { .. } => found.into_iter().for_each(|it| graph.needs(node, it)),
                Awaits::Run(runner) => {
                    let runs = self.threads.iter().filter(|other| other.run == Some(runner));
                    let above: Vec<_> = runs.flat_map(|run| self.above(run.frame)).collect();
                    if above.is_empty() {
                        graph.can_go_on(node);
                    }
                    graph.needs_all(node, above);
                }
                Awaits::Nothing => graph.can_go_on(node),
            }
        }
        graph
    }

    fn circle(&self, nodes: &[usize]) -> (Vec<Id>, Vec<Step>) {
        let (tasks, threads) = (self.tasks.len(), self.edges.len());
        // A circle begins with a task, if it has one: that reads best.
        let first = nodes.iter().position(|&node| node < tasks).unwrap_or(0);
        let mut ids = Vec::new();
        let mut step = |&node: &usize| {
            if let Some(task) = self.tasks.get(node) {
                ids.push(Id::of(task));
                Step::Task(Id::of(task))
            } else if node < threads {
                Step::Thread(self.threads[node - tasks].thread())
            } else {
                let closure = &self.closures[node - threads];
                ids.push(closure.id);
                Step::Closure(closure.name.clone())
            }
        };
        let steps = nodes[first..].iter().chain(&nodes[..first]).map(&mut step).collect();
        (ids, steps)
    }

    /// Returns which of the `unsure` tasks, in order, could end a circle: those in it or, if none
    /// is, those that its members need.
    fn open(&self, graph: &Graph, cycle: &[usize], unsure: &[usize]) -> Vec<Id> {
        let is_unsure = |node: &usize| unsure.binary_search(node).is_ok();
        let mut open: Vec<_> = cycle.iter().copied().filter(is_unsure).collect();
        if open.is_empty() {
            open.extend(graph.needed_by(cycle).into_iter().filter(is_unsure));
            open.sort_unstable();
        }
        open.into_iter().map(|node| Id::of(&self.tasks[node])).collect()
    }
}

impl Look {
    pub(super) fn at(team: &Team) -> Look {
        // Look at the blocked threads first. A closure that runs while a wait on its thread is in
        // the list then runs below that wait, or on top of it.
        let threads = Blocked::look(team);
        let jobs = team.awaited_jobs.awaited();
        let mut tasks = references(team);
        let mut known: HashSet<_> = tasks.iter().map(TaskRef::address).collect();
        let polled = threads.iter().filter_map(|blocked| blocked.task.clone());
        tasks.extend(polled.filter(|task| known.insert(task.address())));
        let mut nodes = Nodes::new(tasks, threads);
        let events = team.driver().map(|driver| driver.waits()).unwrap_or_default();
        for DriverWait { task, event } in events {
            nodes.add(task, WaitEdge::of_event(event), None);
        }
        nodes.add_closures("blocking closure", team.blocking.awaited());
        nodes.add_closures("job", jobs);
        let seen: Vec<_> = nodes.tasks.iter().map(Seen::of).collect();
        for (index, task) in seen.iter().enumerate() {
            if let Some(waiter) = task.awaited_by {
                let edge = WaitEdge::join(Id::of(&nodes.tasks[index]));
                nodes.add(waiter, edge, Some(index));
            }
        }
        let mut graph = nodes.graph();
        let unsure = nodes.connect_tasks(&mut graph, &seen);
        // What has changed since the first look is not stuck, and neither is what waits for it.
        for (index, task) in nodes.tasks.iter().enumerate() {
            if Seen::of(task) != seen[index] {
                graph.can_go_on(index);
            }
        }
        let again = Blocked::look(team);
        for (node, blocked) in (nodes.tasks.len()..).zip(&nodes.threads) {
            if !again.iter().any(|other| other.is(blocked)) {
                graph.can_go_on(node);
            }
        }
        drop(again);
        // The wakers of a task were counted between both looks at the closures. So that of a
        // closure was among them only if the task still awaits the closure.
        let awaited = team.awaited_jobs.awaited().into_iter().chain(team.blocking.awaited());
        nodes.gave_up(awaited).for_each(|node| graph.can_go_on(node));
        let mut possible = graph.cycles(&graph.stuck());
        unsure.iter().for_each(|&index| graph.can_go_on(index));
        let stuck = graph.stuck();
        let cycles = graph.cycles(&stuck);
        let in_cycle: HashSet<_> = cycles.iter().flatten().copied().collect();
        let (mut never, mut behind) = (Vec::new(), Vec::new());
        let is_task = |&&node: &&usize| node < seen.len() && !in_cycle.contains(&node);
        for &index in stuck.iter().filter(is_task) {
            let Glance { life, wakers } = seen[index].glance;
            let is_lost = life == Life::Idle && wakers == 0;
            let list = if is_lost { &mut never } else { &mut behind };
            list.push(Id::of(&nodes.tasks[index]));
        }
        let is_certain = |cycle: &&Vec<usize>| cycle.iter().any(|node| in_cycle.contains(node));
        let circle = |cycle: &Vec<usize>| nodes.circle(cycle);
        possible.retain(|cycle| !is_certain(&cycle));
        let open = possible.iter().map(|cycle| nodes.open(&graph, cycle, &unsure)).collect();
        let (ids, steps) = possible.iter().map(circle).unzip();
        let possible = Circles { ids, steps, open };
        let (ids, steps) = cycles.iter().map(circle).unzip();
        let cycles = Circles { ids, steps, open: Vec::new() };
        let edges = nodes.edges.into_iter().take(seen.len());
        let waits = edges.map(|edges| edges.into_iter().filter_map(|(edge, _)| edge).collect());
        Look { tasks: nodes.tasks, waits: waits.collect(), never, behind, cycles, possible }
    }
}

impl Nodes {
    /// Connects the tasks. Returns those that nothing can wake except, perhaps, a waker whose
    /// holder is unknown.
    fn connect_tasks(&mut self, graph: &mut Graph, seen: &[Seen]) -> Vec<usize> {
        let mut unsure = Vec::new();
        for (index, task) in seen.iter().enumerate() {
            let Glance { life, wakers } = task.glance;
            let address = self.tasks[index].address();
            let waits_in_poll = |blocked: &&Blocked| {
                blocked.task.as_ref().is_some_and(|task| task.address() == address)
            };
            match life {
                Life::Idle => {
                    let edges = &mut self.edges[index];
                    for &(_, node) in edges.iter() {
                        match node {
                            Some(node) => graph.needs(index, node),
                            None => graph.can_go_on(index),
                        }
                    }
                    let unknown = wakers.saturating_sub(edges.len());
                    if unknown > 0 {
                        if edges.iter().all(|(_, node)| node.is_some()) {
                            unsure.push(index);
                        }
                        edges.push((Some(WaitEdge::unknown(unknown)), None));
                    }
                }
                Life::Running if self.threads.iter().any(|blocked| waits_in_poll(&blocked)) => {
                    let own: Vec<_> = self.threads.iter().zip(seen.len()..).collect();
                    let own = own.into_iter().filter(|(blocked, _)| waits_in_poll(blocked));
                    let (mut above, mut edges) = (Vec::new(), Vec::new());
                    for (blocked, node) in own {
                        above.extend(self.above(blocked.frame));
                        let found = self.edges[node].iter().find_map(|(edge, _)| edge.as_ref());
                        edges.push((Some(blocked.edge(found)), None));
                    }
                    graph.needs_all(index, above);
                    self.edges[index] = edges;
                }
                _ => graph.can_go_on(index),
            }
        }
        unsure
    }
}

//! The graph of tasks, waits and closures that need each other; finds those that cannot go on.

#![forbid(unsafe_code)]

use std::collections::HashSet;

/// Nodes by number.
pub(super) struct Graph {
    nodes: Vec<Node>,
}

#[derive(Clone, Default)]
struct Node {
    /// The nodes that this one needs.
    needs: Vec<usize>,
    /// Whether it needs all of them. Otherwise any of them will do.
    needs_all: bool,
    /// Whether it can go on without any of them.
    can_go_on: bool,
}

impl Graph {
    pub(super) fn new(nodes: usize) -> Graph {
        Graph { nodes: vec![Node::default(); nodes] }
    }

    /// Notes that the end of `other` lets `node` go on.
    pub(super) fn needs(&mut self, node: usize, other: usize) {
        self.nodes[node].needs.push(other);
    }

    /// Notes that `node` goes on only after all of `others` have ended.
    pub(super) fn needs_all(&mut self, node: usize, others: impl IntoIterator<Item = usize>) {
        let node = &mut self.nodes[node];
        node.needs.extend(others);
        node.needs_all = true;
    }

    /// Notes that something outside of the graph can let `node` go on, or has done so.
    pub(super) fn can_go_on(&mut self, node: usize) {
        self.nodes[node].can_go_on = true;
    }

    /// Returns the nodes that cannot go on: what they need never ends.
    pub(super) fn stuck(&self) -> Vec<usize> {
        let mut needed_by = vec![Vec::new(); self.nodes.len()];
        let mut missing = Vec::with_capacity(self.nodes.len());
        let (mut alive, mut next) = (vec![false; self.nodes.len()], Vec::new());
        for (number, node) in self.nodes.iter().enumerate() {
            node.needs.iter().for_each(|&other| needed_by[other].push(number));
            missing.push(if node.needs_all { node.needs.len() } else { 1 });
            if node.can_go_on || missing[number] == 0 {
                alive[number] = true;
                next.push(number);
            }
        }
        while let Some(node) = next.pop() {
            for &waiter in &needed_by[node] {
                missing[waiter] = missing[waiter].saturating_sub(1);
                if missing[waiter] == 0 && !alive[waiter] {
                    alive[waiter] = true;
                    next.push(waiter);
                }
            }
        }
        (0..alive.len()).filter(|&node| !alive[node]).collect()
    }

    /// Returns `nodes`, what they need, what that needs, and so on.
    pub(super) fn needed_by(&self, nodes: &[usize]) -> HashSet<usize> {
        let mut needed: HashSet<_> = nodes.iter().copied().collect();
        let mut next = nodes.to_vec();
        while let Some(node) = next.pop() {
            next.extend(self.nodes[node].needs.iter().filter(|&&other| needed.insert(other)));
        }
        needed
    }

    /// Returns circles among `stuck` nodes: of nodes that all need each other, at least one circle.
    ///
    /// In a circle each node needs the next one, and the last node needs the first one. No node is
    /// in two circles.
    pub(super) fn cycles(&self, stuck: &[usize]) -> Vec<Vec<usize>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            No,
            OnPath(usize),
            Left,
        }
        // A walk along the needs of stuck nodes. A need that leads back to the path closes a
        // circle.
        let mut seen = vec![Seen::Left; self.nodes.len()];
        stuck.iter().for_each(|&node| seen[node] = Seen::No);
        let (mut cycles, mut in_cycle) = (Vec::new(), vec![false; self.nodes.len()]);
        for &start in stuck {
            // Each entry: a node, and how many of its needs the walk has followed.
            let mut path: Vec<(usize, usize)> = Vec::new();
            let mut enter = (seen[start] == Seen::No).then_some(start);
            loop {
                if let Some(node) = enter.take() {
                    seen[node] = Seen::OnPath(path.len());
                    path.push((node, 0));
                }
                let Some((node, followed)) = path.last_mut() else { break };
                let Some(&other) = self.nodes[*node].needs.get(*followed) else {
                    seen[*node] = Seen::Left;
                    path.pop();
                    continue;
                };
                *followed += 1;
                match seen[other] {
                    Seen::No => enter = Some(other),
                    Seen::Left => {}
                    Seen::OnPath(at) => {
                        let cycle: Vec<_> = path[at..].iter().map(|&(node, _)| node).collect();
                        if !cycle.iter().any(|&node| in_cycle[node]) {
                            cycle.iter().for_each(|&node| in_cycle[node] = true);
                            cycles.push(cycle);
                        }
                    }
                }
            }
        }
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    /// A graph of `tasks` tasks. In each edge the first task awaits the second. The tasks in
    /// `alive` can be woken.
    fn graph(tasks: usize, edges: &[(usize, usize)], alive: &[usize]) -> Graph {
        let mut graph = Graph::new(tasks);
        edges.iter().for_each(|&(waiter, task)| graph.needs(waiter, task));
        alive.iter().for_each(|&task| graph.can_go_on(task));
        graph
    }

    fn found(graph: &Graph) -> (Vec<usize>, Vec<Vec<usize>>) {
        let stuck = graph.stuck();
        let cycles = graph.cycles(&stuck);
        (stuck, cycles)
    }

    #[test]
    fn two_tasks_that_await_each_other_are_a_cycle() {
        assert_eq!(found(&graph(3, &[(0, 1), (1, 0)], &[2])), (vec![0, 1], vec![vec![0, 1]]));
    }

    #[test]
    fn a_task_that_awaits_itself_is_a_cycle() {
        assert_eq!(found(&graph(1, &[(0, 0)], &[])), (vec![0], vec![vec![0]]));
    }

    #[test]
    fn in_a_cycle_each_task_stands_before_the_task_that_it_awaits() {
        let (_, cycles) = found(&graph(4, &[(0, 2), (2, 1), (1, 3), (3, 0)], &[]));
        let cycle = &cycles[0];
        assert_eq!((cycles.len(), cycle.len()), (1, 4));
        for (at, task) in cycle.iter().enumerate() {
            let awaited = [2, 3, 1, 0][*task];
            assert_eq!(cycle[(at + 1) % 4], awaited, "{cycle:?}");
        }
    }

    #[test]
    fn a_timeout_of_one_task_saves_the_whole_circle() {
        assert_eq!(found(&graph(3, &[(0, 1), (1, 2), (2, 0)], &[1])), (vec![], vec![]));
    }

    #[test]
    fn tasks_that_wait_for_a_lost_task_are_lost() {
        // 2 awaits 1, which awaits 0, which nothing wakes; 3 awaits 4, which runs.
        let chain = graph(5, &[(2, 1), (1, 0), (3, 4)], &[4]);
        assert_eq!(found(&chain), (vec![0, 1, 2], vec![]));
    }

    #[test]
    fn stuck_tasks_beside_a_cycle_are_not_in_it() {
        // 0 and 1 await each other; 0 also awaits 2; 2 and 3 await nothing, and nothing wakes them.
        let (stuck, cycles) = found(&graph(4, &[(0, 1), (1, 0), (0, 2)], &[]));
        assert_eq!((stuck, cycles), (vec![0, 1, 2, 3], vec![vec![0, 1]]));
        let (_, cycles) = found(&graph(4, &[(0, 2), (0, 1), (1, 0)], &[]));
        assert_eq!(cycles, [[0, 1]], "whichever is found first");
    }

    #[test]
    fn a_circle_that_a_timeout_ends_is_no_cycle_although_it_awaits_a_stuck_task() {
        // 0 awaits 1 and 2, 1 awaits 0 and has a timeout, and nothing wakes 2.
        let saved = graph(3, &[(0, 1), (1, 0), (0, 2)], &[1]);
        assert_eq!(found(&saved), (vec![2], vec![]));
    }

    #[test]
    fn a_task_that_awaits_several_is_saved_if_one_of_them_can_end() {
        assert_eq!(found(&graph(3, &[(0, 1), (0, 2)], &[2])).0, [1]);
    }

    #[test]
    fn a_node_that_needs_all_of_several_is_stuck_with_any_of_them() {
        // 0 needs 1, which needs 0, and 2, which can go on; 3 needs 2 twice and goes on.
        let mut blocked = graph(4, &[(1, 0)], &[2]);
        blocked.needs_all(0, [1, 2]);
        blocked.needs_all(3, [2, 2]);
        assert_eq!(found(&blocked), (vec![0, 1], vec![vec![0, 1]]));
        let mut free = graph(1, &[], &[]);
        free.needs_all(0, []);
        assert_eq!(free.stuck(), [0; 0], "it needs nothing");
    }

    #[test]
    fn circles_that_share_a_node_are_one_finding() {
        let (stuck, cycles) = found(&graph(3, &[(0, 1), (1, 0), (1, 2), (2, 1)], &[]));
        assert_eq!((stuck.len(), cycles.len()), (3, 1));
        let long = graph(100_000, &(1..100_000).map(|at| (at - 1, at)).collect::<Vec<_>>(), &[]);
        assert_eq!(found(&long).1.len(), 0, "a long chain overflows no stack");
    }
}

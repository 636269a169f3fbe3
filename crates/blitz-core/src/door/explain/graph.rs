//! The graph of tasks that await each other; finds the tasks that nothing can wake.

#![forbid(unsafe_code)]

/// Tasks by number. A task has one join handle, so at most one task awaits it.
pub(super) struct Graph {
    /// For each task: the tasks that it awaits.
    awaits: Vec<Vec<usize>>,
    /// For each task: the task that awaits it.
    awaited_by: Vec<Option<usize>>,
    /// For each task: true if it does not wait, or if something other than a task of this graph can
    /// wake it.
    can_be_woken: Vec<bool>,
}

impl Graph {
    pub(super) fn new(tasks: usize) -> Graph {
        Graph {
            awaits: vec![Vec::new(); tasks],
            awaited_by: vec![None; tasks],
            can_be_woken: vec![false; tasks],
        }
    }

    /// Notes that `waiter` awaits `task`.
    pub(super) fn awaits(&mut self, waiter: usize, task: usize) {
        self.awaits[waiter].push(task);
        self.awaited_by[task] = Some(waiter);
    }

    /// Notes that something other than the end of a task can wake `task`.
    pub(super) fn can_be_woken(&mut self, task: usize) {
        self.can_be_woken[task] = true;
    }

    /// Returns the tasks that nothing can wake: no task that they await can end.
    pub(super) fn stuck(&self) -> Vec<usize> {
        let mut alive = self.can_be_woken.clone();
        let mut next: Vec<_> = (0..alive.len()).filter(|&task| alive[task]).collect();
        while let Some(task) = next.pop() {
            // A task that can be woken can end, and so wake the task that awaits it.
            if let Some(waiter) = self.awaited_by[task].filter(|&waiter| !alive[waiter]) {
                alive[waiter] = true;
                next.push(waiter);
            }
        }
        (0..alive.len()).filter(|&task| !alive[task]).collect()
    }

    /// Returns the circles among `stuck` tasks.
    ///
    /// In a circle each task awaits the next one, and the last task awaits the first one.
    pub(super) fn cycles(&self, stuck: &[usize]) -> Vec<Vec<usize>> {
        // At most one task awaits each task, so a walk from task to waiter has no branches, and
        // finds the circle that it leads into. `walk` holds the number of the last walk through
        // each task. A walk does not leave the stuck tasks: a task that can be woken may await a
        // stuck task, but is in no deadlock.
        let (mut cycles, mut walk) = (Vec::new(), vec![0_usize; self.awaits.len()]);
        let mut is_stuck = vec![false; self.awaits.len()];
        stuck.iter().for_each(|&task| is_stuck[task] = true);
        for (number, &start) in (1..).zip(stuck) {
            let (mut at, mut path) = (Some(start), Vec::new());
            while let Some(task) = at.filter(|&task| walk[task] == 0) {
                walk[task] = number;
                path.push(task);
                at = self.awaited_by[task].filter(|&waiter| is_stuck[waiter]);
            }
            if let Some(first) = at.filter(|&task| walk[task] == number) {
                let begin = path.iter().position(|&task| task == first).unwrap_or(0);
                // The path leads from the awaited task to its waiter.
                let mut cycle = path.split_off(begin);
                cycle.reverse();
                cycles.push(cycle);
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
        edges.iter().for_each(|&(waiter, task)| graph.awaits(waiter, task));
        alive.iter().for_each(|&task| graph.can_be_woken(task));
        graph
    }

    fn found(graph: &Graph) -> (Vec<usize>, Vec<Vec<usize>>) {
        let stuck = graph.stuck();
        let cycles = graph.cycles(&stuck);
        (stuck, cycles)
    }

    #[test]
    fn two_tasks_that_await_each_other_are_a_cycle() {
        assert_eq!(found(&graph(3, &[(0, 1), (1, 0)], &[2])), (vec![0, 1], vec![vec![1, 0]]));
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
        assert_eq!(stuck, [0, 1, 2, 3]);
        assert_eq!(cycles.len(), 1);
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
}

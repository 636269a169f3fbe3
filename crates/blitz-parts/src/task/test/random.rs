//! All operations on a task, in random order.

use crate::task::rig::{Drops, Rig, Woken};
use crate::task::{Join, Ran, Runnable, TaskRef};
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug)]
enum Op {
    Run,
    DropEntry,
    /// The next poll wakes its own task.
    WakeInPoll,
    /// The next poll ends the task.
    Finish,
    /// The next poll panics.
    Panic,
    Wake,
    WakeByRef,
    CloneWaker,
    DropWaker,
    Abort,
    AddShield,
    RemoveShield,
    PollJoin,
    TryTake,
    DropJoin,
    Close,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => Just(Op::Run),
        1 => Just(Op::DropEntry),
        2 => Just(Op::WakeInPoll),
        1 => Just(Op::Finish),
        1 => Just(Op::Panic),
        3 => Just(Op::Wake),
        3 => Just(Op::WakeByRef),
        3 => Just(Op::CloneWaker),
        2 => Just(Op::DropWaker),
        1 => Just(Op::Abort),
        2 => Just(Op::AddShield),
        2 => Just(Op::RemoveShield),
        3 => Just(Op::PollJoin),
        1 => Just(Op::TryTake),
        1 => Just(Op::DropJoin),
        1 => Just(Op::Close),
    ];
    proptest::collection::vec(op, 0..60)
}

/// The next poll's action, and the results of earlier polls.
#[derive(Default)]
struct Script {
    wake: bool,
    finish: bool,
    panic: bool,
    polls: usize,
    wakers: Vec<Waker>,
}

/// A task with all its references, and its expected state.
struct Stage {
    rig: Arc<Rig>,
    script: Arc<Mutex<Script>>,
    entry: Option<Runnable>,
    join: Option<Join<Drops>>,
    task: TaskRef,
    woken: Woken,
    futures: Drops,
    outputs: Drops,
    shields: usize,
    aborted: bool,
    taken: bool,
}

impl Stage {
    fn new() -> Stage {
        let rig = Rig::new();
        let (futures, outputs) = (Drops::new(), Drops::new());
        let script = Arc::new(Mutex::new(Script::default()));
        let (inside, inner_script, output) = (futures.clone(), script.clone(), outputs.clone());
        let mut output = Some(output);
        let (entry, join) = rig.task(poll_fn(move |context| {
            let _inside = &inside;
            let mut script = inner_script.lock().unwrap();
            script.polls += 1;
            script.wakers.push(context.waker().clone());
            if core::mem::take(&mut script.wake) {
                context.waker().wake_by_ref();
            }
            if script.panic {
                drop(script);
                // `panic!` would call the hook, which would print hundreds of backtraces.
                resume_unwind(Box::new("as told"));
            }
            if script.finish { Poll::Ready(output.take().expect("once")) } else { Poll::Pending }
        }));
        let task = join.task();
        let (woken, join) = (Woken::new(), Some(join));
        Stage {
            rig,
            script,
            entry: Some(entry),
            join,
            task,
            woken,
            futures,
            outputs,
            shields: 0,
            aborted: false,
            taken: false,
        }
    }

    fn take_entry(&mut self) -> Option<Runnable> {
        let queued = self.rig.pop();
        assert!(queued.is_none() || self.entry.is_none(), "one entry per task");
        queued.or_else(|| self.entry.take())
    }

    fn polls(&self) -> usize {
        self.script.lock().unwrap().polls
    }

    fn with_script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.script.lock().unwrap());
    }

    fn pop_waker(&self) -> Option<Waker> {
        self.script.lock().unwrap().wakers.pop()
    }

    fn run(&mut self) {
        let Some(entry) = self.take_entry() else { return };
        let due = self.aborted && self.shields == 0;
        let before = self.polls();
        match entry.run() {
            Ran::Complete => assert!(self.task.is_finished() && !due),
            Ran::Cancelled => assert!(self.task.is_finished()),
            Ran::Idle => assert_eq!(self.rig.owned.len(), 1),
            Ran::Again(entry) => self.entry = Some(entry),
        }
        assert!(!due || self.polls() == before, "an aborted task is not polled");
    }

    fn perform(&mut self, op: Op) {
        match op {
            Op::Run => self.run(),
            Op::DropEntry => {
                if let Some(entry) = self.take_entry() {
                    drop(entry);
                    assert!(self.task.is_finished());
                }
            }
            Op::WakeInPoll => self.with_script(|script| script.wake = true),
            Op::Finish => self.with_script(|script| script.finish = true),
            Op::Panic => self.with_script(|script| script.panic = true),
            Op::Wake | Op::WakeByRef => self.wake(matches!(op, Op::Wake)),
            Op::CloneWaker => self.with_script(|script| {
                let clone = script.wakers.last().cloned();
                script.wakers.extend(clone);
            }),
            Op::DropWaker => drop(self.pop_waker()),
            Op::Abort => {
                self.task.abort();
                self.aborted = true;
                let waits = self.shields > 0 || self.task.is_finished();
                assert!(waits || self.is_queued(), "an abort of an idle task queues it");
            }
            Op::AddShield => {
                self.task.add_shield().expect("there is room");
                self.shields += 1;
            }
            Op::RemoveShield if self.shields > 0 => {
                self.task.remove_shield();
                self.shields -= 1;
            }
            Op::RemoveShield => {}
            Op::PollJoin | Op::TryTake => self.ask(matches!(op, Op::PollJoin)),
            Op::DropJoin => drop(self.join.take()),
            Op::Close => {
                assert_eq!(self.rig.owned.close_and_cancel(), self.rig.owned.len());
                assert!(self.rig.owned.is_empty() || self.is_queued());
            }
        }
    }

    fn wake(&mut self, by_value: bool) {
        let Some(waker) = self.pop_waker() else { return };
        if by_value {
            waker.wake();
        } else {
            waker.wake_by_ref();
        }
        assert!(self.task.is_finished() || self.is_queued(), "a wake queues the task");
    }

    fn is_queued(&self) -> bool {
        self.entry.is_some() || self.rig.queued() == 1
    }

    fn ask(&mut self, with_waker: bool) {
        let finished = self.task.is_finished();
        let Some(join) = self.join.as_mut().filter(|_| !self.taken) else { return };
        let outcome = if with_waker {
            let waker = self.woken.waker();
            match join.poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(outcome) => Some(outcome),
                Poll::Pending => None,
            }
        } else {
            join.try_take()
        };
        assert_eq!(outcome.is_some(), finished);
        self.taken = finished;
    }

    /// Ends the task if it has not ended, and checks the rest.
    fn end(mut self) {
        self.rig.owned.close_and_cancel();
        drop(self.take_entry());
        assert!(self.task.is_finished());
        assert!(self.rig.owned.is_empty());
        drop(self.join);
        self.script.lock().unwrap().wakers.clear();
        assert_eq!(self.futures.count(), 1, "futures dropped");
        assert_eq!(self.outputs.count(), 1, "outputs dropped");
        assert_eq!(self.woken.wakers(), 0);
        assert!(self.woken.count() <= 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn task_4_whatever_is_done_a_future_is_dropped_once(ops in ops()) {
        let mut stage = Stage::new();
        for op in ops {
            stage.perform(op);
        }
        stage.end();
    }
}

//! Draws operations that are allowed in their place, so that a hang or a wrong value is a defect.
//!
//! Each operation waits only for work that it has started itself. Tasks that meet in a channel or a
//! lock await each other and do not block: the documentation of `block_on` asks for that. Blocking
//! closures wait for no other such closure, because there may be only one thread.

use super::may_wait_while_blocking;
use super::op::{
    Child, End, IoKind, MeetKind, Op, PanicPlace, ScopeKind, SetEnd, Spawn, SpawnKind, TimerKind,
    WakerKind, Wrap,
};
use super::settings::{Settings, Threads};
use crate::rng::Rng;
use std::sync::Arc;

/// The place of an operation in a plan.
#[derive(Clone, Copy)]
pub struct Place {
    /// The runtime whose thread runs it.
    pub home: usize,
    /// How many levels may follow.
    pub depth: u8,
    /// It runs on a thread for blocking closures, or such a thread waits for it.
    pub blocking: bool,
    /// It may be aborted.
    pub abortable: bool,
    /// Its runtime may end while it runs. So no `install` and no `join_all` is drawn there.
    pub ending: bool,
}

impl Place {
    /// The place of a program's first operation on runtime `home`.
    #[must_use]
    pub fn root(home: usize, depth: u8) -> Place {
        Place { home, depth, blocking: false, abortable: false, ending: false }
    }

    fn below(self) -> Place {
        Place { depth: self.depth.saturating_sub(1), ..self }
    }
}

/// Draws operations for a round with these runtimes.
pub struct Draw<'a> {
    /// The source of choices.
    pub rng: &'a mut Rng,
    /// The runtimes of the round.
    pub settings: &'a [Settings],
    /// How many operations are drawn before all further ones are leaves.
    pub budget: usize,
    /// A worker of one runtime waits for the end of another. Then leftovers use no other runtime:
    /// a leftover could wait for a job that lies on that worker's stack below the worker's wait.
    pub isolated: bool,
}

impl Draw<'_> {
    /// Draws an operation for `place`.
    pub fn op(&mut self, place: Place) -> Child {
        self.budget = self.budget.saturating_sub(1);
        let op = if place.depth == 0 || self.budget == 0 {
            Op::Leaf(self.rng.below(100) as u32)
        } else {
            self.branch(place)
        };
        Arc::new(op)
    }

    fn ops(&mut self, place: Place, most: u64) -> Vec<Child> {
        let count = self.rng.between(1, most);
        (0..count).map(|_| self.op(place)).collect()
    }

    fn branch(&mut self, place: Place) -> Op {
        let below = place.below();
        match self.rng.below(40) {
            0..=3 => Op::Join(self.op(below), self.op(below)),
            4 => Op::Tree(self.rng.between(1, 8) as u8),
            5..=7 => {
                let kinds = [
                    ScopeKind::Plain,
                    ScopeKind::Fifo,
                    ScopeKind::InPlace,
                    ScopeKind::InPlaceFifo,
                    ScopeKind::Broadcast,
                ];
                Op::Scope(self.rng.pick(&kinds), self.ops(below, 5))
            }
            8 => Op::Broadcast { spawned: self.rng.one_in(2) },
            9 => self.install(place),
            10..=16 => self.spawn(place),
            17 => Op::Detached { fifo: self.rng.one_in(2), jobs: self.ops(below, 4) },
            18..=19 => Op::BlockOn(self.op(below)),
            20 => Op::YieldJobs(self.rng.between(1, 20) as u8),
            21..=22 => Op::YieldTasks(self.rng.between(1, 40) as u8),
            23..=24 => self.set(place),
            25 => Op::Locals { tasks: self.ops(below, 4), left: self.rng.below(3) as u8 },
            26..=28 => self.timer(),
            29..=31 => self.meet(),
            32..=34 => self.io(place),
            35..=36 => self.panic(place),
            37 => self.waker(place),
            _ => Op::All(self.ops(below, 3)),
        }
    }

    /// Returns another runtime that may be called from `place`, if there is one.
    fn elsewhere(&mut self, place: Place) -> Option<usize> {
        let count = self.settings.len();
        if count < 2 || self.settings.iter().any(Settings::is_adopted) {
            return None;
        }
        if place.ending && self.isolated {
            return None;
        }
        Some((place.home + self.rng.between(1, count as u64 - 1) as usize) % count)
    }

    fn install(&mut self, place: Place) -> Op {
        match self.elsewhere(place) {
            Some(on) if !place.ending => {
                let there = Place { home: on, ..place.below() };
                Op::Install(on, self.op(there))
            }
            _ => Op::Tree(2),
        }
    }

    fn spawn(&mut self, place: Place) -> Op {
        let kinds = [SpawnKind::Task, SpawnKind::TryTask, SpawnKind::Cpu, SpawnKind::Blocking];
        let mut how = self.rng.pick(&kinds);
        if how == SpawnKind::Blocking && place.blocking {
            how = SpawnKind::Task;
        }
        let ends = [End::Wait, End::Wait, End::Wait, End::Drop, End::Abort, End::AbortOutside];
        let end = self.rng.pick(&ends);
        let wraps = [Wrap::Bare, Wrap::Shield, Wrap::Local, Wrap::Timeout, Wrap::Unconstrained];
        let wrap = self.rng.pick(&wraps);
        let on = if self.rng.one_in(4) { self.elsewhere(place) } else { None };
        let home = on.unwrap_or(place.home);
        let mut below = Place { home, ..place.below() };
        below.abortable |= matches!(end, End::Abort | End::AbortOutside);
        if how == SpawnKind::Blocking {
            below.blocking = true;
            if !may_wait_while_blocking(&self.settings[home]) {
                below.depth = 0;
            }
        }
        Op::Spawn(Spawn { how, on, wrap, end, child: self.op(below) })
    }

    fn set(&mut self, place: Place) -> Op {
        let ends =
            [SetEnd::JoinNext, SetEnd::JoinAll, SetEnd::Shutdown, SetEnd::Drop, SetEnd::Detach];
        let mut end = self.rng.pick(&ends);
        if place.ending && end == SetEnd::JoinAll {
            // `join_all` panics if one of the tasks is cancelled.
            end = SetEnd::JoinNext;
        }
        let mut below = place.below();
        below.abortable |= matches!(end, SetEnd::Shutdown | SetEnd::Drop);
        Op::Set(end, self.ops(below, 6))
    }

    fn timer(&mut self) -> Op {
        let kinds = [
            TimerKind::Sleep,
            TimerKind::Elapses,
            TimerKind::InTime,
            TimerKind::Interval,
            TimerKind::Many,
            TimerKind::Reset,
        ];
        Op::Timer(self.rng.pick(&kinds), self.rng.below(4) as u8)
    }

    fn meet(&mut self) -> Op {
        let kinds = [
            MeetKind::Mpsc,
            MeetKind::Oneshot,
            MeetKind::Broadcast,
            MeetKind::Watch,
            MeetKind::Mutex,
            MeetKind::RwLock,
            MeetKind::Semaphore,
            MeetKind::Notify,
            MeetKind::Barrier,
        ];
        Op::Meet(self.rng.pick(&kinds), self.rng.between(1, 6) as u8)
    }

    fn io(&mut self, place: Place) -> Op {
        let bytes = self.rng.between(1, 3_000) as u16;
        // A paused clock advances while a child process runs, so each timeout around it may elapse.
        let is_paused = self.settings[place.home].threads == Threads::Paused;
        let kind = match self.rng.below(30) {
            0..=6 => IoKind::Tcp,
            7..=10 => IoKind::Udp,
            11..=14 => IoKind::Unix,
            15..=17 => IoKind::UnixDatagram,
            18..=20 => IoKind::Owned,
            21..=24 if !place.blocking => IoKind::File,
            25..=27 => IoKind::Abandoned,
            28 if !place.blocking && !is_paused => IoKind::Process,
            29 => IoKind::Signal,
            _ => IoKind::Unix,
        };
        Op::Io(kind, bytes)
    }

    fn panic(&mut self, place: Place) -> Op {
        let places = [
            PanicPlace::JoinLeft,
            PanicPlace::JoinRight,
            PanicPlace::JoinBoth,
            PanicPlace::ScopeJob,
            PanicPlace::ScopeBody,
            PanicPlace::Install,
            PanicPlace::Broadcast,
            PanicPlace::Cpu,
            PanicPlace::Blocking,
            PanicPlace::Task,
            PanicPlace::DetachedTask,
            PanicPlace::DetachedJob,
            PanicPlace::FutureDrop,
            PanicPlace::ResultDrop,
            PanicPlace::LocalTask,
            PanicPlace::BlockOn,
        ];
        match self.rng.pick(&places) {
            PanicPlace::Blocking if place.blocking => Op::Panic(PanicPlace::Cpu),
            PanicPlace::Install if place.ending => Op::Panic(PanicPlace::BlockOn),
            place => Op::Panic(place),
        }
    }

    fn waker(&mut self, place: Place) -> Op {
        let kinds = [
            WakerKind::Forwards,
            WakerKind::PanicsInWake,
            WakerKind::PanicsInDrop,
            WakerKind::Foreign,
            WakerKind::Storm,
            WakerKind::Spawns,
        ];
        match self.rng.pick(&kinds) {
            // If the waker were dropped with an aborted task, its panic would go to that task.
            WakerKind::PanicsInDrop if place.abortable => Op::Waker(WakerKind::PanicsInWake),
            kind => Op::Waker(kind),
        }
    }
}

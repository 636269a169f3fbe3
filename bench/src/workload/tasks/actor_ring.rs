//! Long-lived tasks in a ring that hand tokens on: each hop is one wake and one poll.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{
    arrivals::Arrivals,
    batch::TaskJob,
    crowd::{Crowd, Member},
};
use crate::runtime::{Runtime, Tasks};

#[derive(Clone, Copy)]
pub(super) struct ActorRing {
    crowd: &'static Crowd<Actor>,
    tokens: usize,
    laps: u64,
}

/// An actor, and the tokens that it has not handed on yet.
#[derive(Default)]
pub(super) struct Actor {
    tokens: AtomicU64,
    /// How often this actor has handed on a token. Only polls change this count.
    hops: AtomicU64,
}

/// State of the first actor.
pub(super) struct Laps {
    /// How often the first actor will hand on a token. Only the polls of that actor change this
    /// count while a run lasts.
    left: AtomicU64,
    /// The tokens that it has taken out of the ring.
    out: &'static Arrivals,
    /// Set while a run lasts, because only one run at a time may use the ring.
    busy: AtomicBool,
}

impl ActorRing {
    /// `laps`: how often the first actor hands on a token, counted over all tokens.
    pub(super) fn new<R: Runtime>(runtime: &R, actors: usize, tokens: usize, laps: u64) -> Self {
        let out = Arrivals::leaked(tokens as u64);
        let laps_left = Laps { left: AtomicU64::new(0), out, busy: AtomicBool::new(false) };
        let crowd = Crowd::leaked(actors, laps_left);
        crowd.gather(runtime);
        Self { crowd, tokens, laps }
    }

    /// The actors at which the tokens start.
    fn starts(self) -> impl Iterator<Item = usize> {
        let (actors, tokens) = (self.crowd.len(), self.tokens);
        (0..tokens).map(move |token| token * actors / tokens)
    }

    fn hops(self) -> u64 {
        let hops = self.crowd.members().map(|actor| actor.hops.load(Ordering::Relaxed));
        hops.fold(0, u64::wrapping_add)
    }
}

impl Member for Actor {
    type Common = Laps;

    #[inline]
    fn polled(crowd: &'static Crowd<Self>, index: usize) {
        let (this, laps) = (crowd.member(index), &crowd.common);
        if this.tokens.load(Ordering::Acquire) == 0 {
            return;
        }
        // Hand on one token per poll, so that tokens that have caught up with each other cost as
        // much as others.
        if this.tokens.fetch_sub(1, Ordering::AcqRel) > 1 {
            crowd.wake(index);
        }
        if index == 0 {
            let left = laps.left.load(Ordering::Relaxed);
            if left == 0 {
                return laps.out.arrive();
            }
            laps.left.store(left - 1, Ordering::Relaxed);
        }
        this.hops.store(this.hops.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        crowd.hand_to((index + 1) % crowd.len());
    }
}

impl Crowd<Actor> {
    #[inline]
    fn hand_to(&self, index: usize) {
        self.member(index).tokens.fetch_add(1, Ordering::AcqRel);
        self.wake(index);
    }
}

impl TaskJob for ActorRing {
    fn operations(self) -> u64 {
        self.expected()
    }

    /// Returns the number of hops: those of full laps, and those until each token comes to the
    /// first actor for the first time.
    fn expected(self) -> u64 {
        let actors = self.crowd.len() as u64;
        let first: u64 = self.starts().filter(|at| *at > 0).map(|at| actors - at as u64).sum();
        self.laps * actors + first
    }

    async fn run<T: Tasks>(self, _tasks: T) -> u64 {
        let laps = &self.crowd.common;
        assert!(!laps.busy.swap(true, Ordering::Acquire), "one run at a time");
        let before = self.hops();
        let out = laps.out.expect();
        laps.left.store(self.laps, Ordering::Relaxed);
        self.starts().for_each(|at| self.crowd.hand_to(at));
        // An error would show in the count.
        let _ = out.await;
        laps.busy.store(false, Ordering::Release);
        self.hops().wrapping_sub(before)
    }
}

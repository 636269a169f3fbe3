//! Plans: how a loop is cut, and how long its blocks are.

#![forbid(unsafe_code)]

use crate::here::Here;
use crate::place::Place;
use crate::tuning;
use blitz_parts::cycles;
use blitz_parts::prim::{AtomicUsize, Instant, Relaxed};

/// How an iterator wants its loop to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Parts have at least this many steps.
    pub(crate) min: usize,
    /// Parts with more steps are cut, unless a half would have fewer than `min`. Not used with
    /// `fixed`.
    pub(crate) max: usize,
    /// How many workers the loop may use.
    pub(crate) workers: usize,
    /// Cuts depend on the length alone.
    pub(crate) fixed: bool,
}

impl Limits {
    /// No limits, as for most loops.
    pub(crate) const NONE: Limits =
        Limits { min: 1, max: usize::MAX, workers: usize::MAX, fixed: false };

    /// Allows parts of at least `min` steps only.
    pub(crate) fn at_least(&mut self, min: usize) {
        self.min = self.min.max(min);
    }

    /// Cuts parts until they have at most `max` steps: see [`Limits::max`].
    pub(crate) fn at_most(&mut self, max: usize) {
        self.max = self.max.min(max.max(1));
    }
}

/// How a loop is cut.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'p> {
    /// Parts have at least this many steps.
    pub(crate) min: usize,
    /// Parts with more steps are cut, unless a half would have fewer than `min`. Not used with
    /// `fixed`.
    pub(crate) max: usize,
    /// How many workers the next loop may use.
    pub(crate) workers: usize,
    /// Whether cuts depend on the length alone.
    pub(crate) fixed: bool,
    /// With `fixed`, parts of at most this many steps are not cut.
    pub(crate) leaf: usize,
    /// Whether the loop runs inside an item of another one.
    pub(crate) nested: bool,
    /// Whether the pool has one worker.
    pub(crate) alone: bool,
    /// How many times to halve all parts at the start, whether or not a worker is idle.
    pub(crate) eager: u32,
    pub(crate) pace: &'p Pace,
    pub(crate) tickets: Option<&'p Tickets<'p>>,
}

impl<'p> Plan<'p> {
    #[inline]
    pub(crate) fn new(pace: &'p Pace) -> Plan<'p> {
        Plan {
            min: 1,
            max: usize::MAX,
            workers: usize::MAX,
            fixed: false,
            leaf: usize::MAX,
            nested: false,
            alone: false,
            eager: 0,
            pace,
            tickets: None,
        }
    }

    /// Returns the plan of a loop that is not inside of another, in a pool with `workers` workers.
    #[inline]
    pub(crate) fn outer(pace: &'p Pace, workers: usize) -> Plan<'p> {
        Plan { alone: workers == 1, eager: eager(workers), ..Plan::new(pace) }
    }

    /// Returns the plan of a loop inside of an item of this loop; all such loops share `pace`.
    #[inline]
    pub(crate) fn inside<'q>(&self, pace: &'q Pace) -> Plan<'q>
    where
        'p: 'q,
    {
        // If an outer item takes a whole block, cut its inner loop before an idle worker asks.
        let is_long = self.pace.block() == 1 && !self.alone;
        let eager = if is_long { tuning::EAGER_INSIDE } else { 0 };
        let outer = Plan::new(pace);
        let (fixed, alone, tickets) = (self.fixed, self.alone, self.tickets);
        Plan { fixed, alone, nested: true, eager, tickets, ..outer }
    }

    /// The tickets of a loop that sets a new limit of workers.
    pub(crate) fn tickets(&self) -> Option<Tickets<'p>> {
        let is_limited = self.workers < usize::MAX;
        is_limited.then(|| Tickets::new(self.workers.max(1) - 1, self.tickets))
    }

    /// The plan of a loop that has [`tickets`](Self::tickets) now.
    pub(crate) fn limited<'q>(&self, tickets: &'q Option<Tickets<'p>>) -> Plan<'q>
    where
        'p: 'q,
    {
        match tickets {
            Some(tickets) => Plan { workers: usize::MAX, tickets: Some(tickets), ..*self },
            None => *self,
        }
    }

    /// Whether the plan can be used as it is. If not, it has to be [completed](Self::completed).
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        !self.fixed && self.workers == usize::MAX
    }

    /// The plan of a loop of `steps` steps that has [`tickets`](Self::tickets) now.
    pub(crate) fn completed<'q>(&self, tickets: &'q Option<Tickets<'p>>, steps: usize) -> Plan<'q>
    where
        'p: 'q,
    {
        let leaf = if self.fixed { steps.div_ceil(tuning::FIXED_PARTS).max(1) } else { self.leaf };
        Plan { leaf, ..self.limited(tickets) }
    }

    /// The plan of a loop with more limits.
    pub(crate) fn within(&self, limits: Limits) -> Plan<'p> {
        Plan {
            min: self.min.max(limits.min),
            max: self.max.min(limits.max),
            workers: self.workers.min(limits.workers),
            fixed: self.fixed || limits.fixed,
            ..*self
        }
    }
}

/// How many times to halve all parts at the start of a loop, in a pool with `workers` workers.
fn eager(workers: usize) -> u32 {
    match workers {
        // Only a spare thread could take a part, and only while the worker blocks.
        1 => 0,
        _ => workers.next_power_of_two().trailing_zeros() + tuning::EAGER_MORE,
    }
}

/// The context of a block for a reducer: the worker it runs on, and the place of the block.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    pub(crate) here: Here<'a>,
    /// Borrowed, because a loop passes its turn on with each cut.
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) place: Place,
}

/// The length of blocks, learnt from earlier blocks. All parts of a loop share it.
#[derive(Debug)]
pub struct Pace {
    block: AtomicUsize,
    /// How many steps are worth giving to another worker; 0 before the first block.
    part: AtomicUsize,
    /// How many steps take long enough to be a block of their own.
    least: AtomicUsize,
}

impl Pace {
    #[inline]
    pub(crate) fn new() -> Pace {
        Pace { block: AtomicUsize::new(1), part: AtomicUsize::new(0), least: AtomicUsize::new(1) }
    }

    /// The length of the next block.
    #[inline]
    pub(crate) fn block(&self) -> usize {
        self.block.load(Relaxed)
    }

    /// The least length of a part.
    #[inline]
    pub(crate) fn part(&self) -> usize {
        self.part.load(Relaxed)
    }

    /// The least length of a block.
    #[inline]
    pub(crate) fn least(&self) -> usize {
        self.least.load(Relaxed)
    }

    /// Whether no block was timed yet.
    #[inline]
    pub(crate) fn is_unknown(&self) -> bool {
        self.part() == 0
    }

    /// Notes that a block of `steps` steps has taken the time since `clock` was started.
    pub(crate) fn learn_from(&self, steps: usize, clock: &mut Option<Clock>) {
        if let Some(clock) = clock {
            self.learn(steps, clock.lap());
        }
    }

    /// Notes that a block of `steps` steps took `ticks`.
    #[inline]
    pub(crate) fn learn(&self, steps: usize, ticks: u64) {
        let ticks = ticks.saturating_sub(tuning::TICKS_BESIDES).max(1);
        if steps < self.block() && ticks < tuning::BLOCK_TICKS {
            // A short remainder is less accurate than the blocks before it.
            return;
        }
        let longest = steps.saturating_mul(tuning::GROWTH);
        if ticks <= tuning::BLOCK_TICKS / (tuning::GROWTH * tuning::PARTS_OF_BLOCK) as u64 {
            // Short blocks grow by the maximum, without a division.
            self.block.store(longest, Relaxed);
            self.part.store(longest, Relaxed);
            self.least.store(longest, Relaxed);
            return;
        }
        let block = match (steps as u64).checked_mul(tuning::BLOCK_TICKS) {
            Some(product) => usize::try_from(product / ticks).unwrap_or(usize::MAX),
            None => usize::MAX / 2,
        };
        let part = block / tuning::PARTS_OF_BLOCK;
        self.block.store(block.clamp(1, longest), Relaxed);
        self.part.store(part.clamp(1, longest), Relaxed);
        self.least.store((block / tuning::LEAST_OF_BLOCK).clamp(1, longest), Relaxed);
    }
}

/// A clock for short times: about three ticks per nanosecond.
pub(crate) struct Clock {
    ticks: u64,
    /// For processors whose counter cannot be trusted.
    instant: Option<Instant>,
}

impl Clock {
    #[inline]
    pub(crate) fn start() -> Clock {
        if cycles::are_trusted() {
            Clock { ticks: cycles::read(), instant: None }
        } else {
            Clock { ticks: 0, instant: Some(Instant::now()) }
        }
    }

    /// Starts `clock` if it does not run.
    pub(crate) fn start_once(clock: &mut Option<Clock>) {
        if clock.is_none() {
            *clock = Some(Clock::start());
        }
    }

    /// Returns how long ago the clock was started, and starts it anew.
    #[inline]
    pub(crate) fn lap(&mut self) -> u64 {
        match &mut self.instant {
            None => {
                let now = cycles::read();
                now.saturating_sub(std::mem::replace(&mut self.ticks, now))
            }
            Some(start) => {
                let before = std::mem::replace(start, Instant::now());
                start.duration_since(before).as_nanos().saturating_mul(3) as u64
            }
        }
    }
}

/// The right to fork. There are as many tickets as workers that may help at once.
#[derive(Debug)]
pub struct Tickets<'p> {
    left: AtomicUsize,
    /// The tickets of the outer loop.
    outer: Option<&'p Tickets<'p>>,
}

impl<'p> Tickets<'p> {
    pub(crate) fn new(helpers: usize, outer: Option<&'p Tickets<'p>>) -> Tickets<'p> {
        Tickets { left: AtomicUsize::new(helpers), outer }
    }

    /// Takes a ticket of this loop and of each outer loop, or none.
    pub(crate) fn take(&self) -> bool {
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
        if taken && self.outer.is_some_and(|outer| !outer.take()) {
            self.left.fetch_add(1, Relaxed);
            return false;
        }
        taken
    }

    /// Gives back what [`take`](Self::take) took.
    pub(crate) fn give_back(&self) {
        self.left.fetch_add(1, Relaxed);
        if let Some(outer) = self.outer {
            outer.give_back();
        }
    }
}

/// A ticket that is given back when this is dropped.
pub(crate) struct Held<'p>(Option<&'p Tickets<'p>>);

impl<'p> Held<'p> {
    /// Takes a ticket, if the plan needs one. Returns `None` if no ticket is left.
    #[inline]
    pub(crate) fn take(plan: &Plan<'p>) -> Option<Held<'p>> {
        match plan.tickets {
            None => Some(Held(None)),
            Some(tickets) => tickets.take().then(|| Held(Some(tickets))),
        }
    }
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(tickets) = self.0 {
            tickets.give_back();
        }
    }
}

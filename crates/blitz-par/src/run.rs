//! The one loop, and the one place where loops fork.

#![forbid(unsafe_code)]

use crate::here::{Here, enter, ran};
use crate::iter::{IntoParallelIterator, ParallelIterator};
use crate::piece::Piece;
use crate::place::Place;
use crate::plan::{Clock, Held, Pace, Plan, Turn};
use crate::reducer::{Acc, Layer, Out, Over, Reducer, Run};
use crate::tuning;

/// Runs a parallel iterator to its end.
#[inline]
#[track_caller]
pub(crate) fn reduce<I, R>(iter: I, reducer: &R) -> R::Out
where
    I: ParallelIterator,
    R: Reducer<I::Item>,
{
    let place = Place::whole(iter.exact_len());
    enter(|here| {
        let pace = Pace::new();
        let turn = Turn { here, plan: &Plan::outer(&pace, here.workers()), place };
        iter.drive(turn, reducer, None).done(reducer, &turn)
    })
}

/// Runs a parallel iterator whose items go through a layer.
#[inline]
pub(crate) fn through<I, L>(
    base: I,
    layer: L,
    turn: Turn<'_>,
    acc: Option<Acc<L, I::Item>>,
) -> Run<Acc<L, I::Item>, Out<L, I::Item>>
where
    I: ParallelIterator,
    L: Layer<I::Item>,
{
    let layer = Over(layer);
    let acc = acc.map(|acc| layer.0.wrap(acc));
    base.drive(turn, &layer, acc).map(|acc| layer.0.unwrap(acc, &turn))
}

/// Begins the loop over a piece. `acc`: the state of the previous part, if there is one.
#[inline]
pub(crate) fn begin<P, R>(
    turn: Turn<'_>,
    reducer: &R,
    piece: P,
    acc: Option<R::Acc>,
) -> Run<R::Acc, R::Out>
where
    P: Piece<Item: Send>,
    R: Reducer<P::Item>,
{
    if R::IN_WINDOWS && !turn.plan.nested {
        return windows(turn, reducer, piece, acc);
    }
    let acc = match acc {
        Some(acc) => acc,
        None => reducer.start(&turn.place),
    };
    // Most loops have a complete plan, and many of them are small.
    let is_complete = turn.plan.is_complete();
    if R::IS_INNER && !R::COMPARES_PLACES && is_complete && is_one_block::<P, R>(&turn, &piece) {
        return run_block(&turn, reducer, piece, acc);
    }
    let (tickets, completed);
    let mut plan = turn.plan;
    if !is_complete {
        tickets = plan.tickets();
        completed = plan.completed(&tickets, piece.steps());
        plan = &completed;
    }
    run(Turn { plan, ..turn }, reducer, piece, Part::whole(plan), acc)
}

/// Whether no cut of `piece` is due now, and its steps are no more than those of a block. [`run`]
/// may take several blocks all the same, because it makes blocks shorter towards the end.
#[inline]
fn is_one_block<P: Piece, R: Reducer<P::Item>>(turn: &Turn<'_>, piece: &P) -> bool {
    let (plan, steps) = (turn.plan, piece.steps());
    let is_uncut = steps <= plan.max
        && (steps / 2 < plan.pace.part().max(plan.min) || (plan.eager == 0 && !turn.here.wanted()));
    piece.exact_len() == Some(steps)
        && is_uncut
        && (steps <= plan.pace.block() || (plan.alone && !R::SHORT_BLOCKS))
        && steps <= turn.here.block_limit()
}

/// Takes a piece of exact length in one block: most loops inside of items are that short.
#[inline]
fn run_block<P, R>(
    turn: &Turn<'_>,
    reducer: &R,
    mut piece: P,
    mut acc: R::Acc,
) -> Run<R::Acc, R::Out>
where
    P: Piece,
    R: Reducer<P::Item>,
{
    let steps = piece.steps();
    if steps > 0 && !reducer.is_done(&acc, &turn.place) {
        acc = reducer.fold(acc, turn, piece.block(steps));
    }
    // Drop the piece before the result is returned, as `run` does.
    drop(piece);
    Run::Live(acc)
}

/// Runs a loop whose reducer wants the results in order, window by window.
fn windows<P, R>(turn: Turn<'_>, reducer: &R, piece: P, acc: Option<R::Acc>) -> Run<R::Acc, R::Out>
where
    P: Piece<Item: Send>,
    R: Reducer<P::Item>,
{
    let tickets = turn.plan.tickets();
    let plan = turn.plan.completed(&tickets, piece.steps());
    let (turn, len) = (Turn { plan: &plan, ..turn }, reducer.window());
    if P::IS_MEASURED {
        let mut rest = Some(piece);
        let next = || cut(&mut rest, len);
        let each = |turn: Turn<'_>, window| {
            run(turn, reducer, window, Part::whole(turn.plan), reducer.start(&turn.place))
        };
        return in_windows(turn, reducer, acc, next, each);
    }
    // The loop over a pulled window has no inner windows.
    let turn = Turn { plan: &Plan { nested: true, ..plan }, ..turn };
    let (mut piece, len) = (piece, len.min(tuning::WINDOW.saturating_mul(turn.here.workers())));
    let next = || pull(&mut piece, len);
    let each = |turn: Turn<'_>, items: Vec<_>| items.into_par_iter().drive(turn, reducer, None);
    in_windows(turn, reducer, acc, next, each)
}

/// What a run of the loop knows of its part, beside the piece.
#[derive(Clone, Copy)]
struct Part {
    /// How many times to cut this part and its halves again, whether or not a worker is idle.
    eager: u32,
    /// Whether to check if a fork is wanted. It is checked once per block, so that the loop makes
    /// progress even if forks are always wanted and the piece has no end.
    may_ask: bool,
    /// How many of the cuts that led to this part have a frame on this thread's stack. In a fixed
    /// shape, this counts all cuts that led to this part.
    depth: u32,
    /// Whether a small part may be tried first, to learn the pace.
    may_try: bool,
}

/// The loop over a piece: block by block, and cut in two where a fork is due or wanted.
fn run<P, R>(
    mut turn: Turn<'_>,
    reducer: &R,
    mut piece: P,
    mut part: Part,
    mut acc: R::Acc,
) -> Run<R::Acc, R::Out>
where
    P: Piece,
    R: Reducer<P::Item>,
{
    let mut clock = None;
    loop {
        let steps = piece.steps();
        if steps == 0 || reducer.is_done(&acc, &turn.place) {
            // Drop the piece before the result is returned: if the drop panics, the result is
            // dropped, too.
            drop(piece);
            return Run::Live(acc);
        }
        if let Some(cut) = part.due_cut(&turn, steps, P::IS_MEASURED) {
            if let Some(right) = piece.split_off(cut.at) {
                return Run::Done(halves(turn, reducer, piece, right, part, cut, acc));
            }
        }
        let len = piece.exact_len();
        let short_blocks = R::SHORT_BLOCKS || len.is_none();
        let block = next_block(&turn, steps, short_blocks);
        // Timing the last block would not help this part.
        if block < steps {
            Clock::start_once(&mut clock);
        }
        if R::COMPARES_PLACES || turn.place.is_exact() {
            turn.place.begin_block(block, behind(steps, len, block));
        }
        acc = reducer.fold(acc, &turn, piece.block(block));
        turn.place.end_block();
        if block < steps {
            turn.plan.pace.learn_from(block, &mut clock);
        }
        part.may_ask = true;
    }
}

/// A cut that is due.
struct Cut<'p> {
    /// How many steps the left part keeps.
    at: usize,
    /// How many times to cut the left part and its halves again, whether or not a worker is idle.
    eager: u32,
    /// A loop of fixed shape is cut even without a ticket; then it does not fork.
    ticket: Option<Held<'p>>,
}

impl Part {
    /// A piece that has not been cut on this thread.
    #[inline]
    fn whole(plan: &Plan<'_>) -> Part {
        Part { eager: plan.eager, may_ask: true, depth: 0, may_try: true }
    }

    /// The cut of a part of `steps` steps, if one is due and may be made.
    fn due_cut<'p>(&self, turn: &Turn<'p>, steps: usize, is_measured: bool) -> Option<Cut<'p>> {
        let plan = turn.plan;
        let half = steps / 2;
        // The minimum length is at least one step.
        if half < plan.min {
            return None;
        }
        let (mut at, mut eager) = (steps - half, self.eager.saturating_sub(1));
        let is_due = if plan.fixed {
            // A piece that may be endless has no fixed shape: it is not cut.
            steps > plan.leaf && steps < usize::MAX
        } else if steps > plan.max && steps < usize::MAX {
            true
        } else if half < plan.pace.part() {
            false
        } else {
            // Before the first block is timed, the pace allows every cut.
            let may_try = self.may_try && self.eager > 0 && is_measured && plan.pace.is_unknown();
            let is_few = may_try && steps < tuning::FEW;
            let is_wanted = !is_few && self.may_ask && turn.here.wanted();
            let few = (steps >> self.eager).max(plan.min);
            if may_try && !is_wanted && few < half {
                // Make the left part as small as all eager cuts would: it shows how long items
                // take. Meanwhile one fork lets other workers take the rest.
                (at, eager) = (few, 0);
            }
            self.eager > 0 || is_wanted
        };
        if !is_due || self.depth == tuning::DEPTH_MAX {
            return None;
        }
        let ticket = Held::take(plan);
        (ticket.is_some() || plan.fixed).then_some(Cut { at, eager, ticket })
    }
}

/// The length of the next block of a part of `steps` steps. `short_blocks` makes it short even if
/// no other worker could use a part.
fn next_block(turn: &Turn<'_>, steps: usize, short_blocks: bool) -> usize {
    let plan = turn.plan;
    // Never take a piece that may be endless in one block: the loop has to check repeatedly whether
    // it is done.
    if steps < usize::MAX && (plan.fixed || (plan.alone && !short_blocks)) {
        return steps;
    }
    // Blocks get shorter towards the end: if the last items take longer than those before them,
    // other workers still find some that are in no block.
    let share = (steps / tuning::TAIL_BLOCKS).max(plan.pace.least());
    let block = plan.pace.block().min(share).max(plan.min);
    // A short remainder is not a block of its own.
    let block = if steps <= block.saturating_add(block / 2) { steps } else { block };
    block.min(turn.here.block_limit())
}

/// The maximum number of steps of a piece after a block of `block` steps.
#[inline]
fn behind(steps: usize, len: Option<usize>, block: usize) -> usize {
    match len {
        Some(len) => len.saturating_sub(block),
        // There may be more than the piece reports.
        None => steps.saturating_sub(block).saturating_add(1),
    }
}

/// Goes on with both halves of a part, potentially at once.
#[inline(never)]
fn halves<P, R>(
    mut turn: Turn<'_>,
    reducer: &R,
    left: P,
    right: P,
    part: Part,
    cut: Cut<'_>,
    mut acc: R::Acc,
) -> R::Out
where
    P: Piece,
    R: Reducer<P::Item>,
{
    let beyond = turn.place.split_off(left.steps(), right.steps());
    reducer.before_fork(&mut acc, &turn.place);
    let (mut left, mut right) = (Some((left, acc)), Some(right));
    let (mut left_out, mut right_out) = (None, None);
    let mut first = |turn: Turn<'_>, part| {
        if let Some((left, acc)) = left.take() {
            left_out = Some(run(turn, reducer, left, part, acc).done(reducer, &turn));
        }
    };
    let mut second = |turn: Turn<'_>, part| {
        if let Some(right) = right.take() {
            let acc = reducer.start(&turn.place);
            right_out = Some(run(turn, reducer, right, part, acc).done(reducer, &turn));
        }
    };
    run_halves(turn, beyond, part, cut, &mut first, &mut second);
    reducer.merge(ran(left_out), ran(right_out))
}

/// Calls `first` for the left half of `part`, and `second` for the right half, which is at
/// `beyond`. It knows no types of the loop, so a program compiles it once, not once per loop.
fn run_halves(
    turn: Turn<'_>,
    beyond: Place,
    part: Part,
    cut: Cut<'_>,
    first: &mut dyn FnMut(Turn<'_>, Part),
    second: &mut (dyn FnMut(Turn<'_>, Part) + Send),
) {
    let plan = turn.plan;
    let (eager, depth) = (part.eager.saturating_sub(1), part.depth + 1);
    let mut first = |here: Here<'_>| {
        let part = Part { eager: cut.eager, may_ask: false, depth, ..part };
        first(Turn { here, ..turn }, part);
    };
    let mut second = |here: Here<'_>, stolen: bool| {
        // A thief begins with its own stack. A fixed shape does not depend on thefts.
        let is_new = stolen && !plan.fixed;
        let (eager, depth) = if is_new { (plan.eager, 0) } else { (eager, depth) };
        // If no block is timed when a thief begins, items take long. Then the thief does not try a
        // small part first, but cuts for more thieves at once.
        let part = Part { eager, may_ask: true, depth, may_try: !stolen };
        second(Turn { here, plan, place: beyond }, part);
    };
    match cut.ticket {
        Some(ticket) => {
            fork(turn.here, ticket, first, second);
        }
        None => {
            first(turn.here);
            second(turn.here, false);
        }
    }
}

/// Forks. This is the only place where loops fork. The argument of `second` says whether a thief
/// took `second`.
fn fork<A, B>(
    here: Here<'_>,
    ticket: Held<'_>,
    first: impl FnOnce(Here<'_>) -> A,
    second: impl FnOnce(Here<'_>, bool) -> B + Send,
) -> (A, B)
where
    B: Send,
{
    here.join(first, |here, stolen| {
        // A fork that was not stolen needs no other worker, so it gives its ticket back at once.
        let _ticket = stolen.then_some(ticket);
        second(here, stolen)
    })
}

/// Runs two consecutive loops, potentially at once.
pub(crate) fn both<T, R, A, B>(
    turn: Turn<'_>,
    reducer: &R,
    beyond: Place,
    acc: Option<R::Acc>,
    first: A,
    second: B,
) -> Run<R::Acc, R::Out>
where
    R: Reducer<T>,
    A: FnOnce(Turn<'_>, Option<R::Acc>) -> Run<R::Acc, R::Out>,
    B: FnOnce(Turn<'_>, Option<R::Acc>) -> Run<R::Acc, R::Out> + Send,
{
    let tickets = turn.plan.tickets();
    let plan = &turn.plan.limited(&tickets);
    let turn = Turn { plan, ..turn };
    let in_order = R::IN_WINDOWS && !plan.nested;
    let wanted = !plan.fixed && !in_order && (!plan.nested || turn.here.wanted());
    if let Some(ticket) = wanted.then(|| Held::take(plan)).flatten() {
        let mut acc = acc.unwrap_or_else(|| reducer.start(&turn.place));
        reducer.before_fork(&mut acc, &turn.place);
        let (left, right) = fork(
            turn.here,
            ticket,
            |here| {
                let turn = Turn { here, ..turn };
                first(turn, Some(acc)).done(reducer, &turn)
            },
            |here, _| {
                let turn = Turn { here, plan, place: beyond };
                second(turn, None).done(reducer, &turn)
            },
        );
        return Run::Done(reducer.merge(left, right));
    }
    let turn_beyond = Turn { place: beyond, ..turn };
    match first(turn, acc) {
        Run::Live(acc) => second(turn_beyond, Some(acc)),
        Run::Done(left) if reducer.is_settled(&left) => Run::Done(left),
        Run::Done(left) => {
            let right = second(turn_beyond, None).done(reducer, &turn_beyond);
            Run::Done(reducer.merge(left, right))
        }
    }
}

/// A part of a loop in windows.
struct Window<W> {
    work: W,
    steps: usize,
    /// How many steps follow the window, as far as that is known.
    behind: usize,
}

/// Cuts a window of about `len` steps off.
fn cut<P: Piece>(rest: &mut Option<P>, len: usize) -> Option<Window<P>> {
    let mut window = rest.take().filter(|piece| piece.steps() > 0)?;
    if window.steps() > len {
        *rest = window.split_off(len);
    }
    let behind = rest.as_ref().map_or(0, Piece::steps);
    Some(Window { steps: window.steps(), work: window, behind })
}

/// Takes a window of about `len` items out of a piece whose steps do not measure its work.
fn pull<P: Piece>(piece: &mut P, len: usize) -> Option<Window<Vec<P::Item>>> {
    let mut items = Vec::new();
    while items.len() < len && piece.steps() > 0 {
        items.extend(piece.block(len - items.len()));
    }
    let (steps, behind) = (items.len(), piece.steps());
    (steps > 0).then_some(Window { work: items, steps, behind })
}

/// Runs a loop window by window: computes each while it delivers the window before. `next` returns
/// the windows, and `each` runs the loop over one of them.
fn in_windows<T, R, W>(
    mut turn: Turn<'_>,
    reducer: &R,
    acc: Option<R::Acc>,
    mut next: impl FnMut() -> Option<Window<W>>,
    each: impl Fn(Turn<'_>, W) -> Run<R::Acc, R::Out> + Sync,
) -> Run<R::Acc, R::Out>
where
    R: Reducer<T>,
    W: Send,
{
    let plan = turn.plan;
    let mut ready = acc.map(|acc| reducer.finish(acc, &turn));
    while let Some(Window { work, steps, behind }) = next() {
        let mut place = turn.place;
        let beyond = place.split_off(steps, behind);
        turn.place = beyond;
        let compute = |here: Here<'_>, _stolen: bool| {
            let turn = Turn { here, plan, place };
            let run = each(turn, work);
            (run.done(reducer, &turn), reducer.is_over(&beyond))
        };
        // The first window has no window before it to deliver, so it needs no ticket.
        let ticket = ready.as_ref().and_then(|_| Held::take(plan));
        let (delivered, (out, is_over)) = match (ready.take(), ticket) {
            (Some(before), Some(ticket)) => {
                let deliver = |_: Here<'_>| Some(reducer.deliver(before));
                fork(turn.here, ticket, deliver, compute)
            }
            (before, _) => (before.map(|out| reducer.deliver(out)), compute(turn.here, false)),
        };
        ready = Some(match delivered {
            Some(before) => reducer.merge(before, out),
            None => out,
        });
        if is_over {
            break;
        }
    }
    let out = ready.unwrap_or_else(|| reducer.finish(reducer.start(&turn.place), &turn));
    Run::Done(reducer.deliver(out))
}

#[cfg(test)]
mod tests {
    use super::next_block;
    use crate::here::enter;
    use crate::place::Place;
    use crate::plan::{Pace, Plan, Turn};
    use crate::script::play;
    use crate::tuning;

    #[test]
    fn blocks_get_shorter_towards_the_end() {
        play(0, || {
            enter(|here| {
                let pace = Pace::new();
                // A hundred steps take a third of a block.
                pace.learn(100, tuning::BLOCK_TICKS / 3 + tuning::TICKS_BESIDES);
                assert_eq!((pace.block(), pace.part(), pace.least()), (300, 60, 30));
                let turn = Turn { here, plan: &Plan::outer(&pace, 2), place: Place::whole(None) };
                for steps in 1..2000 {
                    // The script makes some blocks shorter still, and none longer.
                    let block = next_block(&turn, steps, false);
                    let most = if steps <= 45 { steps } else { (steps / 4).clamp(30, 300) };
                    assert!((1..=most).contains(&block), "{block} of {steps}");
                }
            });
        });
    }
}

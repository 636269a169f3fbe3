//! The effect of each transition in each state.

use super::*;

/// A state with this word.
fn state(word: u64) -> State {
    State { word: AtomicU64::new(word), turns: Turns::default() }
}

/// Calls `act` in each state, with `rest` as the other bits of the word. Returns the results and
/// the words afterwards.
fn on_each_life<D>(rest: u64, act: impl Fn(&State) -> D) -> [(D, u64); 4] {
    [IDLE, SCHEDULED, RUNNING, COMPLETE].map(|life| {
        let state = state(rest | life);
        let duty = act(&state);
        (duty, state.load().0)
    })
}

#[test]
fn the_fields_of_the_word_are_where_the_document_has_them() {
    assert_eq!(u64::MAX / REF + 1, 1 << 24, "24 bits of references at the top");
    assert_eq!(SHIELDS, 0x0000_00ff_0000_0000, "8 bits of shields");
    let flags = [NOTIFIED, CANCELLED, JOIN_INTEREST, JOIN_WAKER, LINKED, KILLED, FAILED];
    let all = flags.iter().fold(0, |all, flag| all | flag);
    assert_eq!(all.count_ones() as usize, flags.len(), "flags do not overlap");
    assert_eq!(all & !0x0000_0000_ff00_0000, 0, "8 bits of flags");
    assert_eq!(LIFE, 0x0000_0000_00ff_0000, "8 bits of life");
    assert_eq!([IDLE, SCHEDULED, RUNNING, COMPLETE].map(|life| life >> 16), [0, 1, 2, 3]);
    assert_eq!(State::new(0xabcd).load().0 & 0xffff, 0xabcd, "16 bits of the serial number");
}

#[test]
fn a_new_task_is_scheduled_with_two_references() {
    assert_eq!(State::new(0).load().0, SCHEDULED | JOIN_INTEREST | (2 * REF));
    assert_eq!(format!("{:?}", State::new(0)), "SCHEDULED JOIN_INTEREST shields 0 references 2");
}

#[test]
fn task_2_the_effect_of_a_wake_in_each_state() {
    let linked = LINKED | (3 * REF);
    assert_eq!(
        on_each_life(linked, State::wake_by_ref),
        [
            (Wake::Schedule, linked + SCHEDULED + REF),
            (Wake::Nothing, linked + SCHEDULED),
            (Wake::Nothing, linked + RUNNING + NOTIFIED),
            (Wake::Nothing, linked + COMPLETE),
        ]
    );
    assert_eq!(
        on_each_life(linked, State::wake_by_value),
        [
            (Wake::Schedule, linked + SCHEDULED),
            (Wake::Nothing, linked + SCHEDULED - REF),
            (Wake::Nothing, linked + RUNNING + NOTIFIED - REF),
            (Wake::Nothing, linked + COMPLETE - REF),
        ]
    );
    assert_eq!(state(COMPLETE | REF).wake_by_value(), Wake::Free);
}

#[test]
fn task_8_the_effect_of_an_abort_in_each_state() {
    let linked = LINKED | (3 * REF);
    assert_eq!(
        on_each_life(linked, State::abort),
        [
            (Wake::Schedule, linked + CANCELLED + SCHEDULED + REF),
            (Wake::Nothing, linked + CANCELLED + SCHEDULED),
            (Wake::Nothing, linked + CANCELLED + RUNNING + NOTIFIED),
            (Wake::Nothing, linked + COMPLETE),
        ]
    );
    let shielded = linked | (2 * SHIELD);
    assert_eq!(
        on_each_life(shielded, State::abort),
        [
            (Wake::Nothing, shielded + CANCELLED),
            (Wake::Nothing, shielded + CANCELLED + SCHEDULED),
            (Wake::Nothing, shielded + CANCELLED + RUNNING),
            (Wake::Nothing, shielded + COMPLETE),
        ]
    );
}

#[test]
fn task_9_the_effect_of_the_last_shield_in_each_state() {
    let aborted = CANCELLED | LINKED | (3 * REF);
    assert_eq!(
        on_each_life(aborted | SHIELD, State::remove_shield),
        [
            (Some(Wake::Schedule), aborted + SCHEDULED + REF),
            (Some(Wake::Nothing), aborted + SCHEDULED),
            (Some(Wake::Nothing), aborted + RUNNING),
            (Some(Wake::Nothing), aborted + COMPLETE),
        ]
    );
    assert_eq!(state(aborted | (2 * SHIELD)).remove_shield(), Some(Wake::Nothing));
    assert_eq!(state(LINKED | SHIELD | REF).remove_shield(), Some(Wake::Nothing));
    assert_eq!(state(aborted).remove_shield(), None);
    assert!(state(254 * SHIELD).add_shield());
    assert!(!state(SHIELDS).add_shield());
}

#[test]
fn task_9_a_runner_cancels_a_task_only_without_shields() {
    let running = RUNNING | LINKED | (3 * REF);
    let due =
        |word: u64| (state(word).rest(false, true) == Rest::Cancel, Word(word).cancel_is_due());
    assert_eq!(due(running), (false, false));
    assert_eq!(due(running | CANCELLED), (true, true));
    assert_eq!(due(running | CANCELLED | SHIELD), (false, false));
    assert_eq!(due(running | KILLED | SHIELD), (true, true));
    let start = |word: u64| state(word | SCHEDULED | (2 * REF)).start();
    assert_eq!(start(0), Start::Poll);
    assert_eq!(start(CANCELLED), Start::Cancel);
    assert_eq!(start(CANCELLED | SHIELD), Start::Poll);
    assert_eq!(start(KILLED | SHIELD), Start::Cancel);
    assert_eq!(state(SCHEDULED | REF | CANCELLED).start(), Start::Cancel);
}

#[test]
fn task_3_the_end_of_a_poll_is_one_exchange() {
    let ended = |word: u64, newly_linked, yielded| {
        let state = state(word | RUNNING | (3 * REF));
        (state.rest(newly_linked, yielded), state.load().0)
    };
    let rested = |word, newly_linked| ended(word, newly_linked, false);
    assert_eq!(rested(LINKED, false), (Rest::Idle, LINKED | (2 * REF)));
    assert_eq!(rested(0, true), (Rest::Idle, LINKED | (3 * REF)));
    let again = (Rest::Again, SCHEDULED | LINKED | (3 * REF));
    assert_eq!(rested(LINKED | NOTIFIED, false), again);
    assert_eq!(rested(NOTIFIED, false), (Rest::Again, SCHEDULED | (3 * REF)));
    assert_eq!(rested(NOTIFIED, true), (Rest::Again, SCHEDULED | LINKED | (4 * REF)));
    for woken in [0, NOTIFIED] {
        assert_eq!(ended(LINKED | woken, false, true), again, "a task that yields needs no wake");
        assert_eq!(ended(woken, false, true), (Rest::Again, SCHEDULED | (3 * REF)));
    }
}

#[test]
fn task_5_the_end_captures_the_join_handle() {
    let completed = |word: u64, held, with| {
        let state = state(word | RUNNING | (3 * REF));
        (state.complete(held, with), state.load().0)
    };
    let wanted = JOIN_INTEREST;
    let ended = COMPLETE | JOIN_INTEREST;
    let output = completed(wanted, 1, Ended::Output);
    assert_eq!(output, (Complete::Done, ended | (2 * REF)));
    let failure = completed(wanted | LINKED, 2, Ended::Failure);
    assert_eq!(failure, (Complete::Done, ended | LINKED | FAILED | REF));
    let wakes = completed(wanted | JOIN_WAKER, 1, Ended::Output);
    assert_eq!(wakes, (Complete::WakeJoin, ended | JOIN_WAKER | (3 * REF)));
    let unwanted = completed(0, 1, Ended::Output);
    assert_eq!(unwanted, (Complete::Unwanted, RUNNING | (3 * REF)));
    assert_eq!([FAILED, 0].map(|flag| Word(flag).ended()), [Ended::Failure, Ended::Output]);
}

#[test]
fn task_6_the_last_reference_is_known_without_an_exchange() {
    for (refs, held, is_last) in [(1, 1, true), (2, 2, true), (2, 1, false), (3, 2, false)] {
        let state = state(RUNNING | (refs * REF));
        assert_eq!(state.complete_unwanted(held), is_last);
        let after = if is_last { RUNNING | (refs * REF) } else { COMPLETE | ((refs - held) * REF) };
        assert_eq!(state.load().0, after);
    }
    let state = state(COMPLETE | (2 * REF));
    assert!(!state.release());
    state.add_reference();
    assert!(!state.release());
    assert!(state.release());
}

#[test]
fn task_7_the_rights_of_the_join_handle_in_each_state() {
    let refs = JOIN_INTEREST | (2 * REF);
    for (slot, with) in [(0, JOIN_WAKER), (JOIN_WAKER, JOIN_WAKER)] {
        let set = on_each_life(refs | slot, State::set_join_waker);
        assert_eq!(set.map(|(duty, _)| duty == JoinSlot::Yes), [true, true, true, false]);
        assert!(set[..3].iter().all(|(_, word)| Word(*word).has(with)));
    }
    let unset = on_each_life(refs | JOIN_WAKER, State::unset_join_waker);
    assert_eq!(unset.map(|(_, word)| Word(word).has_join_waker()), [false, false, false, true]);
    let leave = on_each_life(refs, State::leave).map(|(duty, _)| duty);
    assert_eq!(leave, [Leave::Gone, Leave::Gone, Leave::Gone, Leave::Complete]);
    let leave = on_each_life(refs | JOIN_WAKER, State::leave).map(|(duty, _)| duty);
    assert_eq!(leave, [Leave::TakeWaker, Leave::TakeWaker, Leave::TakeWaker, Leave::Complete]);
    let gone = on_each_life(refs, State::leave).map(|(_, word)| word);
    assert_eq!(gone, [REF, SCHEDULED | REF, RUNNING | REF, COMPLETE | refs]);
}

#[test]
fn task_10_the_closer_of_a_list_takes_idle_tasks() {
    let linked = LINKED | (2 * REF);
    let taken = on_each_life(linked, State::kill);
    assert_eq!(taken[0], (Kill::Cancel, RUNNING | (2 * REF)));
    assert_eq!(taken[1], (Kill::Left, SCHEDULED | linked | KILLED));
    assert_eq!(taken[2], (Kill::Left, RUNNING | linked | KILLED));
}

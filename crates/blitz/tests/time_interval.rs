//! Intervals, and how they handle missed ticks. The clock is paused, so that the ticks are exact.

use blitz::time::{
    self, Duration, Instant, Interval, MissedTickBehavior, interval, interval_at, sleep, timeout,
};

const MS: Duration = Duration::from_millis(1);
const PERIOD: Duration = Duration::from_millis(10);

/// Returns when ticks are seen and when they were due, in ms since `start`.
async fn ticks(interval: &mut Interval, start: Instant, count: usize) -> Vec<(u128, u128)> {
    let mut seen = Vec::new();
    for _ in 0..count {
        let due = interval.tick().await;
        seen.push((start.elapsed().as_millis(), (due - start).as_millis()));
    }
    seen
}

/// Sees two ticks in time, misses ticks until 57 ms, and returns the next six.
async fn busy_from_10_to_57(behavior: MissedTickBehavior) -> Vec<(u128, u128)> {
    let start = Instant::now();
    let mut interval = interval_at(start, PERIOD);
    interval.set_missed_tick_behavior(behavior);
    assert_eq!(ticks(&mut interval, start, 2).await, [(0, 0), (10, 10)]);
    time::advance(47 * MS).await;
    ticks(&mut interval, start, 6).await
}

#[blitz::test(start_paused = true)]
async fn the_first_tick_comes_at_once_and_then_one_per_period() {
    let start = Instant::now();
    let mut interval = interval(PERIOD);
    assert_eq!(interval.period(), PERIOD);
    assert_eq!(ticks(&mut interval, start, 4).await, [(0, 0), (10, 10), (20, 20), (30, 30)]);
}

#[blitz::test(start_paused = true)]
async fn burst_makes_up_for_missed_ticks() {
    let seen = busy_from_10_to_57(MissedTickBehavior::Burst).await;
    assert_eq!(seen, [(57, 20), (57, 30), (57, 40), (57, 50), (60, 60), (70, 70)]);
}

#[blitz::test(start_paused = true)]
async fn delay_counts_from_the_late_tick() {
    let seen = busy_from_10_to_57(MissedTickBehavior::Delay).await;
    assert_eq!(seen, [(57, 20), (67, 67), (77, 77), (87, 87), (97, 97), (107, 107)]);
}

#[blitz::test(start_paused = true)]
async fn skip_leaves_missed_ticks_out() {
    let seen = busy_from_10_to_57(MissedTickBehavior::Skip).await;
    assert_eq!(seen, [(57, 20), (60, 60), (70, 70), (80, 80), (90, 90), (100, 100)]);
}

#[blitz::test(start_paused = true)]
async fn a_tick_that_is_a_little_late_is_not_missed() {
    for behavior in [MissedTickBehavior::Burst, MissedTickBehavior::Delay, MissedTickBehavior::Skip]
    {
        let start = Instant::now();
        let mut interval = interval_at(start, PERIOD);
        interval.set_missed_tick_behavior(behavior);
        interval.tick().await;
        time::advance(13 * MS).await;
        assert_eq!(ticks(&mut interval, start, 3).await, [(13, 10), (20, 20), (30, 30)]);
    }
}

#[blitz::test(start_paused = true)]
async fn resets() {
    let start = Instant::now();
    let mut interval = interval(PERIOD);
    interval.tick().await;
    sleep(3 * MS).await;
    interval.reset();
    assert_eq!(ticks(&mut interval, start, 2).await, [(13, 13), (23, 23)]);
    interval.reset_immediately();
    assert_eq!(ticks(&mut interval, start, 2).await, [(23, 23), (33, 33)]);
    interval.reset_after(2 * MS);
    assert_eq!(ticks(&mut interval, start, 2).await, [(35, 35), (45, 45)]);
    interval.reset_at(start + 100 * MS);
    assert_eq!(ticks(&mut interval, start, 2).await, [(100, 100), (110, 110)]);
}

#[blitz::test(start_paused = true)]
async fn a_tick_that_was_not_waited_for_to_its_end_is_not_lost() {
    let start = Instant::now();
    let mut interval = interval_at(start + PERIOD, PERIOD);
    assert!(timeout(4 * MS, interval.tick()).await.is_err());
    assert_eq!(ticks(&mut interval, start, 2).await, [(10, 10), (20, 20)]);
}

#[blitz::test(start_paused = true)]
async fn very_long_periods_are_as_good_as_for_ever() {
    let mut interval = interval(Duration::MAX);
    interval.tick().await;
    assert!(timeout(PERIOD, interval.tick()).await.is_err());
}

#[test]
#[should_panic(expected = "longer than zero")]
fn a_period_of_zero_is_refused() {
    let _ = interval(Duration::ZERO);
}

//! The watch on one thread.

use super::{Need, Next, Watch};
use crate::tuning::WATCH_MISSED;

#[test]
fn watch_1_slots_in_use_keep_the_watch_on() {
    for asymmetric in [false, crate::barrier::available()] {
        let watch = Watch::new(true, asymmetric);
        assert_eq!(watch.need(), Need::Wake);
        assert!(!watch.rest(|| true), "a slot is in use");
        assert_eq!(watch.next(), Next::Look);
        assert!(watch.rest(|| false));
        assert_eq!(watch.next(), Next::Park);
    }
}

#[test]
fn watch_1_a_pool_of_one_worker_needs_no_watch() {
    let watch = Watch::new(false, false);
    assert_eq!(watch.need(), Need::Met);
    assert!(watch.is_on());
}

#[test]
fn watch_2_the_first_need_wakes_the_watch() {
    let watch = Watch::new(true, false);
    assert_eq!([(); 3].map(|()| watch.need()), [Need::Wake, Need::Met, Need::Met]);
    assert!(watch.rest(|| false));
    assert_eq!(watch.need(), Need::Wake);
}

#[test]
fn watch_3_a_stopped_watch_ends_and_is_not_woken() {
    let watch = Watch::new(true, false);
    watch.stop();
    assert_eq!((watch.need(), watch.next()), (Need::Met, Next::End));
}

#[test]
fn watch_4_a_start_that_failed_is_tried_again_now_and_then() {
    let watch = Watch::new(true, false);
    assert_eq!(watch.need(), Need::Wake);
    watch.has_started(false);
    assert!(!watch.is_on());
    let mut attempts = 0;
    for _ in 0..3 * WATCH_MISSED {
        if watch.need() == Need::Wake {
            attempts += 1;
            watch.has_started(false);
        }
    }
    assert_eq!(attempts, 3, "few calls of `need` try to start the watch");
    while watch.need() != Need::Wake {}
    watch.has_started(true);
    assert!(watch.is_on());
    assert!(watch.rest(|| false));
    assert_eq!(watch.need(), Need::Wake, "the watch was started, so the next need wakes it");
}

#[test]
fn watch_5_after_a_refusal_the_watch_stays_on() {
    let watch = Watch::new(true, true);
    assert_eq!(watch.become_symmetric(), Need::Wake);
    watch.on.store(false, crate::prim::Relaxed);
    assert!(!watch.rest_if(false, || false), "the fence was refused");
    assert_eq!(watch.next(), Next::Look);
    assert_eq!(watch.need(), Need::Met);
}

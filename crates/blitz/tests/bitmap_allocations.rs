//! Once tasks have their slots, neither wakes nor polls nor the sleep of workers allocate.

mod common;

use blitz::{Runtime, Scheduler, region};
use common::{wait_for, watched};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

thread_local! {
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// Counts allocations of the workers and of the thread that wakes the tasks.
struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

impl Counted {
    fn count() {
        if COUNTING.load(SeqCst) && IS_COUNTED.get() {
            ALLOCATIONS.fetch_add(1, SeqCst);
        }
    }
}

// SAFETY: all calls go to the system's allocator. Counting allocates nothing: the thread-local flag
// needs no destructor.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Counted::count();
        // SAFETY: the caller's obligations are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Counted::count();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// What a task of the circle shares with the thread that wakes it.
///
/// In its next `wakes_left` polls the task wakes itself and its neighbour.
#[derive(Default)]
struct Member {
    waker: OnceLock<Waker>,
    wakes_left: AtomicUsize,
}

fn poll(circle: &[Member], place: usize, context: &Context<'_>) -> Poll<()> {
    IS_COUNTED.set(true);
    let member = &circle[place];
    member.waker.get_or_init(|| context.waker().clone());
    let one_less = |left: usize| left.checked_sub(1);
    if member.wakes_left.fetch_update(SeqCst, SeqCst, one_less).is_ok() {
        // This task goes to the yield queue. Its neighbour goes to the LIFO slot, and then to the
        // tree.
        context.waker().wake_by_ref();
        wake(&circle[(place + 1) % circle.len()]);
    }
    Poll::Pending
}

fn wake(member: &Member) {
    if let Some(waker) = member.waker.get() {
        waker.wake_by_ref();
    }
}

#[test]
fn nothing_is_allocated_once_tasks_have_their_slots() {
    watched("nothing is allocated", |watch| {
        for workers in [1, 2, 8] {
            // There are no spares. With spares the watch would ask the system about workers that
            // get stuck, and a spare that starts would need memory.
            let builder = Runtime::builder().workers(workers).spares(0);
            let builder = builder.scheduler(Scheduler::Signal);
            let runtime = watch.runtime(builder.build().unwrap());
            let circle: Arc<[Member]> = (0..500).map(|_| Member::default()).collect();
            for place in 0..circle.len() {
                let circle = circle.clone();
                drop(runtime.spawn(poll_fn(move |context| poll(&circle, place, context))));
            }
            wait_for(|| circle.iter().all(|member| member.waker.get().is_some()));
            // A worker allocates its recorder with its first event, so each worker records an event
            // now.
            runtime.broadcast(|_| region("first", || ()));
            IS_COUNTED.set(true);
            for round in 0..20 {
                // The first round may allocate: it makes everything that is made on first use.
                COUNTING.store(round > 0, SeqCst);
                for member in &*circle {
                    member.wakes_left.store(3, SeqCst);
                    wake(member);
                }
                wait_for(|| circle.iter().all(|member| member.wakes_left.load(SeqCst) == 0));
            }
            COUNTING.store(false, SeqCst);
            IS_COUNTED.set(false);
            assert_eq!(ALLOCATIONS.load(SeqCst), 0, "{workers} workers");
        }
        // Check that the counter works.
        COUNTING.store(true, SeqCst);
        IS_COUNTED.set(true);
        drop(std::hint::black_box(Box::new(7)));
        COUNTING.store(false, SeqCst);
        assert_eq!(ALLOCATIONS.load(SeqCst), 1);
    });
}

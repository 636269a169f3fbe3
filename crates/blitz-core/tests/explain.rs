//! `explain` beside changes in the middle of its look. The driver is asked for its waits during
//! the look, and makes the change.

use blitz_core::driver::{self, Driver};
use blitz_core::{JoinHandle, Pool};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Poll, Waker};

type Change = Box<dyn FnOnce() + Send>;

/// A driver without events.
#[derive(Default)]
struct Moment {
    woken: Mutex<bool>,
    news: Condvar,
    /// What happens when the driver is asked for its waits.
    change: Mutex<Option<Change>>,
}

impl Driver for Moment {
    fn block(&self) -> bool {
        let woken = self.woken.lock().unwrap();
        *self.news.wait_while(woken, |woken| !*woken).unwrap() = false;
        false
    }

    fn wake(&self) {
        *self.woken.lock().unwrap() = true;
        self.news.notify_all();
    }

    fn poll(&self) -> bool {
        false
    }

    fn dispatch(&self) -> bool {
        false
    }

    fn waits(&self) -> Vec<driver::DriverWait> {
        let change = self.change.lock().unwrap().take();
        change.into_iter().for_each(|change| change());
        Vec::new()
    }
}

/// What a task waits for: the end, and perhaps a job.
#[derive(Default)]
struct Waits {
    job: Option<JoinHandle<()>>,
    is_over: bool,
    waker: Option<Waker>,
}

fn change(waits: &Mutex<Waits>, change: impl FnOnce(&mut Waits)) {
    let mut waits = waits.lock().unwrap();
    change(&mut waits);
    let waker = waits.waker.take();
    drop(waits);
    waker.into_iter().for_each(Waker::wake);
}

#[test]
fn a_task_that_gives_a_job_up_during_the_look_is_not_stuck_with_it() {
    let pool = Pool::builder().spares(0).workers(1).build().unwrap();
    let moment = driver::of(&pool.handle(), |_| Ok(Arc::<Moment>::default())).unwrap();
    let waits = Arc::<Mutex<Waits>>::default();
    let own = waits.clone();
    let task = pool.spawn(poll_fn(move |cx| {
        let mut waits = own.lock().unwrap();
        waits.waker = Some(cx.waker().clone());
        if let Some(job) = &mut waits.job {
            assert!(Pin::new(job).poll(cx).is_pending());
        }
        if waits.is_over { Poll::Ready(()) } else { Poll::Pending }
    }));
    // The job joins the task, which awaits the job, or the end.
    let job = pool.spawn_cpu(move || drop(task.join()));
    change(&waits, |waits| waits.job = Some(job));
    while pool.explain().possible_cycles().is_empty() {
        std::thread::yield_now();
    }
    let given_up = waits.clone();
    *moment.change.lock().unwrap() = Some(Box::new(move || {
        let job = given_up.lock().unwrap().job.take();
        drop(job);
    }));
    let explanation = pool.explain();
    assert!(waits.lock().unwrap().job.is_none(), "the driver was not asked");
    assert!(explanation.cycles().is_empty(), "{explanation}");
    assert!(explanation.behind().is_empty(), "{explanation}");
    change(&waits, |waits| waits.is_over = true);
    drop(pool);
}

//! Runs the tests of tasks, timers, sockets and everything above them again, on the signal
//! scheduler.
//!
//! This target includes most files of the other test targets. Builders that choose no scheduler
//! take it from an environment variable, which is set before the first test begins. The following
//! files cannot be included, or need not be:
//! - without tasks: `here`, `install`, `join`, `scope`, `stress`, `traits`;
//! - for the global pool or environment variables: `builder`, `callers`, `variables`;
//! - with limits, filters or an allocator for the whole process: `guest_limits`, `memory`,
//!   `net_limits`, `process_limits`, `seccomp`, `bitmap_allocations`;
//! - with a scheduler of their own choice: `bitmap_fairness`, `bitmap_promises`, `bitmap_tree`,
//!   `trace`;
//! - with a feature that only their own run turns on: `bridge`, `inspect_limits`, `inspect_pools`.
#![cfg(target_os = "linux")]
#![allow(clippy::duplicate_mod, reason = "each file brings its own `common`")]

#[path = "../abort.rs"]
mod abort;
#[path = "../adopted.rs"]
mod adopted;
#[path = "../analyze.rs"]
mod analyze;
#[path = "../async_fd.rs"]
mod async_fd;
#[path = "../attributes.rs"]
mod attributes;
#[path = "../block_on.rs"]
mod block_on;
#[path = "../blocking.rs"]
mod blocking;
#[path = "../compute.rs"]
mod compute;
#[path = "../ends.rs"]
mod ends;
#[path = "../fairness.rs"]
mod fairness;
#[path = "../familiar.rs"]
mod familiar;
#[path = "../fs.rs"]
mod fs;
#[path = "../fs_file.rs"]
mod fs_file;
#[path = "../guest.rs"]
mod guest;
#[path = "../handle.rs"]
mod handle;
#[path = "../hostile.rs"]
mod hostile;
#[path = "../identity.rs"]
mod identity;
#[path = "../insight/main.rs"]
mod insight;
#[path = "../join_set.rs"]
mod join_set;
#[path = "../local.rs"]
mod local;
#[path = "../macros.rs"]
mod macros;
#[path = "../nesting.rs"]
mod nesting;
#[path = "../net_beside_compute.rs"]
mod net_beside_compute;
#[path = "../net_emfile.rs"]
mod net_emfile;
#[path = "../net_ends.rs"]
mod net_ends;
#[path = "../net_pipe.rs"]
mod net_pipe;
#[path = "../net_tcp.rs"]
mod net_tcp;
#[path = "../net_udp.rs"]
mod net_udp;
#[path = "../net_unix.rs"]
mod net_unix;
#[path = "../openraft.rs"]
mod openraft;
#[path = "../panics.rs"]
mod panics;
#[path = "../par_async.rs"]
mod par_async;
#[path = "../process.rs"]
mod process;
#[path = "../regress.rs"]
mod regress;
#[path = "../shield.rs"]
mod shield;
#[path = "../shutdown_tasks.rs"]
mod shutdown_tasks;
#[path = "../signal.rs"]
mod signal;
#[path = "../spawn.rs"]
mod spawn;
#[path = "../stack_room.rs"]
mod stack_room;
#[path = "../stall_hogs.rs"]
mod stall_hogs;
#[path = "../stall_limits.rs"]
mod stall_limits;
#[path = "../stall_sums.rs"]
mod stall_sums;
#[path = "../stalls.rs"]
mod stalls;
#[path = "../stdio.rs"]
mod stdio;
#[path = "../stress_net.rs"]
mod stress_net;
#[path = "../stress_tasks.rs"]
mod stress_tasks;
#[path = "../stress_time.rs"]
mod stress_time;
#[path = "../surface.rs"]
mod surface;
#[path = "../task_local.rs"]
mod task_local;
#[path = "../tasks.rs"]
mod tasks;
#[path = "../time_delay_queue.rs"]
mod time_delay_queue;
#[path = "../time_interval.rs"]
mod time_interval;
#[path = "../time_paused.rs"]
mod time_paused;
#[path = "../time_slack.rs"]
mod time_slack;
#[path = "../time_sleep.rs"]
mod time_sleep;
#[path = "../time_timeout.rs"]
mod time_timeout;
#[path = "../tracking.rs"]
mod tracking;
#[path = "../uring_accept.rs"]
mod uring_accept;
#[path = "../uring_cancel.rs"]
mod uring_cancel;
#[path = "../uring_ends.rs"]
mod uring_ends;
#[path = "../uring_files.rs"]
mod uring_files;
#[path = "../uring_forbidden.rs"]
mod uring_forbidden;
#[path = "../uring_limits.rs"]
mod uring_limits;
#[path = "../uring_wakers.rs"]
mod uring_wakers;
#[path = "../wait_policy.rs"]
mod wait_policy;
#[path = "../wakers.rs"]
mod wakers;
#[path = "../yields.rs"]
mod yields;

use blitz::Scheduler;

/// Called by the loader, before `main`.
#[used]
// SAFETY: the section is a list of functions of this type, which may ignore their arguments.
#[unsafe(link_section = ".init_array")]
static CHOOSE_SIGNALS: extern "C" fn() = choose_signals;

extern "C" fn choose_signals() {
    // SAFETY: there is only one thread at this point, and it keeps no pointer into the environment.
    unsafe { std::env::set_var(Scheduler::VARIABLE, "signal") };
}

#[test]
fn pools_have_the_scheduler_that_the_environment_names() {
    let runtime = blitz::Runtime::builder().workers(2).build().unwrap();
    assert_eq!(runtime.pool().scheduler(), Scheduler::Signal);
    let pool = blitz::Pool::builder().workers(1).build().unwrap();
    assert_eq!(pool.scheduler(), Scheduler::Signal);
    assert_eq!(blitz::global().unwrap().scheduler(), Scheduler::Signal);
}

#[blitz::test]
async fn attributes_use_the_scheduler_that_the_environment_names() {
    assert_eq!(blitz::spawn(async { 7 }).await.unwrap(), 7);
    assert!(blitz::Handle::current().metrics().tasks.signal.is_some());
}

#[test]
fn a_builders_own_choice_of_scheduler_wins() {
    let builder = blitz::Runtime::builder().workers(1).scheduler(Scheduler::Stealing);
    assert_eq!(builder.build().unwrap().pool().scheduler(), Scheduler::Stealing);
}

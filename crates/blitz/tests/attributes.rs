//! `#[blitz::main]` and `#[blitz::test]`, and how they treat the function below them.

use std::num::ParseIntError;
use std::thread;

#[blitz::test]
async fn a_test_has_one_worker_unless_it_says_otherwise() {
    if std::env::var_os("BLITZ_WORKERS").is_none() {
        assert_eq!(blitz::current_num_workers(), 1);
    }
    let inside = blitz::spawn(async { blitz::current_worker_index() }).await.unwrap();
    assert!(inside.is_some());
}

const MANY: usize = 2;

#[blitz::test(workers = MANY + 1, scheduler = "stealing")]
async fn a_number_of_workers_may_be_an_expression() {
    assert_eq!(blitz::current_num_workers(), 3);
}

#[blitz::test(workers = 0x3)]
async fn a_number_of_workers_may_have_any_notation() {
    assert_eq!(blitz::current_num_workers(), 3);
}

#[blitz::test(workers = 0b_11_usize)]
async fn a_number_of_workers_may_have_its_type() {
    assert_eq!(blitz::current_num_workers(), 3);
}

#[blitz::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokios_arguments_mean_the_same() {
    assert_eq!(blitz::current_num_workers(), 2);
}

#[blitz::test(flavor = "current_thread")]
async fn the_current_thread_may_be_the_only_worker() {
    assert_eq!(blitz::current_num_workers(), 1);
    let here = thread::current().id();
    assert_eq!(blitz::spawn(async { thread::current().id() }).await.unwrap(), here);
}

#[blitz::test(scheduler = Stealing)]
async fn a_scheduler_may_be_a_word() {
    assert_eq!(blitz::spawn(async { 7 }).await.unwrap(), 7);
}

#[blitz::test(scheduler = blitz::Scheduler::Stealing,)]
async fn a_scheduler_may_be_a_path() {
    assert_eq!(blitz::spawn(async { 7 }).await.unwrap(), 7);
}

#[blitz::test]
async fn an_error_fails_a_test_and_ok_does_not() -> Result<(), ParseIntError> {
    let parsed = blitz::spawn(async { "7".parse::<u32>() }).await.unwrap()?;
    assert_eq!(parsed, 7);
    Ok(())
}

#[blitz::test]
#[should_panic(expected = "on purpose")]
async fn a_panic_is_the_tests_own() {
    blitz::task::yield_now().await;
    panic!("on purpose");
}

#[blitz::test]
#[ignore = "shows that the attribute `ignore` is kept: without it the test would fail"]
async fn an_ignored_test_is_not_run() {
    panic!("this test is ignored");
}

/// The body need not be `Send`: it stays on the caller's thread.
#[blitz::test]
async fn the_body_stays_on_its_thread() {
    let shared = std::rc::Rc::new(thread::current().id());
    blitz::task::yield_now().await;
    blitz::spawn(async {}).await.unwrap();
    assert_eq!(*shared, thread::current().id());
}

mod framework {
    pub mod prelude {
        pub use blitz as runtime;
    }
}

#[framework::prelude::runtime::test(crate = framework::prelude::runtime, scheduler = "stealing")]
async fn the_library_may_be_elsewhere() {
    assert_eq!(framework::prelude::runtime::spawn(async { 7 }).await.unwrap(), 7);
}

#[blitz::test(crate = "framework::prelude::runtime")]
async fn the_librarys_path_may_be_in_quotes() {
    assert_eq!(blitz::spawn(async { 7 }).await.unwrap(), 7);
}

#[blitz::main(workers = 2)]
#[must_use]
async fn count_of_workers() -> impl PartialEq<usize> + std::fmt::Debug {
    if blitz::Handle::try_current().is_err() {
        return 0;
    }
    blitz::spawn(async { blitz::current_num_workers() }).await.unwrap()
}

#[test]
fn any_function_can_be_run_like_main() {
    assert_eq!(count_of_workers(), 2);
    // Such a function may also be called in a task. There it blocks, as `block_on` does.
    let inside = blitz::block_on(async { blitz::spawn(async { count_of_workers() == 2 }).await });
    assert!(inside.unwrap());
}

/// Makes a function as a user's macro would.
macro_rules! runs_as {
    ($visibility:vis $name:ident -> $output:ty $body:block) => {
        #[blitz::main(workers = 1)]
        $visibility async fn $name() -> $output $body
    };
}

runs_as!(pub(crate) made_by_a_macro -> Result<u32, ParseIntError> {
    "seven".parse::<u32>()?;
    Ok(7)
});

#[test]
fn functions_that_macros_make_are_understood() {
    assert!(made_by_a_macro().is_err());
}

#[blitz::main(workers = 70_000)]
async fn too_many_workers() {}

#[test]
#[should_panic(expected = "the runtime could not be built")]
fn a_runtime_that_cannot_be_built_is_a_panic() {
    too_many_workers();
}

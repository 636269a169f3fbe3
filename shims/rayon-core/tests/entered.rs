//! A thread that is in a Blitz runtime. This is a process of its own, to show that the global pool
//! is not built.

use rayon_core::ThreadPoolBuilder;
use std::thread;

#[test]
fn calls_inside_of_a_runtime_use_its_workers_and_build_no_global_pool() {
    let name = || thread::current().name().map(str::to_owned);
    let pool =
        blitz_core::Pool::builder().workers(3).thread_name(|_| "entered".into()).build().unwrap();
    pool.block_on(async {
        assert_eq!(rayon_core::current_num_threads(), 3);
        let (left, right) = rayon_core::join(name, name);
        assert_eq!((left.as_deref(), right.as_deref()), (Some("entered"), Some("entered")));
        assert_eq!(rayon_core::scope(|_| name()).as_deref(), Some("entered"));
    });
    ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    assert_eq!(rayon_core::current_num_threads(), 1);
}

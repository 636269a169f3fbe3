//! The chapters of `docs/guide`, whose programs are documentation tests.
//!
//! The chapter about HTTP is in `blitz-hyper`.

/// Compiles and runs the programs of each page.
macro_rules! pages {
    ($($name:ident: $path:literal;)*) => {$(
        #[doc = include_str!(concat!("../../../docs/guide/", $path))]
        mod $name {}
    )*};
}

pages! {
    first_fork: "01-first-fork.md";
    first_task: "02-first-task.md";
    both_together: "03-both-together.md";
    cancelling: "04-cancelling.md";
    time: "05-time.md";
    network: "06-network.md";
    blocking: "08-blocking.md";
    iterators: "09-iterators.md";
    schedulers: "10-schedulers.md";
    testing: "11-testing.md";
    looking_inside: "12-looking-inside.md";
    tuning: "13-tuning.md";
    shutdown: "14-shutdown.md";
}

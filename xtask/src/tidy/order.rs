//! The order of modules inside the crates: which module may name which. The rule `direction`
//! keeps it, and `cargo xtask graph --write` draws it in ARCHITECTURE.md.

/// The order of one crate.
pub struct Order {
    pub name: &'static str,
    /// Where its files are.
    pub sources: &'static str,
    /// The layers, from top to bottom.
    pub layers: &'static [Layer],
    /// Whether the order binds tests, too: then they may name their own layer and lower ones.
    /// Otherwise a test of a lower module may build everything it needs.
    pub tests_too: bool,
    /// Pairs of modules whose types hold each other: one data structure, in several files. The
    /// first may name the second, although the second names the first.
    pub recursive: &'static [(&'static str, &'static str)],
    /// Pairs of modules in which the first may name the second against the order, for now. This
    /// list only shrinks: a pair that is no longer needed is a finding.
    pub known: &'static [(&'static str, &'static str)],
}

/// Modules with one purpose.
pub struct Layer {
    pub name: &'static str,
    /// Rows of modules, from top to bottom. A module may name modules of lower rows and of lower
    /// layers; modules of one row may not name each other. A module stands for everything inside
    /// it, except modules that the table lists separately.
    pub rows: &'static [&'static [&'static str]],
}

const fn layer(name: &'static str, rows: &'static [&'static [&'static str]]) -> Layer {
    Layer { name, rows }
}

pub const ORDERS: &[Order] = &[
    Order {
        name: "blitz-io",
        sources: "crates/blitz-io/src",
        tests_too: true,
        layers: &[
            layer(
                "door",
                &[
                    &["fs", "process", "shutdown", "task_tracker"],
                    &["net"],
                    &["signal"],
                    &["io"],
                    &["async_fd"],
                ],
            ),
            layer("time", &[&["time"]]),
            layer("driver", &[&["driver"], &["timers", "uring"], &["poll"]]),
            layer("base", &[&["backend", "batch", "room", "transfer"], &["borrowed"]]),
        ],
        recursive: &[],
        known: &[],
    },
    Order {
        name: "blitz-core",
        sources: "crates/blitz-core/src",
        tests_too: false,
        layers: &[
            layer("check", &[&["check"]]),
            layer("door", &[&["door"]]),
            layer("ops", &[&["ops"]]),
            layer("task", &[&["task"]]),
            layer("worker", &[&["worker"]]),
            layer("sched", &[&["sched"]]),
            layer("team", &[&["team"]]),
            layer("state", &[&["state"]]),
            layer("base", &[&["base"]]),
        ],
        // A team holds its workers, which point to the team. While a worker of another team waits
        // for a team's end, the team also holds that worker's latch.
        recursive: &[("team", "team::latch"), ("team", "team::worker")],
        known: &[],
    },
    Order {
        name: "blitz-inspect",
        sources: "crates/blitz-inspect/src",
        tests_too: true,
        layers: &[
            layer("door", &[&["page"], &["socket"]]),
            layer("server", &[&["server"], &["route"]]),
            layer("rules", &[&["connection", "guard", "settings"], &["head"], &["response"]]),
            layer("base", &[&["exposition", "gate", "json", "pools"], &["token"]]),
        ],
        recursive: &[],
        known: &[],
    },
    Order {
        name: "blitz-parts",
        sources: "crates/blitz-parts/src",
        tests_too: true,
        layers: &[
            layer("models", &[&["compose"]]),
            layer(
                "protocols",
                &[
                    &["bitmap", "guests", "lifo", "mail", "ring", "wheel"],
                    &["inject"],
                    &["job", "queue"],
                    &[
                        "alarm",
                        "life",
                        "readiness",
                        "recorder",
                        "seats",
                        "sleep",
                        "task",
                        "trail",
                        "deque",
                        "watch",
                    ],
                    &["latch"],
                    &["sleep::bed"],
                    &["latch::core_latch", "sleep::driver"],
                    &["sleep::counters"],
                    &["barrier", "park", "stock"],
                ],
            ),
            layer(
                "base",
                &[
                    &["ticks"],
                    &["counter", "cycles", "panic", "rng", "slots", "stack", "thread", "trim"],
                    &["tuning"],
                    &["prim"],
                ],
            ),
        ],
        recursive: &[
            // A task's header has room for a waker and for its neighbours in a list, and it knows
            // how to run the task. All of these point to headers.
            ("task", "task::join_waker"),
            ("task", "task::owned"),
            ("task", "task::runnable"),
            ("task", "task::table"),
            // A wheel's levels link entries, and an entry points to its wheel.
            ("wheel::levels", "wheel::entry"),
            ("wheel::entry", "wheel"),
        ],
        known: &[("prim", "prim::randomised")],
    },
];

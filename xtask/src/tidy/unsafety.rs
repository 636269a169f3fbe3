//! Checks where `unsafe` is written. Clippy checks that each block has a SAFETY comment.

use super::Report;
use crate::tree::{File, Tree};

/// The crate whose purpose is to hold unsafe code.
const FREE: &str = "crates/blitz-parts/src/";

/// Files outside that crate that need unsafe code.
const ALLOWED: &[&str] = &[
    "bench/contestant/src/os/slice.rs",
    "crates/blitz/tests/common/hostile.rs",
    "crates/blitz/tests/process.rs",
    "crates/blitz/tests/seccomp.rs",
    "crates/blitz/tests/memory.rs",
    "crates/blitz/tests/bitmap_allocations.rs",
    "crates/blitz/tests/bitmap_scheduler/main.rs",
    "crates/blitz/tests/uring_wakers.rs",
    "crates/blitz-core/src/base/context.rs",
    "crates/blitz-core/src/door/tokio_guest.rs",
    "crates/blitz-core/src/ops/broadcast.rs",
    "crates/blitz-core/src/ops/detached.rs",
    "crates/blitz-core/src/ops/here.rs",
    "crates/blitz-core/src/ops/install.rs",
    "crates/blitz-core/src/ops/join.rs",
    "crates/blitz-core/src/ops/scope.rs",
    "crates/blitz-core/src/ops/scope_fifo.rs",
    "crates/blitz-core/src/sched/cancel.rs",
    "crates/blitz-core/src/sched/hold.rs",
    "crates/blitz-core/src/sched/home.rs",
    "crates/blitz-core/src/state/owner_only.rs",
    "crates/blitz-core/src/task/bell.rs",
    "crates/blitz-core/src/task/local/locals.rs",
    "crates/blitz-core/src/task/sleepers.rs",
    "crates/blitz-core/src/team/latch.rs",
    "crates/blitz-core/src/team/owner.rs",
    "crates/blitz-core/src/team/worker.rs",
    "crates/blitz-core/src/worker/analysis.rs",
    "crates/blitz-core/src/worker/jobs.rs",
    "crates/blitz-core/src/worker/thread.rs",
    "crates/blitz-core/src/worker/visit.rs",
    "crates/blitz-hyper/src/io.rs",
    "crates/blitz-io/src/transfer.rs",
    "crates/blitz-io/src/net/unix/peer.rs",
    "crates/blitz-io/src/process/command.rs",
    "crates/blitz-io/src/signal/hook.rs",
    "crates/blitz-io/src/uring/ring.rs",
    "crates/blitz-io/tests/broken_pipe.rs",
    "crates/blitz-par/src/collect/in_place.rs",
    "crates/blitz-par/src/collect/rope.rs",
    "crates/blitz-par/src/sort/merge.rs",
    "crates/blitz-par/src/source/vec.rs",
    "shims/rayon-core/src/proof.rs",
    "shims/rayon-core/src/scope.rs",
    "tools/blitz-attack/src/allocator.rs",
];

pub fn check(tree: &Tree, report: &mut Report) {
    for file in tree.rust() {
        if file.path.starts_with(FREE) || ALLOWED.contains(&file.path.as_str()) {
            continue;
        }
        if let Some(line) = first_unsafe(file) {
            let message =
                "unsafe belongs in blitz-parts; a new place needs a line in this rule's list";
            report.at(&file.path, line, message);
        }
    }
    for path in ALLOWED {
        match tree.file(path).map(first_unsafe) {
            Some(Some(_)) => {}
            Some(None) => report.about(path, "listed as a file with unsafe, and has none"),
            None => report.about(path, "listed as a file with unsafe, and does not exist"),
        }
    }
}

fn first_unsafe(file: &File) -> Option<usize> {
    file.tokens().iter().find(|token| token.text == "unsafe").map(|token| token.line)
}

#[cfg(test)]
mod tests {
    use super::ALLOWED;
    use crate::tidy::tests::run;

    #[test]
    fn new_and_needless_places_are_found() {
        let mut files: Vec<_> = ALLOWED.iter().map(|path| (*path, "unsafe {}")).collect();
        files[0].1 = "// unsafe\n#![forbid(unsafe_code)]";
        files.remove(1);
        files.push(("crates/a/src/a.rs", "\nunsafe fn f() {}"));
        files.push(("crates/blitz-parts/src/a.rs", "unsafe fn f() {}"));
        let found = run("unsafe", &files);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("crates/a/src/a.rs:2:"), "{found:?}");
        assert!(found[1].contains("has none"), "{found:?}");
        assert!(found[2].starts_with(ALLOWED[1]) && found[2].contains("not exist"), "{found:?}");
    }
}

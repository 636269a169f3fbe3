//! Children when there are no more descriptors. This target is a process of its own, because the
//! limit is for the whole process.

mod common;

use blitz::process::Command;
use common::watched;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, WaitId, WaitIdOptions, getrlimit, setrlimit, waitid};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Stdio;

/// Returns whether there is any child, at least as a zombie.
fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// Opens files until all numbers below the last descriptor are in use.
///
/// Returns the files and the last number. The limit applies to the numbers of descriptors, not to
/// how many are open.
fn without_gaps() -> (Vec<File>, u64) {
    let names = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let highest: i32 = numbers.max().unwrap();
    let mut files = Vec::new();
    loop {
        let file = File::open("/dev/null").unwrap();
        let number = file.as_raw_fd();
        files.push(file);
        if number > highest {
            return (files, number as u64);
        }
    }
}

#[test]
fn a_child_that_cannot_be_watched_is_an_error_and_no_child() {
    watched("no descriptors", |watch| {
        let runtime = watch.workers(2);
        let before = getrlimit(Resource::Nofile);
        runtime.block_on(async {
            assert!(Command::new("true").status().await.unwrap().success());
            let (files, last) = without_gaps();
            let (mut started, mut refused) = (0, 0);
            for more in 0..20 {
                setrlimit(Resource::Nofile, Rlimit { current: Some(last + 1 + more), ..before })
                    .unwrap();
                let mut cat = Command::new("cat");
                cat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let child = cat.spawn();
                setrlimit(Resource::Nofile, before).unwrap();
                match child {
                    Ok(mut child) => {
                        assert!(child.wait().await.unwrap().success());
                        started += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.raw_os_error(), Some(Errno::MFILE.raw_os_error()));
                        refused += 1;
                    }
                }
                // A child that could not be watched was killed. The thread that starts the next
                // child reaps it.
                while has_children() {
                    assert!(Command::new("true").status().await.unwrap().success());
                }
            }
            drop(files);
            assert!(started > 0 && refused > 0, "{started} started, {refused} refused");
        });
    });
}

//! Writing to a closed peer returns an error and raises no signal. This is a file of its own
//! because the signal handler is for the whole process.

use blitz_core::Pool;
use blitz_io::net::UnixStream;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

const SIGPIPE: i32 = rustix::process::Signal::PIPE.as_raw();

#[test]
fn no_write_to_a_broken_stream_raises_a_signal() {
    let count = || _ = SIGNALS.fetch_add(1, SeqCst);
    // SAFETY: adding to an atomic is fine in a signal handler.
    unsafe { signal_hook_registry::register(SIGPIPE, count) }.unwrap();
    let pool = Pool::builder().workers(1).build().unwrap();
    pool.block_on(async {
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        here.writable().await.unwrap();
        let long = [0; 1_000];
        let lists: [&[&[u8]]; 3] = [&[b"one"], &[b"few", b"short"], &[&long, &long]];
        for list in lists {
            let slices: Vec<IoSlice<'_>> = list.iter().map(|bytes| IoSlice::new(bytes)).collect();
            let broken = |result: io::Result<usize>| {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::BrokenPipe);
            };
            broken(here.try_write_vectored(&slices));
            broken(here.try_write(list[0]));
        }
    });
    // A thread that raises a signal handles it before its call returns.
    assert_eq!(SIGNALS.load(SeqCst), 0);
}

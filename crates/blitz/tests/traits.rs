//! Checks which of the traits `Send`, `Sync`, `Debug`, `Error` and `UnwindSafe` public types
//! implement. A change here affects users. `cargo xtask tidy` finds public types that are missing.

use std::cell::Cell;
use std::error::Error;
use std::fmt::Debug;
use std::future::Ready as Done;

/// Fails to compile unless each type implements all of the traits.
macro_rules! each_is {
    ($traits:ident: $($type:ty),+ $(,)?) => {
        $(let _ = $traits::<$type>;)+
    };
}

/// Fails to compile if the type implements the trait: then two implementations fit.
macro_rules! is_not {
    ($($type:ty: $trait:path),+ $(,)?) => {
        $(const _: fn() = || {
            trait Ambiguous<A> {
                fn some() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            struct Invalid;
            impl<T: ?Sized + $trait> Ambiguous<Invalid> for T {}
            let _ = <$type as Ambiguous<_>>::some;
        };)+
    };
}

fn shared<T: Send + Sync + Debug>() {}
fn sent<T: Send + Debug>() {}
fn printed<T: Debug>() {}
fn error<T: Error + Send + Sync + 'static>() {}
fn unwinds<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}

/// A value that is `Send` and not `Sync`.
type Lonely = Cell<u8>;

#[test]
fn pools() {
    each_is!(shared: blitz::Pool, blitz::Runtime, blitz::Handle);
    each_is!(shared: blitz::Scheduler, blitz::SleepPolicy, blitz::WaitPolicy, blitz::Yield);
    each_is!(shared: blitz::Backend, blitz::BackendChoice);
    each_is!(sent: blitz::ThreadBuilder);
    each_is!(printed: blitz::PoolBuilder, blitz::Builder, blitz::EnterGuard<'static>);
    each_is!(unwinds: blitz::Pool);
    // The builder's closure for thread names stays on its thread; an entered pool belongs to one
    // thread.
    is_not!(blitz::PoolBuilder: Send, blitz::EnterGuard<'static>: Send, blitz::EnterGuard<'static>: Sync);
}

#[test]
fn jobs() {
    each_is!(shared: blitz::Scope<'static>, blitz::ScopeFifo<'static>);
    each_is!(printed: blitz::FnContext, blitz::BroadcastContext<'static>);
    // These contexts belong to one thread.
    is_not!(blitz::FnContext: Send, blitz::FnContext: Sync);
    is_not!(blitz::BroadcastContext<'static>: Send, blitz::BroadcastContext<'static>: Sync);
}

#[test]
fn tasks() {
    each_is!(shared: blitz::JoinHandle<Lonely>, blitz::AbortHandle, blitz::task::Id);
    each_is!(shared: blitz::JoinSet<u8>, blitz::task::JoinMap<u8, u8>, blitz::task::YieldNow);
    each_is!(shared: blitz::task::Builder<'static>);
    each_is!(shared: blitz::task::LocalKey<Lonely>);
    each_is!(sent: blitz::task::Shield<Done<u8>>, blitz::task::Unconstrained<Done<u8>>);
    each_is!(sent: blitz::task::TaskLocalFuture<u8, Done<u8>>);
    each_is!(sent: blitz::task::coop::Cooperative<Done<u8>>);
    each_is!(shared: blitz::task::TaskTracker, blitz::task::TaskTrackerToken);
    each_is!(shared: blitz::task::TrackedFuture<Done<u8>>);
    each_is!(printed: blitz::LocalSet, blitz::task::LocalEnterGuard);
    each_is!(unwinds: blitz::JoinHandle<Lonely>);
    is_not!(blitz::LocalSet: Send, blitz::LocalSet: Sync);
    is_not!(blitz::task::LocalEnterGuard: Send, blitz::task::LocalEnterGuard: Sync);
}

#[test]
fn errors() {
    each_is!(error: blitz::BuildError, blitz::JoinError, blitz::TryCurrentError, blitz::Unfinished);
    each_is!(error: blitz::task::AccessError, blitz::TrySpawnError<Done<u8>>);
    each_is!(error: blitz::time::Elapsed);
    each_is!(error: blitz::net::tcp::ReuniteError, blitz::net::unix::ReuniteError);
    each_is!(error: blitz::io::unix::AsyncFdTryNewError<std::fs::File>);
    each_is!(shared: blitz::io::unix::TryIoError);
}

#[test]
fn what_looks_inside() {
    each_is!(shared: blitz::Diagnostics, blitz::Histogram, blitz::Analysis<u8>);
    each_is!(shared: blitz::PoolMetrics, blitz::SignalMetrics, blitz::TaskMetrics, blitz::WorkerMetrics);
    each_is!(shared: blitz::StateTimes, blitz::TypeMetrics, blitz::TraceMetrics, blitz::RegionMetrics);
    each_is!(shared: blitz::Trace, blitz::TraceTrack, blitz::TraceSlice, blitz::TraceMark);
    each_is!(shared: blitz::Explanation, blitz::WaitingTask, blitz::WaitEdge, blitz::WaitKind);
    each_is!(shared: blitz::TaskStack, blitz::TaskFrame);
    each_is!(shared: blitz::TaskList, blitz::TaskInfo, blitz::TaskState);
    each_is!(shared: blitz::StallReport, blitz::StallKind);
    each_is!(shared: blitz::TraceTrigger, blitz::SliceKind, blitz::MarkKind, blitz::Exposition<'static>);
    each_is!(shared: blitz::Dump, blitz::SignalDump, blitz::TaskDump, blitz::WorkerDump);
}

#[cfg(feature = "inspect")]
#[test]
fn the_page() {
    use blitz::inspect;
    each_is!(shared: inspect::Inspect, inspect::Page, inspect::Token);
}

#[test]
fn the_outside_world() {
    use blitz::{fs, io, net, process, shutdown, signal, time};
    each_is!(shared: fs::File, fs::OpenOptions, fs::DirBuilder, fs::DirEntry);
    each_is!(sent: fs::ReadDir);
    is_not!(fs::ReadDir: Sync);
    each_is!(shared: io::Stdin, io::Stdout, io::Stderr);
    each_is!(shared: io::Interest, io::Ready, io::unix::AsyncFd<std::fs::File>);
    each_is!(shared: io::unix::AsyncFdReadyGuard<'static, std::fs::File>);
    each_is!(shared: io::unix::AsyncFdReadyMutGuard<'static, std::fs::File>);
    each_is!(shared: net::TcpListener, net::TcpSocket, net::TcpStream, net::UdpSocket);
    each_is!(shared: net::UnixDatagram, net::UnixListener, net::UnixStream, net::unix::UCred);
    each_is!(shared: net::UnixSocket, net::unix::pipe::OpenOptions);
    each_is!(shared: net::unix::pipe::Sender, net::unix::pipe::Receiver);
    each_is!(shared: net::tcp::OwnedReadHalf, net::tcp::OwnedWriteHalf);
    each_is!(shared: net::tcp::ReadHalf<'static>, net::tcp::WriteHalf<'static>);
    each_is!(shared: net::unix::OwnedReadHalf, net::unix::OwnedWriteHalf);
    each_is!(shared: net::unix::ReadHalf<'static>, net::unix::WriteHalf<'static>);
    each_is!(shared: process::Command, process::Child);
    each_is!(shared: process::ChildStdin, process::ChildStdout, process::ChildStderr);
    each_is!(shared: signal::unix::Signal, signal::unix::SignalKind);
    each_is!(shared: time::Instant, time::Interval, time::MissedTickBehavior, time::Sleep);
    each_is!(shared: time::Timeout<Done<u8>>, time::DelayQueue<u8>);
    each_is!(shared: time::delay_queue::Key, time::delay_queue::Expired<u8>);
    each_is!(shared: shutdown::Shutdown, shutdown::Running, shutdown::Place);
    each_is!(shared: shutdown::Report, shutdown::Left);
}

/// The base of the adaptors below.
type Base = blitz::par::vec::IntoIter<u8>;

/// The closure of the adaptors below.
type Call = fn(u8) -> u8;

/// The items of a borrowed slice.
type Borrowed = blitz::par::slice::Iter<'static, u8>;

#[test]
fn sources_of_parallel_loops() {
    use blitz::par::{array, collections, iter, option, range, range_inclusive, slice, str, vec};
    use std::collections::hash_map;
    each_is!(shared: array::IntoIter<u8, 4>, option::IntoIter<u8>);
    each_is!(shared: range::Iter<u8>, range_inclusive::Iter<u8>);
    each_is!(shared: vec::IntoIter<u8>, vec::Drain<'static, u8>);
    each_is!(shared: collections::Iter<u8>);
    each_is!(shared: collections::PulledIter<hash_map::IntoIter<u8, u8>>);
    each_is!(shared: collections::vec_deque::Iter<'static, u8>);
    each_is!(shared: collections::vec_deque::IterMut<'static, u8>);
    each_is!(shared: collections::vec_deque::IntoIter<u8>);
    each_is!(shared: collections::vec_deque::Drain<'static, u8>);
    each_is!(shared: iter::Source<std::ops::Range<u8>>, iter::IterBridge<std::vec::IntoIter<u8>>);
    each_is!(shared: iter::Once<u8>, iter::Empty<u8>, iter::Repeat<u8>, iter::RepeatN<u8>);
    each_is!(shared: iter::Split<u8, Call>, iter::WalkTree<u8, Call>);
    each_is!(shared: iter::WalkTreePrefix<u8, Call>, iter::WalkTreePostfix<u8, Call>);
    each_is!(shared: iter::Either<Base, Base>, iter::MultiZip<(Base, Base)>);
    each_is!(shared: slice::Iter<'static, u8>, slice::IterMut<'static, u8>);
    each_is!(shared: slice::Chunks<'static, u8>, slice::ChunksMut<'static, u8>);
    each_is!(shared: slice::ChunksExact<'static, u8>, slice::ChunksExactMut<'static, u8>);
    each_is!(shared: slice::RChunks<'static, u8>, slice::RChunksMut<'static, u8>);
    each_is!(shared: slice::RChunksExact<'static, u8>, slice::RChunksExactMut<'static, u8>);
    each_is!(shared: slice::ChunkBy<'static, u8, Call>, slice::ChunkByMut<'static, u8, Call>);
    each_is!(shared: slice::Split<'static, u8, Call>, slice::SplitMut<'static, u8, Call>);
    each_is!(shared: slice::SplitInclusive<'static, u8, Call>);
    each_is!(shared: slice::SplitInclusiveMut<'static, u8, Call>);
    each_is!(shared: slice::Windows<'static, u8>, slice::ArrayWindows<'static, u8, 4>);
    each_is!(shared: str::Bytes<'static>, str::Chars<'static>, str::CharIndices<'static>);
    each_is!(shared: str::EncodeUtf16<'static>, str::Drain<'static>, str::Lines<'static>);
    each_is!(shared: str::SplitWhitespace<'static>, str::SplitAsciiWhitespace<'static>);
    each_is!(shared: str::Split<'static, char>, str::SplitInclusive<'static, char>);
    each_is!(shared: str::SplitTerminator<'static, char>);
    each_is!(shared: str::Matches<'static, char>, str::MatchIndices<'static, char>);
}

#[test]
fn sources_by_the_names_of_rayon() {
    use blitz::par::collections::{binary_heap, btree_map, btree_set, hash_map, hash_set};
    use blitz::par::{collections::linked_list, option, result};
    each_is!(shared: binary_heap::Drain<'static, u8>, binary_heap::IntoIter<u8>);
    each_is!(shared: binary_heap::Iter<'static, u8>);
    each_is!(shared: btree_map::IntoIter<u8, u8>, btree_map::Iter<'static, u8, u8>);
    each_is!(shared: btree_map::IterMut<'static, u8, u8>);
    each_is!(shared: btree_set::IntoIter<u8>, btree_set::Iter<'static, u8>);
    each_is!(shared: hash_map::Drain<'static, u8, u8>, hash_map::IntoIter<u8, u8>);
    each_is!(shared: hash_map::Iter<'static, u8, u8>, hash_map::IterMut<'static, u8, u8>);
    each_is!(shared: hash_set::Drain<'static, u8>, hash_set::IntoIter<u8>);
    each_is!(shared: hash_set::Iter<'static, u8>);
    each_is!(shared: linked_list::IntoIter<u8>, linked_list::Iter<'static, u8>);
    each_is!(shared: linked_list::IterMut<'static, u8>);
    each_is!(shared: option::Iter<'static, u8>, option::IterMut<'static, u8>);
    each_is!(shared: result::IntoIter<u8>, result::Iter<'static, u8>);
    each_is!(shared: result::IterMut<'static, u8>);
}

#[test]
fn adaptors_of_parallel_loops() {
    use blitz::par::iter;
    each_is!(shared: iter::Map<Base, Call>, iter::MapInit<Base, Call, Call>);
    each_is!(shared: iter::MapWith<Base, u8, Call>, iter::Inspect<Base, Call>);
    each_is!(shared: iter::Update<Base, Call>, iter::Cloned<Borrowed>, iter::Copied<Borrowed>);
    each_is!(shared: iter::Filter<Base, Call>, iter::FilterMap<Base, Call>);
    each_is!(shared: iter::FlatMap<Base, Call>, iter::FlatMapIter<Base, Call>);
    each_is!(shared: iter::Flatten<Base>, iter::FlattenIter<Base>);
    each_is!(shared: iter::Fold<Base, Call, Call>, iter::FoldWith<Base, u8, Call>);
    each_is!(shared: iter::TryFold<Base, Lonely, Call, Call>);
    each_is!(shared: iter::TryFoldWith<Base, Lonely, u8, Call>);
    each_is!(shared: iter::FoldChunks<Base, Call, Call>, iter::FoldChunksWith<Base, u8, Call>);
    each_is!(shared: iter::Chunks<Base>, iter::Chain<Base, Base>, iter::Intersperse<Base>);
    each_is!(shared: iter::Interleave<Base, Base>, iter::InterleaveShortest<Base, Base>);
    each_is!(shared: iter::Zip<Base, Base>, iter::ZipEq<Base, Base>, iter::Enumerate<Base>);
    each_is!(shared: iter::Rev<Base>, iter::Skip<Base>, iter::Take<Base>, iter::StepBy<Base>);
    each_is!(shared: iter::Positions<Base, Call>, iter::WhileSome<Base>, iter::PanicFuse<Base>);
    each_is!(shared: iter::TakeAny<Base>, iter::TakeAnyWhile<Base, Call>);
    each_is!(shared: iter::SkipAny<Base>, iter::SkipAnyWhile<Base, Call>);
    each_is!(shared: iter::MinLen<Base>, iter::MaxLen<Base>, iter::MaxWorkers<Base>);
    each_is!(shared: iter::FixedShape<Base>, iter::ExponentialBlocks<Base>);
    each_is!(shared: iter::UniformBlocks<Base>);
    each_is!(shared: iter::CancelOn<Base>, iter::OnProgress<Base, Call>, blitz::par::CancelToken);
}

#[cfg(feature = "stream")]
#[test]
fn results_of_parallel_loops() {
    each_is!(shared: blitz::par::ResultStream<std::vec::IntoIter<u8>, Call, u8>);
}

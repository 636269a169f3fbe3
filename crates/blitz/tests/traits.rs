//! Checks which of the traits `Send`, `Sync`, `Debug`, `Error` and `UnwindSafe` public types
//! implement. A change here affects users.

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
    each_is!(shared: blitz::JoinSet<u8>, blitz::task::YieldNow);
    each_is!(shared: blitz::task::LocalKey<Lonely>);
    each_is!(sent: blitz::task::Shield<Done<u8>>, blitz::task::Unconstrained<Done<u8>>);
    each_is!(sent: blitz::task::TaskLocalFuture<u8, Done<u8>>);
    each_is!(printed: blitz::LocalSet);
    each_is!(unwinds: blitz::JoinHandle<Lonely>);
    is_not!(blitz::LocalSet: Send, blitz::LocalSet: Sync);
}

#[test]
fn errors() {
    each_is!(error: blitz::BuildError, blitz::JoinError, blitz::TryCurrentError, blitz::Unfinished);
    each_is!(error: blitz::task::AccessError, blitz::TrySpawnError<Done<u8>>);
    each_is!(error: blitz::time::Elapsed);
    each_is!(error: blitz::net::tcp::ReuniteError, blitz::net::unix::ReuniteError);
    each_is!(shared: blitz::io::unix::TryIoError);
}

#[test]
fn what_looks_inside() {
    each_is!(shared: blitz::Diagnostics, blitz::Histogram, blitz::Analysis<u8>);
    each_is!(shared: blitz::PoolMetrics, blitz::SignalMetrics, blitz::TaskMetrics, blitz::WorkerMetrics);
    each_is!(shared: blitz::StateTimes, blitz::TypeMetrics, blitz::TraceMetrics);
    each_is!(shared: blitz::Trace, blitz::TraceTrack, blitz::TraceSlice, blitz::TraceMark);
    each_is!(shared: blitz::Explanation, blitz::WaitingTask, blitz::WaitEdge, blitz::WaitKind);
    each_is!(shared: blitz::TaskStack, blitz::TaskFrame);
    each_is!(shared: blitz::TaskList, blitz::TaskInfo, blitz::StallReport, blitz::StallKind);
    each_is!(shared: blitz::TraceTrigger, blitz::SliceKind, blitz::MarkKind, blitz::Exposition<'static>);
    each_is!(shared: blitz::Dump, blitz::SignalDump, blitz::TaskDump, blitz::WorkerDump);
}

#[test]
fn the_outside_world() {
    use blitz::{fs, io, net, process, signal, time};
    each_is!(shared: fs::File, fs::OpenOptions, fs::DirBuilder, fs::DirEntry);
    each_is!(sent: fs::ReadDir);
    is_not!(fs::ReadDir: Sync);
    each_is!(shared: io::Interest, io::Ready, io::unix::AsyncFd<std::fs::File>);
    each_is!(shared: io::unix::AsyncFdReadyGuard<'static, std::fs::File>);
    each_is!(shared: io::unix::AsyncFdReadyMutGuard<'static, std::fs::File>);
    each_is!(shared: net::TcpListener, net::TcpSocket, net::TcpStream, net::UdpSocket);
    each_is!(shared: net::UnixDatagram, net::UnixListener, net::UnixStream, net::unix::UCred);
    each_is!(shared: net::tcp::OwnedReadHalf, net::tcp::OwnedWriteHalf);
    each_is!(shared: net::tcp::ReadHalf<'static>, net::tcp::WriteHalf<'static>);
    each_is!(shared: net::unix::OwnedReadHalf, net::unix::OwnedWriteHalf);
    each_is!(shared: net::unix::ReadHalf<'static>, net::unix::WriteHalf<'static>);
    each_is!(shared: process::Command, process::Child);
    each_is!(shared: process::ChildStdin, process::ChildStdout, process::ChildStderr);
    each_is!(shared: signal::unix::Signal, signal::unix::SignalKind);
    each_is!(shared: time::Instant, time::Interval, time::MissedTickBehavior, time::Sleep);
    each_is!(shared: time::Timeout<Done<u8>>);
}

//! I/O: sockets on the loopback, files, a program, a signal.

use super::stage::{Ctx, Outcome, Stop, ticketed};
use crate::ledger::Kind;
use crate::plan::op::IoKind;
use blitz::io::{AsyncReadExt, AsyncWriteExt};
use blitz::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram, UnixStream};
use blitz::time::{Duration, timeout};

/// Moves `bytes` bytes, and checks each of them.
pub async fn run(ctx: &Ctx, kind: IoKind, bytes: usize) -> Outcome {
    let sent: Vec<u8> = (0..bytes).map(|n| n as u8).collect();
    match kind {
        IoKind::Tcp => tcp(ctx, sent).await?,
        IoKind::Udp => udp(ctx, &sent[..sent.len().min(500)]).await?,
        IoKind::Unix => unix(ctx, sent).await?,
        IoKind::UnixDatagram => unix_datagram(ctx, &sent[..sent.len().min(500)]).await?,
        IoKind::Owned => owned(ctx, sent).await?,
        IoKind::File => file(ctx, &sent).await?,
        IoKind::Abandoned => abandoned(ctx).await?,
        IoKind::Process => process(ctx).await?,
        IoKind::Signal => signal(ctx).await?,
    }
    Ok(1)
}

fn same(ctx: &Ctx, what: &str, sent: &[u8], received: &[u8]) {
    ctx.check(sent == received, &format!("{what} brought other bytes"));
}

async fn tcp(ctx: &Ctx, sent: Vec<u8>) -> Result<(), Stop> {
    let listener = ctx.io("bind", TcpListener::bind("127.0.0.1:0").await)?;
    let address = ctx.io("local_addr", listener.local_addr())?;
    let echo = async move {
        let (mut stream, _) = listener.accept().await?;
        let (mut read, mut write) = stream.split();
        blitz::io::copy(&mut read, &mut write).await
    };
    let server = blitz::spawn(ticketed(ctx.ticket(Kind::Task), echo).0);
    let mut stream = ctx.io("connect", TcpStream::connect(address).await)?;
    ctx.io("write", stream.write_all(&sent).await)?;
    ctx.io("shutdown", stream.shutdown().await)?;
    let mut back = Vec::new();
    ctx.io("read", stream.read_to_end(&mut back).await)?;
    let copied = ctx.settle(server.await)?;
    ctx.io("echo", copied)?;
    same(ctx, "a connection", &sent, &back);
    Ok(())
}

async fn udp(ctx: &Ctx, sent: &[u8]) -> Result<(), Stop> {
    let here = ctx.io("bind", UdpSocket::bind("127.0.0.1:0").await)?;
    let there = ctx.io("bind", UdpSocket::bind("127.0.0.1:0").await)?;
    let address = ctx.io("local_addr", there.local_addr())?;
    ctx.io("send_to", here.send_to(sent, address).await)?;
    let mut back = [0; 600];
    let (count, _) = ctx.io("recv_from", there.recv_from(&mut back).await)?;
    same(ctx, "a datagram", sent, &back[..count]);
    Ok(())
}

async fn unix(ctx: &Ctx, sent: Vec<u8>) -> Result<(), Stop> {
    let (mut here, mut there) = ctx.io("pair", UnixStream::pair())?;
    let expected = sent.len();
    let reader = async move {
        let mut back = vec![0; expected];
        there.read_exact(&mut back).await.map(|_| back)
    };
    let reader = blitz::spawn(ticketed(ctx.ticket(Kind::Task), reader).0);
    ctx.io("write", here.write_all(&sent).await)?;
    let back = ctx.settle(reader.await)?;
    same(ctx, "a stream", &sent, &ctx.io("read", back)?);
    Ok(())
}

async fn unix_datagram(ctx: &Ctx, sent: &[u8]) -> Result<(), Stop> {
    let (here, there) = ctx.io("pair", UnixDatagram::pair())?;
    ctx.io("send", here.send(sent).await)?;
    let mut back = [0; 600];
    let count = ctx.io("recv", there.recv(&mut back).await)?;
    same(ctx, "a datagram of a pair", sent, &back[..count]);
    Ok(())
}

async fn owned(ctx: &Ctx, sent: Vec<u8>) -> Result<(), Stop> {
    let (here, there) = ctx.io("pair", UnixStream::pair())?;
    let expected = sent.len();
    let reader = async move {
        let mut back = Vec::new();
        while back.len() < expected {
            let (count, buffer) = there.recv_owned(vec![0; 4_096]).await;
            let count = count?;
            back.extend_from_slice(&buffer[..count]);
            if count == 0 {
                break;
            }
        }
        Ok::<_, std::io::Error>(back)
    };
    let reader = blitz::spawn(ticketed(ctx.ticket(Kind::Task), reader).0);
    let mut rest = sent.clone();
    while !rest.is_empty() {
        let (count, buffer) = here.send_owned(rest).await;
        let count = ctx.io("send_owned", count)?;
        rest = buffer[count..].to_vec();
    }
    let back = ctx.settle(reader.await)?;
    same(ctx, "a transfer", &sent, &ctx.io("recv_owned", back)?);
    Ok(())
}

async fn file(ctx: &Ctx, sent: &[u8]) -> Result<(), Stop> {
    let (first, second) = (ctx.new_path(), ctx.new_path());
    ctx.io("write", blitz::fs::write(&first, sent).await)?;
    ctx.io("rename", blitz::fs::rename(&first, &second).await)?;
    let mut file = ctx.io("open", blitz::fs::File::open(&second).await)?;
    let mut back = Vec::new();
    ctx.io("read", file.read_to_end(&mut back).await)?;
    same(ctx, "a file", sent, &back);
    ctx.io("remove", blitz::fs::remove_file(&second).await)
}

/// Waits for bytes that never come, and cancels the wait.
async fn abandoned(ctx: &Ctx) -> Result<(), Stop> {
    let (mut here, there) = ctx.io("pair", UnixStream::pair())?;
    let mut byte = [0];
    let read = timeout(Duration::from_millis(1), here.read(&mut byte)).await;
    if let Ok(result) = read {
        let count = ctx.io("read", result)?;
        ctx.complain(format!("{count} bytes came from nowhere"));
    }
    drop(there);
    let count = ctx.io("read", here.read(&mut byte).await)?;
    ctx.check(count == 0, "bytes came out of a closed stream");
    Ok(())
}

async fn process(ctx: &Ctx) -> Result<(), Stop> {
    let mut command = blitz::process::Command::new("true");
    let status = ctx.io("status", command.kill_on_drop(true).status().await)?;
    ctx.check(status.success() || ctx.is_ending(), "the program `true` failed");
    Ok(())
}

async fn signal(ctx: &Ctx) -> Result<(), Stop> {
    let kind = blitz::signal::unix::SignalKind::user_defined1();
    let mut listener = ctx.io("signal", blitz::signal::unix::signal(kind))?;
    let myself = rustix::process::getpid();
    let raised = rustix::process::kill_process(myself, rustix::process::Signal::USR1);
    ctx.io("kill", raised.map_err(Into::into))?;
    match listener.recv().await {
        Some(()) => Ok(()),
        None => ctx.stopped("a signal's listener has ended"),
    }
}

//! Standard input, output and error of child processes. The test holds the other ends of their
//! pipes.

mod common;

use blitz::Runtime;
use blitz::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, stderr, stdin, stdout};
use common::watched;
use std::env;
use std::io::{BufRead, BufReader as StdReader, Read, Write};
use std::pin::pin;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The environment variable that is set in a child process.
///
/// The child runs its half of the test.
const ROLE: &str = "BLITZ_TEST_STDIO";

/// Runs the test `name` once more, in another process.
fn child(name: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args([name, "--nocapture", "--test-threads=1"])
        .env(ROLE, "child")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn is_child() -> bool {
    env::var_os(ROLE).is_some()
}

/// Returns the next line of the child that contains `mark`, from the mark on.
///
/// The test harness prints other lines.
fn line_with(output: &mut StdReader<ChildStdout>, mark: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "the child has ended");
        if let Some(at) = line.find(mark) {
            return line[at..].trim_end().to_owned();
        }
    }
}

#[test]
fn lines_are_read_as_they_come() {
    if is_child() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        return runtime.block_on(async {
            let (mut lines, mut out) = (BufReader::new(stdin()).lines(), stdout());
            while let Some(line) = lines.next_line().await.unwrap() {
                out.write_all(format!("echo {line}\n").as_bytes()).await.unwrap();
                out.flush().await.unwrap();
            }
            out.write_all(b"echo end\n").await.unwrap();
        });
    }
    watched("lines_are_read_as_they_come", |_| {
        let mut child = child("lines_are_read_as_they_come");
        let mut input = child.stdin.take().unwrap();
        let mut output = StdReader::new(child.stdout.take().unwrap());
        // Each answer is awaited before the next line is sent.
        for line in ["one", "two", "three"] {
            writeln!(input, "{line}").unwrap();
            assert_eq!(line_with(&mut output, "echo"), format!("echo {line}"));
        }
        drop(input);
        assert_eq!(line_with(&mut output, "echo"), "echo end");
        assert!(child.wait().unwrap().success());
    });
}

#[test]
fn a_waiting_read_delays_neither_workers_nor_the_end() {
    if is_child() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        runtime.block_on(async {
            let mut byte = [0];
            let mut read = blitz::spawn(async move { stdin().read(&mut byte).await });
            // Timers go on beside reads that are begun and dropped again and again.
            let (mut input, mut byte) = (stdin(), [0]);
            for _ in 0..100 {
                let short = Duration::from_micros(100);
                assert!(blitz::time::timeout(short, input.read(&mut byte)).await.is_err());
            }
            assert!(blitz::time::timeout(Duration::from_millis(1), &mut read).await.is_err());
        });
        drop(runtime);
        let mut out = std::io::stdout();
        return writeln!(out, "mark ended").unwrap();
    }
    watched("a_waiting_read_delays_neither_workers_nor_the_end", |_| {
        let mut child = child("a_waiting_read_delays_neither_workers_nor_the_end");
        // The input stays open, and no byte is ever sent.
        let input = child.stdin.take().unwrap();
        let mut output = StdReader::new(child.stdout.take().unwrap());
        assert_eq!(line_with(&mut output, "mark"), "mark ended");
        assert!(child.wait().unwrap().success());
        drop(input);
    });
}

#[test]
fn written_bytes_arrive_after_the_end() {
    const LINES: usize = 20_000;
    if is_child() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        runtime.block_on(async {
            let (mut out, mut err) = (stdout(), stderr());
            let text: String = (0..LINES).map(|n| format!("line {n}\n")).collect();
            out.write_all(text.as_bytes()).await.unwrap();
            err.write_all(b"an error\n").await.unwrap();
            assert!(format!("{out:?} {err:?} {:?}", stdin()).starts_with("Stdout"));
        });
        // The test does not flush, because the end of the runtime waits for pending writes.
        return drop(runtime);
    }
    watched("written_bytes_arrive_after_the_end", |_| {
        let mut child = child("written_bytes_arrive_after_the_end");
        let mut errors = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        let mut output = StdReader::new(child.stdout.take().unwrap());
        for n in 0..LINES {
            assert_eq!(line_with(&mut output, "line "), format!("line {n}"));
        }
        // The harness prints at the end, and would wait for a reader.
        output.read_to_string(&mut String::new()).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(errors.join().unwrap().contains("an error\n"));
    });
}

#[test]
fn a_reader_that_is_gone_is_an_error() {
    if is_child() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        runtime.block_on(async {
            stdout().write_all(b"mark begun\n").await.unwrap();
            // The parent sends a line after it has closed its end of this output.
            let mut word = String::new();
            BufReader::new(stdin()).read_line(&mut word).await.unwrap();
            let mut out = stdout();
            // If a write fails, the call after it returns the error.
            let mut told = Ok(());
            while told.is_ok() {
                told = out.write_all(&[b'x'; 100_000]).await;
            }
            assert_eq!(told.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
        });
        drop(runtime);
        std::process::exit(7);
    }
    watched("a_reader_that_is_gone_is_an_error", |_| {
        let mut child = child("a_reader_that_is_gone_is_an_error");
        // Wait until the child's test harness has printed. After the pipe is closed, the harness
        // could not print.
        let mut output = StdReader::new(child.stdout.take().unwrap());
        assert_eq!(line_with(&mut output, "mark"), "mark begun");
        drop(output);
        writeln!(child.stdin.take().unwrap(), "closed").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
    });
}

#[test]
fn a_write_that_a_pool_refuses_is_an_error_at_once() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let handle = runtime.handle();
    drop(runtime);
    let _current = handle.enter();
    let mut out = stdout();
    let write = pin!(out.write(b"never written"));
    let Poll::Ready(result) = write.poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the write waits")
    };
    let text = result.unwrap_err().to_string();
    assert!(text.contains("cancelled"), "{text}");
}

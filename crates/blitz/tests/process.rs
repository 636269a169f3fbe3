//! Child processes: their input, output and end.

mod common;

use blitz::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use blitz::process::{Child, Command};
use common::{io_metrics, on_each_size, wait_for, watched};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::future::Future;
use std::io::{ErrorKind, IoSlice};
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::Stdio;
use std::task::{Context, Waker};

/// Starts `cat` with pipes at both ends: it goes on until its input ends.
fn cat() -> Child {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap()
}

/// Returns whether the process exists, at least as a zombie.
fn is_there(pid: Pid) -> bool {
    test_kill_process(pid).is_ok()
}

/// Returns once the process was reaped. A worker that is blocked could not reap it.
async fn gone(pid: Pid) {
    while is_there(pid) {
        blitz::task::yield_now().await;
    }
}

fn is_pending(future: impl Future) -> bool {
    pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn output_and_status_are_returned() {
    on_each_size("output", || async {
        let output = sh("echo out; echo err >&2; exit 3").output().await.unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert!(Command::new("true").status().await.unwrap().success());
        assert_eq!(sh("kill -TERM $$").status().await.unwrap().signal(), Some(15));
        let error = Command::new("no such program").spawn().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(
            Command::new("no such program").status().await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}

#[test]
fn large_outputs_on_both_pipes_do_not_wait_for_each_other() {
    on_each_size("large outputs", || async {
        // Each output is more than fits into a pipe.
        let script = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; echo end";
        let output = sh(script).output().await.unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_004, 300_000));
        assert!(output.stdout.ends_with(b"end\n"));
    });
}

#[test]
fn settings_reach_the_child() {
    on_each_size("settings", || async {
        let mut command = sh("echo $0 $1 $A $B $C $(pwd)");
        command.args(["zero", "one"]).env_clear().envs([("A", "a"), ("B", "b"), ("C", "c")]);
        command.env_remove("B").env("PATH", "/usr/bin:/bin").current_dir("/").arg0("other");
        let output = command.stdin(Stdio::null()).output().await.unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "zero one a c /\n");
        // A group of its own has the number of the child.
        let mut command = sh("ps -o pgid= -p $$ || awk '{print $5}' /proc/$$/stat; echo $$");
        let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
        command.process_group(0).uid(uid.as_raw()).gid(gid.as_raw());
        let output = command.output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(numbers.len(), 2, "{text:?} {:?}", output.stderr);
        assert_eq!(numbers[0], numbers[1]);
    });
}

#[test]
fn what_goes_into_a_pipe_comes_out_of_the_other() {
    on_each_size("pipes", || async {
        let mut cat = cat();
        let (mut stdin, mut stdout) = (cat.stdin.take().unwrap(), cat.stdout.take().unwrap());
        let sent: Vec<u8> = (0..1_000_000u32).map(|n| (n / 3) as u8).collect();
        let bytes = sent.clone();
        let writer = blitz::spawn(async move { stdin.write_all(&bytes).await });
        let mut back = Vec::new();
        stdout.read_to_end(&mut back).await.unwrap();
        assert!(back == sent);
        writer.await.unwrap().unwrap();
        assert!(cat.wait().await.unwrap().success());
    });
}

#[test]
fn many_small_buffers_go_into_a_pipe() {
    on_each_size("small buffers into a pipe", || async {
        let mut cat = cat();
        let (mut stdin, mut stdout) = (cat.stdin.take().unwrap(), cat.stdout.take().unwrap());
        // There are more buffers than the system takes at once.
        let sent: Vec<u8> = (0..2_500u32).map(|n| n as u8).collect();
        let mut slices: Vec<IoSlice<'_>> = sent.chunks(1).map(IoSlice::new).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            let moved = stdin.write_vectored(rest).await.unwrap();
            IoSlice::advance_slices(&mut rest, moved);
        }
        drop(stdin);
        let mut back = Vec::new();
        stdout.read_to_end(&mut back).await.unwrap();
        assert!(back == sent);
        assert!(cat.wait().await.unwrap().success());
    });
}

#[test]
fn a_conversation_line_by_line() {
    on_each_size("conversation", || async {
        let mut child = sh("while read line; do echo \"you said $line\"; done");
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        for round in 0..50 {
            let line = format!("{round}\n");
            child.stdin.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
            let answer = answers.next_line().await.unwrap().unwrap();
            assert_eq!(answer, format!("you said {round}"));
        }
        // `wait` closes the child's input, so the child ends.
        assert!(child.wait().await.unwrap().success());
        assert_eq!(answers.next_line().await.unwrap(), None);
    });
}

#[test]
fn a_child_that_reads_no_more_is_an_error_for_the_writer() {
    on_each_size("broken pipe", || async {
        let mut child = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        child.wait().await.unwrap();
        // A child that another test has just forked may hold the other end for a moment.
        let error = loop {
            if let Err(error) = stdin.write_all(&[0; 1_000]).await {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_pipe_can_go_on_into_another_child() {
    on_each_size("pipeline", || async {
        let mut first = cat();
        let stdout = Stdio::try_from(first.stdout.take().unwrap()).unwrap();
        let counting = Command::new("wc").arg("-c").stdin(stdout).output();
        first.stdin.take().unwrap().write_all(&[7; 100_000]).await.unwrap();
        let output = counting.await.unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "100000");
        assert!(first.wait().await.unwrap().success());
    });
}

#[test]
fn a_child_is_there_until_it_has_ended() {
    on_each_size("try_wait", || async {
        let mut cat = cat();
        let number = pid(&cat);
        assert!(cat.try_wait().unwrap().is_none());
        kill_process(number, Signal::TERM).unwrap();
        assert_eq!(cat.wait().await.unwrap().signal(), Some(15));
        assert_eq!(cat.try_wait().unwrap().unwrap().signal(), Some(15));
        assert_eq!(cat.wait().await.unwrap().signal(), Some(15));
        assert!(cat.id().is_none() && !is_there(number));
        let error = cat.start_kill().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_wait_that_is_dropped_loses_nothing() {
    on_each_size("dropped wait", || async {
        let mut cat = cat();
        let stdin = cat.stdin.take();
        assert!(is_pending(cat.wait()));
        assert!(is_pending(cat.wait()));
        drop(stdin);
        assert!(cat.wait().await.unwrap().success());
    });
}

#[test]
fn a_killed_child_ends_by_the_signal() {
    on_each_size("kill", || async {
        let mut cat = cat();
        cat.kill().await.unwrap();
        assert_eq!(cat.wait().await.unwrap().signal(), Some(9));
    });
}

#[test]
fn a_dropped_child_goes_on_and_leaves_no_zombie() {
    for workers in [1, 2, 8] {
        watched("dropped child", |watch| {
            let runtime = watch.workers(workers);
            runtime.block_on(async {
                let mut child = cat();
                let (mut stdin, mut stdout) =
                    (child.stdin.take().unwrap(), child.stdout.take().unwrap());
                let number = pid(&child);
                drop(child);
                stdin.write_all(b"still there").await.unwrap();
                let mut text = [0; 11];
                stdout.read_exact(&mut text).await.unwrap();
                assert_eq!(&text, b"still there");
                drop(stdin);
                gone(number).await;
            });
            wait_for(|| io_metrics(&runtime.handle()).registered == 0);
        });
    }
}

#[test]
fn a_child_is_killed_with_its_handle_if_that_is_wanted() {
    on_each_size("kill on drop", || async {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).kill_on_drop(true);
        assert!(command.get_kill_on_drop());
        let mut child = command.spawn().unwrap();
        // Keeps the child's input open, so that only the kill ends the child.
        let stdin = child.stdin.take();
        let number = pid(&child);
        drop(child);
        gone(number).await;
        drop(stdin);
        // The child is also killed if the future that collects its output is dropped.
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let number = pid(&child);
        let stdin = child.stdin.take();
        assert!(is_pending(child.wait_with_output()));
        gone(number).await;
        drop(stdin);
    });
}

#[test]
fn a_child_that_outlives_its_runtime_is_reaped_later() {
    for workers in [1, 2, 8] {
        watched("outlives", |watch| {
            let runtime = watch.workers(workers);
            let mut dropped = runtime.block_on(async { cat() });
            let mut kept = runtime.block_on(async { cat() });
            let (number, stdin) = (pid(&dropped), dropped.stdin.take());
            drop(dropped);
            drop(runtime);
            assert!(is_there(number));
            let other = watch.workers(1);
            let kept_stdin = kept.stdin.take();
            other.block_on(async {
                assert!(kept.wait().await.is_err());
                drop(stdin);
                // Starting another process reaps the dropped child.
                while is_there(number) {
                    Command::new("true").status().await.unwrap();
                }
                drop(kept_stdin);
                while kept.try_wait().unwrap().is_none() {
                    blitz::task::yield_now().await;
                }
                assert!(kept.wait().await.unwrap().success());
            });
        });
    }
}

#[test]
fn many_children_at_once() {
    for workers in [1, 2, 8] {
        watched("many children", |watch| {
            let runtime = watch.workers(workers);
            let tasks: Vec<_> = (0..40)
                .map(|n| {
                    runtime.spawn(async move {
                        let script = format!("read x; echo $x; exit {n}");
                        let mut child = sh(&script);
                        child.stdin(Stdio::piped()).stdout(Stdio::piped());
                        let mut child = child.spawn().unwrap();
                        let line = format!("line {n}\n");
                        let mut stdin = child.stdin.take().unwrap();
                        stdin.write_all(line.as_bytes()).await.unwrap();
                        let output = child.wait_with_output().await.unwrap();
                        assert_eq!(output.status.code(), Some(n));
                        assert_eq!(output.stdout, line.as_bytes());
                    })
                })
                .collect();
            for task in tasks {
                task.join().unwrap();
            }
            wait_for(|| io_metrics(&runtime.handle()).registered == 0);
        });
    }
}

#[test]
fn a_thread_outside_of_every_runtime_can_start_children() {
    watched("outside", |_| {
        let mut child = cat();
        drop(child.stdin.take());
        assert!(blitz::block_on(child.wait()).unwrap().success());
    });
}

#[test]
fn a_closure_runs_in_the_child_before_the_program() {
    on_each_size("pre_exec", || async {
        let mut command = sh("umask");
        // SAFETY: the closure only makes one system call.
        unsafe {
            command.pre_exec(|| {
                rustix::process::umask(rustix::fs::Mode::RWXO);
                Ok(())
            })
        };
        assert_eq!(command.output().await.unwrap().stdout, b"0007\n");
        let mut command = sh("exit 0");
        // SAFETY: the closure makes no system call and allocates nothing.
        unsafe { command.pre_exec(|| Err(std::io::Error::from_raw_os_error(5))) };
        assert_eq!(command.spawn().unwrap_err().raw_os_error(), Some(5), "the closure's error");
    });
}

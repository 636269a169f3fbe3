//! `blitz stacks`: prints the stacks of the workers of a live process, with a debugger.
//!
//! A process cannot walk the stacks of its own threads safely. A debugger stops it for a moment.

use std::{
    collections::HashMap,
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    Failure,
    args::StacksArgs,
    ask::{self, Peer},
    print,
    units::plain,
};

/// The prefix of the names of a pool's threads, unless the user chose other names.
const PREFIX: &str = "blitz-";
/// How many lines of a debugger's errors are shown.
const COMPLAINTS: usize = 5;

/// A program that shows stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Debugger {
    Gdb,
    EuStack,
}

/// One thread and its stack.
#[derive(Debug, PartialEq, Eq)]
struct Stack {
    thread: u32,
    frames: Vec<String>,
}

/// Prints the stack of each worker, and of each other thread whose name begins with [`PREFIX`].
pub fn run(args: &StacksArgs) -> Result<(), Failure> {
    let debugger = Debugger::installed().ok_or_else(|| {
        Failure(
            "stacks need gdb or eu-stack: `apt-get install gdb` or `apt-get install elfutils`"
                .into(),
        )
    })?;
    let (pid, workers) = match args.pid {
        // If the process has no socket or does not answer, threads are shown without workers.
        Some(pid) => {
            let peer = ask::find(Some(&pid.to_string()));
            (pid, peer.and_then(|peer| workers(&peer)).unwrap_or_default())
        }
        None => {
            let peer = ask::find(None)?;
            let pid = peer.json("/api/v1/pools", &[])?["pid"].as_u64();
            let pid = pid.and_then(|pid| u32::try_from(pid).ok());
            (
                pid.ok_or_else(|| Failure("the process does not report its id".into()))?,
                workers(&peer)?,
            )
        }
    };
    let stacks = debugger.stacks(pid)?;
    let frame = |frame: &str| if args.full { frame.to_owned() } else { without_parameters(frame) };
    print(&text(pid, &stacks, &workers, frame))
}

/// The names of workers by their threads, in all pools.
fn workers(peer: &Peer) -> Result<HashMap<u32, String>, Failure> {
    let mut found = HashMap::new();
    let about = peer.json("/api/v1/pools", &[])?;
    for pool in about["pools"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let answer = peer.json("/api/v1/workers", &[("pool", pool)])?;
        for worker in answer["workers"].as_array().into_iter().flatten() {
            let thread = worker["tid"].as_u64().and_then(|thread| u32::try_from(thread).ok());
            let name = format!("worker {} of pool {}", worker["index"], plain(pool));
            found.extend(thread.map(|thread| (thread, name)));
        }
    }
    Ok(found)
}

/// Returns the frame with `<..>` in place of type parameters.
fn without_parameters(frame: &str) -> String {
    let (mut short, mut depth, mut before) = (String::new(), 0_usize, ' ');
    for letter in frame.chars() {
        let is_parameter = before.is_alphanumeric() || "_}".contains(before);
        let is_arrow = letter == '>' && before == '-';
        match letter {
            '<' if depth > 0 => depth += 1,
            '<' if is_parameter => {
                depth = 1;
                short.push_str("<..");
            }
            '>' if depth > 0 && !is_arrow => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            short.push(letter);
        }
        before = letter;
    }
    short
}

fn text(
    pid: u32,
    stacks: &[Stack],
    workers: &HashMap<u32, String>,
    shown: impl Fn(&str) -> String,
) -> String {
    let mut text = String::new();
    for Stack { thread, frames } in stacks {
        let name =
            fs::read_to_string(format!("/proc/{pid}/task/{thread}/comm")).unwrap_or_default();
        let name = plain(name.trim_end());
        let title = match workers.get(thread) {
            Some(worker) => format!("{worker}, thread {thread} {name}"),
            None if name.starts_with(PREFIX) => format!("thread {thread} {name}"),
            None => continue,
        };
        text.push_str(&format!("{title}\n"));
        text.extend(frames.iter().map(|frame| format!("  {}\n", plain(&shown(frame)))));
        text.push('\n');
    }
    if text.is_empty() {
        text = format!("process {pid} has no thread of a Blitz pool\n");
    }
    text
}

impl Debugger {
    /// Returns the first debugger that is installed.
    fn installed() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<_> = env::split_paths(&path).collect();
        let is_there = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
        [Self::Gdb, Self::EuStack].into_iter().find(|debugger| is_there(debugger.name()))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gdb => "gdb",
            Self::EuStack => "eu-stack",
        }
    }

    fn command(self, pid: u32) -> Command {
        let mut command = Command::new(self.name());
        match self {
            Self::Gdb => {
                // Run gdb without the user's settings, without questions and without downloads.
                command.args(["-nx", "-q", "--batch", "-iex", "set debuginfod enabled off"]);
                command.args(["-ex", "set pagination off", "-ex", "set width 0"]);
                // gdb often cannot read the values of arguments, and they are the longest part.
                command.args(["-ex", "set print frame-arguments none"]);
                command.args(["-p", &pid.to_string(), "-ex", "thread apply all backtrace"]);
            }
            Self::EuStack => {
                command.args(["-i", "-n", "0", "-p", &pid.to_string()]);
            }
        }
        command.stdin(Stdio::null());
        command
    }

    fn stacks(self, pid: u32) -> Result<Vec<Stack>, Failure> {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            return Err(Failure(format!("there is no process {pid}")));
        }
        let name = self.name();
        let output = self
            .command(pid)
            .output()
            .map_err(|error| Failure::new(format!("{name} fails"), error))?;
        let stacks = parse(&String::from_utf8_lossy(&output.stdout));
        if !stacks.is_empty() {
            return Ok(stacks);
        }
        let complaints = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = complaints.lines().rev().take(COMPLAINTS).collect();
        let last = last.into_iter().rev().map(plain).collect::<Vec<_>>().join("\n  ");
        Err(Failure(format!(
            "{name} shows no stack of process {pid}. It has to be a process of yours that may be \
             traced (/proc/sys/kernel/yama/ptrace_scope is 0, or you are root):\n  {last}"
        )))
    }
}

/// Parses the output of either debugger: a line for each thread, then its frames.
fn parse(output: &str) -> Vec<Stack> {
    let mut stacks = Vec::<Stack>::new();
    for line in output.lines() {
        if let Some(thread) = thread_of(line) {
            stacks.push(Stack { thread, frames: Vec::new() });
        } else if line.starts_with('#') {
            if let Some(stack) = stacks.last_mut() {
                stack.frames.push(line.trim_end().to_owned());
            }
        }
    }
    stacks.retain(|stack| !stack.frames.is_empty());
    stacks.sort_by_key(|stack| stack.thread);
    stacks
}

/// Returns the thread's id if `line` is the first line about a thread: gdb prints
/// `Thread 2 (Thread 0x7f (LWP 71) "blitz-0"):`, eu-stack prints `TID 71:`.
fn thread_of(line: &str) -> Option<u32> {
    let number = match line.strip_prefix("TID ") {
        Some(number) => number,
        None => line.strip_prefix("Thread ")?.split_once("LWP ")?.1,
    };
    let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GDB: &str = "[New LWP 72]\n[Thread debugging using libthread_db enabled]\n\
        \nThread 2 (Thread 0x7f00 (LWP 72) \"blitz-1\" (Exiting)):\n#0  futex_wait () at a.rs:1\n\
        #1  0x00 in main ()\n\nThread 1 (LWP 71 \"api\"):\n#0  poll ()\n[Inferior 1 detached]\n";
    const EU_STACK: &str = "PID 71 - process\nTID 71:\n#0  0x00007f00     poll\nTID 72:\n\
        #0  0x00007f00     futex_wait\n#1  0x00007f01 - 1 main\n";

    #[test]
    fn both_programs_are_understood() {
        let stack = |thread: u32, frames: &[&str]| Stack {
            thread,
            frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
        };
        let first = ["#0  futex_wait () at a.rs:1", "#1  0x00 in main ()"];
        assert_eq!(parse(GDB), [stack(71, &["#0  poll ()"]), stack(72, &first)]);
        let frames = ["#0  0x00007f00     futex_wait", "#1  0x00007f01 - 1 main"];
        assert_eq!(parse(EU_STACK), [stack(71, &["#0  0x00007f00     poll"]), stack(72, &frames)]);
        assert!(parse("ptrace: Operation not permitted.\n").is_empty());
    }

    #[test]
    fn parameters_of_types_are_left_out() {
        let frame = "#1 0x00 in app::{impl#2}::f<a::B<u8>, fn(u8) -> u8> (x=...) at a.rs:1";
        assert_eq!(without_parameters(frame), "#1 0x00 in app::{impl#2}::f<..> (x=...) at a.rs:1");
        let method = "#2 <a::B<u8> as a::C>::poll ()";
        assert_eq!(without_parameters(method), "#2 <a::B<..> as a::C>::poll ()");
        assert_eq!(without_parameters("#3 a < b"), "#3 a < b");
    }

    #[test]
    fn only_workers_are_shown() {
        let stacks = parse(GDB);
        let workers = HashMap::from([(72, "worker 1 of pool api".to_owned())]);
        let shown = text(0, &stacks, &workers, str::to_owned);
        assert!(shown.starts_with("worker 1 of pool api, thread 72 \n  #0  futex_wait"), "{shown}");
        assert!(!shown.contains("poll"), "{shown}");
        assert!(
            text(0, &stacks, &HashMap::new(), str::to_owned).contains("no thread of a Blitz pool")
        );
    }
}

//! The process of the clients: its start and its main loop.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use super::{Ask, Harvest, Load, connect};

/// The environment variable that names the program of the clients. A contestant of another build
/// uses that program, so that all rivals have the same clients.
pub const CLIENTS: &str = "BLITZ_BENCH_CLIENTS";

/// Clients in a process of their own.
#[derive(Debug)]
pub struct LoadProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LoadProcess {
    /// Starts this very program again, or the program that [`CLIENTS`] names, with the arguments of
    /// [`command`](Self::command).
    ///
    /// # Errors
    ///
    /// Returns the reason if it cannot be started or cannot connect.
    pub fn start(load: Load) -> Result<Self, String> {
        let program = match env::var_os(CLIENTS) {
            Some(program) => program.into(),
            None => env::current_exe().map_err(|error| error.to_string())?,
        };
        let mut child = Self::command(&program, load)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the load cannot be started: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the load has no pipes".to_owned());
        };
        let mut process = Self { child, input, output: BufReader::new(output) };
        process.reply()?;
        Ok(process)
    }

    /// The command line.
    #[must_use]
    pub fn command(program: &std::path::Path, load: Load) -> Command {
        let mut command = Command::new(program);
        command
            .arg("load")
            .args(["--address", &load.address.to_string()])
            .args(["--connections", &load.connections.to_string()])
            .args(["--talk", &load.talk.to_string()]);
        if let Some(rate) = load.rate {
            command.args(["--rate", &rate.to_string()]);
        }
        command
    }

    fn reply(&mut self) -> Result<Harvest, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        serde_json::from_str::<Result<Harvest, String>>(&line)
            .map_err(|error| format!("the load answered {line:?}: {error}"))?
    }
}

impl Ask for LoadProcess {
    fn ask(&mut self, time: Duration) -> Result<Harvest, String> {
        let order = format!("{}\n", time.as_micros());
        self.input.write_all(order.as_bytes()).map_err(|error| error.to_string())?;
        self.reply()
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        // The child may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the clients' process: a line of `input` says for how many microseconds to send requests; a
/// line of `output` has the result. The first line of `output` comes when each client is connected
/// and has an answer.
///
/// # Errors
///
/// Returns an error if `input` cannot be read, or if the reader of `output` has gone.
pub fn serve(load: Load, input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
    let mut clients = connect(load);
    let connected = match &mut clients {
        Ok(clients) => clients.ask(Duration::ZERO),
        Err(error) => Err(error.clone()),
    };
    reply(&mut output, &connected)?;
    let Ok(mut clients) = clients else { return Ok(()) };
    for line in input.lines() {
        let harvest = match line?.parse() {
            Ok(micros) => clients.ask(Duration::from_micros(micros)),
            Err(error) => Err(format!("not a time: {error}")),
        };
        reply(&mut output, &harvest)?;
    }
    Ok(())
}

fn reply(output: &mut impl Write, harvest: &Result<Harvest, String>) -> std::io::Result<()> {
    serde_json::to_writer(&mut *output, harvest)?;
    output.write_all(b"\n")?;
    output.flush()
}

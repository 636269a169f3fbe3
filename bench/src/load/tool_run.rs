//! Runs a [`Tool`] against a server, and reads its report.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    time::Duration,
};

use blitz_contestant::{Metric, Sample};

use super::{Ask, Harvest, Load, Tool};
use crate::stats::percentile;

/// Clients that are a [`Tool`], started anew each time.
#[derive(Debug)]
pub struct ToolRun {
    tool: Tool,
    load: Load,
}

impl ToolRun {
    /// Makes a run of `tool` with the address and the connections of `load`. The run ignores the
    /// other fields of `load`, and always expects a hello server.
    #[must_use]
    pub fn new(tool: Tool, load: Load) -> Self {
        Self { tool, load }
    }

    /// The command line; h2load writes a line for each request to `log`.
    fn command(&self, time: Duration, log: &Path) -> Command {
        let mut command = Command::new(self.tool.name());
        // wrk takes no fractions.
        let seconds = time.as_secs().max(1);
        command.arg(format!("-t{THREADS}")).arg(format!("-c{}", self.load.connections));
        match self.tool {
            Tool::Wrk => command.arg(format!("-d{seconds}s")).arg("--latency"),
            Tool::H2load => {
                command.args(["--h1", WARM_UP]).arg(format!("-D{seconds}s")).arg("--log-file");
                command.arg(log)
            }
        };
        command.arg(format!("http://{}/", self.load.address)).stdin(Stdio::null());
        command
    }
}

impl Ask for ToolRun {
    /// Rounds `time` down to whole seconds, but not below one.
    fn ask(&mut self, time: Duration) -> Result<Harvest, String> {
        let name = self.tool.name();
        let log = LogFile::new(name);
        let output = self.command(time, &log.0).output();
        let output = output.map_err(|error| format!("{name} cannot be started: {error}"))?;
        let report = String::from_utf8_lossy(&output.stdout);
        let harvest = match self.tool {
            _ if !output.status.success() => {
                let complaint = String::from_utf8_lossy(&output.stderr);
                Err(format!("it ended with {}: {complaint}", output.status))
            }
            Tool::Wrk => of_wrk(&report),
            Tool::H2load => log.read().and_then(|log| of_h2load(&report, &log)),
        };
        let harvest = harvest.and_then(|harvest| match harvest.answers {
            few if few < self.load.connections as u64 => Err(format!("only {few} answers")),
            _ => Ok(harvest),
        });
        harvest.map_err(|error| format!("{name}: {error}\n{report}"))
    }
}

/// The log file of a run. The file is removed when this is dropped.
struct LogFile(PathBuf);

impl LogFile {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("blitz-{name}-{}.log", process::id())))
    }

    fn read(&self) -> Result<String, String> {
        fs::read_to_string(&self.0).map_err(|error| format!("cannot read its log: {error}"))
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // Ignore the error: wrk writes no log, so there may be no file.
        let _ = fs::remove_file(&self.0);
    }
}

/// Reads the report of `wrk --latency`. The report has lines about errors only if there were
/// errors.
fn of_wrk(report: &str) -> Result<Harvest, String> {
    let trouble = ["Socket errors", "Non-2xx"].iter().find(|trouble| report.contains(**trouble));
    if let Some(trouble) = trouble {
        return Err((*trouble).to_owned());
    }
    let after = |start: &str| {
        let rest = report.lines().find_map(|line| line.trim_start().strip_prefix(start));
        rest.map(str::trim).ok_or_else(|| format!("no {start:?} in the report"))
    };
    let percentile = |percent: &str| {
        let text = after(percent)?;
        nanoseconds(text).ok_or_else(|| format!("{text:?} is no time"))
    };
    let requests = report.lines().find(|line| line.contains(" requests in "));
    let answers = requests.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let rate = after("Requests/sec:")?;
    harvest(
        answers.ok_or("no number of requests in the report")?,
        rate.parse().map_err(|_| format!("{rate:?} is no rate"))?,
        [percentile("50%")?, percentile("99%")?],
    )
}

/// Reads the report of `h2load -D`, and the log of its requests.
fn of_h2load(report: &str, log: &str) -> Result<Harvest, String> {
    let after = |start: &str| {
        let rest = report.lines().find_map(|line| line.strip_prefix(start));
        rest.ok_or_else(|| format!("no {start:?} in the report"))
    };
    let finished = after("finished in ")?.split(", ").nth(1);
    let rate = finished.and_then(|rate| rate.strip_suffix(" req/s")?.parse().ok());
    let requests = counts(after("requests: ")?);
    let codes = counts(after("status codes: ")?);
    let count = |counts: &BTreeMap<&str, u64>, name: &str| {
        counts.get(name).copied().ok_or_else(|| format!("no number of {name:?} in the report"))
    };
    // When the time is over, some requests have no answer yet: only those that are done count.
    let done = count(&requests, "done")?;
    let right = count(&requests, "succeeded")? == done && count(&codes, "2xx")? == done;
    for trouble in ["failed", "errored", "timeout"] {
        if !right || count(&requests, trouble)? > 0 {
            return Err("not every request has its answer".to_owned());
        }
    }
    let latencies: Option<Vec<f64>> = log.lines().map(latency_of_line).collect();
    let latencies = latencies.ok_or("its log has lines that are no answers")?;
    let of = |percent| percentile(&latencies, percent).ok_or("its log is empty");
    harvest(done, rate.ok_or("no rate in the report")?, [of(50.0)?, of(99.0)?])
}

/// Reads `12 one, 7 other`.
fn counts(list: &str) -> BTreeMap<&str, u64> {
    let words = list.split(", ").filter_map(|words| words.split_once(' '));
    words.filter_map(|(number, name)| Some((name, number.parse().ok()?))).collect()
}

/// A line has the start of a request, its status, and the microseconds until its answer.
fn latency_of_line(line: &str) -> Option<f64> {
    let mut columns = line.split('\t').skip(1);
    (columns.next()? == "200").then_some(())?;
    Some(columns.next()?.parse::<f64>().ok()? * 1e3)
}

fn harvest(answers: u64, per_second: f64, [p50, p99]: [f64; 2]) -> Result<Harvest, String> {
    if !(per_second.is_finite() && per_second > 0.0) {
        return Err(format!("{per_second} requests per second"));
    }
    let nanoseconds = answers as f64 / per_second * 1e9;
    let latencies = Sample::from([(Metric::ReturnP50, p50), (Metric::ReturnP99, p99)]);
    Ok(Harvest { answers, nanoseconds, latencies })
}

/// Reads `1.25ms`.
fn nanoseconds(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at(text.find(char::is_alphabetic)?);
    let scale = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

/// The time in which h2load connects, and after which it begins to measure. wrk has no such option.
const WARM_UP: &str = "--warm-up-time=100ms";

/// How many threads send requests. One thread would be slower than a fast server.
const THREADS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Talk;

    const WRK: &str = "\
Running 1s test @ http://127.0.0.1:34567/
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.47ms    5.47ms 113.81ms   98.25%
    Req/Sec    34.14k     4.29k   43.24k    65.00%
  Latency Distribution
     50%  368.00us
     75%    1.12ms
     90%    2.20ms
     99%    9.90ms
  68120 requests in 1.00s, 5.78MB read
Requests/sec:  68000.00
Transfer/sec:      5.76MB
";

    const H2LOAD: &str = "\
starting benchmark...
progress: 93% of clients started
Application protocol: http/1.1
Stopped all clients for thread #0

finished in 1.00s, 3.00 req/s, 6.51MB/s
requests: 3 total, 5 started, 3 done, 3 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 3 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 6.51MB (6830750) total, 3.59MB (3763886) headers (space savings 0.00%), 975.18KB (998582) data
                     min         max         mean         sd        +/- sd
time for request:       19us     14.96ms       832us       664us    91.39%
";

    const LOG: &str =
        "1763393629000000\t200\t30\n1763393629000001\t200\t10\n1763393629000002\t200\t20\n";

    #[test]
    fn wrk_is_understood() {
        let harvest = of_wrk(WRK).unwrap();
        assert_eq!(harvest.answers, 68_120);
        assert_eq!((harvest.nanoseconds / 1e6).round(), 1_002.0);
        let latencies = [(Metric::ReturnP50, 368e3), (Metric::ReturnP99, 9.9e6)];
        assert_eq!(harvest.latencies, Sample::from(latencies));
    }

    #[test]
    fn wrk_that_saw_an_error_has_no_harvest() {
        let errors = "  Socket errors: connect 0, read 7, write 0, timeout 0\n";
        assert!(of_wrk(&format!("{WRK}{errors}")).unwrap_err().contains("Socket errors"));
        let refused = "  Non-2xx or 3xx responses: 68120\n";
        assert!(of_wrk(&format!("{WRK}{refused}")).unwrap_err().contains("Non-2xx"));
        assert!(of_wrk(&WRK.replace("99%  ", "98%  ")).unwrap_err().contains("99%"));
        assert!(of_wrk("").is_err());
    }

    #[test]
    fn h2load_is_understood() {
        let harvest = of_h2load(H2LOAD, LOG).unwrap();
        assert_eq!(harvest.answers, 3);
        assert_eq!(harvest.nanoseconds.round(), 1e9);
        assert_eq!(harvest.latencies[&Metric::ReturnP50], 20e3);
        let p99 = harvest.latencies[&Metric::ReturnP99];
        assert!(p99 > 29e3 && p99 <= 30e3);
    }

    #[test]
    fn h2load_that_saw_an_error_has_no_harvest() {
        for (right, wrong) in [
            ("3 succeeded, 0 failed", "2 succeeded, 1 failed"),
            ("0 timeout", "1 timeout"),
            ("3 2xx, 0 3xx", "2 2xx, 1 3xx"),
            ("3.00 req/s", "0.00 req/s"),
        ] {
            let report = H2LOAD.replace(right, wrong);
            assert!(of_h2load(&report, LOG).is_err(), "{wrong}");
        }
        assert!(of_h2load(H2LOAD, &LOG.replace("200", "-1")).is_err());
        assert!(of_h2load(H2LOAD, "").is_err());
        assert!(of_h2load("", LOG).is_err());
    }

    #[test]
    fn times_have_units() {
        let times = ["2.50us", "1.00ms", "3.00s", "1.00m", "7", "1.00d"].map(nanoseconds);
        assert_eq!(times, [Some(2.5e3), Some(1e6), Some(3e9), Some(60e9), None, None]);
    }

    #[test]
    fn an_error_begins_with_the_name_of_the_program() {
        let address = "127.0.0.1:1".parse().unwrap();
        let load = Load { address, connections: 4, talk: Talk::Hello, rate: None };
        for tool in Tool::ALL {
            // There is no server, and perhaps the program is not installed.
            let error = ToolRun::new(tool, load).ask(Duration::ZERO).unwrap_err();
            assert!(error.starts_with(tool.name()), "{error}");
        }
    }
}

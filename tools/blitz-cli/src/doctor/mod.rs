//! `blitz doctor`: what a pool sees of this machine, and the settings that follow.

mod cgroup;

use blitz_bench::machine::MachineCard;

use crate::{Failure, print};
use cgroup::Quota;

/// Prints everything.
pub fn run() -> Result<(), Failure> {
    let machine = MachineCard::read();
    print(&render(&machine, cgroup::quota(), &blitz::diagnostics(), &io_backend()))
}

/// The I/O backend of a runtime with default settings.
fn io_backend() -> String {
    let runtime = blitz::Runtime::builder().workers(1).build();
    let chosen = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        blitz::BackendChoice::of(&runtime)
            .map(|chosen| chosen.to_string())
            .map_err(|error| error.to_string())
    });
    chosen.unwrap_or_else(|error| format!("none: {error}"))
}

fn render(
    machine: &MachineCard,
    quota: Option<Quota>,
    pool: &blitz::Diagnostics,
    io_backend: &str,
) -> String {
    let yes_no = |yes| if yes { "yes" } else { "no" };
    let number = |value: Option<usize>| known(value.map(|value| value.to_string()));
    let sections = [
        (
            "machine",
            vec![
                ("CPU", known(machine.cpu.clone())),
                ("kernel", known(machine.kernel.clone())),
                ("CPUs online", number(machine.cpus_online)),
                ("affinity", affinity(machine)),
                ("CPU quota (cgroup)", quota_text(quota)),
                ("available parallelism", number(machine.available_parallelism)),
                ("load average", known(machine.load_average.clone())),
            ],
        ),
        (
            "default pool",
            vec![
                (
                    "BLITZ_WORKERS",
                    variable(pool.workers_env.as_deref(), pool.workers_env_error.as_deref()),
                ),
                ("workers", pool.workers_default.to_string()),
                (
                    blitz::Scheduler::VARIABLE,
                    variable(pool.scheduler_env.as_deref(), pool.scheduler_env_error.as_deref()),
                ),
                ("scheduler", pool.scheduler.name().to_owned()),
            ],
        ),
        (
            "backends",
            vec![
                ("futex", pool.futex.to_owned()),
                ("asymmetric fence (membarrier)", yes_no(pool.asymmetric_fence).to_owned()),
                ("files and sockets", io_backend.to_owned()),
            ],
        ),
    ];
    let mut text = String::new();
    for (title, lines) in sections {
        text.push_str(&format!("{title}\n"));
        for (label, value) in lines {
            text.push_str(&format!("  {label:30} {value}\n"));
        }
    }
    text
}

fn known(text: Option<String>) -> String {
    text.unwrap_or_else(|| "not visible".to_owned())
}

fn affinity(machine: &MachineCard) -> String {
    known(machine.affinity.as_ref().map(|cpus| {
        let all = machine.cpus_online.map_or_else(String::new, |all| format!(" of {all}"));
        format!("{}{all}: {cpus:?}", cpus.len())
    }))
}

fn quota_text(quota: Option<Quota>) -> String {
    quota.map_or_else(
        || "none".to_owned(),
        |quota| format!("{:.2} CPUs ({})", quota.cpus, quota.source.display()),
    )
}

/// Describes the value of a variable, and whether it is valid. A pool with an explicit setting
/// ignores the variable for that setting.
fn variable(value: Option<&str>, error: Option<&str>) -> String {
    match (value, error) {
        (None, _) => "not set".to_owned(),
        (Some(value), None) => format!("{value} (valid)"),
        // The library's message quotes the value.
        (Some(_), Some(error)) => format!("NOT VALID: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_everything_a_pool_depends_on() {
        let quota = Quota { cpus: 1.5, source: "/sys/fs/cgroup/cpu.max".into() };
        let text = render(&MachineCard::read(), Some(quota), &blitz::diagnostics(), &io_backend());
        let labels = [
            "CPUs online",
            "affinity",
            "quota",
            "parallelism",
            "BLITZ_WORKERS",
            "BLITZ_SCHEDULER",
            "futex",
        ];
        for label in labels {
            assert!(text.contains(label), "{label} is missing");
        }
        assert!(text.contains("1.50 CPUs (/sys/fs/cgroup/cpu.max)"));
    }

    #[test]
    fn judges_a_variable() {
        assert_eq!(variable(None, None), "not set");
        assert_eq!(variable(Some("8"), None), "8 (valid)");
        let text = variable(Some("eight"), Some("use a number"));
        assert_eq!(text, "NOT VALID: use a number");
    }
}

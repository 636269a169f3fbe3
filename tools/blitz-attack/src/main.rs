//! `blitz-attack`: tries to break the pool; `--help` shows its options.

#![forbid(unsafe_code)]

use blitz_attack::mix::{self, Mix};
use blitz_attack::options::{HELP, Options, Role};
use blitz_attack::{parent, scenario};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&words) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("attack: {why}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match &options.role {
        Role::Help => print!("{HELP}"),
        Role::List => {
            for scenario in scenario::all() {
                println!("{:22} {}", scenario.name, scenario.what);
            }
        }
        Role::Parent => return parent::attack(&options),
        Role::Mix => {
            return mix::play(Mix {
                seed: options.seed.unwrap_or_default(),
                time: options.time,
                rounds: options.rounds,
                patience: options.patience,
            });
        }
        Role::Scenario(name) => match scenario::all().iter().find(|one| one.name == name) {
            Some(scenario) => scenario.run_here(options.patience),
            None => {
                eprintln!("attack: no scenario is called {name}");
                return ExitCode::from(2);
            }
        },
    }
    ExitCode::SUCCESS
}

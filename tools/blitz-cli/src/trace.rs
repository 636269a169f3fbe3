//! `blitz trace`: saves what the workers of a live process did.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    Failure,
    args::{TraceArgs, TraceFormat},
    ask::{self, Peer},
};

/// The file name that means stdout.
const STDOUT: &str = "-";

/// Saves a trace, and prints its path and the programs that read it.
pub fn run(args: &TraceArgs) -> Result<(), Failure> {
    let peer = ask::find(args.target.as_deref())?;
    let file = match &args.output {
        Some(file) => file.clone(),
        None => {
            let pid = &peer.json("/api/v1/pools", &[])?["pid"];
            PathBuf::from(format!("blitz-{pid}.{}", args.format.end()))
        }
    };
    let length = save(&peer, args.pool.as_deref(), args.seconds, args.format, &file)?;
    if file != Path::new(STDOUT) {
        eprintln!("{} ({} KiB): {}", file.display(), length.div_ceil(1024), args.format.readers());
    }
    Ok(())
}

/// Saves a trace of the last `seconds` to `file`; returns its length in bytes.
pub fn save(
    peer: &Peer,
    pool: Option<&str>,
    seconds: f64,
    format: TraceFormat,
    file: &Path,
) -> Result<usize, Failure> {
    let seconds = seconds.to_string();
    let mut query = vec![("seconds", seconds.as_str()), ("format", format.name())];
    query.extend(pool.map(|pool| ("pool", pool)));
    let bytes = peer.get("/api/v1/trace", &query)?;
    let written = match file == Path::new(STDOUT) {
        true => io::stdout().lock().write_all(&bytes),
        false => fs::write(file, &bytes),
    };
    written.map_err(|error| Failure::new(format!("cannot write {}", file.display()), error))?;
    Ok(bytes.len())
}

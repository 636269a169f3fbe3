//! The contestant's side of the pipe: its process builds the pool, then takes a turn for every line
//! that it reads.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::{Contest, Sample};

/// The replies of a contestant, one JSON value per line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The pool and the data are built.
    Ready,
    /// The measurements of a turn.
    Sample(Sample),
    /// Why there is no sample; the contestant ends.
    Error(String),
}

/// Serves a contestant that `open` sets up, until `input` ends.
///
/// # Errors
///
/// Returns an error if `input` cannot be read, or if a reply cannot be written.
pub fn serve(
    open: impl FnOnce() -> Result<Box<dyn Contest>, String>,
    input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut contest = match open() {
        Ok(contest) => contest,
        Err(error) => return reply(&mut output, &Reply::Error(error)),
    };
    reply(&mut output, &Reply::Ready)?;
    for line in input.lines() {
        line?;
        match contest.turn() {
            Ok(sample) => reply(&mut output, &Reply::Sample(sample))?,
            Err(error) => return reply(&mut output, &Reply::Error(error)),
        }
    }
    Ok(())
}

fn reply(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    serde_json::to_writer(&mut *output, reply)?;
    output.write_all(b"\n")?;
    output.flush()
}

//! `blitz explain`: which tasks of a live process wait for what, in words.

use crate::{
    Failure,
    args::ExplainArgs,
    ask::{self, Peer},
    print,
    top::words,
};
use serde_json::Value;

/// Prints the explanation that the process gives.
pub fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let peer = ask::find(args.target.as_deref())?;
    let explanation = ask(&peer, args)?;
    if args.json {
        return print(&format!("{explanation:#}\n"));
    }
    print(&format!("{}\n", words::explain(&explanation).join("\n")))
}

fn ask(peer: &Peer, args: &ExplainArgs) -> Result<Value, Failure> {
    let query: Vec<_> = args.pool.iter().map(|pool| ("pool", pool.as_str())).collect();
    match args.probe {
        true => peer.post("/api/v1/probe", &query),
        false => peer.json("/api/v1/explain", &query),
    }
}

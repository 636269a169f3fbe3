//! Finds the process to ask: by its id, by the address of its page, or the only one there is.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::Peer;
use crate::{Failure, units::plain};

/// Advice for when no process can be asked.
const ADVICE: &str = "the process needs the feature `inspect`, and `Builder::inspect` or \
                      BLITZ_INSPECT; `blitz demo` is a program to try this with";

/// Finds the process that `target` means.
pub fn find(target: Option<&str>) -> Result<Peer, Failure> {
    let folder = blitz::inspect::tool_folder();
    match target {
        None => only(&folder.map_or_else(Vec::new, |folder| processes(&folder))),
        Some(target) => named(target, folder.as_deref()),
    }
}

/// A process by its number or the address of its page.
fn named(target: &str, folder: Option<&Path>) -> Result<Peer, Failure> {
    if let Ok(pid) = target.parse::<u32>() {
        let Some(folder) = folder else {
            return Err(Failure("this system has no Unix sockets: give the page's address".into()));
        };
        let path = folder.join(format!("{pid}.sock"));
        if !path.exists() {
            let absent = format!("process {pid} has no socket at {}", path.display());
            return Err(Failure::new(absent, ADVICE));
        }
        return Ok(Peer::Tool(path));
    }
    page(target).ok_or_else(|| {
        let why = "the address of a page looks like http://127.0.0.1:6680/";
        Failure::new(format!("{target:?} is neither a process number nor an address"), why)
    })
}

/// A page by its address, including the token after `#`.
fn page(url: &str) -> Option<Peer> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let address = rest.split(['/', '?']).next()?;
    let (host, port) = address.rsplit_once(':')?;
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    port.parse::<u16>().ok().filter(|_| !host.is_empty() && is_word(address))?;
    let token = fragment.split('&').find_map(|pair| pair.strip_prefix("token="));
    let token = token.filter(|token| is_word(token)).map(str::to_owned);
    Some(Peer::Page { address: address.to_owned(), token })
}

/// A process that answers.
#[derive(Debug)]
struct Process {
    peer: Peer,
    /// Its number, program and pools.
    about: Value,
}

/// The processes that answer on the sockets in `folder`. A socket without an answer is skipped: a
/// process that has ended may have left it behind.
fn processes(folder: &Path) -> Vec<Process> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "sock"));
    paths.sort();
    let ask = |path| {
        let peer = Peer::Tool(path);
        let about = peer.json("/api/v1/pools", &[]).ok()?;
        Some(Process { peer, about })
    };
    paths.into_iter().filter_map(ask).collect()
}

/// Returns the only process. The error lists them if there are several.
fn only(found: &[Process]) -> Result<Peer, Failure> {
    match found {
        [one] => Ok(one.peer.clone()),
        [] => Err(Failure::new("no process of this user can be looked at", ADVICE)),
        several => {
            let line = |process: &Process| {
                let about = &process.about;
                let pools = about["pools"].as_array().into_iter().flatten();
                let pools = pools.filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
                let pid = about["pid"].to_string();
                let program = about["program"].as_str().unwrap_or_default();
                format!("\n  {pid:>8}  {}  ({})", plain(program), plain(&pools))
            };
            let list: String = several.iter().map(line).collect();
            Err(Failure(format!("say which process you mean:{list}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let token = Some("abc".to_owned());
        let address = "127.0.0.1:6680".to_owned();
        for url in ["http://127.0.0.1:6680/#token=abc", "127.0.0.1:6680#x=1&token=abc"] {
            let found = page(url);
            let (address, token) = (address.clone(), token.clone());
            assert_eq!(found, Some(Peer::Page { address, token }), "{url}");
        }
        assert_eq!(
            page("http://127.0.0.1:6680/#stalls"),
            Some(Peer::Page { address, token: None })
        );
        for strange in
            ["", "x", "http://host/", ":80", "host:port", "https://a", "a b:80", "a\r\n:1"]
        {
            assert_eq!(page(strange), None, "{strange:?}");
        }
    }

    #[test]
    fn a_process_without_a_socket_gets_advice() {
        let absent = named("7", Some(Path::new("/nowhere"))).unwrap_err().0;
        assert!(absent.starts_with("process 7 has no socket at /nowhere/7.sock: "), "{absent}");
        assert!(absent.contains("BLITZ_INSPECT"), "{absent}");
        assert!(named("nonsense", None).unwrap_err().0.contains("\"nonsense\" is neither"));
        assert!(only(&[]).unwrap_err().0.contains("blitz demo"));
    }

    #[test]
    fn several_processes_are_listed() {
        let process = |pid: u32| Process {
            peer: Peer::Tool(format!("/x/{pid}.sock").into()),
            about: json!({ "pid": pid, "program": "api\u{1b}[2J", "pools": ["a", "b"] }),
        };
        assert_eq!(only(&[process(1)]).unwrap().name(), "process 1");
        let list = only(&[process(1), process(22)]).unwrap_err().0;
        assert!(list.contains("\n        22  api?[2J  (a, b)"), "{list}");
    }
}

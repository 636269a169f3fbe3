//! Lists the descriptors that tasks wait for, with their numbers and peers.
//!
//! Linux says in `/proc` which descriptors are in the system's queue and what they are connected
//! to. On other systems the list has no numbers.

#![forbid(unsafe_code)]

use super::reactor::Reactor;
use blitz_core::driver::{Awaited, DriverWait, task_of};
use blitz_parts::readiness::Direction;
use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

impl Reactor {
    /// Returns the tasks that wait for a descriptor.
    pub(crate) fn waits(&self) -> Vec<DriverWait> {
        let mut waiting = Vec::new();
        for (token, readiness) in self.watched() {
            readiness.for_each_waiting(&mut |waker, direction| {
                waiting.extend(task_of(waker).map(|task| (task, token, direction)));
            });
        }
        if waiting.is_empty() {
            return Vec::new();
        }
        let descriptors = descriptors_in(self.queue_number());
        let names = Names::read();
        let wait = |(task, token, direction): (usize, usize, Direction)| {
            let verb = match direction {
                Direction::Read => "read",
                Direction::Write => "write",
            };
            let event = match descriptors.get(&token) {
                Some(number) => match names.of(*number) {
                    Some(name) => format!("{verb} fd {number} {name}"),
                    None => format!("{verb} fd {number}"),
                },
                None => format!("{verb} a descriptor"),
            };
            DriverWait { task, event: Awaited::Io(event) }
        };
        waiting.into_iter().map(wait).collect()
    }
}

/// The descriptors in a queue of events, by token.
fn descriptors_in(queue: i32) -> HashMap<usize, i32> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{queue}")).unwrap_or_default();
    text.lines().filter_map(parse_entry).collect()
}

/// Parses a line such as `tfd:        7 events: 8000201f data:  100000002  pos:0 ino:9 sdev:8`.
fn parse_entry(line: &str) -> Option<(usize, i32)> {
    let mut words = line.strip_prefix("tfd:")?.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let token = words.skip_while(|word| *word != "data:").nth(1)?;
    Some((usize::from_str_radix(token, 16).ok()?, number))
}

/// The names of sockets, by the numbers of their inodes: see [`parse_socket`] and [`parse_unix`].
struct Names(HashMap<u64, String>);

impl Names {
    fn read() -> Names {
        let mut names = HashMap::new();
        for table in ["tcp", "tcp6", "udp", "udp6"] {
            let text = fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
            names.extend(text.lines().filter_map(parse_socket));
        }
        let unix = fs::read_to_string("/proc/self/net/unix").unwrap_or_default();
        names.extend(unix.lines().filter_map(parse_unix));
        Names(names)
    }

    /// The name of a descriptor: a socket by its addresses or path, any other by its kind.
    fn of(&self, number: i32) -> Option<String> {
        let link = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let link = link.to_str()?;
        let inode = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        match inode {
            Some(inode) => self.0.get(&inode.parse().ok()?).cloned(),
            None => Some(link.to_owned()),
        }
    }
}

/// Parses a line of `/proc/self/net/tcp` or a similar file: the inode, and the peer or the address
/// where the socket listens.
fn parse_socket(line: &str) -> Option<(u64, String)> {
    let words: Vec<_> = line.split_whitespace().collect();
    let (local, peer) = (parse_address(words.get(1)?)?, parse_address(words.get(2)?)?);
    let inode = words.get(9)?.parse().ok()?;
    let name = match peer.port() {
        0 => format!("at {local}"),
        _ => peer.to_string(),
    };
    Some((inode, name))
}

/// Parses an address such as `0100007F:1F90`. Its words are in the byte order of the machine.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let words = address.as_bytes().chunks(8).map(|word| {
        let word = std::str::from_utf8(word).ok().filter(|word| word.len() == 8)?;
        Some(u32::from_str_radix(word, 16).ok()?.to_ne_bytes())
    });
    let bytes: Vec<u8> = words.collect::<Option<Vec<_>>>()?.concat();
    let address = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?)),
    };
    Some(SocketAddr::new(address.to_canonical(), port))
}

/// Parses a line of `/proc/self/net/unix`: the inode and the path; `None` without a path.
fn parse_unix(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let inode = words.by_ref().nth(6)?.parse().ok()?;
    Some((inode, words.next()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{parse_address, parse_entry, parse_socket, parse_unix};

    #[test]
    fn a_line_of_a_queue_has_a_descriptor_and_its_token() {
        let line = "tfd:        7 events: 8000201f data:  100000002  pos:0 ino:9 sdev:8";
        assert_eq!(parse_entry(line), Some((0x1_0000_0002, 7)));
        for other in ["pos:\t0", "flags:\t02000002", "tfd: x", ""] {
            assert_eq!(parse_entry(other), None);
        }
    }

    #[test]
    fn addresses_are_read_in_the_order_of_the_machine() {
        let local = u32::from_ne_bytes([127, 0, 0, 1]);
        let text = format!("{local:08X}:1F90");
        assert_eq!(parse_address(&text).unwrap().to_string(), "127.0.0.1:8080");
        let one = u32::from_ne_bytes([0, 0, 0, 1]);
        let text = format!("{:024X}{one:08X}:0050", 0);
        assert_eq!(parse_address(&text).unwrap().to_string(), "[::1]:80");
        for other in ["local_address", "0100007F:x", "01:02", ":"] {
            assert_eq!(parse_address(other), None);
        }
    }

    #[test]
    fn a_socket_is_named_by_its_peer_or_by_where_it_listens() {
        let local = format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]));
        let line = |peer: &str| {
            format!("  1: {local}:1F90 {peer} 01 00000000:00000000 00:0 00000000 0 0 815 1")
        };
        let connected = parse_socket(&line(&format!("{local}:0051")));
        assert_eq!(connected, Some((815, "127.0.0.1:81".to_owned())));
        let listening = parse_socket(&line("00000000:0000"));
        assert_eq!(listening, Some((815, "at 127.0.0.1:8080".to_owned())));
        assert_eq!(parse_socket("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn a_unix_socket_is_named_by_its_path() {
        let line = "0000000000000000: 00000003 00000000 00000000 0001 03 24135 /run/x.sock";
        assert_eq!(parse_unix(line), Some((24_135, "/run/x.sock".to_owned())));
        assert_eq!(parse_unix("0: 00000003 00000000 00000000 0001 03 24135"), None);
    }
}

//! The address of a peer, as the system writes it when it accepts a connection.
//!
//! ```text
//!  bytes     0      2     4         8               24      28      32
//!  IPv4      family port  address
//!  IPv6      family port  flow info address         scope
//!  both                                                     length
//! ```

#![forbid(unsafe_code)]

use rustix::net::AddressFamily;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Offset of the address's length: after the longest address.
pub(super) const LENGTH_AT: usize = 28;
/// The size of the length field.
const WIDTH: usize = size_of::<u32>();

/// Room for an address and its length. The length is set to the number of bytes for the address.
pub(super) fn room() -> Vec<u8> {
    let mut room = vec![0; LENGTH_AT + WIDTH];
    room[LENGTH_AT..].copy_from_slice(&(LENGTH_AT as u32).to_ne_bytes());
    room
}

/// The address that the system has written into `room`.
///
/// # Errors
/// If the system has not written an address of TCP.
pub(super) fn address(room: &[u8]) -> io::Result<SocketAddr> {
    let family = AddressFamily::from_raw(u16::from_ne_bytes(bytes(room, 0)?));
    let port = u16::from_be_bytes(bytes(room, 2)?);
    match family {
        AddressFamily::INET => {
            let ip = Ipv4Addr::from(bytes::<4>(room, 4)?);
            Ok(SocketAddrV4::new(ip, port).into())
        }
        AddressFamily::INET6 => {
            let ip = Ipv6Addr::from(bytes::<16>(room, 8)?);
            // The standard library keeps these two as the system writes them, so swap no bytes.
            let (flow, scope) = (bytes(room, 4)?, bytes(room, 24)?);
            let (flow, scope) = (u32::from_ne_bytes(flow), u32::from_ne_bytes(scope));
            Ok(SocketAddrV6::new(ip, port, flow, scope).into())
        }
        _ => Err(unknown()),
    }
}

fn bytes<const N: usize>(room: &[u8], at: usize) -> io::Result<[u8; N]> {
    let bytes = room.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(unknown)
}

#[cold]
fn unknown() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the address of the peer is not a TCP address")
}

#[cfg(test)]
mod tests {
    use super::{LENGTH_AT, address, room};

    #[test]
    fn addresses_are_read_as_the_system_writes_them() {
        let mut four = room();
        four[..2].copy_from_slice(&2_u16.to_ne_bytes());
        four[2..8].copy_from_slice(&[0x1f, 0x90, 127, 0, 0, 1]);
        assert_eq!(address(&four).unwrap(), "127.0.0.1:8080".parse().unwrap());
        let mut six = room();
        six[..2].copy_from_slice(&10_u16.to_ne_bytes());
        six[2..4].copy_from_slice(&[0x1f, 0x90]);
        six[23] = 1;
        six[24..28].copy_from_slice(&7_u32.to_ne_bytes());
        assert_eq!(address(&six).unwrap(), "[::1%7]:8080".parse().unwrap());
        assert!(address(&room()).is_err(), "no address at all");
        assert!(address(&six[..LENGTH_AT - 1]).is_err(), "a part of an address");
    }
}

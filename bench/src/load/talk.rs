//! The protocols between clients and servers.

use std::{fmt, str::FromStr};

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Talk {
    /// This many bytes, which have to come back unchanged.
    Echo(usize),
    /// A request of HTTP/1.1, whose answer has to be [`HELLO`].
    Hello,
}

/// The answer of a hello server.
pub const HELLO: &str = "Hello, world!";

/// An echo request begins with its number.
const SHORTEST: usize = size_of::<u64>();

impl Talk {
    /// A request of the client with this number.
    pub(super) fn request(self, client: usize) -> Vec<u8> {
        match self {
            Self::Echo(bytes) => (0..bytes).map(|at| ((at * 31 + client) % 251) as u8).collect(),
            Self::Hello => b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(),
        }
    }

    /// Writes the number `turn` into `request`, if the protocol numbers its requests.
    pub(super) fn number(self, request: &mut [u8], turn: u64) {
        if let Self::Echo(_) = self {
            request[..SHORTEST].copy_from_slice(&turn.to_le_bytes());
        }
    }

    /// Checks that `answer` is the right one for `request`.
    ///
    /// # Errors
    ///
    /// Returns an error if the answer to request `turn` is wrong.
    pub(super) fn check(self, answer: &[u8], request: &[u8], turn: u64) -> Result<(), String> {
        let right = match self {
            Self::Echo(_) => answer == request,
            Self::Hello => {
                answer.starts_with(b"HTTP/1.1 200 OK\r\n") && answer.ends_with(HELLO.as_bytes())
            }
        };
        if right { Ok(()) } else { Err(format!("request {turn} has a wrong answer")) }
    }

    /// Returns the end of the first answer, if it is complete.
    pub(super) fn first_answer(self, received: &[u8]) -> Option<usize> {
        match self {
            Self::Echo(bytes) => (received.len() >= bytes).then_some(bytes),
            Self::Hello => {
                let at = received.windows(HELLO.len()).position(|text| text == HELLO.as_bytes());
                at.map(|at| at + HELLO.len())
            }
        }
    }
}

impl fmt::Display for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echo(bytes) => write!(f, "{bytes}"),
            Self::Hello => f.write_str("hello"),
        }
    }
}

impl FromStr for Talk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "hello" => Ok(Self::Hello),
            bytes => match bytes.parse() {
                Ok(bytes) if bytes >= SHORTEST => Ok(Self::Echo(bytes)),
                _ => Err(format!("{text:?} is neither hello nor a number of bytes")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talks_have_names() {
        for talk in [Talk::Hello, Talk::Echo(64)] {
            assert_eq!(talk.to_string().parse(), Ok(talk));
        }
        assert!("1".parse::<Talk>().is_err() && "goodbye".parse::<Talk>().is_err());
    }

    #[test]
    fn answers_that_come_together_are_separated() {
        assert_eq!(Talk::Echo(8).first_answer(&[0; 7]), None);
        assert_eq!(Talk::Echo(8).first_answer(&[0; 20]), Some(8));
        let one = format!("HTTP/1.1 200 OK\r\n\r\n{HELLO}");
        let two = one.repeat(2);
        assert_eq!(Talk::Hello.first_answer(two.as_bytes()), Some(one.len()));
        assert_eq!(Talk::Hello.first_answer(&one.as_bytes()[..one.len() - 1]), None);
    }

    #[test]
    fn a_wrong_answer_is_found() {
        let talk = Talk::Echo(16);
        let mut request = talk.request(3);
        talk.number(&mut request, 7);
        assert_eq!(talk.check(&request, &request, 7), Ok(()));
        assert!(talk.check(&talk.request(3), &request, 7).unwrap_err().contains('7'));
        assert!(Talk::Hello.check(b"HTTP/1.1 500\r\n\r\nno", b"", 1).is_err());
    }
}

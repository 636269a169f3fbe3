//! HTTP with one request and one response per connection.

use std::io::{self, ErrorKind, Read};

/// How long an answer may be: a trace of many workers has some tens of megabytes.
const ANSWER_MAX: u64 = 1 << 30;
/// How long the head of an answer may be.
const HEAD_MAX: usize = 64 << 10;

/// The target of a request: the path with its query.
pub fn target(path: &str, query: &[(&str, &str)]) -> String {
    let pairs = query.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    let query = pairs.collect::<Vec<_>>().join("&");
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

/// The value with everything but letters, digits and `-_.` as `%XX`.
fn encoded(value: &str) -> String {
    let letter = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(letter).collect()
}

pub fn request(method: &str, target: &str, host: &str, token: Option<&str>) -> String {
    let token = match token {
        Some(token) => format!("Authorization: Bearer {token}\r\n"),
        None => String::new(),
    };
    format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n")
}

/// Reads the answer to its end, and returns its status and body.
pub fn answer(stream: impl Read) -> io::Result<(u16, Vec<u8>)> {
    let mut bytes = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut bytes)?;
    let strange = || io::Error::new(ErrorKind::InvalidData, "the answer is not HTTP");
    let head = bytes.windows(4).take(HEAD_MAX).position(|piece| piece == b"\r\n\r\n");
    let end = head.ok_or_else(strange)?;
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| strange())?;
    let status = head.strip_prefix("HTTP/1.").and_then(|line| line.get(2..5)?.parse().ok());
    let status = status.ok_or_else(strange)?;
    let length = head.split("\r\n").filter_map(|line| line.split_once(':')).find_map(|field| {
        let (name, value) = field;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let body = bytes.split_off(end + 4);
    match length {
        Some(length) if body.len() < length => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok((status, body)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_encoded() {
        assert_eq!(target("/a", &[]), "/a");
        assert_eq!(
            target("/a", &[("pool", "a b&ü"), ("n", "1.5")]),
            "/a?pool=a%20b%26%C3%BC&n=1.5"
        );
    }

    #[test]
    fn the_token_is_shown_where_there_is_one() {
        assert!(!request("GET", "/", "localhost", None).contains("Authorization"));
        let text = request("GET", "/x", "[::1]:80", Some("word"));
        assert!(text.starts_with("GET /x HTTP/1.1\r\nHost: [::1]:80\r\n"), "{text}");
        assert!(text.contains("\r\nAuthorization: Bearer word\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n"));
    }

    #[test]
    fn whole_answers_are_taken_and_others_are_not() {
        let read = |text: &str| answer(text.as_bytes()).map_err(|error| error.kind());
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nbody"), Ok((200, b"body".to_vec())));
        let exact = "HTTP/1.0 404 Not Found\r\ncontent-length: 2\r\n\r\nno";
        assert_eq!(read(exact), Ok((404, b"no".to_vec())));
        assert_eq!(read(&exact[..exact.len() - 1]), Err(ErrorKind::UnexpectedEof));
        for strange in
            ["", "HTTP/1.1", "HTTP/1.1 2\r\n\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 xyz\r\n\r\n"]
        {
            assert_eq!(read(strange), Err(ErrorKind::InvalidData), "{strange:?}");
        }
    }
}

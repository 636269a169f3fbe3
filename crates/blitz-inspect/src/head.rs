//! The head of an HTTP request: the only untrusted input that the server parses.
//!
//! The parser accepts the requests of browsers, `curl` and Prometheus, and refuses everything else.
//! It does not decode paths: it compares them byte by byte with the paths that exist.

use crate::response::Status;

/// How long a head may be.
pub const HEAD_MAX: usize = 8 * 1024;
/// How many fields a head may have.
const LINES_MAX: usize = 64;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes something.
    Post,
    /// Anything else.
    Other,
}

/// A request. It has no body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// Its first word.
    pub method: Method,
    /// The part before `?`.
    pub path: &'a str,
    /// The part after `?`.
    pub query: &'a str,
    /// The field `Host`: the server that the client wants to reach.
    pub host: Option<&'a str>,
    /// The field `Origin`: the page that sends the request.
    pub origin: Option<&'a str>,
    /// The field `Sec-Fetch-Site`: how the page relates to this server, according to the browser.
    pub fetch_site: Option<&'a str>,
    /// The field `Authorization`: the scheme and the token.
    pub authorization: Option<&'a str>,
    /// The field `Accept`: the formats that the client reads.
    pub accept: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// Parses a head without the empty line at its end.
    ///
    /// # Errors
    /// If `bytes` is not a valid head, or announces a body.
    pub fn parse(bytes: &'a [u8]) -> Result<Head<'a>, Status> {
        let text = std::str::from_utf8(bytes).map_err(|_| Status::BadRequest)?;
        let mut lines = text.split("\r\n");
        let (method, target, is_old) = first_line(lines.next().unwrap_or_default())?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut head = Head {
            method,
            path,
            query,
            host: None,
            origin: None,
            fetch_site: None,
            authorization: None,
            accept: None,
        };
        let mut length = None;
        for (number, line) in lines.enumerate() {
            let (name, value) = field(line)?;
            if number == LINES_MAX {
                return Err(Status::HeadTooLarge);
            }
            // If one of these fields appears twice, the request is refused: this server and a proxy
            // might use different values.
            let slot = match name.to_ascii_lowercase().as_str() {
                "host" => &mut head.host,
                "origin" => &mut head.origin,
                "sec-fetch-site" => &mut head.fetch_site,
                "authorization" => &mut head.authorization,
                "content-length" => &mut length,
                "accept" => {
                    head.accept.get_or_insert(value);
                    continue;
                }
                "transfer-encoding" | "upgrade" => return Err(Status::BadRequest),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(Status::BadRequest);
            }
        }
        match length {
            None | Some("0") => {}
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(Status::BodyTooLarge);
            }
            Some(_) => return Err(Status::BadRequest),
        }
        if head.host.is_none() && !is_old {
            return Err(Status::BadRequest);
        }
        Ok(head)
    }

    /// The value of `name` in the query, decoded.
    ///
    /// # Errors
    /// If the value cannot be decoded.
    pub fn parameter(&self, name: &str) -> Result<Option<String>, Status> {
        let pairs = self.query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let value = pairs.into_iter().find(|(own, _)| *own == name);
        value.map(|(_, value)| decode(value)).transpose()
    }
}

fn first_line(line: &str) -> Result<(Method, &str, bool), Status> {
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Status::BadRequest);
    };
    let is_old = match version {
        "HTTP/1.1" => false,
        "HTTP/1.0" => true,
        _ => return Err(Status::BadRequest),
    };
    let is_target = target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_target || method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(Status::BadRequest);
    }
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        _ => Method::Other,
    };
    Ok((method, target, is_old))
}

fn field(line: &str) -> Result<(&str, &str), Status> {
    let (name, value) = line.split_once(':').ok_or(Status::BadRequest)?;
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    // A lenient reader would treat a lone line end as the start of a new line.
    let is_value = value.chars().all(|character| character == '\t' || !character.is_control());
    if is_name && is_value {
        Ok((name, value.trim_matches([' ', '\t'])))
    } else {
        Err(Status::BadRequest)
    }
}

/// Undoes `%41` and `+`.
fn decode(text: &str) -> Result<String, Status> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit(), digit());
                let value = high.zip(low).map(|(high, low)| high * 16 + low);
                value.and_then(|value| u8::try_from(value).ok()).ok_or(Status::BadRequest)?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| Status::BadRequest)
}

#[cfg(test)]
mod tests {
    use super::{Head, LINES_MAX, Method};
    use crate::response::Status;

    fn refused(head: &str) -> Status {
        Head::parse(head.as_bytes()).expect_err(head)
    }

    #[test]
    fn requests_of_a_browser_are_understood() {
        let text = "GET /api/v1/tasks?pool=a%20b&limit=5 HTTP/1.1\r\nHost: localhost:1\r\n\
                    Origin: http://localhost:1\r\nAccept: */*\r\naccept: x\r\nSec-Fetch-Site:same-origin\r\n\
                    Authorization: Bearer abc\t\r\nContent-Length: 0\r\nX-Other: \u{e9}";
        let head = Head::parse(text.as_bytes()).unwrap();
        assert_eq!((head.method, head.path), (Method::Get, "/api/v1/tasks"));
        assert_eq!((head.host, head.origin), (Some("localhost:1"), Some("http://localhost:1")));
        assert_eq!((head.accept, head.fetch_site), (Some("*/*"), Some("same-origin")));
        assert_eq!(head.authorization, Some("Bearer abc"));
        assert_eq!(head.parameter("pool"), Ok(Some("a b".to_owned())));
        assert_eq!(head.parameter("limit"), Ok(Some("5".to_owned())));
        assert_eq!(head.parameter("other"), Ok(None));
    }

    #[test]
    fn an_old_client_needs_no_host_and_a_new_one_does() {
        assert_eq!(Head::parse(b"GET / HTTP/1.0").unwrap().host, None);
        assert_eq!(refused("GET / HTTP/1.1"), Status::BadRequest);
    }

    #[test]
    fn ambiguous_requests_are_refused() {
        for head in [
            "",
            "GET",
            "GET /",
            "GET  / HTTP/1.1\r\nHost: a",
            "get / HTTP/1.1\r\nHost: a",
            "GET / HTTP/2\r\nHost: a",
            "GET http://a/ HTTP/1.1\r\nHost: a",
            "GET /\u{e9} HTTP/1.1\r\nHost: a",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a",
            "GET / HTTP/1.1\r\nHost : a",
            "GET / HTTP/1.1\r\nHost: a\r\n folded",
            "GET / HTTP/1.1\nHost: a",
            "GET / HTTP/1.1\r\nHost: a\nX: b",
            "GET / HTTP/1.1\r\nHost: a\rX: b",
            "GET / HTTP/1.1\r\nHost: a\u{0}",
            "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +0",
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0",
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c",
        ] {
            assert_eq!(refused(head), Status::BadRequest, "{head:?}");
        }
        let body = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7";
        assert_eq!(refused(body), Status::BodyTooLarge);
        let long = format!("GET / HTTP/1.1{}", "\r\nA: b".repeat(LINES_MAX + 1));
        assert_eq!(refused(&long), Status::HeadTooLarge);
    }

    #[test]
    fn parameters_that_cannot_be_decoded_are_refused() {
        for query in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=%+1"] {
            let text = format!("GET /?{query} HTTP/1.0");
            let head = Head::parse(text.as_bytes()).unwrap();
            assert_eq!(head.parameter("a"), Err(Status::BadRequest), "{query}");
        }
    }

    /// A generator of random numbers with a fixed seed, so that a failure can be repeated.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % end
        }
    }

    #[test]
    fn no_input_makes_the_parser_panic_and_accepted_heads_are_clean() {
        let good =
            b"GET /api/v1/tasks?pool=a%20b HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://a\r\n\
                     Accept: */*\r\nContent-Length: 0";
        let spice = b"\r\n\0 :%?/&=+\tHost\xff\xc3\xa9GET";
        let mut numbers = Numbers(7);
        let (mut accepted, mut refused) = (0, 0);
        for round in 0..40_000 {
            let mut bytes = good.to_vec();
            match round % 4 {
                // Noise.
                0 => bytes = (0..numbers.below(200)).map(|_| numbers.below(256) as u8).collect(),
                // Noise made of meaningful bytes.
                1 => {
                    let length = numbers.below(80);
                    bytes = (0..length).map(|_| spice[numbers.below(spice.len())]).collect();
                }
                // A good head with some bytes changed, or cut off.
                2 => {
                    for _ in 0..=numbers.below(3) {
                        let at = numbers.below(bytes.len());
                        bytes[at] = spice[numbers.below(spice.len())];
                    }
                }
                _ => bytes.truncate(numbers.below(good.len() + 1)),
            }
            let Ok(head) = Head::parse(&bytes) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            assert!(head.path.starts_with('/') && head.path.is_ascii(), "{bytes:?}");
            let fields = [head.host, head.origin, head.fetch_site, head.authorization, head.accept];
            for value in fields.into_iter().flatten() {
                assert!(!value.contains(['\r', '\n', '\0']), "{bytes:?}");
            }
            let _ = head.parameter("pool");
        }
        assert!(accepted > 100 && refused > 10_000, "{accepted} {refused}");
    }
}

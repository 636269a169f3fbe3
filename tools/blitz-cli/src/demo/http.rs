//! The small part of HTTP that the demo needs.

use std::io;

use blitz::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How long a head may be.
const HEAD_MAX: usize = 8 << 10;

/// A request without its body. The demo reads no bodies.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// The part after `?`.
    pub query: String,
    host: String,
    origin: Option<String>,
}

impl Request {
    /// Parses a head; `None` if it is malformed.
    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            ..Self::default()
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            match name.to_ascii_lowercase().as_str() {
                "host" => request.host = value.trim().to_owned(),
                "origin" => request.origin = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        words.next().filter(|version| version.starts_with("HTTP/1."))?;
        Some(request)
    }

    /// Whether the request comes from the demo's own page or from a tool. Pages of other sites may
    /// not break things here, not even if the other site's host name resolves to this machine.
    pub fn is_own(&self) -> bool {
        let name = self.host.rsplit_once(':').map_or(self.host.as_str(), |(name, _)| name);
        let is_local = matches!(name, "127.0.0.1" | "localhost");
        let own = format!("http://{}", self.host);
        is_local && self.origin.as_ref().is_none_or(|origin| *origin == own)
    }

    /// The number that the query has under `name`.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name)?.1.parse().ok()
    }
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    status: &'static str,
    fields: String,
    body: String,
}

impl Response {
    pub fn text(body: String) -> Self {
        let fields = "Content-Type: text/plain; charset=utf-8\r\n".to_owned();
        Self { status: "200 OK", fields, body }
    }

    pub fn page(body: String) -> Self {
        let fields = "Content-Type: text/html; charset=utf-8\r\nContent-Security-Policy: default-src \
                      'none'; style-src 'unsafe-inline'; form-action 'self'\r\n";
        Self { status: "200 OK", fields: fields.to_owned(), body }
    }

    /// Redirects to the page.
    pub fn done(what: &str) -> Self {
        let text = Self::text(format!("{what}\n"));
        Self { status: "303 See Other", fields: format!("{}Location: /\r\n", text.fields), ..text }
    }

    pub fn refusal(status: &'static str, why: &str) -> Self {
        Self { status, ..Self::text(format!("{why}\n")) }
    }

    fn bytes(&self) -> Vec<u8> {
        let Self { status, fields, body } = self;
        let length = body.len();
        format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}").into_bytes()
    }
}

/// A connection, with the bytes read beyond the last request.
pub struct Connection {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, rest: Vec::new() }
    }

    /// Reads the next request; `None` if the client has closed the connection, does not speak HTTP
    /// or sends too long a head.
    pub async fn request(&mut self) -> io::Result<Option<Request>> {
        let Some(head) = self.head().await? else { return Ok(None) };
        Ok(Request::parse(&head))
    }

    pub async fn answer(&mut self, response: &Response) -> io::Result<()> {
        self.stream.write_all(&response.bytes()).await
    }

    /// Sends a request and returns how long the body of the answer is.
    pub async fn ask(&mut self, path: &str) -> io::Result<usize> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.stream.write_all(request.as_bytes()).await?;
        let head = self.head().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let length = head.split("\r\n").find_map(|line| line.strip_prefix("Content-Length: "));
        let length = length.and_then(|text| text.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
        while self.rest.len() < length {
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.rest.drain(..length);
        Ok(length)
    }

    /// Reads up to the empty line.
    async fn head(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.rest.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.rest[..end]).into_owned();
                self.rest.drain(..end + 4);
                return Ok(Some(head));
            }
            if self.rest.len() > HEAD_MAX || !self.more().await? {
                return Ok(None);
            }
        }
    }

    /// Reads more bytes; returns whether there were any.
    async fn more(&mut self) -> io::Result<bool> {
        let mut piece = [0; 4096];
        let read = self.stream.read(&mut piece).await?;
        self.rest.extend_from_slice(&piece[..read]);
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str, fields: &str) -> Option<Request> {
        Request::parse(&format!("{line}\r\n{fields}"))
    }

    #[test]
    fn heads_are_understood() {
        let found = request("POST /stall?seconds=2.5&x=1 HTTP/1.1", "Host: localhost:1").unwrap();
        assert_eq!((found.method.as_str(), found.path.as_str()), ("POST", "/stall"));
        assert_eq!(found.number("seconds"), Some(2.5));
        assert_eq!(found.number::<u32>("y"), None);
        for bad in ["", "GET", "GET /", "GET / FTP/1.1"] {
            assert_eq!(request(bad, "Host: localhost"), None, "{bad:?}");
        }
    }

    #[test]
    fn other_sites_are_strangers() {
        let is_own = |fields: &str| request("POST / HTTP/1.1", fields).unwrap().is_own();
        assert!(is_own("Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:80"));
        assert!(is_own("host: localhost:80"));
        for strange in [
            "",
            "Host: evil.example:80",
            "Host: localhost:80\r\nOrigin: http://evil.example",
            "Host: localhost:80\r\nOrigin: null",
            "Host: localhost:80\r\nOrigin: http://localhost:81",
        ] {
            assert!(!is_own(strange), "{strange:?}");
        }
    }

    #[test]
    fn answers_say_how_long_they_are() {
        let text = String::from_utf8(Response::done("freed").bytes()).unwrap();
        assert!(text.starts_with("HTTP/1.1 303 See Other\r\n"), "{text}");
        assert!(text.ends_with("Location: /\r\nContent-Length: 6\r\n\r\nfreed\n"), "{text}");
    }
}

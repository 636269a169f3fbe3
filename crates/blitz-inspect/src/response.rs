//! Answers, and the header fields that every answer has.

use crate::json;
use std::borrow::Cow;

/// The content security policy: the page may load its own two files and send requests to its own
/// server.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                          connect-src 'self'; frame-ancestors 'none'";

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The request succeeded.
    Ok,
    /// The request is not valid.
    BadRequest,
    /// The token is missing or wrong.
    Unauthorized,
    /// The host or the page is not allowed.
    Forbidden,
    /// Nothing is at this path.
    NotFound,
    /// Only GET is allowed here.
    UseGet,
    /// Only POST is allowed here.
    UsePost,
    /// The client took too long.
    Timeout,
    /// The request has a body, which this server never accepts.
    BodyTooLarge,
    /// The head is too long.
    HeadTooLarge,
    /// All places are taken.
    Busy,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Unauthorized => "401 Unauthorized",
            Status::Forbidden => "403 Forbidden",
            Status::NotFound => "404 Not Found",
            Status::UseGet | Status::UsePost => "405 Method Not Allowed",
            Status::Timeout => "408 Request Timeout",
            Status::BodyTooLarge => "413 Content Too Large",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::Busy => "503 Service Unavailable",
        }
    }

    fn own_field(self) -> &'static str {
        match self {
            Status::Unauthorized => "WWW-Authenticate: Bearer\r\n",
            Status::UseGet => "Allow: GET\r\n",
            Status::UsePost => "Allow: POST\r\n",
            Status::Busy => "Retry-After: 1\r\n",
            _ => "",
        }
    }
}

/// One answer.
#[derive(Debug)]
pub struct Response {
    pub(crate) status: Status,
    kind: &'static str,
    /// `None` if the body goes on until the connection ends.
    body: Option<Cow<'static, [u8]>>,
    /// The name under which a browser saves the body.
    file: Option<String>,
}

impl Response {
    pub(crate) fn new(kind: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Response {
        Response { status: Status::Ok, kind, body: Some(body.into()), file: None }
    }

    pub(crate) fn json(text: String) -> Response {
        Response::new("application/json", text.into_bytes())
    }

    /// The head of a stream of events.
    pub(crate) fn events() -> Response {
        Response { status: Status::Ok, kind: "text/event-stream", body: None, file: None }
    }

    /// A refusal, with a reason that people can read.
    pub(crate) fn refusal(status: Status, why: &str) -> Response {
        let text = format!("{{\"v\":1,\"error\":{}}}", json::string(why));
        Response { status, ..Response::json(text) }
    }

    /// Makes the browser save the body under `name`.
    ///
    /// The name may have only letters, digits, points and dashes.
    pub(crate) fn saved_as(self, name: String) -> Response {
        Response { file: Some(name), ..self }
    }

    /// The head, with its empty line.
    pub(crate) fn head(&self) -> String {
        let length = match &self.body {
            Some(body) => format!("Content-Length: {}\r\n", body.len()),
            None => String::new(),
        };
        let file = match &self.file {
            Some(name) => format!("Content-Disposition: attachment; filename=\"{name}\"\r\n"),
            None => String::new(),
        };
        let (line, own, kind) = (self.status.line(), self.status.own_field(), self.kind);
        format!(
            "HTTP/1.1 {line}\r\nContent-Type: {kind}; charset=utf-8\r\n{length}{file}{own}\
             Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
    }

    pub(crate) fn body(&self) -> &[u8] {
        self.body.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Response, Status};

    #[test]
    fn every_answer_has_the_fields_that_protect_it() {
        let answers = [
            Response::json("{}".to_owned()),
            Response::events(),
            Response::refusal(Status::NotFound, "no \"such\" thing"),
            Response::new("text/plain", "x".as_bytes()).saved_as("a.json".to_owned()),
        ];
        for answer in &answers {
            let head = answer.head();
            assert!(
                head.contains(
                    "\r\nContent-Security-Policy: default-src 'none'; script-src 'self';"
                )
            );
            assert!(head.contains("\r\nX-Content-Type-Options: nosniff\r\n"));
            assert!(head.contains("\r\nCache-Control: no-store\r\n"));
            assert!(!head.contains("Access-Control"));
            assert!(head.ends_with("\r\n\r\n"));
        }
        assert!(answers[0].head().contains("Content-Length: 2\r\n"));
        assert!(!answers[1].head().contains("Content-Length"));
        assert_eq!(answers[2].body(), br#"{"v":1,"error":"no \"such\" thing"}"#);
        assert!(answers[3].head().contains("attachment; filename=\"a.json\""));
    }
}

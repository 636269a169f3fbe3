//! Answers, and the fields that every one of them has.

use crate::json;
use std::borrow::Cow;

/// What a browser may do with the page: load its own two files and talk to where it came from.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                          connect-src 'self'; frame-ancestors 'none'";

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Here it is.
    Ok,
    /// This is no request.
    BadRequest,
    /// The token is missing or wrong.
    Unauthorized,
    /// Not for this host or page.
    Forbidden,
    /// There is nothing.
    NotFound,
    /// Only GET.
    UseGet,
    /// Only POST.
    UsePost,
    /// The client took too long.
    Timeout,
    /// No request here has a body.
    BodyTooLarge,
    /// The head does not end.
    HeadTooLarge,
    /// Others are served.
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
    /// `None` if it goes on until the connection ends.
    body: Option<Cow<'static, [u8]>>,
    /// The name under which a browser saves it.
    file: Option<String>,
}

impl Response {
    pub(crate) fn new(kind: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Response {
        Response { status: Status::Ok, kind, body: Some(body.into()), file: None }
    }

    pub(crate) fn json(text: String) -> Response {
        Response::new("application/json", text.into_bytes())
    }

    /// What follows are events.
    pub(crate) fn events() -> Response {
        Response { status: Status::Ok, kind: "text/event-stream", body: None, file: None }
    }

    /// A refusal, with its reason for people.
    pub(crate) fn refusal(status: Status, why: &str) -> Response {
        let text = format!("{{\"v\":1,\"error\":{}}}", json::string(why));
        Response { status, ..Response::json(text) }
    }

    /// Is to be saved under `name`, which has letters, digits, points and dashes only.
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

//! Serves the files of a folder.

#![forbid(unsafe_code)]

use blitz::fs::{self, File};
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{Method, Request, Response, StatusCode, Uri};
use rustix::fs::OFlags;
use std::convert::Infallible;
use std::fs::Metadata;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tower_service::Service;

/// Answers `GET` and `HEAD` with the files of a folder and its subfolders.
///
/// The answer is "not found" if a path leads out of the folder, or if a name in the path has a
/// colon or a backslash. Symbolic links are followed. A request for a folder gets its `index.html`.
/// The content type comes from the file name's extension. There are no ranges, no compression and
/// no dates: use a layer or a proxy for these.
///
/// ```
/// use axum::Router;
/// use blitz_hyper::Files;
/// use tower::ServiceExt;
///
/// # blitz::block_on(async {
/// let app: Router = Router::new().fallback_service(Files::new(env!("CARGO_MANIFEST_DIR")));
/// let request = hyper::Request::get("/Cargo.toml").body(axum::body::Body::empty()).unwrap();
/// assert_eq!(app.oneshot(request).await.unwrap().status(), 200);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Files {
    root: Arc<Path>,
}

impl Files {
    /// Creates a service that answers with the files of the folder `root`.
    #[must_use]
    pub fn new(root: impl AsRef<Path>) -> Files {
        Files { root: root.as_ref().into() }
    }
}

impl<A> Service<Request<A>> for Files {
    type Response = Response<FileBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<FileBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (root, method) = (self.root.clone(), request.method().clone());
        let uri = request.uri().clone();
        Box::pin(async move { Ok(answer(&root, &method, &uri).await) })
    }
}

async fn answer(root: &Path, method: &Method, asked: &Uri) -> Response<FileBody> {
    if method != Method::GET && method != Method::HEAD {
        let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    let Some(path) = below(root, asked.path()) else { return empty(StatusCode::NOT_FOUND) };
    match find(path, asked).await {
        Ok(Found::File(path)) => match open(&path).await {
            Ok((file, length)) => whole(file, length, &path, method == Method::HEAD),
            Err(error) => empty(status_of(&error)),
        },
        Ok(Found::Elsewhere(location)) => {
            let mut answer = empty(StatusCode::TEMPORARY_REDIRECT);
            answer.headers_mut().insert(LOCATION, location);
            answer
        }
        Err(error) => empty(status_of(&error)),
    }
}

/// The target of a path.
enum Found {
    /// A file.
    File(PathBuf),
    /// A folder that was requested without the slash at the end. The client is redirected to the
    /// path with the slash, because relative links in the index would fail.
    Elsewhere(HeaderValue),
}

async fn find(path: PathBuf, asked: &Uri) -> io::Result<Found> {
    let seen = fs::metadata(&path).await?;
    if seen.is_dir() {
        let last = asked.path().rsplit('/').next().unwrap_or_default();
        if !last.is_empty() {
            let query = asked.query().map(|query| format!("?{query}")).unwrap_or_default();
            // A relative location, so that no request can cause a redirect to another host.
            let location = HeaderValue::try_from(format!("./{last}/{query}"));
            return location.map(Found::Elsewhere).map_err(io::Error::other);
        }
        let index = path.join("index.html");
        let seen = fs::metadata(&index).await?;
        return file(index, &seen);
    }
    file(path, &seen)
}

/// A regular file: no pipe, no device. To open a device may already have an effect.
fn file(path: PathBuf, seen: &Metadata) -> io::Result<Found> {
    must_be_file(seen).map(|()| Found::File(path))
}

fn must_be_file(seen: &Metadata) -> io::Result<()> {
    if seen.is_file() { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Opens a regular file; returns its length, too.
///
/// The file may have been replaced since its path was looked at. So this looks at the open file,
/// and opens without blocking: a pipe without a writer would block a thread until there is one.
async fn open(path: &Path) -> io::Result<(File, u64)> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).await?;
    let seen = file.metadata().await?;
    must_be_file(&seen).map(|()| (file, seen.len()))
}

/// The requested path, if it lies below `root`.
fn below(root: &Path, asked: &str) -> Option<PathBuf> {
    let mut path = root.to_owned();
    for segment in asked.split('/').filter(|segment| !segment.is_empty()) {
        let name = decoded(segment)?;
        let is_plain = !matches!(name.as_str(), "" | "." | "..");
        if !is_plain || name.contains(['/', '\\', '\0']) || name.contains(':') {
            return None;
        }
        path.push(name);
    }
    Some(path)
}

/// A segment of a path, with `%20` and the like resolved.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

fn status_of(error: &io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            StatusCode::NOT_FOUND
        }
        io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn empty(status: StatusCode) -> Response<FileBody> {
    let mut answer = Response::new(FileBody::default());
    *answer.status_mut() = status;
    answer
}

fn whole(file: File, length: u64, path: &Path, is_head: bool) -> Response<FileBody> {
    let file = (!is_head).then_some(file);
    let left = if is_head { 0 } else { length };
    let mut answer = Response::new(FileBody { file, left, piece: BytesMut::new() });
    let headers = answer.headers_mut();
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(type_of(path)));
    answer
}

/// File extensions and their content types.
const TYPES: &[(&str, &str)] = &[
    ("avif", "image/avif"),
    ("css", "text/css; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("gif", "image/gif"),
    ("htm", "text/html; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xml", "text/xml; charset=utf-8"),
];

fn type_of(path: &Path) -> &'static str {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_lowercase();
    let known = TYPES.iter().find(|(known, _)| *known == end);
    known.map_or("application/octet-stream", |(_, name)| name)
}

/// The contents of a file, piece by piece, or nothing.
#[derive(Debug, Default)]
pub struct FileBody {
    file: Option<File>,
    /// Bytes that are still to come, according to the length that the file had when it was opened.
    left: u64,
    /// The buffer of a read that has begun; else it is empty.
    piece: BytesMut,
}

/// The largest piece.
const PIECE: usize = 64 << 10;

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = self.get_mut();
        let left = body.left;
        let Some(file) = body.file.as_mut().filter(|_| left > 0) else {
            return Poll::Ready(None);
        };
        if body.piece.is_empty() {
            let size = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            body.piece = BytesMut::zeroed(size);
        }
        let mut buffer = ReadBuf::new(&mut body.piece);
        let read = ready!(Pin::new(file).poll_read(cx, &mut buffer));
        let length = buffer.filled().len();
        let read = read.and_then(|()| match length {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter")),
            _ => Ok(()),
        });
        if let Err(error) = read {
            body.file = None;
            return Poll::Ready(Some(Err(error)));
        }
        body.left -= length as u64;
        let mut piece = std::mem::take(&mut body.piece);
        piece.truncate(length);
        Poll::Ready(Some(Ok(Frame::data(piece.freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.file.is_none() || self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(if self.file.is_some() { self.left } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let root = Path::new("/srv");
        assert_eq!(below(root, "/"), Some("/srv".into()));
        assert_eq!(below(root, "/a//b%20c.txt"), Some("/srv/a/b c.txt".into()));
        for bad in [
            "/..",
            "/a/../b",
            "/%2e%2e/x",
            "/%2E%2e",
            "/.",
            "/a%2fb",
            "/a%5cb",
            "/a%00",
            "/c:/x",
            "/%zz",
            "/%2",
            "/%+1",
            "/%ff",
        ] {
            assert_eq!(below(root, bad), None, "{bad}");
        }
    }

    #[blitz::test]
    async fn a_read_that_is_polled_again_keeps_its_buffer() {
        // Nothing can be read until the test writes.
        let (file, mut writer) = UnixStream::pair().unwrap();
        let file = File::from_std(OwnedFd::from(file).into());
        let mut body = FileBody { file: Some(file), left: 4, piece: BytesMut::new() };
        let mut poll = |cx: &mut Context<'_>| {
            let polled = Pin::new(&mut body).poll_frame(cx);
            (polled, body.piece.as_ptr())
        };
        let pending = poll_fn(|cx| Poll::Ready([poll(cx), poll(cx)])).await;
        assert!(pending.iter().all(|(polled, _)| polled.is_pending()));
        assert_eq!(pending[0].1, pending[1].1);
        writer.write_all(b"text").unwrap();
        let frame = poll_fn(|cx| poll(cx).0).await;
        let piece = frame.unwrap().unwrap().into_data().unwrap();
        assert_eq!((piece.as_ptr(), &*piece), (pending[0].1, &b"text"[..]));
        assert!(body.piece.is_empty() && body.is_end_stream());
    }

    /// A pipe may replace a regular file after the service has looked at its path.
    #[blitz::test]
    async fn a_pipe_in_the_place_of_a_file_blocks_no_thread() {
        let name = format!("blitz-hyper-pipe-{}", std::process::id());
        let pipe = std::env::temp_dir().join(name);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let opened = open(&pipe).await;
        std::fs::remove_file(&pipe).unwrap();
        assert_eq!(opened.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn types_follow_from_file_names() {
        assert_eq!(type_of(Path::new("a/INDEX.HTML")), "text/html; charset=utf-8");
        assert_eq!(type_of(Path::new("a.b/no-end")), "application/octet-stream");
        assert!(TYPES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}

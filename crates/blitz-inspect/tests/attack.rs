//! Attacks on the page from the network.

use blitz_inspect::{
    Inspect, Limits, MetricsFormat, Page, Pools, Server, Source, Token, TraceFormat,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A pool that counts how many requests read it at a time.
#[derive(Default)]
struct Counted {
    now: AtomicUsize,
    most: AtomicUsize,
    reads: AtomicUsize,
    is_over: AtomicBool,
    /// A value that the pool drops at its end.
    kept: Mutex<Option<Kept>>,
}

/// Lists the pools when it is dropped.
struct Kept {
    pools: Pools,
    seen: Arc<Mutex<String>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        *self.seen.lock().unwrap() = format!("{:?}", self.pools);
    }
}

impl Counted {
    fn read(&self, fields: &str) -> String {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        (0..200).for_each(|_| thread::yield_now());
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.now.fetch_sub(1, Ordering::SeqCst);
        fields.to_owned()
    }
}

impl Source for Counted {
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
    fn is_over(&self) -> bool {
        let is_over = self.is_over.load(Ordering::SeqCst);
        if is_over {
            let kept = self.kept.lock().unwrap().take();
            drop(kept);
        }
        is_over
    }
    fn summary(&self) -> String {
        self.read("\"a\":1")
    }
    fn workers(&self) -> String {
        self.read("\"b\":2")
    }
    fn tasks(&self, limit: usize) -> String {
        self.read(&format!("\"limit\":{limit}"))
    }
    fn stalls(&self) -> String {
        self.read("\"stalls\":[]")
    }
    fn explain(&self) -> String {
        self.read("")
    }
    fn probe(&self) -> String {
        self.read("\"probed\":true")
    }
    fn timeline(&self, seconds: f64) -> String {
        self.read(&format!("\"seconds\":{seconds}"))
    }
    fn trace(&self, _: f64, format: TraceFormat) -> Vec<u8> {
        self.read(&format!("{format:?}")).into_bytes()
    }
    fn metrics(&self, pool: &str, per_worker: bool, format: MetricsFormat) -> String {
        self.read(&format!(
            "# TYPE x gauge\nx{{pool={pool:?}}} {}\n# {format:?}\n",
            u8::from(per_worker)
        ))
    }
}

/// A server that runs for one test, and the first of its two pools.
struct Bed {
    pool: Arc<Counted>,
    address: SocketAddr,
}

/// Starts a server for one test, with these settings and limits.
fn bed_with(settings: Inspect, limits: Limits) -> Bed {
    let (pools, pool) = (Pools::default(), Arc::new(Counted::default()));
    pools.add("api", pool.clone());
    pools.add("a \"b\"\n<script>", Arc::new(Counted::default()));
    let page: Page = Server::new(pools, limits).open(&settings).unwrap();
    Bed { pool, address: page.address() }
}

fn bed() -> Bed {
    bed_with(Inspect::at("127.0.0.1:0"), Limits::default())
}

impl Bed {
    /// A client that has sent `bytes`, unless the server closed before.
    fn begin(&self, bytes: &[u8]) -> TcpStream {
        let mut client = TcpStream::connect(self.address).unwrap();
        let _ = client.write_all(bytes);
        client
    }

    fn send(&self, bytes: &[u8]) -> String {
        answer_to(self.begin(bytes))
    }

    fn get_with(&self, path: &str, fields: &str) -> String {
        self.send(format!("GET {path} HTTP/1.1\r\n{fields}\r\n\r\n").as_bytes())
    }

    fn get(&self, path: &str) -> String {
        self.get_with(path, "Host: localhost")
    }
}

/// The answer, as far as it arrives.
fn answer_to(mut client: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[test]
fn the_page_and_its_data_are_served() {
    let bed = bed();
    let page = bed.get("/");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{page}");
    assert!(page.contains("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'\r\n"));
    for path in ["/app.js", "/app.css"] {
        assert_eq!(status(&bed.get(path)), "200");
    }
    let summary = bed.get("/api/v1/summary");
    assert!(summary.contains("\"v\":1,\"pid\":"), "{summary}");
    // Names of pools are escaped.
    let names = r#""pools":["api","a \"b\"\u000a<script>"],"pool":"api","a":1}"#;
    assert!(summary.ends_with(names), "{summary}");
    let other = bed.get("/api/v1/workers?pool=a+%22b%22%0a%3Cscript%3E");
    assert!(other.ends_with(r#""pool":"a \"b\"\u000a<script>","b":2}"#), "{other}");
    assert!(bed.get("/api/v1/tasks?limit=7").ends_with("\"limit\":7}"));
    assert!(bed.get("/api/v1/timeline?seconds=2.5").ends_with("\"seconds\":2.5}"));
    assert!(bed.get("/api/v1/trace").ends_with("\r\n\r\nPerfetto"));
    assert!(bed.get("/api/v1/trace?format=chrome").ends_with("\r\n\r\nChrome"));
    let metrics = bed.get("/metrics?per_worker=1");
    assert_eq!(metrics.matches("# TYPE x gauge").count(), 1, "{metrics}");
    assert!(metrics.contains("x{pool=\"api\"} 1\n"), "{metrics}");
    let open = bed.get_with("/metrics", "Host: localhost\r\nAccept: application/openmetrics-text");
    assert!(open.contains("OpenMetrics"), "{open}");
}

#[test]
fn strange_requests_are_refused() {
    let bed = bed();
    let cases: &[(&str, &[&str])] = &[
        (
            "400",
            &[
                "nonsense\r\n\r\n",
                "GET / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "GET /api/v1/summary?pool=%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /api/v1/tasks?limit=-1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /api/v1/timeline?seconds=nan HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /api/v1/trace?format=exe HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ],
        ),
        (
            "403",
            &[
                "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                "GET / HTTP/1.0\r\n\r\n",
                "GET /api/v1/summary HTTP/1.1\r\nHost: evil.example:80\r\n\r\n",
                "GET /api/v1/summary HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n",
                "GET /api/v1/summary HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n",
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n",
                // A probe changes something, and there is no token.
                "POST /api/v1/probe HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ],
        ),
        (
            "404",
            &[
                "GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /app.js/../app.css HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET //app.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /api/v1/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /api/v1/summary?pool=none HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ],
        ),
        (
            "405",
            &[
                "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "POST /api/v1/summary HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "DELETE /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "OPTIONS /api/v1/summary HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n",
                "GET /api/v1/probe HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ],
        ),
        (
            "413",
            &[
                "POST /api/v1/probe HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123456789",
            ],
        ),
    ];
    for (expected, requests) in cases {
        for request in *requests {
            let answer = bed.send(request.as_bytes());
            assert_eq!(&status(&answer), expected, "{request:?}: {answer}");
            assert!(answer.contains("X-Content-Type-Options: nosniff"), "{answer}");
            assert!(!answer.contains("Access-Control"), "{answer}");
        }
    }
    assert_eq!(bed.pool.reads.load(Ordering::SeqCst), 0);
}

#[test]
fn a_refused_method_gets_the_allowed_one_as_an_answer() {
    let bed = bed();
    assert!(bed.get("/api/v1/probe").contains("\r\nAllow: POST\r\n"));
    let answer = bed.send(b"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(answer.contains("\r\nAllow: GET\r\n"), "{answer}");
}

#[test]
fn a_head_of_a_mebibyte_is_cut_off() {
    let bed = bed();
    let mut head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec();
    head.resize(1 << 20, b'a');
    // The answer may be lost, since the client keeps sending. The page has to survive.
    let answer = bed.send(&head);
    assert!(matches!(status(&answer), "431" | "none"), "{answer}");
    head.truncate(9 * 1024);
    assert_eq!(status(&bed.send(&head)), "431");
    assert_eq!(status(&bed.get("/")), "200");
}

#[test]
fn slow_clients_are_dropped_and_give_their_places_back() {
    let limits =
        Limits { connections: 3, patience: Duration::from_millis(200), ..Limits::default() };
    let bed = bed_with(Inspect::at("127.0.0.1:0"), limits);
    let attempt = || {
        let slow: Vec<_> = (0..3).map(|_| bed.begin(b"GET / HTTP/1.1\r\nHost: loc")).collect();
        slow.into_iter().all(|client| match status(&answer_to(client)) {
            "408" => true,
            // This thread was so slow that the server closed a connection before the client wrote.
            // Or the server has not yet given back the places of the previous attempt.
            "none" | "503" => false,
            other => panic!("{other}"),
        })
    };
    while !attempt() {}
    // The places of the slow clients come back.
    while status(&bed.get("/")) != "200" {
        thread::yield_now();
    }
}

#[test]
fn one_client_too_many_is_refused() {
    let limits = Limits { connections: 2, patience: Duration::from_secs(600), ..Limits::default() };
    let bed = bed_with(Inspect::at("127.0.0.1:0"), limits);
    let held: Vec<_> = (0..2).map(|_| TcpStream::connect(bed.address).unwrap()).collect();
    // Connections are accepted in order, so the two that are held have taken both places.
    assert_eq!(status(&bed.get("/")), "503");
    drop(held);
    while status(&bed.get("/")) != "200" {
        thread::yield_now();
    }
}

#[test]
fn a_flood_of_requests_reads_the_pool_one_at_a_time() {
    let bed = bed();
    let begin = Barrier::new(12);
    thread::scope(|threads| {
        for _ in 0..12 {
            threads.spawn(|| {
                begin.wait();
                for _ in 0..10 {
                    assert!(matches!(status(&bed.get("/api/v1/summary")), "200" | "503"));
                }
            });
        }
    });
    assert_eq!(bed.pool.most.load(Ordering::SeqCst), 1);
    assert!(bed.pool.reads.load(Ordering::SeqCst) >= 10);
}

#[test]
fn with_a_token_data_needs_it_and_the_page_does_not() {
    let settings = Inspect::at("127.0.0.1:0").token(Token::new(TOKEN).unwrap());
    let bed = bed_with(settings, Limits::default());
    assert_eq!(status(&bed.get("/")), "200");
    for path in ["/metrics", "/api/v1/pools", "/api/v1/summary", "/api/v1/stream", "/api/v1/trace"]
    {
        assert_eq!(status(&bed.get(path)), "401", "{path}");
        let wrong = "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef0123456789abcdee";
        assert_eq!(status(&bed.get_with(path, wrong)), "401", "{path}");
        // A token in the address would end up in logs.
        assert_eq!(status(&bed.get(&format!("{path}?token={TOKEN}"))), "401", "{path}");
    }
    let right = format!("Host: localhost\r\nAuthorization: Bearer {TOKEN}");
    assert_eq!(status(&bed.get_with("/api/v1/summary", &right)), "200");
    let probe = format!("POST /api/v1/probe HTTP/1.1\r\n{right}\r\nContent-Length: 0\r\n\r\n");
    assert!(bed.send(probe.as_bytes()).ends_with("\"probed\":true}"));
}

#[test]
fn an_address_for_other_machines_needs_a_token() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Server::new(Pools::default(), Limits::default()).open(&Inspect::at(address));
        assert!(error.unwrap_err().to_string().contains("needs a token"));
    }
    let settings = Inspect::at("0.0.0.0:0").token(Token::new(TOKEN).unwrap());
    let page = Server::new(Pools::default(), Limits::default()).open(&settings).unwrap();
    let (port, url) = (page.address().port(), page.url());
    assert_eq!(url, format!("http://127.0.0.1:{port}/#token={TOKEN}"));
}

#[test]
fn a_stream_goes_on_until_the_pool_ends() {
    let limits = Limits { beat: Duration::ZERO, streams: 1, ..Limits::default() };
    let bed = bed_with(Inspect::at("127.0.0.1:0"), limits);
    let mut client = TcpStream::connect(bed.address).unwrap();
    client.write_all(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while text.matches("event: summary").count() < 3 {
        let read = client.read(&mut piece).unwrap();
        assert_ne!(read, 0, "{text}");
        text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    assert!(text.contains("Content-Type: text/event-stream"), "{text}");
    assert!(text.contains("\n\nevent: workers\ndata: {\"v\":1,"), "{text}");
    // Streams must not take all places.
    assert_eq!(status(&bed.get("/api/v1/stream")), "503");
    bed.pool.is_over.store(true, Ordering::SeqCst);
    let mut rest = String::new();
    client.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("event: ended\ndata: {}\n\n"), "{rest}");
    assert_eq!(status(&bed.get("/api/v1/summary?pool=api")), "404");
    // The other pool is still there.
    assert!(bed.get("/api/v1/summary").contains("\"pools\":[\"a "));
}

#[test]
fn a_pool_that_ends_may_drop_a_value_that_lists_pools() {
    let (pools, pool) = (Pools::default(), Arc::new(Counted::default()));
    pools.add("api", pool.clone());
    let seen = Arc::default();
    *pool.kept.lock().unwrap() = Some(Kept { pools: pools.clone(), seen: Arc::clone(&seen) });
    pool.is_over.store(true, Ordering::SeqCst);
    assert_eq!(&*pools.add("api", Arc::new(Counted::default())), "api", "the name is free again");
    assert_eq!(*seen.lock().unwrap(), "Pools([])");
    assert_eq!(format!("{pools:?}"), "Pools([\"api\"])");
}

//! Drives servers with independent programs: `wrk` and `h2load`.
//!
//! `cargo xtask load-tools` runs these tests if the programs are installed (Debian: `wrk` and
//! `nghttp2-client`), and reports if they are not.

#[path = "../../blitz/tests/common/mod.rs"]
mod common;
mod peers;

use axum::Router;
use axum::routing::get;
use blitz::process::Command;
use common::on_each_size;
use peers::Server;

/// Runs a program that sends requests to the server; returns its output.
async fn drive(program: &str, arguments: &[&str], server: &Server) -> String {
    let url = format!("http://{}/", server.address);
    let output = Command::new(program).args(arguments).arg(url).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn app() -> Router {
    Router::new().route("/", get(|| async { "Hello, world!" }))
}

#[test]
#[ignore = "needs wrk; see cargo xtask load-tools"]
fn wrk_sees_no_error() {
    on_each_size("wrk", || async {
        let server = Server::start(app()).await;
        let report = drive("wrk", &["-t1", "-c64", "-d1s"], &server).await;
        assert!(report.contains("Requests/sec:"), "{report}");
        assert!(!report.contains("Socket errors"), "{report}");
        assert!(!report.contains("Non-2xx"), "{report}");
        server.finish().await;
    });
}

#[test]
#[ignore = "needs h2load; see cargo xtask load-tools"]
fn h2load_gets_every_answer_by_either_protocol() {
    on_each_size("h2load", || async {
        let server = Server::start(app()).await;
        for protocol in [&["--h1"][..], &["-m10"]] {
            let arguments = [&["-n5000", "-c50"], protocol].concat();
            let report = drive("h2load", &arguments, &server).await;
            let all = "5000 total, 5000 started, 5000 done, 5000 succeeded, 0 failed, 0 errored, 0 timeout";
            assert!(report.contains(all), "{report}");
        }
        server.finish().await;
    });
}

//! What the page says about a pool: `Builder::inspect`.
#![cfg(feature = "inspect")]

#[cfg(unix)]
mod from_env {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    /// A daemon may have closed what reads its standard error.
    #[test]
    fn a_page_needs_no_standard_error() {
        const INSIDE: &str = "BLITZ_TEST_INSIDE";
        if std::env::var_os(INSIDE).is_some() {
            drop(blitz::Pool::builder().workers(1).build().unwrap());
            assert_eq!(blitz::inspect::pages().len(), 1);
            return;
        }
        let (unread, error) = UnixStream::pair().unwrap();
        drop(unread);
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["from_env::a_page_needs_no_standard_error", "--exact", "--nocapture"])
            .envs([(INSIDE, "1"), ("BLITZ_INSPECT", "127.0.0.1:0")])
            .stderr(OwnedFd::from(error))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}

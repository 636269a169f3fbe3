//! Turns a copy of rayon-core into a package that holds only its tests and depends on `rayon-core`,
//! so that they test the core that is patched in.

use super::catalogue::LeftOut;
use std::fs;
use std::io;
use std::path::Path;

const MANIFEST: &str = r#"[package]
name = "moved"
version = "0.0.0"
edition = "2021"

[workspace]

[dependencies]
rayon-core = "=1.13.0"

[dev-dependencies]
crossbeam-utils = "0.8"
libc = "0.2"
rand = "0.9"
rand_xorshift = "0.4"
scoped-tls = "1.0"
"#;

/// Replaces an internal function of the same name.
const HALT_UNWINDING: &str = "
fn halt_unwinding<R>(f: impl FnOnce() -> R) -> std::thread::Result<R> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
}
";

const INSIDERS: &[&str] = &["workers_stop", "sleeper_stop"];

/// Tests that are not run, and why.
pub const LEFT_OUT: &[LeftOut] =
    &[("test.rs", INSIDERS, "they test internals of the pool; see the tests of the shim")];

/// Moves the tests of the copy in `folder`.
pub fn move_tests_out(folder: &Path) -> io::Result<()> {
    let mut tests = Vec::new();
    for module in ["", "broadcast", "join", "scope", "spawn", "thread_pool"] {
        let text = fs::read_to_string(folder.join("src").join(module).join("test.rs"))?;
        let name = if module.is_empty() { "lib" } else { module };
        tests.push((format!("unit_{name}.rs"), from_outside(&text)));
    }
    for (name, text) in tests {
        fs::write(folder.join("tests").join(name), text)?;
    }
    let mut lib = String::new();
    for file in ["lib.rs", "join/mod.rs", "scope/mod.rs", "spawn/mod.rs", "thread_pool/mod.rs"] {
        let text = fs::read_to_string(folder.join("src").join(file))?;
        for example in examples(&text) {
            lib.push_str(&format!("#[doc = {example:?}]\nmod example_{} {{}}\n", lib.len()));
        }
    }
    // The documentation of these modules has the programs that must not compile.
    lib.push_str("mod compile_fail;\n");
    fs::write(folder.join("src/lib.rs"), lib)?;
    fs::write(folder.join("Cargo.toml"), MANIFEST)?;
    fs::remove_file(folder.join("build.rs"))
}

/// The doc comments that hold code.
pub fn examples(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in text.lines().map(str::trim_start) {
        let documentation = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        match (documentation, found.last_mut()) {
            (Some(line), Some(last)) => {
                last.push_str(line.strip_prefix(' ').unwrap_or(line));
                last.push('\n');
            }
            _ => found.push(String::new()),
        }
    }
    found.retain(|text| text.contains("```"));
    found
}

/// The text of a test module, for use outside its crate.
fn from_outside(text: &str) -> String {
    let mut text = text
        .replace("#![cfg(test)]", "")
        .replace("use crate::unwind;\n", "")
        .replace("crate::unwind::halt_unwinding(", "halt_unwinding(")
        .replace("unwind::halt_unwinding(", "halt_unwinding(")
        .replace("crate::registry::in_worker(move |_, _| {", "crate::scope(move |_| {")
        .replace("use super::", "use crate::")
        .replace("crate::", "rayon_core::");
    for name in INSIDERS {
        text = without_test(&text, name);
    }
    if text.contains("halt_unwinding(") {
        text.push_str(HALT_UNWINDING);
    }
    text
}

/// Returns `text` without the test function `name`, if the text has such a function.
pub fn without_test(text: &str, name: &str) -> String {
    let Some(at) = text.find(&format!("\nfn {name}() {{")) else {
        return text.to_owned();
    };
    let begin = text[..at].rfind("#[test]").unwrap_or(at);
    let end = text[at..].find("\n}\n").map_or(text.len(), |end| at + end + "\n}\n".len());
    format!("{}{}", &text[..begin], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::{examples, from_outside, without_test};

    #[test]
    fn names_refer_to_the_dependency() {
        let text = "#![cfg(test)]\nuse super::*;\nuse crate::unwind;\n\
                    fn f() { unwind::halt_unwinding(|| crate::join(a, b)) }\n";
        let moved = from_outside(text);
        assert!(moved.contains("use rayon_core::*;"), "{moved}");
        assert!(moved.contains("{ halt_unwinding(|| rayon_core::join(a, b)) }"), "{moved}");
        assert!(moved.contains("fn halt_unwinding<R>"), "{moved}");
        assert!(!moved.contains("crate::unwind"), "{moved}");
    }

    #[test]
    fn examples_are_found() {
        let text = "//! a\n//! ```\n//! b\n//! ```\n\n/// c\nfn d() {}\n    /// ```\n    ///     e\n    /// ```\n";
        assert_eq!(examples(text), ["a\n```\nb\n```\n", "```\n    e\n```\n"]);
    }

    #[test]
    fn one_test_is_taken_out() {
        let text = "#[test]\nfn a() {\n}\n\n#[test]\n#[x]\nfn b() {\n    {\n    }\n}\n\n#[test]\nfn c() {\n}\n";
        let without = without_test(text, "b");
        assert!(without.contains("fn a()") && without.contains("fn c()"));
        assert!(!without.contains("fn b()") && !without.contains("#[x]"));
        assert_eq!(without_test(text, "d"), text);
    }
}

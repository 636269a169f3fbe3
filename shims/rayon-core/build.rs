//! Cargo wants a build script where there is a `links` key.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}

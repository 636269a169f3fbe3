//! The attributes of the Blitz runtime. Use them through `blitz-rt`.
//!
//! An async function becomes a plain function of the same name. The async function is copied inside
//! unchanged, so that the compiler's messages refer to the user's code:
//!
//! ```text
//! #[blitz::main(workers = 2)]          fn main() -> Outcome {
//! async fn main() -> Outcome {             async fn main() -> Outcome { … }
//!     …                          ───▶      ::blitz::__macros::run(
//! }                                            ::blitz::Builder::new().workers(2),
//!                                              main(),
//!                                          )
//!                                      }
//! ```

#![forbid(unsafe_code)]

extern crate proc_macro;

mod arguments;
mod error;
mod function;
mod tokens;

use arguments::Arguments;
use error::Error;
use function::Function;
use proc_macro::{Delimiter, TokenStream};
use tokens::{group, parse};

/// Turns an `async fn`, mostly `main`, into a function that builds a runtime and blocks on it.
///
/// `Runtime::block_on` runs the function on the calling thread; its tasks and jobs run on the
/// runtime. When it returns, the runtime is dropped: shielded sections end, then the tasks that are
/// left are cancelled. The drop also waits for jobs.
///
/// The function has no arguments and no generics, and may return any type; `main` may return types
/// with [`Termination`](std::process::Termination). If the runtime cannot be built, for example
/// because a variable has an invalid value, the function panics with the reason.
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `workers = N` | how many workers, any expression of type `usize` | the value of `BLITZ_WORKERS`, else one per core |
/// | `scheduler = "signal"` | how tasks find a worker: a name, `"stealing"` or `"signal"`, or a path such as `Scheduler::Signal` | the value of `BLITZ_SCHEDULER`, else `"stealing"` |
/// | `start_paused = true` | the clock is paused from the beginning, for tests: see `blitz::time::pause` | `false` |
/// | `tokio` | a Tokio runtime beside the pool, for crates that need one: see `Builder::tokio_guest`; `tokio = N` gives it N threads. Needs the feature `tokio-guest` | none |
/// | `worker_threads = N`, `flavor = "multi_thread"`, `flavor = "current_thread"` | Tokio's names. They mean, in this order, `workers = N`, the default, and the calling thread as the only worker | |
/// | `crate = path` | the path of the library, for crates that re-export it | `::blitz` |
///
/// ```
/// #[blitz::main(workers = 2, scheduler = "stealing")]
/// async fn main() -> Result<(), blitz::JoinError> {
///     let answer = blitz::spawn(async { 6 * 7 }).await?;
///     assert_eq!(answer, 42);
///     Ok(())
/// }
/// ```
///
/// ```
/// mod framework {
///     pub use blitz as runtime;
/// }
///
/// #[framework::runtime::main(crate = framework::runtime)]
/// async fn main() {
///     assert_eq!(framework::runtime::spawn(async { 7 }).await.unwrap(), 7);
/// }
/// ```
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item, Kind::Main)
}

/// Turns an `async fn` into a test with a runtime of its own.
///
/// Arguments and rules are those of [`main`](macro@main), except for the number of workers: it is 1
/// unless `BLITZ_WORKERS` says otherwise, since tests run beside each other already. Other
/// attributes, such as `#[should_panic]` and `#[ignore]`, keep their meaning. A test that returns
/// an `Err` fails.
///
/// ```
/// # fn main() {} // A test in an example is compiled, and not run.
/// #[blitz::test]
/// async fn a_task_returns_its_result() {
///     assert_eq!(blitz::spawn(async { 7 }).await.unwrap(), 7);
/// }
///
/// #[blitz::test(start_paused = true)]
/// async fn an_hour_passes_at_once() {
///     blitz::time::sleep(std::time::Duration::from_secs(3_600)).await;
/// }
///
/// #[blitz::test(workers = 4)]
/// #[should_panic(expected = "no number")]
/// async fn a_panic_is_the_tests_own() {
///     "seven".parse::<u32>().expect("no number");
/// }
/// ```
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments, item, Kind::Test)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Main,
    Test,
}

impl Kind {
    /// The name of the attribute, as users write it.
    fn name(self) -> &'static str {
        match self {
            Kind::Main => "#[blitz::main]",
            Kind::Test => "#[blitz::test]",
        }
    }
}

fn expand(arguments: TokenStream, item: TokenStream, kind: Kind) -> TokenStream {
    let function = match Function::parse(item.clone(), kind) {
        Ok(function) => function,
        // The item is kept as it is, so that other code finds its name, and editors still work.
        Err(error) => return TokenStream::from_iter([error.into_tokens(), item]),
    };
    let (arguments, error) = match Arguments::parse(arguments) {
        Ok(arguments) => (arguments, TokenStream::new()),
        Err(error) => (Arguments::default(), error.into_tokens()),
    };
    TokenStream::from_iter([error, runner(function, &arguments, kind)])
}

/// Returns the plain function, with the async function inside.
fn runner(function: Function, arguments: &Arguments, kind: Kind) -> TokenStream {
    let Function { attributes, visibility, keyword, name, output, body } = function;
    let name = TokenStream::from(name);
    let no_arguments = || group(Delimiter::Parenthesis, TokenStream::new());
    let signature = [TokenStream::from(keyword), name.clone(), no_arguments(), output];
    let inside = [
        parse("async"),
        TokenStream::from_iter(signature.clone()),
        body,
        arguments.library(),
        parse("::__macros::run"),
        group(
            Delimiter::Parenthesis,
            [arguments.builder(kind), parse(","), name, no_arguments()].into_iter().collect(),
        ),
    ];
    let test = match kind {
        Kind::Main => TokenStream::new(),
        Kind::Test => parse("#[::core::prelude::v1::test]"),
    };
    let outside = [test, attributes, visibility];
    let inside = group(Delimiter::Brace, inside.into_iter().collect());
    outside.into_iter().chain(signature).chain([inside]).collect()
}

//! The protocol between the runner of `blitz bench` and the processes that take turns: the metrics
//! of a turn, its length, and the messages in the pipe between the two.
//!
//! It is a separate crate because contestants are built in more than one workspace. The programs
//! that use Rayon exist twice, once on each `rayon-core`, and a workspace cannot hold two packages
//! of one name. The tools that look inside of Tokio need a flag for the whole build.

#![deny(unsafe_code)]

mod contest;
pub mod os;
mod pace;
mod par_program;
mod program;
pub mod rayon_program;
mod repeat;
pub mod rng;
mod serve;

pub use contest::{Caller, Contest, Metric, Sample, Unit, nanoseconds};
pub use pace::Pace;
pub use par_program::ParProgram;
pub use program::{Order, program};
pub use rayon_program::RayonProgram;
pub use repeat::{Clock, Repeat, Repeated, Spent};
pub use serve::{Reply, serve};

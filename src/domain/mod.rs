//! The pure rooms: what the product means, with no way to touch the world.
//!
//! Nothing here is async, asks the time, reads the environment, opens a file or a connection, or
//! draws a random number. The lints below make that a compile error; `clippy.toml` names the calls.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod alarms;
pub mod asking;
pub mod attest;
pub mod command;
pub mod dispatch;
pub mod distinct;
pub mod doctor;
pub mod event;
pub mod evidence;
pub mod facts;
pub mod gate;
pub mod hypothesis;
pub mod import;
pub mod landing;
pub mod ledger;
pub mod memory;
pub mod model;
pub mod mutants;
pub mod next;
pub mod patch;
pub mod plan;
pub mod policy;
pub mod preview;
pub mod prospects;
pub mod redelivery;
pub mod render;
pub mod request;
pub mod scorecard;
#[cfg(test)]
pub(crate) mod testing;
pub mod testlog;
pub mod verdict;

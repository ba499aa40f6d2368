//! Countersign: a merge gatekeeper for GitHub.
//!
//! Nothing merges until a second, independent verifier has countersigned that exact head, its
//! critical lines are shown to be tested, and every other gate of the repository's policy has
//! reported. `ARCHITECTURE.md` shows the flow and the floors; [`reconcile`] is the flow itself.
#![warn(missing_docs)]
// `clippy.toml` names what pure rooms must not touch; `domain` denies it, everybody else may.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod app;
pub mod cli;
pub mod clock;
pub mod dispatch;
pub mod domain;
pub mod execute;
pub mod gather;
pub mod github;
pub mod hear;
pub mod inspect;
pub mod intake;
pub mod outlook;
pub mod reconcile;
pub mod settings;
pub mod simulator;
pub mod store;
pub mod submit;
pub mod sweep;
pub mod telemetry;
pub mod verify;
pub mod watch;
pub mod web;
pub mod webhook;
pub mod worker;

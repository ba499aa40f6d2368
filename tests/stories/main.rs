//! Stories: the whole product over a simulated GitHub, stepped by hand.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "../support/http.rs"]
#[allow(dead_code, reason = "every story uses a part of it")]
mod http;
#[path = "../support/stage.rs"]
#[allow(dead_code, reason = "every story uses a part of the stage")]
mod stage;

mod alarms;
mod answers;
mod asking;
mod attesting;
mod breaking;
mod breaking_dispatch;
mod checks;
mod commands;
mod conflicts;
mod corpus;
mod deliveries;
mod desk;
mod dispatch;
mod doctor;
mod faults;
mod gate;
mod heads;
mod identity;
mod leaving;
mod limits;
mod lint;
mod liveness;
mod merging;
mod metrics;
mod mutation;
mod neighbours;
mod observing;
mod org_policy;
mod policy;
mod posted;
mod posting;
mod preview;
mod recovery;
mod refusals;
mod submitting;
mod terminal;

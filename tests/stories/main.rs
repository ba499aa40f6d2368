//! Stories: the whole product over a simulated GitHub, stepped by hand.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "../support/stage.rs"]
#[allow(dead_code, reason = "every story uses a part of the stage")]
mod stage;

#[path = "../support/http.rs"]
#[allow(dead_code, reason = "stories use a part of it")]
mod http;

mod checks;
mod deliveries;
mod gate;
mod heads;
mod identity;
mod merging;
mod mutation;
mod org_policy;
mod policy;
mod preview;
mod terminal;

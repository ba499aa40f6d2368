//! Stories: the whole product over a simulated GitHub, stepped by hand.

#[path = "../support/stage.rs"]
mod stage;

mod gate;

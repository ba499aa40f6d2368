//! The web room.

pub mod server;

//! The web room.

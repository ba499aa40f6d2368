//! The simulator room.

//! The wire part of the GitHub room.

//! The intake room.

//! The gather room.

//! The sweep room.

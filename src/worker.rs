//! The worker room.

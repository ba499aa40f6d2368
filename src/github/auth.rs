//! The auth part of the GitHub room.

//! The telemetry room.

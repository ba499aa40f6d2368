//! The client part of the GitHub room.

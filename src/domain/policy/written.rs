//! The policy file as a person types it.

//! Rows of SQLite as values.

pub use super::columns::*;

/// A text as SQLite keeps it: as it is.
pub fn text(said: &str) -> &str {
    said
}

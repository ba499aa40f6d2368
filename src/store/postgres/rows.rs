//! Rows of PostgreSQL as values.

use std::borrow::Cow;

pub use super::columns::*;

/// A text as PostgreSQL can keep it: NUL is the one character that it cannot, and a delivery that holds one
/// must not be one that can never be stored.
pub fn text(said: &str) -> Cow<'_, str> {
    if said.contains('\0') {
        Cow::Owned(said.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(said)
    }
}

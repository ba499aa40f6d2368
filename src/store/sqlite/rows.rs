//! Between rows and values: times as microseconds, ids as integers, documents as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::model::{Key, Timestamp};
use crate::store::{StoreError, Stored};

/// What is stored as `what` cannot be read back.
pub fn corrupt(what: &str, why: impl ToString) -> StoreError {
    StoreError::Corrupt {
        what: what.to_owned(),
        why: why.to_string(),
    }
}

/// A time as microseconds since 1970.
pub fn micros(time: Timestamp) -> i64 {
    time.timestamp_micros()
}

/// A time from microseconds since 1970.
pub fn time(micros: i64) -> Stored<Timestamp> {
    chrono::DateTime::from_timestamp_micros(micros).ok_or_else(|| corrupt("a time", micros))
}

/// An id as SQLite keeps it. GitHub's ids are far below 2^63.
pub fn id(value: u64) -> Stored<i64> {
    i64::try_from(value).map_err(|_| corrupt("an id", value))
}

/// A document from its JSON.
pub fn document<T: DeserializeOwned>(what: &str, json: &str) -> Stored<T> {
    serde_json::from_str(json).map_err(|error| corrupt(what, error))
}

/// A document as JSON.
pub fn json<T: Serialize>(what: &str, value: &T) -> Stored<String> {
    serde_json::to_string(value).map_err(|error| corrupt(what, error))
}

/// A key as text.
pub fn key_text(key: &Key) -> Stored<String> {
    json("a key", key)
}

/// A key from its text.
pub fn key(text: &str) -> Stored<Key> {
    document("a key", text)
}

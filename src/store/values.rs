//! Between values and what databases keep: times as microseconds, ids as integers, keys as text,
//! documents as JSON. The same for every database, so that what one keeps another can read.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{StoreError, Stored, Versioned};
use crate::domain::evidence::Carrier;
use crate::domain::memory::Confirm;
use crate::domain::model::{HeadSha, InstallationId, Key, PullNumber, RepoId, RepoName, Timestamp};

/// What is stored as `what` cannot be read back (or, for a number beyond 2^63, be stored).
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

/// The time a while after `now`; a span beyond the calendar's end ends there.
pub fn later(now: Timestamp, after: chrono::Duration) -> Timestamp {
    now.checked_add_signed(after).unwrap_or(Timestamp::MAX_UTC)
}

/// A number as databases keep it. GitHub's ids are far below 2^63.
pub fn integer(value: u64) -> Stored<i64> {
    i64::try_from(value).map_err(|_| corrupt("a number", value))
}

/// Installations' ids as databases keep them.
pub fn installations(ids: &[InstallationId]) -> Stored<Vec<i64>> {
    ids.iter().map(|id| integer(id.get())).collect()
}

/// An installation's id, where one is known.
pub fn installation(id: Option<i64>) -> Stored<Option<InstallationId>> {
    let read = |id| {
        let known = u64::try_from(id).ok().and_then(InstallationId::new);
        known.ok_or_else(|| corrupt("an installation's id", id))
    };
    id.map(read).transpose()
}

/// A document as JSON.
pub fn json<T: Serialize>(what: &str, value: &T) -> Stored<String> {
    serde_json::to_string(value).map_err(|error| corrupt(what, error))
}

/// A document from its JSON.
pub fn document<T: DeserializeOwned>(what: &str, json: &str) -> Stored<T> {
    serde_json::from_str(json).map_err(|error| corrupt(what, error))
}

/// How closely a pass must look, as a number that grows with it.
pub fn confirm_number(confirm: Confirm) -> i64 {
    match confirm {
        Confirm::IfNeeded => 0,
        Confirm::Pull => 1,
        Confirm::Always => 2,
    }
}

/// How closely a pass must look. A number that nobody wrote reads as the stricter.
pub fn confirm(number: i64) -> Confirm {
    match number {
        0 => Confirm::IfNeeded,
        1 => Confirm::Pull,
        _ => Confirm::Always,
    }
}

/// Reads back what [`Key`]'s `Display` wrote: text that an operator can read in the table.
pub fn key(text: &str) -> Stored<Key> {
    parse_key(text).ok_or_else(|| corrupt("a key", text))
}

fn parse_key(text: &str) -> Option<Key> {
    let mut parts = text.split(':');
    let kind = parts.next()?;
    let repo = RepoId::new(parts.next()?.parse().ok()?)?;
    let key = match kind {
        "pull" => Key::Pull(repo, PullNumber::new(parts.next()?.parse().ok()?)?),
        "head" => Key::Head(repo, HeadSha::parse(parts.next()?).ok()?),
        "repo" => Key::Repo(repo),
        "dispatch" => Key::Dispatch(repo),
        _ => return None,
    };
    parts.next().is_none().then_some(key)
}

/// A name as it is compared.
pub fn in_lower_case(name: &RepoName) -> String {
    name.to_string().to_ascii_lowercase()
}

/// What a carrier is stored as.
pub const CARRIER: &str = "the carrier of posted evidence";

/// What tells one verifier from another, whatever the policy calls it: the proven identity alone.
pub fn verifier(carrier: &Carrier) -> Stored<String> {
    match carrier {
        // The ref is not part of it: one file is one verifier.
        Carrier::Workflow { path, .. } => Ok(format!("workflow:{path}")),
        Carrier::Key(key) => Ok(format!("key:{key}")),
        other => json(CARRIER, other),
    }
}

/// A document as it was loaded, with the text it had then.
pub struct Loaded<T> {
    /// The document; the default where nothing is remembered.
    pub value: T,
    /// Its version; 0 where nothing is remembered.
    pub version: i64,
    what: &'static str,
    text: String,
}

impl<T: Default + Serialize + DeserializeOwned> Loaded<T> {
    /// Reads a version and a document, or takes the default where there is none.
    pub fn read(what: &'static str, kept: Option<(i64, String)>) -> Stored<Self> {
        let (value, version, text) = match kept {
            None => {
                let value = T::default();
                let text = json(what, &value)?;
                (value, 0, text)
            }
            Some((version, text)) => (document(what, &text)?, version, text),
        };
        Ok(Self {
            value,
            version,
            what,
            text,
        })
    }

    /// Whether the document says something else than when it was loaded. A repeated delivery changes
    /// nothing, and then costs no write and voids no pass's reading.
    pub fn changed(&self) -> Stored<bool> {
        Ok(json(self.what, &self.value)? != self.text)
    }
}

impl<T> From<Loaded<T>> for Versioned<T> {
    fn from(loaded: Loaded<T>) -> Self {
        Self {
            value: loaded.value,
            version: loaded.version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_from_its_text() {
        let repo = RepoId::new(7).unwrap();
        for made in [
            Key::Pull(repo, PullNumber::new(12).unwrap()),
            Key::Head(repo, HeadSha::parse(&"a".repeat(40)).unwrap()),
            Key::Repo(repo),
            Key::Dispatch(repo),
        ] {
            assert_eq!(key(&made.to_string()).unwrap(), made);
        }
    }

    #[test]
    fn a_text_that_is_no_key_is_corrupt_and_not_another_key() {
        for text in ["", "pull:7", "pull:0:1", "repo:7:1", "head:7:abc", "base:7"] {
            assert!(
                matches!(key(text), Err(StoreError::Corrupt { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn a_span_beyond_the_end_of_the_calendar_ends_there_and_can_be_stored() {
        let end = later(Timestamp::UNIX_EPOCH, chrono::Duration::MAX);
        assert!(
            time(micros(end)).unwrap() > later(Timestamp::UNIX_EPOCH, chrono::Duration::days(1))
        );
    }
}

//! Entries as they are kept: a text, and beside it what it is found by.
//!
//! A hash covers what an entry says, so nothing else may be in what is kept: a key that was not hashed, a key
//! that stands twice (of which every reader takes another), a column that says something else.

use serde_json::Value;

use super::Entry;
use crate::domain::distinct;

/// What an entry is made of.
const KEYS: [&str; 9] = [
    "seq", "at", "kind", "repo", "number", "head", "body", "prev", "hash",
];

/// An entry as a database keeps it. A column that holds nothing of its kind is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its place.
    pub seq: i64,
    /// Where.
    pub repo: Option<i64>,
    /// On which pull request; the inner `None` for none.
    pub number: Option<Option<i64>>,
    /// Its hash.
    pub hash: Option<String>,
    /// All of it, as JSON.
    pub entry: Option<String>,
}

impl Kept {
    /// The entry, if nothing is kept of it that was not hashed.
    ///
    /// # Errors
    /// What is.
    pub fn read(&self) -> Result<Entry, String> {
        let text = self.entry.as_deref().ok_or("it is not kept as a text")?;
        let entry = read(text)?;
        self.agrees(&entry)?;
        Ok(entry)
    }

    /// Whether the columns say what the entry says.
    ///
    /// # Errors
    /// Which does not.
    pub fn agrees(&self, entry: &Entry) -> Result<(), String> {
        let same = |kept: i64, said: u64| u64::try_from(kept) == Ok(said);
        let number = match (self.number, entry.number) {
            (Some(None), None) => true,
            (Some(Some(kept)), Some(said)) => same(kept, said.get()),
            _ => false,
        };
        let columns = [
            ("seq", same(self.seq, entry.seq)),
            (
                "repo",
                self.repo.is_some_and(|kept| same(kept, entry.repo.get())),
            ),
            ("number", number),
            ("hash", self.hash.as_ref() == Some(&entry.hash)),
        ];
        match columns.iter().find(|(_, agrees)| !agrees) {
            None => Ok(()),
            Some((column, _)) => Err(format!(
                "its column `{column}`, by which it is found, says something else"
            )),
        }
    }
}

/// Reads an entry from its text, which must hold nothing that is not hashed.
///
/// # Errors
/// What is wrong with it.
pub fn read(text: &str) -> Result<Entry, String> {
    let no_entry = |error: serde_json::Error| format!("it is no ledger entry: {error}");
    let value: Value = distinct::read(text).map_err(no_entry)?;
    let Value::Object(map) = &value else {
        return Err("it is no ledger entry".to_owned());
    };
    if let Some(key) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("it holds {key:?}, which was not hashed"));
    }
    let entry: Entry = serde_json::from_value(value).map_err(no_entry)?;
    if !entry.at.timestamp_subsec_nanos().is_multiple_of(1_000) {
        return Err("its time is finer than what was hashed".to_owned());
    }
    Ok(entry)
}

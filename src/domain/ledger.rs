//! The append-only, hash-chained record: what was decided, on what it rested, what came of it.
//!
//! Each entry's hash covers its canonical bytes and the hash before it, so a changed, removed or
//! reordered entry breaks the chain at that place.

use chrono::SecondsFormat;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::model::{HeadSha, PullNumber, RepoId, Timestamp};

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The outcome of a pull request changed.
    Verdict,
    /// An effect is about to be tried.
    Intent,
    /// What came of an effect.
    Outcome,
    /// A merge by the App was verified against what was judged.
    Landed,
    /// A pull request was merged by somebody or something else.
    MergedPastGate,
    /// A base branch was frozen or thawed.
    Freeze,
    /// A pull request was held or let go.
    Hold,
    /// Somebody who may asked for something by a command.
    Request,
    /// An owner waived a gate for a head.
    Override,
    /// A defect escaped through a merged pull request.
    Escaped,
    /// A verifier was asked for a verification.
    Asked,
    /// A verifier's report was first seen.
    Reported,
    /// A dispatch was asked for, queued, granted or ended.
    Dispatch,
    /// What would have been done, where a policy only observes or the server writes nothing.
    WouldHave,
}

/// An entry before it has its place in the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// When.
    pub at: Timestamp,
    /// What about.
    pub kind: Kind,
    /// Where.
    pub repo: RepoId,
    /// On which pull request, if on one.
    pub number: Option<PullNumber>,
    /// For which head, if for one.
    pub head: Option<HeadSha>,
    /// What it rested on; objects only.
    pub body: serde_json::Value,
}

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place, from 1, without gaps.
    pub seq: u64,
    /// When, to the microsecond.
    pub at: Timestamp,
    /// What about.
    pub kind: Kind,
    /// Where.
    pub repo: RepoId,
    /// On which pull request, if on one.
    pub number: Option<PullNumber>,
    /// For which head, if for one.
    pub head: Option<HeadSha>,
    /// What it rested on.
    pub body: serde_json::Value,
    /// The hash of the entry before; 64 zeros for the first.
    pub prev: String,
    /// SHA-256 over the canonical bytes of everything above, in hex.
    pub hash: String,
}

/// What every hash begins with, so that no other use of SHA-256 can be mistaken for a ledger's.
const TAG: &[u8] = b"countersign-ledger-v1\n";

/// The hash before the first entry.
fn nothing() -> String {
    "0".repeat(64)
}

/// Gives a draft its place after `last` (sequence and hash), or the first place.
pub fn seal(draft: Draft, last: Option<(u64, &str)>) -> Entry {
    let (seq, prev) = match last {
        Some((seq, hash)) => (seq + 1, hash.to_owned()),
        None => (1, nothing()),
    };
    let mut entry = Entry {
        seq,
        at: draft.at,
        kind: draft.kind,
        repo: draft.repo,
        number: draft.number,
        head: draft.head,
        body: draft.body,
        prev,
        hash: String::new(),
    };
    entry.hash = hash(&entry);
    entry
}

/// SHA-256 over the canonical bytes of everything but the hash itself.
fn hash(entry: &Entry) -> String {
    let mut bytes = String::new();
    canonical(
        &json!({
            "seq": entry.seq,
            "at": entry.at.to_rfc3339_opts(SecondsFormat::Micros, true),
            "kind": entry.kind,
            "repo": entry.repo,
            "number": entry.number,
            "head": entry.head,
            "body": entry.body,
            "prev": entry.prev,
        }),
        &mut bytes,
    );
    let mut hash = Sha256::new();
    hash.update(TAG);
    hash.update(bytes);
    hex::encode(hash.finalize())
}

/// Writes JSON in one way only: keys sorted at every level, no blanks. Sorting is done here, so that
/// no setting of a library can change what was hashed.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by(|one, other| one.0.cmp(other.0));
            out.push('{');
            for (index, (key, value)) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the chain breaks at entry {seq}: {why}")]
pub struct Broken {
    /// The first entry that does not fit.
    pub seq: u64,
    /// Why.
    pub why: String,
}

/// Follows a chain, entry by entry.
#[derive(Debug, Clone, Default)]
pub struct Verifier {
    last: Option<(u64, String)>,
}

impl Verifier {
    /// Takes the next entry.
    ///
    /// # Errors
    /// [`Broken`] when its place, its link or its hash is wrong.
    pub fn take(&mut self, entry: &Entry) -> Result<(), Broken> {
        let broken = |why: String| Broken {
            seq: entry.seq,
            why,
        };
        let (seq, prev) = match &self.last {
            Some((seq, hash)) => (seq + 1, hash.clone()),
            None => (1, nothing()),
        };
        if entry.seq != seq {
            return Err(broken(format!("entry {seq} was expected here")));
        }
        if entry.prev != prev {
            return Err(broken("it does not follow from the entry before".into()));
        }
        if entry.hash != hash(entry) {
            return Err(broken("its content is not what was hashed".into()));
        }
        self.last = Some((entry.seq, entry.hash.clone()));
        Ok(())
    }

    /// How many entries were followed.
    pub fn followed(&self) -> u64 {
        self.last.as_ref().map_or(0, |(seq, _)| *seq)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chain(length: usize) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for index in 0..length {
            let draft = Draft {
                at: chrono::DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap(),
                kind: Kind::Verdict,
                repo: RepoId::new(7).unwrap(),
                number: PullNumber::new(index as u64 + 1),
                head: None,
                body: json!({ "b": index, "a": { "z": 1.5, "y": [true, null] } }),
            };
            let last = entries.last().map(|entry| (entry.seq, entry.hash.as_str()));
            let entry = seal(draft, last);
            entries.push(entry);
        }
        entries
    }

    fn verify(entries: &[Entry]) -> Result<u64, Broken> {
        let mut verifier = Verifier::default();
        for entry in entries {
            verifier.take(entry)?;
        }
        Ok(verifier.followed())
    }

    #[test]
    fn a_sound_chain_holds_also_after_a_round_trip_as_json_lines() {
        let lines: Vec<String> = chain(5)
            .iter()
            .map(|entry| serde_json::to_string(entry).unwrap())
            .collect();
        let read: Vec<Entry> = lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(verify(&read), Ok(5));
    }

    #[test]
    fn the_order_of_keys_does_not_change_a_hash() {
        let mut one = chain(1).remove(0);
        one.body = serde_json::from_str(r#"{"a":1,"b":{"c":2,"d":3}}"#).unwrap();
        let mut other = one.clone();
        other.body = serde_json::from_str(r#"{"b":{"d":3,"c":2},"a":1}"#).unwrap();
        assert_eq!(hash(&one), hash(&other));
    }

    proptest! {
        #[test]
        fn whatever_is_changed_removed_or_moved_is_found_at_its_place(
            at in 0_usize..6, how in 0_u8..5,
        ) {
            let mut entries = chain(6);
            match how {
                0 => entries[at].body["b"] = json!("forged"),
                1 => entries[at].number = PullNumber::new(99),
                2 => entries[at].hash = entries[at].hash.replace(|c: char| c.is_ascii_digit(), "f"),
                3 if at < 5 => { entries.remove(at); }
                _ if at < 5 => entries.swap(at, at + 1),
                _ => entries[at].at += chrono::Duration::microseconds(1),
            }
            prop_assert!(verify(&entries).unwrap_err().seq > at as u64);
        }
    }
}

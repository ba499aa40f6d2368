//! The append-only, hash-chained record: what was decided, on what it rested, what came of it.
//!
//! Each entry's hash covers its canonical bytes and the hash before it, so a changed, removed or
//! reordered entry breaks the chain at that place. An entry that is gone from the end breaks nothing: for that
//! the end is kept beside the chain, or was noted elsewhere, and is looked for ([`Verifier::expect`]).
//!
//! What it cannot show: whoever can write all of it can make a chain anew. Only what was noted where they
//! cannot write tells the two apart.

mod kept;

use chrono::{SecondsFormat, SubsecRound as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use kept::Kept;

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
        // No finer than what is hashed.
        at: draft.at.trunc_subsecs(6),
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

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The place of its last entry; 0 where there is none.
    pub seq: u64,
    /// The hash of it.
    pub hash: String,
}

/// Follows a chain, entry by entry.
#[derive(Debug, Clone, Default)]
pub struct Verifier {
    last: Option<End>,
    /// Where it must lead to.
    ends: Vec<End>,
    /// What must be in it.
    noted: Option<String>,
    noted_at: Option<u64>,
}

impl Verifier {
    /// One that looks for an entry by its hash.
    pub fn looking_for(hash: Option<String>) -> Self {
        Self {
            noted: hash,
            ..Self::default()
        }
    }

    /// The chain must lead to this end, and may go on from there.
    pub fn expect(&mut self, end: End) {
        if end.seq > 0 {
            self.ends.push(end);
        }
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// [`Broken`] when its place, its link or its hash is wrong, or another entry was last in its place.
    pub fn take(&mut self, entry: &Entry) -> Result<(), Broken> {
        let broken = |why: String| Broken {
            seq: entry.seq,
            why,
        };
        let (seq, prev) = match &self.last {
            Some(last) => (last.seq + 1, last.hash.clone()),
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
        if let Some(end) = self.ends.iter().find(|end| end.seq == seq)
            && end.hash != entry.hash
        {
            let why = format!(
                "the last one that was written here has the hash {}",
                end.hash
            );
            return Err(broken(why));
        }
        if self.noted.as_ref() == Some(&entry.hash) {
            self.noted_at = Some(seq);
        }
        self.last = Some(End {
            seq,
            hash: entry.hash.clone(),
        });
        Ok(())
    }

    /// Takes the next entry as a database keeps it.
    ///
    /// # Errors
    /// [`Broken`] as of [`Verifier::take`], or when something is kept of it that was not hashed.
    pub fn take_kept(&mut self, kept: &Kept) -> Result<(), Broken> {
        self.take_read(kept.read())
    }

    /// Takes the next entry from its text.
    ///
    /// # Errors
    /// As of [`Verifier::take_kept`].
    pub fn take_line(&mut self, line: &str) -> Result<(), Broken> {
        self.take_read(kept::read(line))
    }

    fn take_read(&mut self, read: Result<Entry, String>) -> Result<(), Broken> {
        let seq = self.followed() + 1;
        let entry = read.map_err(|why| Broken { seq, why })?;
        self.take(&entry)
    }

    /// Says that there are no more.
    ///
    /// # Errors
    /// [`Broken`] when the chain ends before an end that was expected.
    pub fn finish(&self) -> Result<(), Broken> {
        let followed = self.followed();
        match self.ends.iter().find(|end| end.seq > followed) {
            None => Ok(()),
            Some(End { seq, hash }) => Err(Broken {
                seq: followed + 1,
                why: format!(
                    "it is gone, and all up to entry {seq} (hash {hash}), which was the last one written"
                ),
            }),
        }
    }

    /// How many entries were followed.
    pub fn followed(&self) -> u64 {
        self.last.as_ref().map_or(0, |last| last.seq)
    }

    /// The last entry that was followed.
    pub fn last(&self) -> Option<&End> {
        self.last.as_ref()
    }

    /// The place of the entry that was looked for, if it was met.
    pub fn met(&self) -> Option<u64> {
        self.noted_at
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
    fn line(entry: &Entry) -> String {
        serde_json::to_string(entry).unwrap()
    }

    #[test]
    fn what_was_not_hashed_is_not_taken_for_a_part_of_an_entry() {
        let entry = chain(1).remove(0);
        let sound = line(&entry);
        Verifier::default().take_line(&sound).unwrap();
        let refused = |text: String| {
            let broken = Verifier::default().take_line(&text).unwrap_err();
            assert_eq!(broken.seq, 1, "{text}");
            broken.why
        };
        insta::assert_snapshot!(
            [
                refused(sound.replacen('{', r#"{"forged":"x","#, 1)),
                refused(sound.replacen('{', r#"{"kind":"landed","#, 1)),
                refused(sound.replacen(r#""z":1.5"#, r#""z":2.5,"z":1.5"#, 1)),
                refused(sound.replacen(".123456Z", ".123456789Z", 1)),
                refused("[]".to_owned()),
            ].join("\n"),
            @r#"
        it holds "forged", which was not hashed
        it is no ledger entry: the key `kind` stands twice in one object at line 1 column 66
        it is no ledger entry: the key `z` stands twice in one object at line 1 column 133
        its time is finer than what was hashed
        it is no ledger entry
        "#
        );
    }

    #[test]
    fn an_entry_is_no_finer_than_what_is_hashed_of_it() {
        let mut draft = Draft {
            at: chrono::DateTime::from_timestamp(1_700_000_000, 123_456_789).unwrap(),
            kind: Kind::Verdict,
            repo: RepoId::new(7).unwrap(),
            number: None,
            head: None,
            body: json!({}),
        };
        Verifier::default()
            .take_line(&line(&seal(draft.clone(), None)))
            .unwrap();
        draft.at = draft.at.trunc_subsecs(6);
        assert_eq!(seal(draft.clone(), None).at, draft.at);
    }

    #[test]
    fn whatever_an_entry_is_found_by_says_what_it_says() {
        let entry = chain(1).remove(0);
        let kept = Kept {
            seq: 1,
            repo: Some(7),
            number: Some(Some(1)),
            hash: Some(entry.hash.clone()),
            entry: Some(line(&entry)),
        };
        Verifier::default().take_kept(&kept).unwrap();
        for (column, forged) in [
            (
                "seq",
                Kept {
                    seq: 6,
                    ..kept.clone()
                },
            ),
            (
                "repo",
                Kept {
                    repo: Some(999),
                    ..kept.clone()
                },
            ),
            (
                "repo",
                Kept {
                    repo: None,
                    ..kept.clone()
                },
            ),
            (
                "number",
                Kept {
                    number: Some(Some(999)),
                    ..kept.clone()
                },
            ),
            (
                "number",
                Kept {
                    number: Some(None),
                    ..kept.clone()
                },
            ),
            (
                "number",
                Kept {
                    number: None,
                    ..kept.clone()
                },
            ),
            (
                "hash",
                Kept {
                    hash: Some("00".into()),
                    ..kept.clone()
                },
            ),
        ] {
            let broken = Verifier::default().take_kept(&forged).unwrap_err();
            assert!(broken.why.contains(&format!("`{column}`")), "{broken}");
        }
    }

    #[test]
    fn an_end_that_is_gone_or_another_is_missed() {
        let entries = chain(4);
        let follow = |entries: &[Entry], end: &Entry| {
            let mut verifier = Verifier::looking_for(Some(end.hash.clone()));
            verifier.expect(End {
                seq: end.seq,
                hash: end.hash.clone(),
            });
            for entry in entries {
                verifier.take(entry)?;
            }
            verifier.finish().map(|()| verifier.met())
        };
        assert_eq!(follow(&entries, &entries[3]), Ok(Some(4)));
        assert_eq!(
            follow(&entries, &entries[1]),
            Ok(Some(2)),
            "it went on since"
        );
        assert_eq!(follow(&entries[..2], &entries[3]).unwrap_err().seq, 3);
        assert_eq!(follow(&[], &entries[3]).unwrap_err().seq, 1);
        let mut other = entries[3].clone();
        other.hash = "0".repeat(64);
        assert_eq!(follow(&entries, &other).unwrap_err().seq, 4);
    }
}

//! How verifiers did, by vendor, with outages apart: a verifier that could not run says nothing about the
//! code, and one that was waited for in vain says nothing at all.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::ledger::Entry;
use crate::domain::model::{HeadSha, PullNumber, Timestamp};

/// What became of the verifications of one vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Vendor {
    /// How often its verifiers were told that one is wanted.
    pub asked: u64,
    /// Reports that approved.
    pub approved: u64,
    /// Reports that rejected.
    pub rejected: u64,
    /// Reports that said neither, for another reason than an outage.
    pub undecided: u64,
    /// Reports of an outage: no capacity, no quota, no time; and askings that GitHub refused.
    pub unavailable: u64,
    /// Askings that were waited for until their deadline in vain.
    pub silent: u64,
}

/// An asking that is waited for.
struct Waiting {
    vendor: String,
    until: Timestamp,
    counts: bool,
}

/// Counts while the ledger is read.
#[derive(Default)]
pub(super) struct Vendors {
    pub counted: BTreeMap<String, Vendor>,
    waiting: BTreeMap<(PullNumber, HeadSha, String), Waiting>,
}

impl Vendors {
    fn of(&mut self, vendor: &str) -> &mut Vendor {
        self.counted.entry(vendor.to_owned()).or_default()
    }

    pub fn asked(&mut self, entry: &Entry, within: bool) {
        let Some((key, vendor)) = parts(entry) else {
            return;
        };
        let refused = entry.body["refused"].is_string();
        if within {
            let counted = self.of(&vendor);
            counted.asked += 1;
            counted.unavailable += u64::from(refused);
        }
        let seconds = entry.body["deadline_s"].as_i64().unwrap_or_default();
        let deadline = chrono::Duration::try_seconds(seconds).unwrap_or_default();
        if !refused {
            let waiting = Waiting {
                vendor,
                until: entry.at + deadline,
                counts: within,
            };
            self.waiting.insert(key, waiting);
        }
    }

    pub fn reported(&mut self, entry: &Entry, within: bool) {
        let Some((key, vendor)) = parts(entry) else {
            return;
        };
        if let Some(waiting) = self.waiting.remove(&key) {
            self.settle(&waiting, entry.at);
        }
        if !within {
            return;
        }
        let counted = self.of(&vendor);
        let outage = matches!(
            entry.body["reason"].as_str(),
            Some("capacity" | "quota" | "timeout")
        );
        match entry.body["result"].as_str() {
            Some("approved") => counted.approved += 1,
            Some("rejected") => counted.rejected += 1,
            _ if outage => counted.unavailable += 1,
            _ => counted.undecided += 1,
        }
    }

    /// Nobody waits any more for what was asked about other heads of a pull request; `None` for all.
    pub fn over(&mut self, number: PullNumber, stands: Option<&HeadSha>, at: Timestamp) {
        let over = |key: &(PullNumber, HeadSha, String)| {
            key.0 == number && stands.is_none_or(|stands| key.1 != *stands)
        };
        let keys: Vec<_> = self
            .waiting
            .keys()
            .filter(|key| over(key))
            .cloned()
            .collect();
        for waiting in keys
            .iter()
            .filter_map(|key| self.waiting.remove(key))
            .collect::<Vec<_>>()
        {
            self.settle(&waiting, at);
        }
    }

    pub fn finish(mut self, until: Timestamp) -> BTreeMap<String, Vendor> {
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            self.settle(&waiting, until);
        }
        self.counted
    }

    fn settle(&mut self, waiting: &Waiting, at: Timestamp) {
        if waiting.counts && at >= waiting.until {
            self.of(&waiting.vendor).silent += 1;
        }
    }
}

fn parts(entry: &Entry) -> Option<((PullNumber, HeadSha, String), String)> {
    let verifier = entry.body["verifier"].as_str()?.to_owned();
    let vendor = entry.body["vendor"].as_str().unwrap_or("unnamed");
    let key = (entry.number?, entry.head.clone()?, verifier);
    Some((key, vendor.to_owned()))
}

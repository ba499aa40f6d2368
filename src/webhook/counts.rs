//! How many requests ended how, since the server started.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use super::Rejection;

/// Counts that many requests raise at once.
#[derive(Debug, Default)]
pub(super) struct Tally {
    stored: AtomicU64,
    known: AtomicU64,
    too_large: AtomicU64,
    unsigned: AtomicU64,
    wrong_signature: AtomicU64,
    missing_header: AtomicU64,
    not_json: AtomicU64,
    broken: AtomicU64,
    unavailable: AtomicU64,
}

/// How many requests to the webhook ended how, since the server started.
///
/// Rejected requests are counted and logged, never stored: their bodies prove nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// 202: stored.
    pub stored: u64,
    /// 202: known before.
    pub known: u64,
    /// 413.
    pub too_large: u64,
    /// 401: no `X-Hub-Signature-256`, or not of its form.
    pub unsigned: u64,
    /// 401: signed with another secret, or changed on the way. Many of these mean that the secret
    /// here and the secret in the App's settings differ.
    pub wrong_signature: u64,
    /// 400: properly signed, without event or delivery id.
    pub missing_header: u64,
    /// 400: properly signed, not JSON.
    pub not_json: u64,
    /// 400 or 408: the body broke off or did not come in time.
    pub broken: u64,
    /// 503: could not be stored.
    pub unavailable: u64,
}

impl Tally {
    pub(super) fn stored(&self) {
        self.stored.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn known(&self) {
        self.known.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn rejected(&self, rejection: &Rejection) {
        let count = match rejection {
            Rejection::TooLarge => &self.too_large,
            Rejection::Unsigned => &self.unsigned,
            Rejection::WrongSignature => &self.wrong_signature,
            Rejection::Header(_) => &self.missing_header,
            Rejection::NotJson(_) => &self.not_json,
            Rejection::Broken | Rejection::Late => &self.broken,
            Rejection::Crowded | Rejection::Shut(_) => &self.unavailable,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            stored: read(&self.stored),
            known: read(&self.known),
            too_large: read(&self.too_large),
            unsigned: read(&self.unsigned),
            wrong_signature: read(&self.wrong_signature),
            missing_header: read(&self.missing_header),
            not_json: read(&self.not_json),
            broken: read(&self.broken),
            unavailable: read(&self.unavailable),
        }
    }
}

//! The only room that knows SQL.
//!
//! One trait, so that every database passes the same conformance suite. What is kept: the inbox of
//! deliveries, what is remembered, the keyed work table, what passes decided and published, the
//! journal of effects, and the ledger.
//!
//! Two rules hold the rest up. A delivery is durable before it is acknowledged, and known by its id:
//! the insert decides who owns it. A pass holds a fenced [`Lease`]: whoever writes in a pass's name
//! shows the lease, and a lease that was overtaken writes nothing.

pub mod moving;
pub mod postgres;
pub mod sqlite;
mod values;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Serialize;

use crate::domain::dispatch;
use crate::domain::evidence::{Carrier, Posted};
use crate::domain::facts::{Freeze, PullRequest};
use crate::domain::ledger::{Broken, Draft, Entry, Verifier};
use crate::domain::memory::{
    Change, Confirm, HeadMemory, IssuesMemory, PullMemory, PullRecord, RepoMemory, Wake,
};
use crate::domain::model::{
    BaseRef, DeliveryId, HeadSha, InstallationId, Key, PullNumber, RepoId, RepoName, Timestamp,
};

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database could not be opened.
    #[error("the database {url} cannot be opened: {cause}")]
    Open {
        /// Its address.
        url: String,
        /// Why.
        #[source]
        cause: sqlx::Error,
    },
    /// The database failed. The operator reads the cause; nobody else does.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("the database's schema could not be brought up to date: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// What stands there is not this program's.
    #[error("{0} is not a database of Countersign: another program keeps its tables there")]
    Foreign(String),
    /// A newer version of this program wrote it, which an older one cannot take over.
    #[error("{0} was written by a newer version of Countersign: use that version")]
    Newer(String),
    /// Something stored cannot be read back.
    #[error("what is stored as {what} cannot be read: {why}")]
    Corrupt {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// The lease was overtaken: another pass works on the key. Nothing was written.
    #[error("the lease on {0} was overtaken")]
    Overtaken(Key),
    /// A record was saved under a lease that is on something else. Nothing was written.
    #[error("no such record belongs to {0}")]
    NoRecord(Key),
}

/// A result of the store.
pub type Stored<T> = Result<T, StoreError>;

/// A delivery as it came in.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    /// GitHub's id of it.
    pub id: DeliveryId,
    /// The event's name.
    pub event: String,
    /// The raw bytes.
    pub body: Bytes,
    /// When.
    pub at: Timestamp,
}

/// Whether a delivery was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// Stored now.
    Stored,
    /// Known already: nothing was done, nothing will be done twice. A dead letter that is delivered
    /// again is revived.
    Known,
}

/// A delivery waiting to be understood.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Its place in the order of arrival.
    pub seq: i64,
    /// The delivery.
    pub delivery: NewDelivery,
    /// How often it was tried before.
    pub attempts: u32,
}

/// What became of a delivery.
#[derive(Debug, Clone)]
pub enum Absorbed {
    /// Understood: these are its consequences, applied together with marking it done.
    Done {
        /// What to remember.
        changes: Vec<Change>,
        /// Whom to wake, not before the delay.
        wakes: Vec<(Wake, Confirm)>,
        /// For the operator.
        note: String,
    },
    /// It cannot be understood; kept, visible, never tried again by itself.
    Dead {
        /// Why.
        why: String,
    },
}

/// A dead letter, for the operator.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs)]
pub struct DeadLetter {
    pub id: DeliveryId,
    pub event: String,
    pub at: Timestamp,
    pub why: String,
}

/// What the inbox holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs)]
pub struct InboxCounts {
    pub waiting: u64,
    pub done: u64,
    pub dead: u64,
}

/// How much is kept, for whoever watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Keys that want a pass and are in none.
    pub waiting: u64,
    /// Keys that a pass works on.
    pub leased: u64,
    /// What the database takes.
    pub bytes: u64,
    /// What of that is free to be used again.
    pub free_bytes: u64,
}

/// What is kept: whatever is from this time or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Ids of deliveries.
    pub ids: Timestamp,
    /// Everything else that may go.
    pub rest: Timestamp,
}

/// The right to work on one key, until it expires or is overtaken.
///
/// Cannot be cloned or made outside the store: one pass, one lease.
#[derive(Debug)]
pub struct Lease {
    pub(in crate::store) key: Key,
    pub(in crate::store) fence: i64,
    pub(in crate::store) attempt: u32,
    pub(in crate::store) confirm: Confirm,
    pub(in crate::store) installation: Option<InstallationId>,
}

impl Lease {
    /// What to work on.
    pub fn key(&self) -> &Key {
        &self.key
    }
    /// How many passes in a row failed before this one.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
    /// Whether everything must be read again.
    pub fn confirm(&self) -> Confirm {
        self.confirm
    }
    /// In whose name the pass asks GitHub, as far as its repository is known.
    pub fn installation(&self) -> Option<InstallationId> {
        self.installation
    }
}

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// Done; look again after a while, with or without confirming, if nothing wakes the key before.
    Done {
        /// After how long.
        again: Option<(chrono::Duration, Confirm)>,
    },
    /// It failed; try again after this, as an attempt more.
    Retry {
        /// After how long.
        after: chrono::Duration,
    },
}

/// A remembered document and its version.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Versioned<T> {
    /// The document; the default where nothing is remembered.
    pub value: T,
    /// Raised by every write; 0 where nothing is remembered.
    pub version: i64,
}

/// What is known of an effect that is about to be tried.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// It was never tried: go on.
    First,
    /// An earlier try has no recorded outcome: read back before anything else. Holds its attempt
    /// count and what it was.
    Unfinished(u32, serde_json::Value),
    /// Earlier tries are known to have failed: how many.
    Failed(u32),
    /// It was done, and this came of it.
    Done(serde_json::Value),
}

/// What came of a try.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// It happened.
    Done(serde_json::Value),
    /// It did not happen.
    Failed(serde_json::Value),
}

/// The most documents of one verifier that are kept about one head.
pub const EVIDENCE_PER_HEAD: u64 = 100;

/// A document that was posted, and what was proven of who brought it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvidence {
    /// In which repository.
    pub repo: RepoId,
    /// About which head.
    pub head: HeadSha,
    /// Who brought it: a workflow or a key.
    pub carrier: Carrier,
    /// The run that it reports, by the verifier's own name.
    pub context: String,
    /// The document, byte for byte.
    pub document: String,
    /// When it came.
    pub at: Timestamp,
    /// A page about the run.
    pub url: Option<String>,
}

/// What became of a posted document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It is kept now.
    Stored,
    /// The same document of this verifier, head and context was kept already.
    Known,
    /// Another document of this verifier, head and context is kept, and stays.
    Another,
    /// This verifier has said enough about this head ([`EVIDENCE_PER_HEAD`]).
    Full,
}

/// A line of the overview: one open pull request.
#[derive(Debug, Clone, PartialEq)]
pub struct PullRow {
    /// The repository.
    pub repo: RepoId,
    /// Its name.
    pub name: RepoName,
    /// The pull request as remembered.
    pub pull: PullRequest,
    /// What passes keep about it.
    pub record: PullRecord,
}

/// What is kept, and how it is changed. Every method is one transaction.
#[async_trait]
pub trait Store: Send + Sync {
    /// Stores deliveries durably, all in one transaction; tells of each whether it was new.
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>>;
    /// The oldest deliveries that wait to be understood.
    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>>;
    /// Applies what followed from a delivery (memory, wakes) and marks it, in one transaction. Wakes
    /// by head, base or installation are resolved to keys here, after the changes. A `Wake::Head` for
    /// which no open pull request is known wakes `Key::Head` unless GitHub already said that there is
    /// none. Nothing follows from a delivery that does not wait: absorbing twice changes nothing.
    async fn absorb(&self, seq: i64, absorbed: Absorbed, now: Timestamp) -> Stored<()> {
        self.absorb_all(vec![(seq, absorbed)], now).await
    }
    /// As [`Store::absorb`], of several deliveries, one after the other: all in one transaction, or none
    /// of them.
    async fn absorb_all(&self, absorbed: Vec<(i64, Absorbed)>, now: Timestamp) -> Stored<()>;
    /// Deliveries that could not be understood, newest first.
    async fn dead_letters(&self, limit: u32) -> Stored<Vec<DeadLetter>>;
    /// How many deliveries are in which state.
    async fn inbox(&self) -> Stored<InboxCounts>;
    /// Which of these deliveries have come, whatever became of them since.
    async fn known_deliveries(&self, ids: &[DeliveryId]) -> Stored<Vec<DeliveryId>>;

    /// What the server keeps for itself under a name; null at version 0 where there is nothing.
    async fn note(&self, name: &str) -> Stored<Versioned<serde_json::Value>>;
    /// Writes what [`Store::note`] read, changed, unless somebody wrote it since: then nothing is written
    /// and `false` returned.
    async fn write_note(&self, name: &str, note: &Versioned<serde_json::Value>) -> Stored<bool>;

    /// Marks keys as wanting a pass, not before a time. Wakes of a waiting key coalesce (the earlier
    /// time, the stronger confirmation win); a wake during a pass leads to exactly one more.
    async fn wake(&self, keys: &[(Key, Confirm)], not_before: Timestamp) -> Stored<()>;
    /// Takes the key that has waited longest and may be worked on, for `ttl`. A lease that ran out
    /// counts as waiting since then, and is taken over with all it wanted, as an attempt more.
    async fn lease(&self, now: Timestamp, ttl: chrono::Duration) -> Stored<Option<Lease>> {
        self.lease_beside(now, ttl, &[]).await
    }
    /// As [`Store::lease`], passing over the keys of these installations' repositories. They stay as they
    /// are. A key of a repository that is not known is nobody's, and never passed over. Costs more the more
    /// keys are passed over.
    async fn lease_beside(
        &self,
        now: Timestamp,
        ttl: chrono::Duration,
        full: &[InstallationId],
    ) -> Stored<Option<Lease>>;
    /// Gives a lease back. A wake that came during the pass stays, and so does its confirmation.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] when another pass has taken the key; nothing is changed.
    async fn finish(&self, lease: Lease, finish: Finish, now: Timestamp) -> Stored<()>;
    /// When the next key may be worked on, if one waits; leased keys count with their expiry.
    async fn next_due(&self) -> Stored<Option<Timestamp>> {
        self.next_due_beside(&[]).await
    }
    /// As [`Store::next_due`], of the keys that [`Store::lease_beside`] does not pass over.
    async fn next_due_beside(&self, full: &[InstallationId]) -> Stored<Option<Timestamp>>;

    /// What is remembered of a repository.
    async fn repo(&self, repo: RepoId) -> Stored<Versioned<RepoMemory>>;
    /// The repository with this present name (compared without case).
    async fn repo_named(&self, name: &RepoName) -> Stored<Option<RepoId>>;
    /// Every known repository in which the App may act.
    async fn active_repos(&self) -> Stored<Vec<RepoMemory>>;
    /// What is remembered of a pull request.
    async fn pull(&self, repo: RepoId, number: PullNumber) -> Stored<Versioned<PullMemory>>;
    /// What is remembered of a commit.
    async fn head(&self, repo: RepoId, head: &HeadSha) -> Stored<Versioned<HeadMemory>>;
    /// Writes what was read back into memory, unless a delivery changed it since `version`: then
    /// nothing is written and `false` returned.
    async fn remember_repo(&self, repo: RepoId, memory: &Versioned<RepoMemory>) -> Stored<bool>;
    /// As [`Store::remember_repo`].
    async fn remember_pull(
        &self,
        repo: RepoId,
        number: PullNumber,
        memory: &Versioned<PullMemory>,
    ) -> Stored<bool>;
    /// As [`Store::remember_repo`].
    async fn remember_head(
        &self,
        repo: RepoId,
        head: &HeadSha,
        memory: &Versioned<HeadMemory>,
    ) -> Stored<bool>;
    /// Open pull requests with this head.
    async fn pulls_with_head(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<PullNumber>>;
    /// Open pull requests, remembered as such, with what passes keep about them, oldest first.
    async fn open_pulls(&self, repo: Option<RepoId>) -> Stored<Vec<PullRow>>;

    /// What passes keep about a pull request.
    async fn record(&self, repo: RepoId, number: PullNumber) -> Stored<PullRecord>;
    /// Writes what a pass decided, and its ledger entries, under its lease.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] when another pass has taken the key, [`StoreError::NoRecord`] when
    /// the lease is not on a pull request; nothing is written.
    async fn save_record(
        &self,
        lease: &Lease,
        record: &PullRecord,
        entries: Vec<Draft>,
        now: Timestamp,
    ) -> Stored<()>;

    /// What deliveries told of a repository's issues since they were last looked at.
    async fn issues(&self, repo: RepoId) -> Stored<Versioned<IssuesMemory>>;
    /// As [`Store::remember_repo`].
    async fn remember_issues(&self, repo: RepoId, memory: &Versioned<IssuesMemory>)
    -> Stored<bool>;
    /// What passes keep about the dispatches of a repository.
    async fn dispatch(&self, repo: RepoId) -> Stored<dispatch::Record>;
    /// Writes what a pass over a repository's dispatches decided, and its ledger entries. A slot that
    /// is given away is given away by this and by nothing else.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] when another pass has taken the key, or could, the lease having run
    /// out, [`StoreError::NoRecord`] when the lease is not on dispatches; nothing is written.
    async fn save_dispatch(
        &self,
        lease: &Lease,
        record: &dispatch::Record,
        entries: Vec<Draft>,
        now: Timestamp,
    ) -> Stored<()>;

    /// Keeps a posted document durably, and wakes the open pull requests with its head, whether or not it
    /// was kept before.
    async fn post_evidence(&self, evidence: &NewEvidence) -> Stored<Placed>;
    /// Every posted document about a head, oldest first.
    async fn posted_evidence(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<Posted>>;

    /// What is known of an effect, without trying it.
    async fn effect(&self, effect: &str) -> Stored<Begun>;
    /// The last recorded intent of an effect, whatever came of it.
    async fn effect_intent(&self, effect: &str) -> Stored<Option<serde_json::Value>>;
    /// Records the intent of an effect under its key before it is tried, with a ledger entry.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] when another pass has taken the key, or could, the lease having run
    /// out; nothing is written.
    async fn begin(
        &self,
        lease: &Lease,
        effect: &str,
        intent: serde_json::Value,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<Begun>;
    /// Records what came of it, with a ledger entry. Not fenced: what happened, happened.
    async fn end(
        &self,
        effect: &str,
        ended: Ended,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<()>;

    /// The freeze on a base branch.
    async fn freeze(&self, repo: RepoId, base: &BaseRef) -> Stored<Option<Freeze>>;
    /// Freezes (or thaws, with `None`) a base branch and wakes its open pull requests.
    async fn set_freeze(
        &self,
        repo: RepoId,
        base: &BaseRef,
        freeze: Option<Freeze>,
        entry: Draft,
        now: Timestamp,
    ) -> Stored<()>;

    /// Ledger entries after `after`, in order, at most `limit`, of one repository or of all.
    async fn ledger(&self, repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>>;
    /// Ledger entries of one pull request, in order.
    async fn ledger_of(&self, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>>;
    /// Follows the ledger's chain from its first entry to the end that is kept beside it, with all that the
    /// database keeps of each entry.
    async fn prove_ledger(&self, verifier: Verifier) -> Stored<Result<Verifier, Broken>>;
    /// Lets go of what is old, at most `limit` rows of each kind; tells how many rows that were, 0 when
    /// nothing is left to go. Goes: bodies of dead letters, ids of deliveries that do not wait, what is
    /// remembered of commits that are no open pull request's head (of pull requests last changed before, or
    /// of which GitHub said so before), and the journal of check runs (`check:REPO:NUMBER:`) of pull
    /// requests that are closed and were last changed before. An intent without an outcome stays.
    async fn prune(&self, keep: Keep, limit: u32) -> Stored<u64>;
    /// How much is kept; costs little however much that is.
    async fn figures(&self) -> Stored<Figures>;
    /// Whether the database answers and takes what is written: a full disk answers whoever only reads.
    async fn ping(&self) -> Stored<()>;
    /// Ends when another process may have woken keys; never, where only this one can. A hint: no wake
    /// rests on it.
    async fn woken_elsewhere(&self) -> Stored<()> {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests;

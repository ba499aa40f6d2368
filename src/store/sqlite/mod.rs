//! SQLite: everything in one file, for one server.
//!
//! # Properties
//!
//! - **Durable before it is acknowledged.** `synchronous=FULL` on a write-ahead log: a commit that
//!   returned is on the disk, which is what a delivery's 202 promises, and what an intent stands for
//!   before its effect. What the next pass or the sweep finds again (leases, wakes, what was read of
//!   GitHub) is not waited for; the log keeps the order, so nothing later is there without it.
//! - **One writer.** All writes of a process go through one connection, each in a transaction that
//!   has the write lock from its first statement (`begin immediate`). What a transaction read cannot
//!   change before it writes, and the ledger's chain has one hand.
//! - **Readers never wait** for the writer nor it for them, and cannot write.
//! - **A call that is dropped half-way leaves nothing.** Its transaction is rolled back before the
//!   connection serves the next (a pass that is cut off drops calls).
//!
//! Several processes on one file are kept correct by SQLite's own locks: a busy writer is waited for,
//! within a bound. Nothing is tuned for it; replicas want another database.
//!
//! A database in memory lives as long as its one connection, which then both reads and writes.

mod absorb;
pub mod backup;
mod claim;
mod evidence;
pub(super) mod file;
mod inbox;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod upkeep;
mod work;

// What is the same on both databases, written once (`src/store/both`).
#[path = "../both/columns.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod columns;
#[path = "../both/concerned.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod concerned;
#[path = "../both/dispatches.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod dispatches;
#[path = "../both/effects.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod effects;
#[path = "../both/chain.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
pub(super) mod ledger;
#[path = "../both/memory.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod memory;
#[path = "../both/notes.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod notes;
#[path = "../both/pulls.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod pulls;

/// Where the databases want to be asked by other words: each has its own idea of a truth value, and its
/// partial indexes serve only that.
mod sql {
    /// Open pull requests with a head.
    pub const WITH_HEAD: &str =
        "select number from pulls where repo = $1 and head = $2 and open = 1 order by number";
    /// Open pull requests into a base.
    pub const INTO_BASE: &str =
        "select number from pulls where repo = $1 and base = $2 and open = 1 order by number";
    /// Open pull requests of one repository or of all, oldest first, with what passes keep about them.
    pub const OPEN: &str = "select pulls.repo, pulls.number, pulls.pull, repos.document as repo_document, \
         records.document as record from pulls \
         join repos on repos.id = pulls.repo \
         left join records on records.repo = pulls.repo and records.number = pulls.number \
         where pulls.open = 1 and ($1 is null or pulls.repo = $1) \
         order by pulls.created, pulls.repo, pulls.number";
}

use std::time::Duration;

use async_trait::async_trait;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnection as Db, SqliteRow as DbRow};
use sqlx::sqlite::{SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, Sqlite as Database, Transaction};

pub use self::file::{Standing, file_of, look, url_of};

use self::schema::migrator;

use super::{
    Absorbed, Accepted, Begun, DeadLetter, Ended, Figures, Finish, InboxCounts, Keep, Lease,
    NewDelivery, NewEvidence, Placed, PullRow, Store, StoreError, Stored, Versioned, Waiting,
};
use crate::domain::dispatch;
use crate::domain::evidence::Posted;
use crate::domain::facts::Freeze;
use crate::domain::ledger::{Broken, Draft, Entry, Verifier};
use crate::domain::memory::{
    Confirm, HeadMemory, IssuesMemory, PullMemory, PullRecord, RepoMemory, Wake,
};
use crate::domain::model::{
    BaseRef, DeliveryId, HeadSha, InstallationId, Key, PullNumber, RepoId, RepoName, Timestamp,
};

/// How many connections read.
const READERS: u32 = 4;
/// How long a connection waits for another process that holds the file, and a call for a connection.
/// Both together stay within the ten seconds after which GitHub gives a delivery up.
const PATIENCE: Duration = Duration::from_secs(4);

/// The store on SQLite. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
}

/// A transaction that has the write lock.
type Tx = Transaction<'static, Database>;

impl Sqlite {
    /// Opens `sqlite://FILE` (made, for its owner alone, if it is not there) or `sqlite::memory:`, and brings its
    /// schema up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`] when it is not SQLite's address or the file cannot be opened,
    /// [`StoreError::Foreign`] and [`StoreError::Newer`] when it is not for this program,
    /// [`StoreError::Migration`] when the schema cannot be brought up to date.
    pub async fn open(url: &str) -> Stored<Self> {
        let failed = |cause| StoreError::Open {
            url: url.to_owned(),
            cause,
        };
        let file::Address { options, file } = file::address(url).map_err(failed)?;
        let options = options
            .create_if_missing(true)
            .busy_timeout(PATIENCE)
            .foreign_keys(true);
        if let Some(file) = &file {
            file::look(file).await?;
            file::make_private(file);
        }
        let lasting = || {
            SqlitePoolOptions::new()
                .acquire_timeout(PATIENCE)
                .test_before_acquire(false)
                .idle_timeout(None)
                .max_lifetime(None)
        };
        let mut writers = lasting().min_connections(1).max_connections(1);
        if file.is_some() {
            // Where a disk is full or fails, SQLite takes a transaction back by itself, and the driver goes on
            // counting it as open: every later one would be refused, with space or without.
            writers = writers.before_acquire(|writer, _| {
                Box::pin(async move { Ok(!writer.is_in_transaction()) })
            });
        }
        let writer = writers
            .connect_with(
                options
                    .clone()
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Full),
            )
            .await
            .map_err(failed)?;
        migrator().run(&writer).await?;
        let readers = if file.is_none() {
            writer.clone()
        } else {
            lasting()
                .max_connections(READERS)
                .connect_with(options.pragma("query_only", "on"))
                .await
                .map_err(failed)?
        };
        Ok(Self { writer, readers })
    }

    /// Closes every connection, after the calls that use them; what was committed is in the file.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// A transaction that is on the disk when its commit returns.
    async fn write(&self) -> Stored<Tx> {
        let begin = "pragma synchronous = full; begin immediate";
        Ok(self.writer.begin_with(begin).await?)
    }

    /// A transaction that a crash of the program leaves whole, and of which a crash of the machine may
    /// leave nothing: for what is found again, at the price of a pass more.
    async fn write_lightly(&self) -> Stored<Tx> {
        let begin = "pragma synchronous = normal; begin immediate";
        Ok(self.writer.begin_with(begin).await?)
    }

    async fn read(&self) -> Stored<PoolConnection<Database>> {
        Ok(self.readers.acquire().await?)
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>> {
        let mut tx = self.write().await?;
        let accepted = inbox::accept(&mut tx, &deliveries).await?;
        tx.commit().await?;
        Ok(accepted)
    }

    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>> {
        inbox::waiting(&mut *self.read().await?, limit).await
    }

    async fn absorb_all(&self, absorbed: Vec<(i64, Absorbed)>, now: Timestamp) -> Stored<()> {
        let mut tx = self.write_lightly().await?;
        for (seq, absorbed) in absorbed {
            absorb::absorb(&mut tx, seq, absorbed, now).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn dead_letters(&self, limit: u32) -> Stored<Vec<DeadLetter>> {
        inbox::dead_letters(&mut *self.read().await?, limit).await
    }

    async fn inbox(&self) -> Stored<InboxCounts> {
        inbox::counts(&mut *self.read().await?).await
    }

    async fn known_deliveries(&self, ids: &[DeliveryId]) -> Stored<Vec<DeliveryId>> {
        inbox::known(&mut *self.read().await?, ids).await
    }

    async fn note(&self, name: &str) -> Stored<Versioned<serde_json::Value>> {
        notes::load(&mut *self.read().await?, name).await
    }

    async fn write_note(&self, name: &str, note: &Versioned<serde_json::Value>) -> Stored<bool> {
        let mut tx = self.write_lightly().await?;
        let written = notes::save(&mut tx, name, note).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn wake(&self, keys: &[(Key, Confirm)], not_before: Timestamp) -> Stored<()> {
        let mut tx = self.write_lightly().await?;
        for (key, confirm) in keys {
            work::wake(&mut tx, key, *confirm, not_before).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn lease_beside(
        &self,
        now: Timestamp,
        ttl: chrono::Duration,
        full: &[InstallationId],
    ) -> Stored<Option<Lease>> {
        let mut tx = self.write_lightly().await?;
        let lease = work::lease(&mut tx, now, ttl, full).await?;
        tx.commit().await?;
        Ok(lease)
    }

    async fn finish(&self, lease: Lease, finish: Finish, now: Timestamp) -> Stored<()> {
        let mut tx = self.write_lightly().await?;
        work::finish(&mut tx, &lease, finish, now).await?;
        Ok(tx.commit().await?)
    }

    async fn next_due_beside(&self, full: &[InstallationId]) -> Stored<Option<Timestamp>> {
        work::next_due(&mut *self.read().await?, full).await
    }

    async fn repo(&self, repo: RepoId) -> Stored<Versioned<RepoMemory>> {
        let loaded = memory::load_repo(&mut *self.read().await?, repo).await?;
        Ok(loaded.into())
    }

    async fn repo_named(&self, name: &RepoName) -> Stored<Option<RepoId>> {
        memory::repo_named(&mut *self.read().await?, name).await
    }

    async fn active_repos(&self) -> Stored<Vec<RepoMemory>> {
        memory::active_repos(&mut *self.read().await?).await
    }

    async fn pull(&self, repo: RepoId, number: PullNumber) -> Stored<Versioned<PullMemory>> {
        let loaded = pulls::load(&mut *self.read().await?, repo, number).await?;
        Ok(loaded.into())
    }

    async fn head(&self, repo: RepoId, head: &HeadSha) -> Stored<Versioned<HeadMemory>> {
        let loaded = memory::load_head(&mut *self.read().await?, repo, head).await?;
        Ok(loaded.into())
    }

    async fn remember_repo(&self, repo: RepoId, memory: &Versioned<RepoMemory>) -> Stored<bool> {
        let mut tx = self.write_lightly().await?;
        let written = memory::save_repo(&mut tx, repo, &memory.value, memory.version).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn remember_pull(
        &self,
        repo: RepoId,
        number: PullNumber,
        memory: &Versioned<PullMemory>,
    ) -> Stored<bool> {
        let mut tx = self.write_lightly().await?;
        let written = pulls::save(&mut tx, repo, number, &memory.value, memory.version).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn remember_head(
        &self,
        repo: RepoId,
        head: &HeadSha,
        memory: &Versioned<HeadMemory>,
    ) -> Stored<bool> {
        let mut tx = self.write_lightly().await?;
        let written = memory::save_head(&mut tx, repo, head, &memory.value, memory.version).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn pulls_with_head(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<PullNumber>> {
        pulls::with_head(&mut *self.read().await?, repo, head).await
    }

    async fn open_pulls(&self, repo: Option<RepoId>) -> Stored<Vec<PullRow>> {
        pulls::open(&mut *self.read().await?, repo).await
    }

    async fn record(&self, repo: RepoId, number: PullNumber) -> Stored<PullRecord> {
        pulls::record(&mut *self.read().await?, repo, number).await
    }

    async fn save_record(
        &self,
        lease: &Lease,
        record: &PullRecord,
        entries: Vec<Draft>,
        _now: Timestamp,
    ) -> Stored<()> {
        let mut tx = self.write().await?;
        work::check_current(&mut tx, lease).await?;
        pulls::save_record(&mut tx, lease.key(), record).await?;
        ledger::append(&mut tx, entries).await?;
        Ok(tx.commit().await?)
    }

    async fn issues(&self, repo: RepoId) -> Stored<Versioned<IssuesMemory>> {
        let loaded = dispatches::load_issues(&mut *self.read().await?, repo).await?;
        Ok(loaded.into())
    }

    async fn remember_issues(
        &self,
        repo: RepoId,
        memory: &Versioned<IssuesMemory>,
    ) -> Stored<bool> {
        let mut tx = self.write_lightly().await?;
        let (value, version) = (&memory.value, memory.version);
        let written = dispatches::save_issues(&mut tx, repo, value, version).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn dispatch(&self, repo: RepoId) -> Stored<dispatch::Record> {
        dispatches::record(&mut *self.read().await?, repo).await
    }

    async fn save_dispatch(
        &self,
        lease: &Lease,
        record: &dispatch::Record,
        entries: Vec<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        let mut tx = self.write().await?;
        work::check_running(&mut tx, lease, now).await?;
        dispatches::save_record(&mut tx, lease.key(), record).await?;
        ledger::append(&mut tx, entries).await?;
        Ok(tx.commit().await?)
    }

    async fn post_evidence(&self, evidence: &NewEvidence) -> Stored<Placed> {
        let mut tx = self.write().await?;
        let placed = evidence::place(&mut tx, evidence).await?;
        if matches!(placed, Placed::Stored | Placed::Known) {
            let about = Wake::Head(evidence.repo, evidence.head.clone());
            absorb::wake(&mut tx, &[(about, Confirm::IfNeeded)], evidence.at).await?;
        }
        tx.commit().await?;
        Ok(placed)
    }

    async fn posted_evidence(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<Posted>> {
        evidence::about(&mut *self.read().await?, repo, head).await
    }

    async fn effect(&self, effect: &str) -> Stored<Begun> {
        effects::known(&mut *self.read().await?, effect).await
    }

    async fn effect_intent(&self, effect: &str) -> Stored<Option<serde_json::Value>> {
        effects::intent(&mut *self.read().await?, effect).await
    }

    async fn begin(
        &self,
        lease: &Lease,
        effect: &str,
        intent: serde_json::Value,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<Begun> {
        let mut tx = self.write().await?;
        work::check_running(&mut tx, lease, now).await?;
        let begun = effects::begin(&mut tx, effect, &intent, now).await?;
        if !matches!(begun, Begun::Done(_)) {
            ledger::append(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(begun)
    }

    async fn end(
        &self,
        effect: &str,
        ended: Ended,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        let mut tx = self.write().await?;
        effects::end(&mut tx, effect, &ended, now).await?;
        ledger::append(&mut tx, entry).await?;
        Ok(tx.commit().await?)
    }

    async fn freeze(&self, repo: RepoId, base: &BaseRef) -> Stored<Option<Freeze>> {
        pulls::freeze(&mut *self.read().await?, repo, base).await
    }

    async fn set_freeze(
        &self,
        repo: RepoId,
        base: &BaseRef,
        freeze: Option<Freeze>,
        entry: Draft,
        now: Timestamp,
    ) -> Stored<()> {
        let mut tx = self.write().await?;
        pulls::set_freeze(&mut tx, repo, base, freeze.as_ref()).await?;
        let concerned = (Wake::Base(repo, base.clone()), Confirm::IfNeeded);
        absorb::wake(&mut tx, &[concerned], now).await?;
        ledger::append(&mut tx, Some(entry)).await?;
        Ok(tx.commit().await?)
    }

    async fn ledger(&self, repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>> {
        ledger::page(&mut *self.read().await?, repo, after, limit).await
    }

    async fn ledger_of(&self, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
        ledger::of(&mut *self.read().await?, repo, number).await
    }

    async fn prove_ledger(&self, verifier: Verifier) -> Stored<Result<Verifier, Broken>> {
        ledger::follow(&mut *self.read().await?, verifier).await
    }

    async fn prune(&self, keep: Keep, limit: u32) -> Stored<u64> {
        let old = upkeep::old(&mut *self.read().await?, keep.rest, limit).await?;
        let mut tx = self.write_lightly().await?;
        let gone = upkeep::prune(&mut tx, old, keep, limit).await?;
        tx.commit().await?;
        Ok(gone)
    }

    async fn figures(&self) -> Stored<Figures> {
        upkeep::figures(&mut *self.read().await?).await
    }

    async fn ping(&self) -> Stored<()> {
        let mut tx = self.write_lightly().await?;
        notes::pulse(&mut tx).await?;
        Ok(tx.commit().await?)
    }
}

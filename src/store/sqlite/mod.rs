//! SQLite: everything in one file, for one server.
//!
//! One connection writes, so `begin immediate` never waits for another writer of this process and the
//! ledger's chain has one hand; several read. WAL keeps readers and the writer out of each other's
//! way. `synchronous=FULL` makes a commit durable before it returns, which is what "202" promises.
//!
//! Left out: several processes on one file are kept correct by SQLite's own locks (a busy writer is
//! waited for), but nothing here is tuned for it; replicas want another database.

mod inbox;
mod ledger;
mod memory;
mod rows;
mod work;

use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{SqlSafeStr, Sqlite as Database, Transaction};

use super::{
    Absorbed, Accepted, Begun, DeadLetter, Ended, Finish, InboxCounts, Lease, NewDelivery, PullRow,
    Store, Stored, Versioned, Waiting,
};
use crate::domain::facts::Freeze;
use crate::domain::ledger::{Draft, Entry};
use crate::domain::memory::{Confirm, HeadMemory, PullMemory, PullRecord, RepoMemory};
use crate::domain::model::{BaseRef, HeadSha, Key, PullNumber, RepoId, RepoName, Timestamp};

/// How many connections read.
const READERS: u32 = 4;
/// How long a connection waits for another process that holds the file.
const BUSY: Duration = Duration::from_secs(5);

/// The store on SQLite.
#[derive(Debug, Clone)]
pub struct Sqlite {
    write: SqlitePool,
    read: SqlitePool,
}

/// A transaction that has the write lock from its first statement on.
type Tx = Transaction<'static, Database>;

impl Sqlite {
    /// Opens `sqlite://FILE` (made if it is not there) or `sqlite::memory:`, and brings its schema up
    /// to date.
    ///
    /// # Errors
    /// The database's and the migrations'.
    pub async fn open(url: &str) -> Stored<Self> {
        let options = SqliteConnectOptions::from_str(url)?
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .foreign_keys(true);
        let lasting = || {
            SqlitePoolOptions::new()
                .max_lifetime(None)
                .idle_timeout(None)
        };
        let write = lasting()
            .min_connections(1)
            .max_connections(1)
            .connect_with(options.clone())
            .await?;
        migrator().run(&write).await?;
        // A database in memory is its connection: reader and writer are the same one there.
        let in_memory = url.contains(":memory:");
        let read = if in_memory {
            write.clone()
        } else {
            lasting()
                .max_connections(READERS)
                .connect_with(options.read_only(true))
                .await?
        };
        Ok(Self { write, read })
    }

    /// Closes every connection; what was committed is in the file.
    pub async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }

    async fn begin_write(&self) -> Stored<Tx> {
        Ok(self.write.begin_with("begin immediate").await?)
    }
}

/// Every step from an empty file to today's schema. Steps are added, never changed: what they say is
/// compared with what was run.
fn migrator() -> Migrator {
    let initial = Migration::new(
        1,
        "initial".into(),
        MigrationType::Simple,
        include_str!("../migrations/sqlite/0001_initial.sql").into_sql_str(),
        false,
    );
    Migrator {
        migrations: vec![initial].into(),
        ..Migrator::DEFAULT
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>> {
        let mut tx = self.begin_write().await?;
        let accepted = inbox::accept(&mut tx, &deliveries).await?;
        tx.commit().await?;
        Ok(accepted)
    }

    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>> {
        inbox::waiting(&self.read, limit).await
    }

    async fn absorb(&self, seq: i64, absorbed: Absorbed, now: Timestamp) -> Stored<()> {
        let mut tx = self.begin_write().await?;
        match absorbed {
            Absorbed::Done {
                changes,
                wakes,
                note,
            } => {
                for change in &changes {
                    memory::apply(&mut tx, change).await?;
                }
                for (wake, confirm) in &wakes {
                    memory::wake(&mut tx, wake, *confirm, now).await?;
                }
                inbox::close(&mut tx, seq, "done", &note).await?;
            }
            Absorbed::Dead { why } => inbox::close(&mut tx, seq, "dead", &why).await?,
        }
        tx.commit().await?;
        Ok(())
    }

    async fn dead_letters(&self, limit: u32) -> Stored<Vec<DeadLetter>> {
        inbox::dead_letters(&self.read, limit).await
    }

    async fn inbox(&self) -> Stored<InboxCounts> {
        inbox::counts(&self.read).await
    }

    async fn wake(&self, keys: &[(Key, Confirm)], not_before: Timestamp) -> Stored<()> {
        let mut tx = self.begin_write().await?;
        for (key, confirm) in keys {
            work::wake(&mut tx, key, *confirm, not_before).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    async fn lease(&self, now: Timestamp, ttl: chrono::Duration) -> Stored<Option<Lease>> {
        let mut tx = self.begin_write().await?;
        let lease = work::lease(&mut tx, now, ttl).await?;
        tx.commit().await?;
        Ok(lease)
    }

    async fn finish(&self, lease: Lease, finish: Finish, now: Timestamp) -> Stored<()> {
        let mut tx = self.begin_write().await?;
        work::finish(&mut tx, &lease, finish, now).await?;
        tx.commit().await?;
        Ok(())
    }

    async fn next_due(&self) -> Stored<Option<Timestamp>> {
        work::next_due(&self.read).await
    }

    async fn repo(&self, repo: RepoId) -> Stored<Versioned<RepoMemory>> {
        memory::repo(&self.read, repo).await
    }

    async fn repo_named(&self, name: &RepoName) -> Stored<Option<RepoId>> {
        memory::repo_named(&self.read, name).await
    }

    async fn active_repos(&self) -> Stored<Vec<RepoMemory>> {
        memory::active_repos(&self.read).await
    }

    async fn pull(&self, repo: RepoId, number: PullNumber) -> Stored<Versioned<PullMemory>> {
        memory::pull(&self.read, repo, number).await
    }

    async fn head(&self, repo: RepoId, head: &HeadSha) -> Stored<Versioned<HeadMemory>> {
        memory::head(&self.read, repo, head).await
    }

    async fn remember_repo(&self, repo: RepoId, memory: &Versioned<RepoMemory>) -> Stored<bool> {
        let mut tx = self.begin_write().await?;
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
        let mut tx = self.begin_write().await?;
        let (value, version) = (&memory.value, memory.version);
        let written = memory::save_pull(&mut tx, repo, number, value, version).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn remember_head(
        &self,
        repo: RepoId,
        head: &HeadSha,
        memory: &Versioned<HeadMemory>,
    ) -> Stored<bool> {
        let mut tx = self.begin_write().await?;
        let (value, version) = (&memory.value, memory.version);
        let written = memory::save_head(&mut tx, repo, head, value, version).await?;
        tx.commit().await?;
        Ok(written)
    }

    async fn pulls_with_head(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<PullNumber>> {
        memory::pulls_with_head(&self.read, repo, head).await
    }

    async fn open_pulls(&self, repo: Option<RepoId>) -> Stored<Vec<PullRow>> {
        memory::open_pulls(&self.read, repo).await
    }

    async fn record(&self, repo: RepoId, number: PullNumber) -> Stored<PullRecord> {
        memory::record(&self.read, repo, number).await
    }

    async fn save_record(
        &self,
        lease: &Lease,
        record: &PullRecord,
        entries: Vec<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        let mut tx = self.begin_write().await?;
        work::check_fence(&mut tx, lease, now).await?;
        memory::save_record(&mut tx, lease.key(), record).await?;
        ledger::append(&mut tx, entries).await?;
        tx.commit().await?;
        Ok(())
    }

    async fn begin(
        &self,
        lease: &Lease,
        effect: &str,
        intent: serde_json::Value,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<Begun> {
        let mut tx = self.begin_write().await?;
        work::check_fence(&mut tx, lease, now).await?;
        let begun = ledger::begin(&mut tx, effect, &intent, now).await?;
        if !matches!(begun, Begun::Done(_)) {
            ledger::append(&mut tx, entry).await?;
        }
        tx.commit().await?;
        Ok(begun)
    }

    async fn effect(&self, effect: &str) -> Stored<Begun> {
        ledger::effect(&self.read, effect).await
    }

    async fn effect_intent(&self, effect: &str) -> Stored<Option<serde_json::Value>> {
        ledger::intent(&self.read, effect).await
    }

    async fn end(
        &self,
        effect: &str,
        ended: Ended,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        let mut tx = self.begin_write().await?;
        ledger::end(&mut tx, effect, &ended, now).await?;
        ledger::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(())
    }

    async fn freeze(&self, repo: RepoId, base: &BaseRef) -> Stored<Option<Freeze>> {
        memory::freeze(&self.read, repo, base).await
    }

    async fn set_freeze(
        &self,
        repo: RepoId,
        base: &BaseRef,
        freeze: Option<Freeze>,
        entry: Draft,
        now: Timestamp,
    ) -> Stored<()> {
        let mut tx = self.begin_write().await?;
        memory::set_freeze(&mut tx, repo, base, freeze.as_ref()).await?;
        let base = crate::domain::memory::Wake::Base(repo, base.clone());
        memory::wake(&mut tx, &base, Confirm::IfNeeded, now).await?;
        ledger::append(&mut tx, Some(entry)).await?;
        tx.commit().await?;
        Ok(())
    }

    async fn ledger(&self, repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>> {
        ledger::page(&self.read, repo, after, limit).await
    }

    async fn ledger_of(&self, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
        ledger::of(&self.read, repo, number).await
    }

    async fn ping(&self) -> Stored<()> {
        sqlx::query("select 1").execute(&self.read).await?;
        Ok(())
    }
}

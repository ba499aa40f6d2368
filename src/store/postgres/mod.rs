//! PostgreSQL: one database for any number of equal servers.
//!
//! # Properties
//!
//! - **Durable before it is acknowledged.** What a delivery's 202 promises, what an intent stands for before
//!   its effect, and every lease are committed on connections that wait for the disk. What the next pass or
//!   the sweep finds again (wakes, leases given back, what was read of GitHub) is committed on connections
//!   that do not (`synchronous_commit = off`): a crash of the database may forget the last moment of it, never
//!   a part in the middle.
//! - **Servers are equal.** None leads. What only one may do at a time is decided in the database: a row for
//!   a lease ([`work`]), a hand for the ledger's chain and for what deliveries said ([`hands`]).
//! - **A server that stops answering holds nobody up for long.** The database ends transactions that are
//!   left open for five seconds, and gives their rows and hands to the next. A server that is cut off or
//!   paused finds its leases overtaken.
//! - **A connection that is lost costs a call, not a server.** One that rested is tried before it is used; a
//!   call that found its connection dead before anything was begun is made again on another. What was
//!   begun is not repeated blindly: the caller is told, and GitHub or the next pass repeats it. While the
//!   database cannot be reached, calls wait four seconds and fail.
//! - **A call that is dropped half-way leaves nothing**, as on SQLite.
//!
//! Transactions that met each other (a deadlock, a document that moved) were rolled back whole and are made
//! again here, a few times.
//!
//! # Two versions at once
//!
//! Steps of the schema only add, so a program of the version before goes on, and starts again, beside one
//! that has taken the next step. A later step that takes something away raises `schema_floor`, and a
//! program that does not know that step refuses to start. Two servers that start at once take steps one
//! after the other.
//!
//! # Left out
//!
//! Poolers that hand connections on between transactions: prepared statements and the bell need one that
//! stays. Reading from standbys: what they know is old.

mod absorb;
pub(super) mod address;
mod bell;
mod evidence;
mod hands;
mod inbox;
pub(super) mod ledger;
mod retry;
pub(super) mod rows;
mod schema;
mod upkeep;
mod work;

// What is the same on both databases, written once (`src/store/both`).
#[path = "../both/chain.rs"]
#[allow(clippy::duplicate_mod, reason = "one text for two databases")]
mod chain;
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
        "select number from pulls where repo = $1 and head = $2 and open order by number";
    /// Open pull requests into a base.
    pub const INTO_BASE: &str =
        "select number from pulls where repo = $1 and base = $2 and open order by number";
    /// Open pull requests of one repository or of all, oldest first, with what passes keep about them.
    pub const OPEN: &str = "select pulls.repo, pulls.number, pulls.pull, repos.document as repo_document, \
         records.document as record from pulls \
         join repos on repos.id = pulls.repo \
         left join records on records.repo = pulls.repo and records.number = pulls.number \
         where pulls.open and ($1::bigint is null or pulls.repo = $1) \
         order by pulls.created, pulls.repo, pulls.number";
}

use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::MigrateError;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::postgres::{PgConnection as Db, PgRow as DbRow};
use sqlx::{Connection as _, Row};

pub use self::address::{is_address, shown};

use self::address::options;
use self::bell::Ear;
use self::retry::{calmly, transaction};
use self::work::Woken;
use super::{
    Absorbed, Accepted, Begun, DeadLetter, Ended, Figures, Finish, InboxCounts, Keep, Lease,
    NewDelivery, NewEvidence, Placed, PullRow, Store, StoreError, Stored, Versioned, Waiting,
};
use crate::clock::Clock;
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

/// How many connections wait for the disk, and how many do not. Of a hundred that a database has by
/// default, so many servers have enough.
const CONNECTIONS: u32 = 8;
/// How long a call waits for a connection. With what its statements may take it stays within the ten seconds
/// after which GitHub gives a delivery up.
const PATIENCE: Duration = Duration::from_secs(4);
/// A connection that rested so long is tried before it is used.
const RESTED: Duration = Duration::from_secs(1);
/// What the database sees to, whatever becomes of the server that asked.
const LIMITS: [(&str, &str); 3] = [
    ("lock_timeout", "6s"),
    ("statement_timeout", "30s"),
    ("idle_in_transaction_session_timeout", "5s"),
];
/// A clock that is further from the database's than this is told of.
const SKEW: chrono::Duration = chrono::Duration::seconds(5);
/// The oldest PostgreSQL that understands every statement here.
const OLDEST: i32 = 120_000;

/// The store on PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    /// A commit here is on the disk when it returns.
    durable: PgPool,
    /// A commit here may be forgotten by a crash of the database.
    light: PgPool,
    ear: Ear,
}

impl Postgres {
    /// Opens `postgres://USER:PASSWORD@HOST/DATABASE`, which must be there, and brings its schema up to date.
    ///
    /// # Errors
    /// [`StoreError::Open`] when it is not PostgreSQL's address or the database cannot be reached or used,
    /// [`StoreError::Foreign`] and [`StoreError::Newer`] when it is not for this program,
    /// [`StoreError::Migration`] when the schema cannot be brought up to date.
    pub async fn open(url: &str) -> Stored<Self> {
        let failed = |cause| StoreError::Open {
            url: shown(url),
            cause,
        };
        let options = options(url).map_err(failed)?;
        tried(&options).await.map_err(failed)?;
        // Without the limits below: a step may take its time.
        let first = pool().max_connections(1).connect_with(options.clone());
        let first = first.await.map_err(failed)?;
        let migrated = schema::migrator().run(&first).await;
        migrated.map_err(|error| match error {
            MigrateError::VersionMismatch(1) => StoreError::Foreign(shown(url)),
            error => error.into(),
        })?;
        if !schema::known(&mut *first.acquire().await?).await? {
            return Err(StoreError::Newer(shown(url)));
        }
        first.close().await;
        let limited = options.options(LIMITS);
        let light = limited.clone().options([("synchronous_commit", "off")]);
        Ok(Self {
            durable: pool().connect_with(limited).await.map_err(failed)?,
            light: pool().connect_with(light).await.map_err(failed)?,
            ear: Ear::default(),
        })
    }

    /// Whether a server keeps, or kept, its state in this database.
    ///
    /// # Errors
    /// [`StoreError::Open`] when it cannot be reached.
    pub async fn is_in_use(url: &str) -> Stored<bool> {
        let looked = async {
            let mut db = PgConnection::connect_with(&options(url)?).await?;
            let row = sqlx::query("select to_regclass('schema_floor') is not null as used")
                .fetch_one(&mut db)
                .await?;
            let used = row.try_get("used")?;
            db.close().await?;
            Ok(used)
        };
        looked.await.map_err(|cause| StoreError::Open {
            url: shown(url),
            cause,
        })
    }

    /// Closes every connection, after the calls that use them.
    pub async fn close(&self) {
        self.light.close().await;
        self.durable.close().await;
    }
}

fn pool() -> PgPoolOptions {
    PgPoolOptions::new()
        .min_connections(1)
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .before_acquire(|connection, about| {
            Box::pin(async move {
                if about.idle_for > RESTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}

/// Reaches the database by itself: a pool tries until its time is up, and then knows no more than that.
async fn tried(options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let reached = tokio::time::timeout(PATIENCE, PgConnection::connect_with(options)).await;
    let mut db = reached.map_err(|_| sqlx::Error::PoolTimedOut)??;
    usable(&mut db).await?;
    db.close().await
}

/// Whether the database is one that can keep what is stored; says how far the clocks are apart.
async fn usable(first: &mut PgConnection) -> Result<(), sqlx::Error> {
    let row = sqlx::query(
        "select current_setting('server_version_num')::int as version, \
         current_setting('server_encoding') as encoding, \
         (extract(epoch from clock_timestamp()) * 1000000)::bigint as clock",
    )
    .fetch_one(first)
    .await?;
    let refused = |why: String| Err(sqlx::Error::Configuration(why.into()));
    if row.try_get::<i32, _>("version")? < OLDEST {
        return refused("PostgreSQL 12 or newer is needed".to_owned());
    }
    let encoding: String = row.try_get("encoding")?;
    if encoding != "UTF8" {
        return refused(format!(
            "its encoding is {encoding}; make one with `create database ... encoding 'UTF8' template template0`"
        ));
    }
    let theirs = chrono::DateTime::from_timestamp_micros(row.try_get("clock")?).unwrap_or_default();
    let apart = Clock::System.now() - theirs;
    if apart.abs() > SKEW {
        tracing::warn!(
            seconds = apart.num_seconds(),
            "this machine's clock is not the database's: set both by NTP, since servers whose clocks are \
             half a minute apart take over each other's work"
        );
    }
    Ok(())
}

#[async_trait]
impl Store for Postgres {
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>> {
        transaction!(self.durable, tx, {
            let accepted = inbox::accept(&mut tx, &deliveries).await?;
            Ok(accepted)
        })
    }

    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>> {
        calmly!(self.light, db, inbox::waiting(&mut db, limit).await)
    }

    async fn absorb_all(&self, absorbed: Vec<(i64, Absorbed)>, now: Timestamp) -> Stored<()> {
        transaction!(self.light, tx, {
            absorb::absorb_all(&mut tx, &absorbed, now).await
        })
    }

    async fn dead_letters(&self, limit: u32) -> Stored<Vec<DeadLetter>> {
        calmly!(self.light, db, inbox::dead_letters(&mut db, limit).await)
    }

    async fn inbox(&self) -> Stored<InboxCounts> {
        calmly!(self.light, db, inbox::counts(&mut db).await)
    }

    async fn known_deliveries(&self, ids: &[DeliveryId]) -> Stored<Vec<DeliveryId>> {
        calmly!(self.light, db, inbox::known(&mut db, ids).await)
    }

    async fn note(&self, name: &str) -> Stored<Versioned<serde_json::Value>> {
        calmly!(self.light, db, notes::load(&mut db, name).await)
    }

    async fn write_note(&self, name: &str, note: &Versioned<serde_json::Value>) -> Stored<bool> {
        transaction!(self.light, tx, {
            let written = notes::save(&mut tx, name, note).await?;
            Ok(written)
        })
    }

    async fn wake(&self, keys: &[(Key, Confirm)], not_before: Timestamp) -> Stored<()> {
        let mut woken = Woken::new();
        for (key, confirm) in keys {
            work::add(&mut woken, key.clone(), *confirm);
        }
        transaction!(self.light, tx, {
            Ok(work::wake(&mut tx, &woken, not_before).await?)
        })
    }

    async fn lease_beside(
        &self,
        now: Timestamp,
        ttl: chrono::Duration,
        full: &[InstallationId],
    ) -> Stored<Option<Lease>> {
        calmly!(self.durable, db, work::lease(&mut db, now, ttl, full).await)
    }

    async fn finish(&self, lease: Lease, finish: Finish, now: Timestamp) -> Stored<()> {
        calmly!(
            self.light,
            db,
            work::finish(&mut db, &lease, finish, now).await
        )
    }

    async fn next_due_beside(&self, full: &[InstallationId]) -> Stored<Option<Timestamp>> {
        calmly!(self.light, db, work::next_due(&mut db, full).await)
    }

    async fn repo(&self, repo: RepoId) -> Stored<Versioned<RepoMemory>> {
        calmly!(self.light, db, {
            let loaded = memory::load_repo(&mut db, repo).await?;
            Ok(loaded.into())
        })
    }

    async fn repo_named(&self, name: &RepoName) -> Stored<Option<RepoId>> {
        calmly!(self.light, db, memory::repo_named(&mut db, name).await)
    }

    async fn active_repos(&self) -> Stored<Vec<RepoMemory>> {
        calmly!(self.light, db, memory::active_repos(&mut db).await)
    }

    async fn pull(&self, repo: RepoId, number: PullNumber) -> Stored<Versioned<PullMemory>> {
        calmly!(self.light, db, {
            let loaded = pulls::load(&mut db, repo, number).await?;
            Ok(loaded.into())
        })
    }

    async fn head(&self, repo: RepoId, head: &HeadSha) -> Stored<Versioned<HeadMemory>> {
        calmly!(self.light, db, {
            let loaded = memory::load_head(&mut db, repo, head).await?;
            Ok(loaded.into())
        })
    }

    async fn remember_repo(&self, repo: RepoId, memory: &Versioned<RepoMemory>) -> Stored<bool> {
        transaction!(self.light, tx, {
            let written = memory::save_repo(&mut tx, repo, &memory.value, memory.version).await?;
            Ok(written)
        })
    }

    async fn remember_pull(
        &self,
        repo: RepoId,
        number: PullNumber,
        memory: &Versioned<PullMemory>,
    ) -> Stored<bool> {
        transaction!(self.light, tx, {
            let written = pulls::save(&mut tx, repo, number, &memory.value, memory.version).await?;
            Ok(written)
        })
    }

    async fn remember_head(
        &self,
        repo: RepoId,
        head: &HeadSha,
        memory: &Versioned<HeadMemory>,
    ) -> Stored<bool> {
        transaction!(self.light, tx, {
            let written =
                memory::save_head(&mut tx, repo, head, &memory.value, memory.version).await?;
            Ok(written)
        })
    }

    async fn pulls_with_head(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<PullNumber>> {
        calmly!(self.light, db, pulls::with_head(&mut db, repo, head).await)
    }

    async fn open_pulls(&self, repo: Option<RepoId>) -> Stored<Vec<PullRow>> {
        calmly!(self.light, db, pulls::open(&mut db, repo).await)
    }

    async fn record(&self, repo: RepoId, number: PullNumber) -> Stored<PullRecord> {
        calmly!(self.light, db, pulls::record(&mut db, repo, number).await)
    }

    async fn save_record(
        &self,
        lease: &Lease,
        record: &PullRecord,
        entries: Vec<Draft>,
        _now: Timestamp,
    ) -> Stored<()> {
        transaction!(self.durable, tx, {
            work::check_current(&mut tx, lease).await?;
            pulls::save_record(&mut tx, lease.key(), record).await?;
            ledger::append(&mut tx, entries.clone()).await?;
            Ok(())
        })
    }

    async fn issues(&self, repo: RepoId) -> Stored<Versioned<IssuesMemory>> {
        calmly!(self.light, db, {
            let loaded = dispatches::load_issues(&mut db, repo).await?;
            Ok(loaded.into())
        })
    }

    async fn remember_issues(
        &self,
        repo: RepoId,
        memory: &Versioned<IssuesMemory>,
    ) -> Stored<bool> {
        transaction!(self.light, tx, {
            let (value, version) = (&memory.value, memory.version);
            let written = dispatches::save_issues(&mut tx, repo, value, version).await?;
            Ok(written)
        })
    }

    async fn dispatch(&self, repo: RepoId) -> Stored<dispatch::Record> {
        calmly!(self.light, db, dispatches::record(&mut db, repo).await)
    }

    async fn save_dispatch(
        &self,
        lease: &Lease,
        record: &dispatch::Record,
        entries: Vec<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        transaction!(self.durable, tx, {
            work::check_running(&mut tx, lease, now).await?;
            dispatches::save_record(&mut tx, lease.key(), record).await?;
            ledger::append(&mut tx, entries.clone()).await?;
            Ok(())
        })
    }

    async fn post_evidence(&self, evidence: &NewEvidence) -> Stored<Placed> {
        transaction!(self.durable, tx, {
            let placed = evidence::place(&mut tx, evidence).await?;
            if matches!(placed, Placed::Stored | Placed::Known) {
                let about = Wake::Head(evidence.repo, evidence.head.clone());
                absorb::wake(&mut tx, &[(about, Confirm::IfNeeded)], evidence.at).await?;
            }
            Ok(placed)
        })
    }

    async fn posted_evidence(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<Posted>> {
        calmly!(self.light, db, evidence::about(&mut db, repo, head).await)
    }

    async fn effect(&self, effect: &str) -> Stored<Begun> {
        calmly!(self.light, db, effects::known(&mut db, effect).await)
    }

    async fn effect_intent(&self, effect: &str) -> Stored<Option<serde_json::Value>> {
        calmly!(self.light, db, effects::intent(&mut db, effect).await)
    }

    async fn begin(
        &self,
        lease: &Lease,
        effect: &str,
        intent: serde_json::Value,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<Begun> {
        transaction!(self.durable, tx, {
            work::check_running(&mut tx, lease, now).await?;
            let begun = effects::begin(&mut tx, effect, &intent, now).await?;
            if !matches!(begun, Begun::Done(_)) {
                ledger::append(&mut tx, entry.clone()).await?;
            }
            Ok(begun)
        })
    }

    async fn end(
        &self,
        effect: &str,
        ended: Ended,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        transaction!(self.durable, tx, {
            effects::end(&mut tx, effect, &ended, now).await?;
            ledger::append(&mut tx, entry.clone()).await?;
            Ok(())
        })
    }

    async fn freeze(&self, repo: RepoId, base: &BaseRef) -> Stored<Option<Freeze>> {
        calmly!(self.light, db, pulls::freeze(&mut db, repo, base).await)
    }

    async fn set_freeze(
        &self,
        repo: RepoId,
        base: &BaseRef,
        freeze: Option<Freeze>,
        entry: Draft,
        now: Timestamp,
    ) -> Stored<()> {
        transaction!(self.durable, tx, {
            pulls::set_freeze(&mut tx, repo, base, freeze.as_ref()).await?;
            let concerned = (Wake::Base(repo, base.clone()), Confirm::IfNeeded);
            absorb::wake(&mut tx, &[concerned], now).await?;
            ledger::append(&mut tx, Some(entry.clone())).await?;
            Ok(())
        })
    }

    async fn ledger(&self, repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>> {
        calmly!(
            self.light,
            db,
            ledger::page(&mut db, repo, after, limit).await
        )
    }

    async fn ledger_of(&self, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
        calmly!(self.light, db, ledger::of(&mut db, repo, number).await)
    }

    async fn ping(&self) -> Stored<()> {
        transaction!(self.durable, tx, {
            notes::pulse(&mut tx).await?;
            Ok(())
        })
    }

    async fn prove_ledger(&self, verifier: Verifier) -> Stored<Result<Verifier, Broken>> {
        calmly!(
            self.light,
            db,
            ledger::follow(&mut db, verifier.clone()).await
        )
    }

    async fn prune(&self, keep: Keep, limit: u32) -> Stored<u64> {
        transaction!(self.light, tx, {
            let gone = upkeep::prune(&mut tx, keep, limit).await?;
            Ok(gone)
        })
    }

    async fn figures(&self) -> Stored<Figures> {
        calmly!(self.light, db, upkeep::figures(&mut db).await)
    }

    async fn woken_elsewhere(&self) -> Stored<()> {
        self.ear.heard(&self.light).await
    }
}

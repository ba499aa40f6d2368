//! The keyed work table: which keys want a pass, and who works on one.
//!
//! # Properties
//!
//! As on SQLite, by other means.
//!
//! - **Coalescing.** A row has one `due` time and one `confirm`; an upsert keeps the earlier and the
//!   stronger.
//! - **One at a time, and nobody waits.** Taking a key is one statement: `for update skip locked` passes over
//!   keys that another server takes, wakes or gives back in this moment. What was passed over is not lost:
//!   whoever wakes it rings ([`super::bell`]), whoever gives it back looks again.
//! - **Fencing.** A lease's number comes from a sequence, and the commit that gives it away is waited for
//!   ([`super::Postgres`]): numbers that a crash of the database forgot could be given twice. Whoever writes
//!   in a pass's name shows it, and keeps the row until its write is committed: nobody takes the key over in
//!   between.
//! - **Nothing is lost by a crash** of a server or of the database: what a pass was to do stands in its
//!   lease until it is given back.
//! - **Small.** A row that wants nothing is deleted; pages leave room for a row's next version, and are swept
//!   up after a thousand changes, whatever the size of the table.
//!
//! # Clocks
//!
//! `now` is the caller's. A pass is cut off after half its lease by a clock that does not jump, so servers
//! may disagree by half a lease (thirty seconds) before one takes over what another still works on. Beyond
//! that the fence holds: the overtaken pass writes nothing, and the journal of effects tells its successor
//! what may have been tried. A server whose clock is far from the database's says so in its log when it
//! starts ([`super::Postgres::open`]).
//!
//! # The race that is left
//!
//! As on SQLite: a server that stalls between [`check_running`] and its call to GitHub, for longer than its
//! lease, makes that call while another pass works. And a database that is restored from a backup, or
//! replaced by a standby that had not received everything, may give numbers away again that were given away
//! before: stop the servers for that.
//!
//! # Why not a queue of jobs
//!
//! `graphile_worker` 0.14.1 was measured and tried on the same PostgreSQL 15 (`benches/queue`: two cores, the
//! disk waited for alike on both sides, three turns each, medians). What passes do is left out, eight at once
//! in each server, one named queue per key on its side, since passes over one key must not overlap.
//!
//! | | this table | `graphile_worker` | the same, local queue and batched completions |
//! |---|---|---|---|
//! | wakes of one key, a transaction each | 5,421/s | 1,660/s | |
//! | wakes of many keys, a transaction each | 11,447/s | 2,046/s | |
//! | wakes of many keys, 32 in a transaction | 135,978/s | 13,366/s | |
//! | passes, 500 keys wait, one server | 2,579/s | 792/s | 17,131/s |
//! | passes, 10,000 keys wait, one server | 2,580/s | 228/s | 13,889/s |
//! | passes, 10,000 keys wait, three servers | 4,416/s | 204/s | 10,659/s |
//! | from a wake to its pass, median (99 %) | 1.3 ms (2.9) | 2.6 ms (10.6) | 1.7 ms (30.0) |
//! | killed -9, ten seconds of silence allowed | 9.9 s | 11.0 s | |
//!
//! For passes in the second column it looked every 5 ms: it takes one job per slot and look, and at its
//! default of a second works off eight a second. In the third it works off much more than this table does,
//! since a server takes a hundred jobs with one commit; a pass waits for GitHub far longer than for either.
//! What decides is what a job cannot carry:
//!
//! - Its time is the last one asked for (`replace`) or the first (`preserve_run_at`), not the earlier; its
//!   payload is the last one, not the stronger confirmation. Either loses a wake's meaning.
//! - It has no fence. A job that was taken over keeps its id, and whoever was overtaken and then says that it
//!   is done removes it under its successor: should that one die, nobody makes the pass again.
//!
//! What it does as well: a wake during a pass leads to exactly one more, and a dead server's job is taken
//! over. A table beside its own for time, confirmation and fence would be this table again.

use std::collections::BTreeMap;

use sqlx::Row;
use sqlx::postgres::PgConnection;

use super::bell;
use super::rows::{
    confirm, confirm_number, installation, installations, key, later, micros, small_count, time,
};
use crate::domain::memory::Confirm;
use crate::domain::model::{InstallationId, Key, Timestamp};
use crate::store::{Finish, Lease, StoreError, Stored};

/// The repository in a row of `work`, read off its key.
macro_rules! repo {
    () => {
        "split_part(work.key, ':', 2)::bigint"
    };
}

/// Whether a row of `work` is of none of the installations in a parameter.
macro_rules! beside {
    ($full:literal) => {
        concat!(
            "(cardinality(",
            $full,
            "::bigint[]) = 0 or not exists (select 1 from repos where id = ",
            repo!(),
            " and installation = any(",
            $full,
            ")))"
        )
    };
}

/// Keys that are to be woken, each with the strongest confirmation that was asked for.
pub type Woken = BTreeMap<Key, Confirm>;

/// Adds a key to those that are to be woken.
pub fn add(woken: &mut Woken, key: Key, confirm: Confirm) {
    let strongest = woken.entry(key).or_insert(confirm);
    *strongest = (*strongest).max(confirm);
}

/// Marks keys as wanting a pass, not before a time, and rings. Ends a back-off: something changed. In the
/// order of their texts, so that two who wake the same keys do not wait for each other in a circle.
pub async fn wake(tx: &mut PgConnection, keys: &Woken, not_before: Timestamp) -> Stored<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let texts = keys
        .iter()
        .map(|(key, confirm)| (key.to_string(), *confirm));
    let texts: BTreeMap<String, Confirm> = texts.collect();
    let confirms: Vec<i64> = texts.values().copied().map(confirm_number).collect();
    let texts: Vec<String> = texts.into_keys().collect();
    sqlx::query(
        "insert into work (key, due, confirm) \
         select key, $3, confirm from unnest($1::text[], $2::bigint[]) \
         with ordinality as woken (key, confirm, place) order by place \
         on conflict (key) do update set \
         due = least(coalesce(work.due, excluded.due), excluded.due), \
         confirm = greatest(work.confirm, excluded.confirm)",
    )
    .bind(texts)
    .bind(confirms)
    .bind(micros(not_before))
    .execute(&mut *tx)
    .await?;
    bell::ring(tx).await
}

/// Takes the key that has waited longest; among those that waited alike, the one whose last pass is
/// longer ago. A takeover may find a pass wanted for later besides: that one is kept, not served too early.
/// Keys of these installations are passed over, and not locked.
pub async fn lease(
    db: &mut PgConnection,
    now: Timestamp,
    ttl: chrono::Duration,
    full: &[InstallationId],
) -> Stored<Option<Lease>> {
    let row = sqlx::query(concat!(
        "with ready as materialized ( \
             select key, due, confirm, lease_until, lease_confirm, attempt from work \
             where coalesce(lease_until, due) <= $1 and ",
        beside!("$3"),
        " order by coalesce(lease_until, due), fence limit 1 for update skip locked \
         ) \
         update work set \
             due = case when ready.due > $1 then ready.due end, \
             confirm = case when ready.due > $1 then ready.confirm else 0 end, \
             lease_until = $2, \
             lease_confirm = greatest( \
                 case when ready.due <= $1 then ready.confirm else 0 end, \
                 case when ready.lease_until is null then 0 else ready.lease_confirm end), \
             fence = nextval('fences'), \
             attempt = ready.attempt + (ready.lease_until is not null)::int \
         from ready where work.key = ready.key \
         returning work.key, work.fence, work.attempt, work.lease_confirm, \
             (select installation from repos where id = ",
        repo!(),
        ")",
    ))
    .bind(micros(now))
    .bind(micros(later(now, ttl)))
    .bind(installations(full)?)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(Lease {
            key: key(row.try_get("key")?)?,
            fence: row.try_get("fence")?,
            attempt: small_count(&row, "attempt")?,
            confirm: confirm(row.try_get("lease_confirm")?),
            installation: installation(row.try_get("installation")?)?,
        })
    })
    .transpose()
}

/// Gives a lease back: the key waits for whatever is still wanted of it, or is forgotten. Each statement
/// changes the row only for the holder of its lease, so each may stand alone.
pub async fn finish(
    db: &mut PgConnection,
    lease: &Lease,
    finish: Finish,
    now: Timestamp,
) -> Stored<()> {
    let (next, attempt) = match finish {
        Finish::Done { again } => (again, 0),
        // What it wanted is wanted still, and looked at no less closely.
        Finish::Retry { after } => (
            Some((after, lease.confirm)),
            lease.attempt.saturating_add(1),
        ),
    };
    if next.is_none() {
        // The usual end: nothing more is wanted of the key.
        let idle = sqlx::query("delete from work where key = $1 and fence = $2 and due is null")
            .bind(lease.key.to_string())
            .bind(lease.fence)
            .execute(&mut *db)
            .await?;
        if idle.rows_affected() > 0 {
            return Ok(());
        }
    }
    let released = sqlx::query(
        "update work set lease_until = null, lease_confirm = 0, attempt = $3, \
         due = least(coalesce(due, $4), coalesce($4, due)), confirm = greatest(confirm, $5) \
         where key = $1 and fence = $2",
    )
    .bind(lease.key.to_string())
    .bind(lease.fence)
    .bind(i64::from(attempt))
    .bind(next.map(|(after, _)| micros(later(now, after))))
    .bind(next.map_or(0, |(_, confirm)| confirm_number(confirm)))
    .execute(db)
    .await?;
    held(released.rows_affected() > 0, lease)
}

/// Refuses a lease that another has overtaken, and keeps others from overtaking it until the transaction
/// ends.
pub async fn check_current(tx: &mut PgConnection, lease: &Lease) -> Stored<()> {
    let current = sqlx::query("select 1 from work where key = $1 and fence = $2 for update")
        .bind(lease.key.to_string())
        .bind(lease.fence)
        .fetch_optional(tx)
        .await?;
    held(current.is_some(), lease)
}

/// As [`check_current`], and refuses a lease that another could overtake from now on.
pub async fn check_running(tx: &mut PgConnection, lease: &Lease, now: Timestamp) -> Stored<()> {
    let running = sqlx::query(
        "select 1 from work where key = $1 and fence = $2 and lease_until > $3 for update",
    )
    .bind(lease.key.to_string())
    .bind(lease.fence)
    .bind(micros(now))
    .fetch_optional(tx)
    .await?;
    held(running.is_some(), lease)
}

fn held(held: bool, lease: &Lease) -> Stored<()> {
    if held {
        Ok(())
    } else {
        Err(StoreError::Overtaken(lease.key.clone()))
    }
}

/// When the next key may be taken, passing over those of these installations.
pub async fn next_due(db: &mut PgConnection, full: &[InstallationId]) -> Stored<Option<Timestamp>> {
    let row = sqlx::query(concat!(
        "select coalesce(lease_until, due) as ready from work where ",
        beside!("$1"),
        " order by coalesce(lease_until, due) limit 1",
    ))
    .bind(installations(full)?)
    .fetch_optional(db)
    .await?;
    row.map(|row| time(row.try_get("ready")?)).transpose()
}

//! The keyed work table.
//!
//! A key wants a pass while `wanted > done`. A wake raises `wanted`; a pass remembers the `wanted` it
//! started from and, when it is done, writes it to `done`: wakes that came before the pass coalesce
//! into it, a wake during the pass leads to exactly one more. A lease is a time until which nobody else
//! takes the key, and a fence that rises with every lease: whoever was overtaken shows an old fence and
//! is refused.
//!
//! Known race: a lease may run out while its holder still works (a stalled process). Then two passes
//! overlap in time, but only the newer one can write to this store; what the older one may still send
//! to GitHub is guarded by the head in the merge call.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::rows::{key, key_text, micros, time};
use crate::domain::memory::Confirm;
use crate::domain::model::{Key, Timestamp};
use crate::store::{Finish, Lease, StoreError, Stored};

fn confirm_number(confirm: Confirm) -> i64 {
    match confirm {
        Confirm::IfNeeded => 0,
        Confirm::Always => 1,
    }
}

/// Marks a key as wanting a pass. The earlier time and the stronger confirmation win, and a wake ends
/// a back-off: something changed.
///
/// `confirm` of a running pass was already taken over by its lease, so what is in the table belongs to
/// the next one.
pub async fn wake(
    tx: &mut SqliteConnection,
    key: &Key,
    confirm: Confirm,
    not_before: Timestamp,
) -> Stored<()> {
    sqlx::query(
        "insert into work (key, wanted, not_before, confirm) values ($1, 1, $2, $3) \
         on conflict (key) do update set \
         not_before = case when wanted > done and lease_until is null \
             then min(not_before, excluded.not_before) else excluded.not_before end, \
         wanted = wanted + 1, confirm = max(confirm, excluded.confirm)",
    )
    .bind(key_text(key)?)
    .bind(micros(not_before))
    .bind(confirm_number(confirm))
    .execute(tx)
    .await?;
    Ok(())
}

/// Takes the key that has waited longest.
pub async fn lease(
    tx: &mut SqliteConnection,
    now: Timestamp,
    ttl: chrono::Duration,
) -> Stored<Option<Lease>> {
    let found = sqlx::query(
        "select key, wanted, fence, attempt, confirm, lease_until from work \
         where wanted > done and not_before <= $1 and (lease_until is null or lease_until <= $1) \
         order by not_before limit 1",
    )
    .bind(micros(now))
    .fetch_optional(&mut *tx)
    .await?;
    let Some(row) = found else {
        return Ok(None);
    };
    let lease = leased(&row)?;
    sqlx::query("update work set fence = $1, lease_until = $2, confirm = 0 where key = $3")
        .bind(lease.fence)
        .bind(micros(now + ttl))
        .bind(key_text(&lease.key)?)
        .execute(&mut *tx)
        .await?;
    Ok(Some(lease))
}

fn leased(row: &SqliteRow) -> Stored<Lease> {
    let fence: i64 = row.try_get("fence")?;
    let attempt: i64 = row.try_get("attempt")?;
    let confirm: i64 = row.try_get("confirm")?;
    // An earlier holder that ran out of time may have stopped anywhere: its confirmation is lost.
    let ran_out = row.try_get::<Option<i64>, _>("lease_until")?.is_some();
    Ok(Lease {
        key: key(row.try_get("key")?)?,
        fence: fence + 1,
        wanted: row.try_get("wanted")?,
        attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
        confirm: if confirm > 0 || ran_out {
            Confirm::Always
        } else {
            Confirm::IfNeeded
        },
    })
}

/// Gives a lease back.
pub async fn finish(
    tx: &mut SqliteConnection,
    lease: &Lease,
    finish: Finish,
    now: Timestamp,
) -> Stored<()> {
    let key = key_text(&lease.key)?;
    let finished = match finish {
        Finish::Done { again } => {
            let done = sqlx::query(
                "update work set done = $1, lease_until = null, attempt = 0 \
                 where key = $2 and fence = $3",
            )
            .bind(lease.wanted)
            .bind(&key)
            .bind(lease.fence)
            .execute(&mut *tx)
            .await?;
            if let (1.., Some((after, confirm))) = (done.rows_affected(), again) {
                wake(tx, &lease.key, confirm, now + after).await?;
            }
            done
        }
        // The wakes it started from are not done; one that came meanwhile is due when it said.
        Finish::Retry { after } => {
            sqlx::query(
                "update work set lease_until = null, attempt = attempt + 1, \
                 confirm = max(confirm, $1), \
                 not_before = case when wanted > $2 then min(not_before, $3) else $3 end \
                 where key = $4 and fence = $5",
            )
            .bind(confirm_number(lease.confirm))
            .bind(lease.wanted)
            .bind(micros(now + after))
            .bind(&key)
            .bind(lease.fence)
            .execute(&mut *tx)
            .await?
        }
    };
    if finished.rows_affected() == 0 {
        return Err(StoreError::Overtaken(lease.key.clone()));
    }
    // A key that wants nothing is forgotten but for its fence, which must only rise.
    Ok(())
}

/// Refuses a lease that was overtaken or has run out.
pub async fn check_fence(tx: &mut SqliteConnection, lease: &Lease, now: Timestamp) -> Stored<()> {
    let current =
        sqlx::query("select 1 from work where key = $1 and fence = $2 and lease_until > $3")
            .bind(key_text(&lease.key)?)
            .bind(lease.fence)
            .bind(micros(now))
            .fetch_optional(tx)
            .await?;
    match current {
        Some(_) => Ok(()),
        None => Err(StoreError::Overtaken(lease.key.clone())),
    }
}

/// When the next key may be worked on.
pub async fn next_due(pool: &SqlitePool) -> Stored<Option<Timestamp>> {
    let row = sqlx::query(
        "select min(max(not_before, coalesce(lease_until, 0))) from work where wanted > done",
    )
    .fetch_one(pool)
    .await?;
    row.try_get::<Option<i64>, _>(0)?.map(time).transpose()
}

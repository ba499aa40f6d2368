//! The keyed work table: which keys want a pass, and who works on one.
//!
//! # Properties
//!
//! - **Coalescing.** A row has one `due` time and one `confirm`. A wake of a key that waits already
//!   keeps the earlier time and the stronger confirmation, so a hundred check runs are one pass.
//! - **One at a time.** Taking a key moves what it wanted into the lease and leaves `due` empty; a
//!   wake during the pass fills it again, and is exactly one more pass when the lease comes back.
//! - **Fencing.** Every lease has a number that no other lease ever had. Whoever writes in a pass's
//!   name shows it; a number that is not the row's was overtaken.
//! - **Nothing is lost by a crash.** What a pass was to do stands in its lease until it is given back;
//!   a lease that ran out is taken over with all it wanted, as a failed attempt more.
//! - **Small.** A row that wants nothing is deleted. The table holds work, not history.
//!
//! A lease that ran out but was not taken over may still be given back: nobody else has begun. Only
//! before a new effect ([`check_running`]) it counts as overtaken, since from then on another may
//! begin at any moment.
//!
//! # The race that is left
//!
//! A process that stalls between [`check_running`] and its call to GitHub, for longer than its lease,
//! makes that call while another pass works. No store can prevent it; the merge call names the head
//! it expects, and the journal of effects tells the other pass that a try has no outcome yet.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::rows::{
    confirm, confirm_number, installation, installations, json, key, later, micros, small_count,
    time,
};
use crate::domain::memory::Confirm;
use crate::domain::model::{InstallationId, Key, Timestamp};
use crate::store::{Finish, Lease, StoreError, Stored};

/// Marks a key as wanting a pass, not before a time. Ends a back-off: something changed.
pub async fn wake(
    tx: &mut SqliteConnection,
    key: &Key,
    confirm: Confirm,
    not_before: Timestamp,
) -> Stored<()> {
    sqlx::query(
        "insert into work (key, due, confirm) values ($1, $2, $3) \
         on conflict (key) do update set \
         due = min(coalesce(work.due, excluded.due), excluded.due), \
         confirm = max(work.confirm, excluded.confirm)",
    )
    .bind(key.to_string())
    .bind(micros(not_before))
    .bind(confirm_number(confirm))
    .execute(tx)
    .await?;
    Ok(())
}

/// What a row says of a key that may be taken.
struct Ready {
    key: Key,
    due: Option<Timestamp>,
    confirm: Confirm,
    /// The confirmation of a pass whose lease ran out.
    abandoned: Option<Confirm>,
    attempt: u32,
    installation: Option<InstallationId>,
}

/// The repository in a row of `work`, read off its key: a cast stops at what is no digit.
macro_rules! repo {
    () => {
        "cast(substr(work.key, instr(work.key, ':') + 1) as integer)"
    };
}

/// Whether a row of `work` is of none of the installations in a parameter, a JSON list.
macro_rules! beside {
    ($full:literal) => {
        concat!(
            "(json_array_length(",
            $full,
            ") = 0 or not exists (select 1 from repos where id = ",
            repo!(),
            " and installation in (select value from json_each(",
            $full,
            "))))"
        )
    };
}

impl Ready {
    fn read(row: &SqliteRow) -> Stored<Self> {
        let due: Option<i64> = row.try_get("due")?;
        let lease_until: Option<i64> = row.try_get("lease_until")?;
        let lease_confirm = confirm(row.try_get("lease_confirm")?);
        Ok(Self {
            key: key(row.try_get("key")?)?,
            due: due.map(time).transpose()?,
            confirm: confirm(row.try_get("confirm")?),
            abandoned: lease_until.map(|_| lease_confirm),
            attempt: small_count(row, "attempt")?,
            installation: installation(row.try_get("installation")?)?,
        })
    }
}

/// Takes the key that has waited longest; among those that waited alike, the one whose last pass is
/// longer ago. Keys of these installations are passed over.
pub async fn lease(
    tx: &mut SqliteConnection,
    now: Timestamp,
    ttl: chrono::Duration,
    full: &[InstallationId],
) -> Stored<Option<Lease>> {
    let row = sqlx::query(concat!(
        "select key, due, confirm, lease_until, lease_confirm, attempt, \
         (select installation from repos where id = ",
        repo!(),
        ") as installation from work where coalesce(lease_until, due) <= $1 and ",
        beside!("$2"),
        " order by coalesce(lease_until, due), fence limit 1",
    ))
    .bind(micros(now))
    .bind(json("installations", &installations(full)?)?)
    .fetch_optional(&mut *tx)
    .await?;
    let Some(ready) = row.as_ref().map(Ready::read).transpose()? else {
        return Ok(None);
    };
    // A takeover may find a pass wanted for later besides: that one is kept, not served too early.
    let later_due = ready.due.filter(|due| *due > now);
    let waited = ready.due.filter(|due| *due <= now).map(|_| ready.confirm);
    let kept_confirm = later_due.map_or(Confirm::IfNeeded, |_| ready.confirm);
    let lease = Lease {
        fence: next_fence(tx).await?,
        attempt: ready
            .attempt
            .saturating_add(u32::from(ready.abandoned.is_some())),
        confirm: waited.max(ready.abandoned).unwrap_or(Confirm::IfNeeded),
        key: ready.key,
        installation: ready.installation,
    };
    sqlx::query(
        "update work set due = $2, confirm = $3, lease_until = $4, lease_confirm = $5, \
         fence = $6, attempt = $7 where key = $1",
    )
    .bind(lease.key.to_string())
    .bind(later_due.map(micros))
    .bind(confirm_number(kept_confirm))
    .bind(micros(later(now, ttl)))
    .bind(confirm_number(lease.confirm))
    .bind(lease.fence)
    .bind(lease.attempt)
    .execute(tx)
    .await?;
    Ok(Some(lease))
}

async fn next_fence(tx: &mut SqliteConnection) -> Stored<i64> {
    let row = sqlx::query("update fences set last = last + 1 where id = 1 returning last")
        .fetch_one(tx)
        .await?;
    Ok(row.try_get("last")?)
}

/// Gives a lease back: the key waits for whatever is still wanted of it, or is forgotten.
pub async fn finish(
    tx: &mut SqliteConnection,
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
    if let Some((after, confirm)) = next {
        wake(tx, &lease.key, confirm, later(now, after)).await?;
    } else {
        // The usual end: nothing more is wanted of the key.
        let idle = sqlx::query("delete from work where key = $1 and fence = $2 and due is null")
            .bind(lease.key.to_string())
            .bind(lease.fence)
            .execute(&mut *tx)
            .await?;
        if idle.rows_affected() > 0 {
            return Ok(());
        }
    }
    let released = sqlx::query(
        "update work set lease_until = null, lease_confirm = 0, attempt = $3 \
         where key = $1 and fence = $2",
    )
    .bind(lease.key.to_string())
    .bind(lease.fence)
    .bind(attempt)
    .execute(tx)
    .await?;
    // What was woken above is undone with the transaction.
    held(released.rows_affected() > 0, lease)
}

/// Refuses a lease that another has overtaken.
pub async fn check_current(tx: &mut SqliteConnection, lease: &Lease) -> Stored<()> {
    let current = sqlx::query("select 1 from work where key = $1 and fence = $2")
        .bind(lease.key.to_string())
        .bind(lease.fence)
        .fetch_optional(tx)
        .await?;
    held(current.is_some(), lease)
}

/// Refuses a lease that another has overtaken, or could overtake from now on.
pub async fn check_running(tx: &mut SqliteConnection, lease: &Lease, now: Timestamp) -> Stored<()> {
    let running =
        sqlx::query("select 1 from work where key = $1 and fence = $2 and lease_until > $3")
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
pub async fn next_due(
    db: &mut SqliteConnection,
    full: &[InstallationId],
) -> Stored<Option<Timestamp>> {
    let row = sqlx::query(concat!(
        "select coalesce(lease_until, due) as ready from work where ",
        beside!("$1"),
        " order by coalesce(lease_until, due) limit 1",
    ))
    .bind(json("installations", &installations(full)?)?)
    .fetch_optional(db)
    .await?;
    row.map(|row| time(row.try_get("ready")?)).transpose()
}

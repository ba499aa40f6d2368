//! How much is kept, and what may go.
//!
//! What is let go is told by `sweep::retention`. Deliveries are counted by triggers as they come and change;
//! where they go, they are counted here. Servers sweep by themselves, so rows that another lets go of are
//! passed over and not waited for.

use chrono::SecondsFormat;
use sqlx::postgres::PgConnection;

use super::rows::{count, micros};
use crate::domain::model::Timestamp;
use crate::store::{Figures, Keep, Stored};

/// How much is kept. What is free to be used again is not told by PostgreSQL without reading every page: 0.
pub async fn figures(db: &mut PgConnection) -> Stored<Figures> {
    let row = sqlx::query(
        "select count(*) filter (where lease_until is null) as waiting, \
         count(*) filter (where lease_until is not null) as leased, \
         pg_database_size(current_database()) as bytes from work",
    )
    .fetch_one(db)
    .await?;
    Ok(Figures {
        waiting: count(&row, "waiting")?,
        leased: count(&row, "leased")?,
        bytes: count(&row, "bytes")?,
        free_bytes: 0,
    })
}

/// Lets go of what is old; tells how many rows that were.
pub async fn prune(tx: &mut PgConnection, keep: Keep, limit: u32) -> Stored<u64> {
    let mut gone = closed_heads(tx, keep.rest, limit).await?;
    gone += closed_checks(tx, keep.rest, limit).await?;
    gone += nobodys_heads(tx, keep.rest, limit).await?;
    gone += bodies(tx, keep.rest, limit).await?;
    gone += ids(tx, keep.ids, limit).await?;
    Ok(gone)
}

/// A time as documents write it, so that texts compare like times.
fn written(time: Timestamp) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// The heads of pull requests that were closed long ago, unless they are an open one's.
async fn closed_heads(tx: &mut PgConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let deleted = sqlx::query(
        "delete from heads where (repo, head) in (\
         select heads.repo, heads.head from heads where exists (select 1 from pulls \
         where pulls.repo = heads.repo and pulls.head = heads.head and not pulls.open \
         and (pulls.pull::json ->> 'updated_at') collate \"C\" < $1) \
         and not exists (select 1 from pulls where pulls.repo = heads.repo \
         and pulls.head = heads.head and pulls.open) limit $2 for update skip locked)",
    )
    .bind(written(before))
    .bind(i64::from(limit))
    .execute(tx)
    .await?;
    Ok(deleted.rows_affected())
}

/// The journal of their check runs.
async fn closed_checks(tx: &mut PgConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let deleted = sqlx::query(
        "delete from effects where key in (\
         select effects.key from pulls join effects \
         on effects.key > 'check:' || pulls.repo || ':' || pulls.number || ':' \
         and effects.key < 'check:' || pulls.repo || ':' || pulls.number || ';' \
         where not pulls.open and (pulls.pull::json ->> 'updated_at') collate \"C\" < $1 \
         and effects.state <> 'intent' limit $2 for update of effects skip locked)",
    )
    .bind(written(before))
    .bind(i64::from(limit))
    .execute(tx)
    .await?;
    Ok(deleted.rows_affected())
}

/// Commits of which GitHub said long ago that they are no open pull request's head.
async fn nobodys_heads(tx: &mut PgConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let deleted = sqlx::query(
        "delete from heads where (repo, head) in (select repo, head from heads \
         where no_pulls_at < $1 and not exists (select 1 from pulls where pulls.repo = heads.repo \
         and pulls.head = heads.head and pulls.open) limit $2 for update skip locked)",
    )
    .bind(micros(before))
    .bind(i64::from(limit))
    .execute(tx)
    .await?;
    Ok(deleted.rows_affected())
}

/// The bytes of dead letters; that there was one, and why, stays as long as its id.
async fn bodies(tx: &mut PgConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let emptied = sqlx::query(
        "update deliveries set body = '' where seq in (select seq from deliveries \
         where state = 'dead' and at < $1 and length(body) > 0 limit $2 for update skip locked)",
    )
    .bind(micros(before))
    .bind(i64::from(limit))
    .execute(tx)
    .await?;
    Ok(emptied.rows_affected())
}

/// Ids of deliveries, oldest first: only among the oldest rows is looked, so a batch costs what it takes.
async fn ids(tx: &mut PgConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let row = sqlx::query(
        "with gone as (delete from deliveries where state <> 'waiting' and at < $1 and seq in \
         (select seq from deliveries order by seq limit $2 for update skip locked) \
         returning state), \
         turned as (select state, count(*) as n from gone group by state), \
         counted as (select count_deliveries(state, -n) from turned) \
         select (select count(*) from counted) as states, coalesce(sum(n), 0)::bigint as n from turned",
    )
    .bind(micros(before))
    .bind(i64::from(limit))
    .fetch_one(tx)
    .await?;
    count(&row, "n")
}

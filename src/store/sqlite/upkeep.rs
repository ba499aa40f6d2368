//! How much is kept, and what may go.
//!
//! What is let go is told by `sweep::retention`. Deliveries are counted by triggers as they come and change;
//! where they go, they are counted here.

use chrono::SecondsFormat;
use sqlx::sqlite::SqliteConnection;

use super::rows::{count, micros};
use crate::domain::model::Timestamp;
use crate::store::{Figures, Keep, Stored};

/// How much is kept. The table of work holds what is to be done and no history: counting it is cheap.
pub async fn figures(db: &mut SqliteConnection) -> Stored<Figures> {
    let work = sqlx::query(
        "select count(*) filter (where lease_until is null) as waiting, \
         count(*) filter (where lease_until is not null) as leased from work",
    )
    .fetch_one(&mut *db)
    .await?;
    let pages = sqlx::query(
        "select page_count * page_size as bytes, freelist_count * page_size as free \
         from pragma_page_count, pragma_page_size, pragma_freelist_count",
    )
    .fetch_one(db)
    .await?;
    Ok(Figures {
        waiting: count(&work, "waiting")?,
        leased: count(&work, "leased")?,
        bytes: count(&pages, "bytes")?,
        free_bytes: count(&pages, "free")?,
    })
}

/// What is to go, found without holding the writer up.
#[derive(Debug, Default)]
pub struct Old {
    heads: Vec<(i64, String)>,
    effects: Vec<String>,
}

/// Finds what of closed pull requests is to go. Walks every closed one, which is why a reader does it.
pub async fn old(db: &mut SqliteConnection, before: Timestamp, limit: u32) -> Stored<Old> {
    // As documents write it, so that texts compare like times.
    let before = before.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let heads = sqlx::query_as(
        "select heads.repo, heads.head from pulls cross join heads \
         on heads.repo = pulls.repo and heads.head = pulls.head \
         where pulls.open = 0 and pulls.pull ->> '$.updated_at' < $1 \
         and not exists (select 1 from pulls as other where other.repo = heads.repo \
         and other.head = heads.head and other.open = 1) limit $2",
    )
    .bind(&before)
    .bind(limit)
    .fetch_all(&mut *db)
    .await?;
    let effects = sqlx::query_scalar(
        "select effects.key from pulls cross join effects \
         on effects.key > 'check:' || pulls.repo || ':' || pulls.number || ':' \
         and effects.key < 'check:' || pulls.repo || ':' || pulls.number || ';' \
         where pulls.open = 0 and pulls.pull ->> '$.updated_at' < $1 \
         and effects.state <> 'intent' limit $2",
    )
    .bind(&before)
    .bind(limit)
    .fetch_all(db)
    .await?;
    Ok(Old { heads, effects })
}

/// Lets go of what was found, and of what deliveries left; tells how many rows that were.
pub async fn prune(tx: &mut SqliteConnection, old: Old, keep: Keep, limit: u32) -> Stored<u64> {
    let mut gone = 0;
    for (repo, head) in old.heads {
        // Somebody may have opened a pull request with it meanwhile.
        let delete = sqlx::query(
            "delete from heads where repo = $1 and head = $2 and not exists \
             (select 1 from pulls where repo = $1 and head = $2 and open = 1)",
        );
        let deleted = delete.bind(repo).bind(head).execute(&mut *tx).await?;
        gone += deleted.rows_affected();
    }
    for key in old.effects {
        let delete = sqlx::query("delete from effects where key = $1 and state <> 'intent'");
        gone += delete.bind(key).execute(&mut *tx).await?.rows_affected();
    }
    gone += nobodys_heads(tx, keep.rest, limit).await?;
    gone += bodies(tx, keep.rest, limit).await?;
    gone += ids(tx, keep.ids, limit).await?;
    Ok(gone)
}

/// Commits of which GitHub said long ago that they are no open pull request's head.
async fn nobodys_heads(tx: &mut SqliteConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let deleted = sqlx::query(
        "delete from heads where rowid in (select rowid from heads where no_pulls_at < $1 \
         and not exists (select 1 from pulls where pulls.repo = heads.repo \
         and pulls.head = heads.head and pulls.open = 1) limit $2)",
    )
    .bind(micros(before))
    .bind(limit)
    .execute(tx)
    .await?;
    Ok(deleted.rows_affected())
}

/// The bytes of dead letters; that there was one, and why, stays as long as its id.
async fn bodies(tx: &mut SqliteConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let emptied = sqlx::query(
        "update deliveries set body = x'' where seq in (select seq from deliveries \
         where state = 'dead' and at < $1 and length(body) > 0 limit $2)",
    )
    .bind(micros(before))
    .bind(limit)
    .execute(tx)
    .await?;
    Ok(emptied.rows_affected())
}

/// Ids, from the first one on: they came in the order of time, so nothing behind a young one is looked
/// at.
async fn ids(tx: &mut SqliteConnection, before: Timestamp, limit: u32) -> Stored<u64> {
    let states: Vec<String> = sqlx::query_scalar(
        "delete from deliveries where state <> 'waiting' and at < $1 and seq in \
         (select seq from deliveries order by seq limit $2) returning state",
    )
    .bind(micros(before))
    .bind(limit)
    .fetch_all(&mut *tx)
    .await?;
    for state in &states {
        sqlx::query("update delivery_counts set n = n - 1 where state = $1")
            .bind(state)
            .execute(&mut *tx)
            .await?;
    }
    Ok(states.len() as u64)
}

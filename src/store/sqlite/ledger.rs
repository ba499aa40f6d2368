//! The ledger and the journal of effects.

use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::rows::{document, id, json, micros};
use crate::domain::ledger::{Draft, Entry, seal};
use crate::domain::model::{PullNumber, RepoId, Timestamp};
use crate::store::{Begun, Ended, Stored};

/// Gives drafts their places at the end of the chain. The write lock is held, so nobody else can.
pub async fn append(
    tx: &mut SqliteConnection,
    drafts: impl IntoIterator<Item = Draft>,
) -> Stored<()> {
    let mut drafts = drafts.into_iter().peekable();
    if drafts.peek().is_none() {
        return Ok(());
    }
    let mut last = sqlx::query("select seq, hash from ledger order by seq desc limit 1")
        .fetch_optional(&mut *tx)
        .await?
        .map(|row| -> Stored<(u64, String)> {
            let seq: i64 = row.try_get("seq")?;
            Ok((u64::try_from(seq).unwrap_or(0), row.try_get("hash")?))
        })
        .transpose()?;
    for draft in drafts {
        let entry = seal(
            draft,
            last.as_ref().map(|(seq, hash)| (*seq, hash.as_str())),
        );
        sqlx::query(
            "insert into ledger (seq, repo, number, entry, hash) values ($1, $2, $3, $4, $5)",
        )
        .bind(id(entry.seq)?)
        .bind(id(entry.repo.get())?)
        .bind(entry.number.map(|number| id(number.get())).transpose()?)
        .bind(json("a ledger entry", &entry)?)
        .bind(&entry.hash)
        .execute(&mut *tx)
        .await?;
        last = Some((entry.seq, entry.hash));
    }
    Ok(())
}

/// Entries in order.
pub async fn page(
    pool: &SqlitePool,
    repo: Option<RepoId>,
    after: u64,
    limit: u32,
) -> Stored<Vec<Entry>> {
    let after = id(after)?;
    let rows = match repo {
        None => {
            sqlx::query("select entry from ledger where seq > $1 order by seq limit $2")
                .bind(after)
                .bind(limit)
                .fetch_all(pool)
                .await?
        }
        Some(repo) => {
            sqlx::query(
                "select entry from ledger where repo = $1 and seq > $2 order by seq limit $3",
            )
            .bind(id(repo.get())?)
            .bind(after)
            .bind(limit)
            .fetch_all(pool)
            .await?
        }
    };
    entries(&rows)
}

/// Entries of one pull request, in order.
pub async fn of(pool: &SqlitePool, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
    let rows = sqlx::query("select entry from ledger where repo = $1 and number = $2 order by seq")
        .bind(id(repo.get())?)
        .bind(id(number.get())?)
        .fetch_all(pool)
        .await?;
    entries(&rows)
}

fn entries(rows: &[SqliteRow]) -> Stored<Vec<Entry>> {
    rows.iter()
        .map(|row| document("a ledger entry", row.try_get("entry")?))
        .collect()
}

/// Records an intent, and tells what was known of the effect before.
pub async fn begin(
    tx: &mut SqliteConnection,
    effect: &str,
    intent: &Value,
    now: Timestamp,
) -> Stored<Begun> {
    let before = sqlx::query("select state, attempts, intent, outcome from effects where key = $1")
        .bind(effect)
        .fetch_optional(&mut *tx)
        .await?;
    let begun = before.as_ref().map_or(Ok(Begun::First), begun)?;
    if !matches!(begun, Begun::Done(_)) {
        sqlx::query(
            "insert into effects (key, state, attempts, intent, at) values ($1, 'intent', 1, $2, $3) \
             on conflict (key) do update set state = 'intent', attempts = attempts + 1, \
             intent = excluded.intent, outcome = null, at = excluded.at",
        )
        .bind(effect)
        .bind(json("an intent", intent)?)
        .bind(micros(now))
        .execute(&mut *tx)
        .await?;
    }
    Ok(begun)
}

fn begun(row: &SqliteRow) -> Stored<Begun> {
    let attempts: i64 = row.try_get("attempts")?;
    let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    let outcome: Option<&str> = row.try_get("outcome")?;
    match row.try_get::<&str, _>("state")? {
        "done" => Ok(Begun::Done(document(
            "an outcome",
            outcome.unwrap_or("null"),
        )?)),
        "failed" => Ok(Begun::Failed(attempts)),
        _ => {
            let intent = document("an intent", row.try_get("intent")?)?;
            Ok(Begun::Unfinished(attempts, intent))
        }
    }
}

/// What is known of an effect.
pub async fn effect(pool: &SqlitePool, effect: &str) -> Stored<Begun> {
    let row = sqlx::query("select state, attempts, intent, outcome from effects where key = $1")
        .bind(effect)
        .fetch_optional(pool)
        .await?;
    row.as_ref().map_or(Ok(Begun::First), begun)
}

/// The last intent of an effect.
pub async fn intent(pool: &SqlitePool, effect: &str) -> Stored<Option<Value>> {
    let row = sqlx::query("select intent from effects where key = $1")
        .bind(effect)
        .fetch_optional(pool)
        .await?;
    row.map(|row| document("an intent", row.try_get("intent")?))
        .transpose()
}

/// Records what came of an effect.
pub async fn end(
    tx: &mut SqliteConnection,
    effect: &str,
    ended: &Ended,
    now: Timestamp,
) -> Stored<()> {
    let (state, outcome) = match ended {
        Ended::Done(outcome) => ("done", outcome),
        Ended::Failed(outcome) => ("failed", outcome),
    };
    sqlx::query("update effects set state = $1, outcome = $2, at = $3 where key = $4")
        .bind(state)
        .bind(json("an outcome", outcome)?)
        .bind(micros(now))
        .bind(effect)
        .execute(tx)
        .await?;
    Ok(())
}

//! The journal of effects: an intent before each try, an outcome after it.
//!
//! An intent without an outcome is the mark of a crash between the two: the write to GitHub may have
//! happened or not, and whoever comes next must look before trying again, for what the intent says.

use serde_json::Value;
use sqlx::Row;

use super::rows::{corrupt, document, json, micros, small_count};
use super::{Db, DbRow};
use crate::domain::model::Timestamp;
use crate::store::{Begun, Ended, Stored};

/// What is known of an effect.
pub async fn known(db: &mut Db, effect: &str) -> Stored<Begun> {
    let row = sqlx::query("select state, attempts, intent, outcome from effects where key = $1")
        .bind(effect)
        .fetch_optional(db)
        .await?;
    row.as_ref().map_or(Ok(Begun::First), begun)
}

fn begun(row: &DbRow) -> Stored<Begun> {
    let attempts = small_count(row, "attempts")?;
    let outcome: Option<&str> = row.try_get("outcome")?;
    match row.try_get("state")? {
        "intent" => {
            let intent = document("an effect's intent", row.try_get("intent")?)?;
            Ok(Begun::Unfinished(attempts, intent))
        }
        "failed" => Ok(Begun::Failed(attempts)),
        "done" => {
            let outcome = document("an effect's outcome", outcome.unwrap_or("null"))?;
            Ok(Begun::Done(outcome))
        }
        other => Err(corrupt("an effect's state", other)),
    }
}

/// The last recorded intent of an effect.
pub async fn intent(db: &mut Db, effect: &str) -> Stored<Option<Value>> {
    let row = sqlx::query("select intent from effects where key = $1")
        .bind(effect)
        .fetch_optional(db)
        .await?;
    row.map(|row| document("an effect's intent", row.try_get("intent")?))
        .transpose()
}

/// Records the intent of a try, and tells what was known before. Nothing is recorded for an effect
/// that is done: there will be no try.
pub async fn begin(tx: &mut Db, effect: &str, intent: &Value, now: Timestamp) -> Stored<Begun> {
    let before = known(tx, effect).await?;
    if matches!(before, Begun::Done(_)) {
        return Ok(before);
    }
    sqlx::query(
        "insert into effects (key, state, attempts, intent, at) values ($1, 'intent', 1, $2, $3) \
         on conflict (key) do update set state = 'intent', attempts = effects.attempts + 1, \
         intent = excluded.intent, outcome = null, at = excluded.at",
    )
    .bind(effect)
    .bind(json("an effect's intent", intent)?)
    .bind(micros(now))
    .execute(tx)
    .await?;
    Ok(before)
}

/// Records what came of a try. What is done stays done, also when a try that was overtaken reports
/// its failure afterwards.
pub async fn end(tx: &mut Db, effect: &str, ended: &Ended, now: Timestamp) -> Stored<()> {
    let (state, outcome) = match ended {
        Ended::Done(outcome) => ("done", outcome),
        Ended::Failed(outcome) => ("failed", outcome),
    };
    sqlx::query(
        "insert into effects (key, state, attempts, intent, outcome, at) \
         values ($1, $2, 0, 'null', $3, $4) \
         on conflict (key) do update set state = excluded.state, outcome = excluded.outcome, \
         at = excluded.at where effects.state <> 'done' or excluded.state = 'done'",
    )
    .bind(effect)
    .bind(state)
    .bind(json("an effect's outcome", outcome)?)
    .bind(micros(now))
    .execute(tx)
    .await?;
    Ok(())
}

//! The inbox of deliveries.
//!
//! A delivery waits until it is done or dead. The id outlives both: GitHub sends a delivery again
//! under the id it had (on an operator's or our own request), and must find it known. What was
//! understood is not understood twice; what could not be is tried once more, since somebody who
//! presses "Redeliver" may have mended the reason.

use bytes::Bytes;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::rows::{corrupt, count, micros, small_count, time};
use crate::domain::model::DeliveryId;
use crate::store::{Accepted, DeadLetter, InboxCounts, NewDelivery, Stored, Waiting};

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Understood.
    Done,
    /// Set aside.
    Dead,
}

/// Inserts deliveries; the unique id decides of each whether it is new.
pub async fn accept(
    tx: &mut SqliteConnection,
    deliveries: &[NewDelivery],
) -> Stored<Vec<Accepted>> {
    let mut accepted = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        accepted.push(accept_one(tx, delivery).await?);
    }
    Ok(accepted)
}

async fn accept_one(tx: &mut SqliteConnection, delivery: &NewDelivery) -> Stored<Accepted> {
    let inserted = sqlx::query(
        "insert into deliveries (id, event, body, at) values ($1, $2, $3, $4) \
         on conflict (id) do nothing",
    )
    .bind(delivery.id.as_str())
    .bind(delivery.event.as_str())
    .bind(delivery.body.as_ref())
    .bind(micros(delivery.at))
    .execute(&mut *tx)
    .await?;
    if inserted.rows_affected() > 0 {
        return Ok(Accepted::Stored);
    }
    // It keeps its place in the order of arrival: what it says is as old as it was.
    sqlx::query(
        "update deliveries set state = 'waiting', note = '', event = $2, body = $3 \
         where id = $1 and state = 'dead'",
    )
    .bind(delivery.id.as_str())
    .bind(delivery.event.as_str())
    .bind(delivery.body.as_ref())
    .execute(tx)
    .await?;
    Ok(Accepted::Known)
}

/// The oldest deliveries that wait.
pub async fn waiting(db: &mut SqliteConnection, limit: u32) -> Stored<Vec<Waiting>> {
    let rows = sqlx::query(
        "select seq, id, event, body, at, attempts from deliveries \
         where state = 'waiting' order by seq limit $1",
    )
    .bind(limit)
    .fetch_all(db)
    .await?;
    rows.iter().map(waiting_row).collect()
}

fn waiting_row(row: &SqliteRow) -> Stored<Waiting> {
    Ok(Waiting {
        seq: row.try_get("seq")?,
        delivery: NewDelivery {
            id: delivery_id(row)?,
            event: row.try_get("event")?,
            body: Bytes::from(row.try_get::<Vec<u8>, _>("body")?),
            at: time(row.try_get("at")?)?,
        },
        attempts: small_count(row, "attempts")?,
    })
}

fn delivery_id(row: &SqliteRow) -> Stored<DeliveryId> {
    DeliveryId::parse(row.try_get("id")?).map_err(|error| corrupt("a delivery's id", error))
}

/// Closes a waiting delivery; `false` when it does not wait (any more), and then nothing may follow
/// from it. An understood delivery's bytes are let go: they are large, private, and of no more use.
pub async fn close(tx: &mut SqliteConnection, seq: i64, fate: Fate, note: &str) -> Stored<bool> {
    let close = match fate {
        Fate::Done => sqlx::query(
            "update deliveries set state = 'done', note = $2, body = x'', attempts = attempts + 1 \
             where seq = $1 and state = 'waiting'",
        ),
        Fate::Dead => sqlx::query(
            "update deliveries set state = 'dead', note = $2, attempts = attempts + 1 \
             where seq = $1 and state = 'waiting'",
        ),
    };
    let closed = close.bind(seq).bind(note).execute(tx).await?;
    Ok(closed.rows_affected() > 0)
}

/// Dead letters, newest first.
pub async fn dead_letters(db: &mut SqliteConnection, limit: u32) -> Stored<Vec<DeadLetter>> {
    let rows = sqlx::query(
        "select id, event, at, note from deliveries where state = 'dead' order by seq desc limit $1",
    )
    .bind(limit)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(DeadLetter {
                id: delivery_id(row)?,
                event: row.try_get("event")?,
                at: time(row.try_get("at")?)?,
                why: row.try_get("note")?,
            })
        })
        .collect()
}

/// Which of these have come. One look by the unique id each: a sweep asks for few.
pub async fn known(db: &mut SqliteConnection, ids: &[DeliveryId]) -> Stored<Vec<DeliveryId>> {
    let mut known = Vec::new();
    for id in ids {
        let row = sqlx::query("select 1 from deliveries where id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut *db)
            .await?;
        known.extend(row.map(|_| id.clone()));
    }
    Ok(known)
}

/// How many deliveries are in which state; costs the same however many there are.
pub async fn counts(db: &mut SqliteConnection) -> Stored<InboxCounts> {
    let rows = sqlx::query("select state, n from delivery_counts")
        .fetch_all(db)
        .await?;
    let mut counts = InboxCounts::default();
    for row in &rows {
        let n = count(row, "n")?;
        match row.try_get("state")? {
            "waiting" => counts.waiting = n,
            "done" => counts.done = n,
            "dead" => counts.dead = n,
            other => return Err(corrupt("a delivery's state", other)),
        }
    }
    Ok(counts)
}

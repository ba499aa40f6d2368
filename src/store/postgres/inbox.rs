//! The inbox of deliveries.
//!
//! A delivery waits until it is done or dead. The id outlives both: GitHub sends a delivery again
//! under the id it had (on an operator's or our own request), and must find it known. What was
//! understood is not understood twice; what could not be is tried once more, since somebody who
//! presses "Redeliver" may have mended the reason.
//!
//! The number of a delivery is drawn when it is inserted and seen when that is committed: of two servers, the
//! one with the smaller number may commit later. So a delivery may be understood after one that came a
//! moment later to another server. GitHub promises no order either, and what is remembered does not rest on
//! one; nothing is passed over, since what waits is found by its state and not by a place.

use std::collections::BTreeSet;

use bytes::Bytes;
use sqlx::Row;
use sqlx::postgres::{PgConnection, PgRow};

use super::rows::{corrupt, count, micros, small_count, text, time};
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

/// Inserts deliveries, all by one statement; the unique id decides of each whether it is new.
pub async fn accept(tx: &mut PgConnection, deliveries: &[NewDelivery]) -> Stored<Vec<Accepted>> {
    if deliveries.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<&str> = deliveries.iter().map(|one| one.id.as_str()).collect();
    let events: Vec<_> = deliveries.iter().map(|one| text(&one.event)).collect();
    let bodies: Vec<&[u8]> = deliveries.iter().map(|one| one.body.as_ref()).collect();
    let times: Vec<i64> = deliveries.iter().map(|one| micros(one.at)).collect();
    let rows = sqlx::query(
        "insert into deliveries (id, event, body, at) \
         select id, event, body, at from unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[]) \
         with ordinality as came (id, event, body, at, place) order by place \
         on conflict (id) do nothing returning id",
    )
    .bind(&ids)
    .bind(&events)
    .bind(&bodies)
    .bind(&times)
    .fetch_all(&mut *tx)
    .await?;
    let mut stored = BTreeSet::new();
    for row in &rows {
        stored.insert(row.try_get::<String, _>("id")?);
    }
    let mut accepted = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        // Taken out: of two with one id in one group, the first is the one that was stored.
        if stored.remove(delivery.id.as_str()) {
            accepted.push(Accepted::Stored);
        } else {
            revive(tx, delivery).await?;
            accepted.push(Accepted::Known);
        }
    }
    Ok(accepted)
}

/// Has a dead letter wait again. It keeps its place in the order of arrival: what it says is as old as it
/// was.
async fn revive(tx: &mut PgConnection, delivery: &NewDelivery) -> Stored<()> {
    sqlx::query(
        "update deliveries set state = 'waiting', note = '', event = $2, body = $3 \
         where id = $1 and state = 'dead'",
    )
    .bind(delivery.id.as_str())
    .bind(text(&delivery.event))
    .bind(delivery.body.as_ref())
    .execute(tx)
    .await?;
    Ok(())
}

/// The oldest deliveries that wait.
pub async fn waiting(db: &mut PgConnection, limit: u32) -> Stored<Vec<Waiting>> {
    let rows = sqlx::query(
        "select seq, id, event, body, at, attempts from deliveries \
         where state = 'waiting' order by seq limit $1",
    )
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    rows.iter().map(waiting_row).collect()
}

fn waiting_row(row: &PgRow) -> Stored<Waiting> {
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

fn delivery_id(row: &PgRow) -> Stored<DeliveryId> {
    DeliveryId::parse(row.try_get("id")?).map_err(|error| corrupt("a delivery's id", error))
}

/// Closes a waiting delivery; `false` when it does not wait (any more), and then nothing may follow
/// from it. An understood delivery's bytes are let go: they are large, private, and of no more use.
pub async fn close(tx: &mut PgConnection, seq: i64, fate: Fate, note: &str) -> Stored<bool> {
    let close = match fate {
        Fate::Done => sqlx::query(
            "update deliveries set state = 'done', note = $2, body = '', attempts = attempts + 1 \
             where seq = $1 and state = 'waiting'",
        ),
        Fate::Dead => sqlx::query(
            "update deliveries set state = 'dead', note = $2, attempts = attempts + 1 \
             where seq = $1 and state = 'waiting'",
        ),
    };
    let closed = close.bind(seq).bind(text(note)).execute(tx).await?;
    Ok(closed.rows_affected() > 0)
}

/// Dead letters, newest first.
pub async fn dead_letters(db: &mut PgConnection, limit: u32) -> Stored<Vec<DeadLetter>> {
    let rows = sqlx::query(
        "select id, event, at, note from deliveries where state = 'dead' order by seq desc limit $1",
    )
    .bind(i64::from(limit))
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

/// Which of these have come.
pub async fn known(db: &mut PgConnection, ids: &[DeliveryId]) -> Stored<Vec<DeliveryId>> {
    let asked: Vec<&str> = ids.iter().map(DeliveryId::as_str).collect();
    let rows = sqlx::query("select id from deliveries where id = any($1)")
        .bind(&asked)
        .fetch_all(db)
        .await?;
    let mut known = BTreeSet::new();
    for row in &rows {
        known.insert(row.try_get::<String, _>("id")?);
    }
    let came = ids.iter().filter(|id| known.contains(id.as_str()));
    Ok(came.cloned().collect())
}

/// How many deliveries are in which state; costs the same however many there are.
pub async fn counts(db: &mut PgConnection) -> Stored<InboxCounts> {
    let rows = sqlx::query("select state, sum(n)::bigint as n from delivery_counts group by state")
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

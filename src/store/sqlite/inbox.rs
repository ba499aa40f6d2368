//! The inbox of deliveries.

use bytes::Bytes;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::rows::{corrupt, micros, time};
use crate::domain::model::DeliveryId;
use crate::store::{Accepted, DeadLetter, InboxCounts, NewDelivery, Stored, Waiting};

/// Inserts deliveries; the unique id decides whether each is new. A dead letter that comes again is
/// given another chance, since what killed it may have been mended.
pub async fn accept(
    tx: &mut SqliteConnection,
    deliveries: &[NewDelivery],
) -> Stored<Vec<Accepted>> {
    let mut accepted = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let written = sqlx::query(
            "insert into deliveries (id, event, body, at) values ($1, $2, $3, $4) \
             on conflict (id) do update set state = 'waiting', note = '' \
             where deliveries.state = 'dead' returning attempts",
        )
        .bind(delivery.id.as_str())
        .bind(&delivery.event)
        .bind(delivery.body.as_ref())
        .bind(micros(delivery.at))
        .fetch_optional(&mut *tx)
        .await?;
        accepted.push(match written {
            Some(row) if row.try_get::<i64, _>(0)? == 0 => Accepted::Stored,
            Some(_) | None => Accepted::Known,
        });
    }
    Ok(accepted)
}

/// The oldest deliveries that wait.
pub async fn waiting(pool: &SqlitePool, limit: u32) -> Stored<Vec<Waiting>> {
    let rows = sqlx::query(
        "select seq, id, event, body, at, attempts from deliveries \
         where state = 'waiting' order by seq limit $1",
    )
    .bind(limit)
    .fetch_all(pool)
    .await?;
    rows.iter().map(waiting_row).collect()
}

fn waiting_row(row: &SqliteRow) -> Stored<Waiting> {
    let attempts: i64 = row.try_get("attempts")?;
    Ok(Waiting {
        seq: row.try_get("seq")?,
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
        delivery: NewDelivery {
            id: delivery_id(row.try_get("id")?)?,
            event: row.try_get("event")?,
            body: Bytes::from(row.try_get::<Vec<u8>, _>("body")?),
            at: time(row.try_get("at")?)?,
        },
    })
}

fn delivery_id(text: &str) -> Stored<DeliveryId> {
    DeliveryId::parse(text).map_err(|error| corrupt("a delivery id", error))
}

/// Marks a delivery as done or dead.
pub async fn close(tx: &mut SqliteConnection, seq: i64, state: &str, note: &str) -> Stored<()> {
    sqlx::query(
        "update deliveries set state = $1, note = $2, attempts = attempts + 1 where seq = $3",
    )
    .bind(state)
    .bind(note)
    .bind(seq)
    .execute(tx)
    .await?;
    Ok(())
}

/// Dead letters, newest first.
pub async fn dead_letters(pool: &SqlitePool, limit: u32) -> Stored<Vec<DeadLetter>> {
    let rows = sqlx::query(
        "select id, event, at, note from deliveries where state = 'dead' order by seq desc limit $1",
    )
    .bind(limit)
    .fetch_all(pool)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(DeadLetter {
                id: delivery_id(row.try_get("id")?)?,
                event: row.try_get("event")?,
                at: time(row.try_get("at")?)?,
                why: row.try_get("note")?,
            })
        })
        .collect()
}

/// How many deliveries are in which state. Waiting and dead ones are counted by their own indexes;
/// done ones are what is left of the newest sequence, which costs nothing however many there are.
pub async fn counts(pool: &SqlitePool) -> Stored<InboxCounts> {
    let row = sqlx::query(
        "select (select count(*) from deliveries where state = 'waiting') as waiting, \
         (select count(*) from deliveries where state = 'dead') as dead, \
         (select coalesce(max(seq), 0) from deliveries) as every",
    )
    .fetch_one(pool)
    .await?;
    let count = |name: &str| -> Stored<u64> {
        let count: i64 = row.try_get(name)?;
        Ok(u64::try_from(count).unwrap_or(0))
    };
    let (waiting, dead) = (count("waiting")?, count("dead")?);
    Ok(InboxCounts {
        waiting,
        dead,
        done: count("every")?.saturating_sub(waiting + dead),
    })
}

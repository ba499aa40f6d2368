//! What one transaction does at a time, whatever the number of servers.
//!
//! Advisory locks: they cost no row and no dead tuple, and the database lets go of them when the
//! transaction ends, however it ends. They are named after the schema's own ledger, so that two schemas
//! in one database do not wait for each other.
//!
//! A transaction takes rows and hands in one order, and so nobody waits in a circle: [`Hand::Absorb`] or
//! [`Hand::Evidence`], then documents, then rows of the work table by their keys, then [`Hand::Ledger`].

use sqlx::postgres::PgConnection;

use crate::store::Stored;

/// What only one transaction does at a time.
#[derive(Debug, Clone, Copy)]
pub enum Hand {
    /// Adds to the ledger.
    Ledger = 1,
    /// Applies what followed from deliveries: in the order of arrival.
    Absorb = 2,
    /// Takes posted evidence in.
    Evidence = 3,
}

/// Waits until no other transaction has the hand, and keeps it until this one ends.
pub async fn take_hand(tx: &mut PgConnection, hand: Hand) -> Stored<()> {
    sqlx::query("select pg_advisory_xact_lock(('ledger'::regclass::oid::bigint << 8) | $1)")
        .bind(hand as i64)
        .execute(tx)
        .await?;
    Ok(())
}

//! The ledger's table. Entries are added by whoever has [`Hand::Ledger`], until its transaction ends, so
//! the chain has one hand however many servers write; the table itself refuses changes and deletions.
//!
//! The hand is taken last in every transaction: whoever has it waits for nobody but the disk.

use sqlx::postgres::PgConnection;

use super::chain;
pub use super::chain::{follow, of, page};
use super::hands::{Hand, take_hand};
use crate::domain::ledger::Draft;
use crate::store::Stored;

/// Gives drafts their places at the end of the chain.
pub async fn append(tx: &mut PgConnection, drafts: impl IntoIterator<Item = Draft>) -> Stored<()> {
    let mut drafts = drafts.into_iter().peekable();
    if drafts.peek().is_none() {
        return Ok(());
    }
    // Taken before the look, which is a statement of its own: it sees what the hand before committed.
    take_hand(tx, Hand::Ledger).await?;
    chain::append(tx, drafts).await
}

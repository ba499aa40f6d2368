//! What follows from a delivery: changed memory and woken keys, together with marking it understood.
//!
//! A document is loaded once, however many changes touch it, and written once, if they changed it.
//! Keys are found through indexes, and woken once, however many wakes lead to them: a delivery costs
//! what it says, not what is open.

use std::collections::BTreeMap;

use sqlx::sqlite::SqliteConnection;

use super::concerned::{Touched, keys};
use super::inbox::{self, Fate};
use super::work;
use crate::domain::memory::{Confirm, Wake};
use crate::domain::model::{Key, Timestamp};
use crate::store::{Absorbed, Stored};

/// Applies what followed from a delivery and marks it. Nothing follows from one that does not wait:
/// who understood it before has applied it.
pub async fn absorb(
    tx: &mut SqliteConnection,
    seq: i64,
    absorbed: Absorbed,
    now: Timestamp,
) -> Stored<()> {
    match absorbed {
        Absorbed::Done {
            changes,
            wakes,
            note,
        } => {
            if !inbox::close(tx, seq, Fate::Done, &note).await? {
                return Ok(());
            }
            let mut touched = Touched::default();
            for change in &changes {
                touched.apply(tx, change).await?;
            }
            // No version can have moved: this transaction has the write lock.
            touched.save(tx).await?;
            wake(tx, &wakes, now).await
        }
        Absorbed::Dead { why } => {
            inbox::close(tx, seq, Fate::Dead, &why).await?;
            Ok(())
        }
    }
}

/// Wakes keys by what they are about, from now on.
pub async fn wake(
    tx: &mut SqliteConnection,
    wakes: &[(Wake, Confirm)],
    now: Timestamp,
) -> Stored<()> {
    let mut woken: BTreeMap<Key, Confirm> = BTreeMap::new();
    for (wake, confirm) in wakes {
        for key in keys(tx, wake).await? {
            let strongest = woken.entry(key).or_insert(*confirm);
            *strongest = (*strongest).max(*confirm);
        }
    }
    for (key, confirm) in woken {
        work::wake(tx, &key, confirm, now).await?;
    }
    Ok(())
}

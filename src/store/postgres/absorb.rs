//! What follows from a delivery: changed memory and woken keys, together with marking it understood.
//!
//! A document is loaded once, however many changes touch it, and written once, if they changed it.
//! Keys are found through indexes, and woken once, however many wakes lead to them: a delivery costs
//! what it says, not what is open.
//!
//! Servers absorb one after the other ([`Hand::Absorb`]), so that what came first is remembered first. A pass
//! may write a document meanwhile: then the version has moved, and the whole is to be done again
//! ([`Halt::Met`]).

use sqlx::postgres::PgConnection;

use super::concerned::{Touched, keys};
use super::hands::{Hand, take_hand};
use super::inbox::{self, Fate};
use super::retry::Halt;
use super::work::{self, Woken};
use crate::domain::memory::{Confirm, Wake};
use crate::domain::model::Timestamp;
use crate::store::{Absorbed, Stored};

/// Applies what followed from deliveries and marks them. Nothing follows from one that does not wait: who
/// understood it before has applied it.
pub async fn absorb_all(
    tx: &mut PgConnection,
    absorbed: &[(i64, Absorbed)],
    now: Timestamp,
) -> Result<(), Halt> {
    take_hand(tx, Hand::Absorb).await?;
    let mut woken = Woken::new();
    for (seq, absorbed) in absorbed {
        match absorbed {
            Absorbed::Done {
                changes,
                wakes,
                note,
            } => {
                if !inbox::close(tx, *seq, Fate::Done, note).await? {
                    continue;
                }
                let mut touched = Touched::default();
                for change in changes {
                    touched.apply(tx, change).await?;
                }
                if !touched.save(tx).await? {
                    return Err(Halt::Met);
                }
                find(tx, wakes, &mut woken).await?;
            }
            Absorbed::Dead { why } => {
                inbox::close(tx, *seq, Fate::Dead, why).await?;
            }
        }
    }
    work::wake(tx, &woken, now).await?;
    Ok(())
}

/// Wakes keys by what they are about, from now on.
pub async fn wake(tx: &mut PgConnection, wakes: &[(Wake, Confirm)], now: Timestamp) -> Stored<()> {
    let mut woken = Woken::new();
    find(tx, wakes, &mut woken).await?;
    work::wake(tx, &woken, now).await
}

/// Finds the keys that are to be woken.
async fn find(tx: &mut PgConnection, wakes: &[(Wake, Confirm)], woken: &mut Woken) -> Stored<()> {
    for (wake, confirm) in wakes {
        for key in keys(tx, wake).await? {
            work::add(woken, key, *confirm);
        }
    }
    Ok(())
}

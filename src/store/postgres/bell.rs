//! The bell between servers: who wakes keys rings, and every server on the database looks for work.
//!
//! A bell is a hint. One that nobody heard (a server that was connecting again, say) costs the few seconds
//! after which workers look unasked; no wake rests on it. It is rung only by transactions whose commit does
//! not wait for the disk: a notification has commits of its database wait for each other, and deliveries and
//! intents, which are waited for, must not stand in that line.

use sqlx::postgres::{PgConnection, PgListener, PgPool};
use tokio::sync::Mutex;

use crate::store::Stored;

/// One name for every schema: who shares a database shares its bell, and looks in vain now and then.
const CHANNEL: &str = "countersign_work";

/// Rings when the transaction is committed; once, however often it is asked to.
pub async fn ring(tx: &mut PgConnection) -> Stored<()> {
    sqlx::query("select pg_notify($1, '')")
        .bind(CHANNEL)
        .execute(tx)
        .await?;
    Ok(())
}

/// An ear for the bell.
#[derive(Debug, Default)]
pub struct Ear(Mutex<Option<PgListener>>);

impl Ear {
    /// Ends when the bell was rung, or may have been while nobody listened.
    ///
    /// # Errors
    /// The database's, when there is no connection to listen on.
    pub async fn heard(&self, pool: &PgPool) -> Stored<()> {
        let mut ear = self.0.lock().await;
        let listener = match ear.as_mut() {
            Some(listener) => listener,
            None => {
                let mut listener = PgListener::connect_with(pool).await?;
                listener.listen(CHANNEL).await?;
                *ear = Some(listener);
                // It may have been rung before.
                return Ok(());
            }
        };
        match listener.try_recv().await {
            // Nothing is what it says after it lost its connection, and made another.
            Ok(Some(_) | None) => {}
            Err(error) => {
                *ear = None;
                return Err(error.into());
            }
        }
        // A burst is one ring.
        while listener.next_buffered().is_some() {}
        Ok(())
    }
}

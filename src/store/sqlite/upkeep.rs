//! How much is kept.

use sqlx::sqlite::SqliteConnection;

use super::rows::count;
use crate::store::{Figures, Stored};

/// How much is kept. The table of work holds what is to be done and no history: counting it is cheap.
pub async fn figures(db: &mut SqliteConnection) -> Stored<Figures> {
    let work = sqlx::query(
        "select count(*) filter (where lease_until is null) as waiting, \
         count(*) filter (where lease_until is not null) as leased from work",
    )
    .fetch_one(&mut *db)
    .await?;
    let pages = sqlx::query(
        "select page_count * page_size as bytes, freelist_count * page_size as free \
         from pragma_page_count, pragma_page_size, pragma_freelist_count",
    )
    .fetch_one(db)
    .await?;
    Ok(Figures {
        waiting: count(&work, "waiting")?,
        leased: count(&work, "leased")?,
        bytes: count(&pages, "bytes")?,
        free_bytes: count(&pages, "free")?,
    })
}

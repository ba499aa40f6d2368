//! The ledger's table. Whoever appends is alone: on SQLite by the write lock, on PostgreSQL by a hand that is
//! taken before. The table itself refuses changes and deletions.

use sqlx::Row;

use super::rows::{count, document, integer, json};
use super::{Db, DbRow};
use crate::domain::ledger::{Draft, Entry, seal};
use crate::domain::model::{PullNumber, RepoId};
use crate::store::Stored;

/// Gives drafts their places at the end of the chain.
pub async fn append(tx: &mut Db, drafts: impl IntoIterator<Item = Draft>) -> Stored<()> {
    let mut drafts = drafts.into_iter().peekable();
    if drafts.peek().is_none() {
        return Ok(());
    }
    let mut last = last(tx).await?;
    for draft in drafts {
        let before = last.as_ref().map(|(seq, hash)| (*seq, hash.as_str()));
        let entry = seal(draft, before);
        sqlx::query(
            "insert into ledger (seq, repo, number, entry, hash) values ($1, $2, $3, $4, $5)",
        )
        .bind(integer(entry.seq)?)
        .bind(integer(entry.repo.get())?)
        .bind(
            entry
                .number
                .map(|number| integer(number.get()))
                .transpose()?,
        )
        .bind(json("a ledger entry", &entry)?)
        .bind(entry.hash.as_str())
        .execute(&mut *tx)
        .await?;
        last = Some((entry.seq, entry.hash));
    }
    Ok(())
}

async fn last(tx: &mut Db) -> Stored<Option<(u64, String)>> {
    let row = sqlx::query("select seq, hash from ledger order by seq desc limit 1")
        .fetch_optional(tx)
        .await?;
    row.map(|row| Ok((count(&row, "seq")?, row.try_get("hash")?)))
        .transpose()
}

/// Entries after a place, in order, of one repository or of all.
pub async fn page(db: &mut Db, repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>> {
    let query = match repo {
        None => sqlx::query("select entry from ledger where seq > $1 order by seq limit $2")
            .bind(integer(after)?)
            .bind(i64::from(limit)),
        Some(repo) => sqlx::query(
            "select entry from ledger where repo = $3 and seq > $1 order by seq limit $2",
        )
        .bind(integer(after)?)
        .bind(i64::from(limit))
        .bind(integer(repo.get())?),
    };
    entries(&query.fetch_all(db).await?)
}

/// Entries of one pull request, in order.
pub async fn of(db: &mut Db, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
    let rows = sqlx::query("select entry from ledger where repo = $1 and number = $2 order by seq")
        .bind(integer(repo.get())?)
        .bind(integer(number.get())?)
        .fetch_all(db)
        .await?;
    entries(&rows)
}

fn entries(rows: &[DbRow]) -> Stored<Vec<Entry>> {
    rows.iter()
        .map(|row| document("a ledger entry", row.try_get("entry")?))
        .collect()
}

//! The ledger's table. Whoever appends is alone: on SQLite by the write lock, on PostgreSQL by a hand that is
//! taken before. The table itself refuses changes and deletions, and keeps in `ledger_head` where it ends.

use sqlx::Row;

use super::rows::{corrupt, count, document, integer, json};
use super::{Db, DbRow};
use crate::domain::ledger::{Broken, Draft, End, Entry, Kept, Verifier, seal};
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

/// Asks for entries, with all that is kept of each ([`kept`]).
macro_rules! entries {
    ($which:literal) => {
        concat!("select seq, repo, number, hash, entry from ledger ", $which)
    };
}

/// How many entries are followed at a time.
const PAGE: i64 = 500;

/// The last entry that was written, also where it is not there any more: what follows it must not close the gap.
async fn last(tx: &mut Db) -> Stored<Option<(u64, String)>> {
    let row = sqlx::query(
        "select seq, hash from ( \
             select seq, hash, 1 as sure from ledger_head where seq > 0 \
             union all select seq, hash, 0 as sure from ledger \
             where seq = (select max(seq) from ledger) \
         ) as ends order by seq desc, sure desc limit 1",
    )
    .fetch_optional(tx)
    .await?;
    row.map(|row| Ok((count(&row, "seq")?, row.try_get("hash")?)))
        .transpose()
}

/// Follows the chain from its first entry to the end that is kept beside it.
pub async fn follow(db: &mut Db, mut verifier: Verifier) -> Stored<Result<Verifier, Broken>> {
    let kept = end(db).await?;
    if let Some(end) = kept.clone() {
        verifier.expect(end);
    }
    if let Err(broken) = follow_entries(db, &mut verifier).await? {
        return Ok(Err(broken));
    }
    let sound = verifier.finish().and_then(|()| {
        let broken = |why: &str| Broken {
            seq: verifier.followed() + 1,
            why: why.to_owned(),
        };
        kept.ok_or_else(|| broken("the row of `ledger_head` that tells where it ends is gone"))
    });
    if let Err(broken) = sound {
        return Ok(Err(broken));
    }
    // Others may have added to it meanwhile, and the end went on with them: not behind what was followed.
    let now = end(db).await?.map_or(0, |end| end.seq);
    let seq = verifier.followed();
    if now < seq {
        let why = format!("the last one that was written is entry {now}");
        return Ok(Err(Broken { seq, why }));
    }
    if seq == 0 && judged(db).await? {
        let why = "there is none, although pull requests were judged".to_owned();
        return Ok(Err(Broken { seq: 1, why }));
    }
    Ok(Ok(verifier))
}

/// Follows the chain, wherever it ends.
pub async fn follow_entries(db: &mut Db, verifier: &mut Verifier) -> Stored<Result<(), Broken>> {
    let mut after = i64::MIN;
    loop {
        let rows = sqlx::query(entries!("where seq > $1 order by seq limit $2"))
            .bind(after)
            .bind(PAGE)
            .fetch_all(&mut *db)
            .await?;
        if rows.is_empty() {
            return Ok(Ok(()));
        }
        for row in &rows {
            let kept = kept(row)?;
            after = kept.seq;
            if let Err(broken) = verifier.take_kept(&kept) {
                return Ok(Err(broken));
            }
        }
    }
}

async fn end(db: &mut Db) -> Stored<Option<End>> {
    let row = sqlx::query("select seq, hash from ledger_head where id = 1")
        .fetch_optional(db)
        .await?;
    let end = |row: DbRow| {
        Ok(End {
            seq: count(&row, "seq")?,
            hash: row.try_get("hash")?,
        })
    };
    row.map(end).transpose()
}

/// Whether there is a verdict: none is kept without an entry.
async fn judged(db: &mut Db) -> Stored<bool> {
    let found = sqlx::query(r#"select 1 from records where document like '%"verdict":{%' limit 1"#)
        .fetch_optional(db)
        .await?;
    Ok(found.is_some())
}

/// A column of another kind than it should be is not there: whoever looks at it says so.
fn kept(row: &DbRow) -> Stored<Kept> {
    Ok(Kept {
        seq: row.try_get("seq")?,
        repo: row.try_get("repo").ok(),
        number: row.try_get("number").ok(),
        hash: row.try_get("hash").ok(),
        entry: row.try_get("entry").ok(),
    })
}

/// Entries after a place, in order, of one repository or of all.
pub async fn page(db: &mut Db, repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>> {
    let query = match repo {
        None => sqlx::query(entries!("where seq > $1 order by seq limit $2"))
            .bind(integer(after)?)
            .bind(i64::from(limit)),
        Some(repo) => sqlx::query(entries!(
            "where repo = $3 and seq > $1 order by seq limit $2"
        ))
        .bind(integer(after)?)
        .bind(i64::from(limit))
        .bind(integer(repo.get())?),
    };
    entries(&query.fetch_all(db).await?)
}

/// Entries of one pull request, in order.
pub async fn of(db: &mut Db, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
    let rows = sqlx::query(entries!("where repo = $1 and number = $2 order by seq"))
        .bind(integer(repo.get())?)
        .bind(integer(number.get())?)
        .fetch_all(db)
        .await?;
    entries(&rows)
}

/// Entries are found by columns, and believed only where those say what the entry says.
fn entries(rows: &[DbRow]) -> Stored<Vec<Entry>> {
    let entry = |row: &DbRow| {
        let entry = document("a ledger entry", row.try_get("entry")?)?;
        kept(row)?
            .agrees(&entry)
            .map_err(|why| corrupt("a ledger entry", why))?;
        Ok(entry)
    };
    rows.iter().map(entry).collect()
}

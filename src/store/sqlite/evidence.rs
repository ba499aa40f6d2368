//! Evidence that was posted.
//!
//! One document for each verifier, head and context: the unique index decides who was first. What was
//! proven of the carrier is kept beside it, and judged anew whenever the document is read.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::rows::{CARRIER, corrupt, count, document, integer, json, micros, time, verifier};
use crate::domain::evidence::Posted;
use crate::domain::model::{HeadSha, PostedId, RepoId};
use crate::store::{EVIDENCE_PER_HEAD, NewEvidence, Placed, Stored};

/// Keeps a document, unless there is one already.
pub async fn place(tx: &mut SqliteConnection, new: &NewEvidence) -> Stored<Placed> {
    let repo = integer(new.repo.get())?;
    let verifier = verifier(&new.carrier)?;
    let known = sqlx::query(
        "select document from evidence \
         where repo = $1 and head = $2 and verifier = $3 and context = $4",
    )
    .bind(repo)
    .bind(new.head.as_str())
    .bind(verifier.as_str())
    .bind(new.context.as_str())
    .fetch_optional(&mut *tx)
    .await?;
    if let Some(row) = known {
        let same = row.try_get::<String, _>("document")? == new.document;
        return Ok(if same { Placed::Known } else { Placed::Another });
    }
    let row = sqlx::query(
        "select count(*) as n from evidence where repo = $1 and head = $2 and verifier = $3",
    )
    .bind(repo)
    .bind(new.head.as_str())
    .bind(verifier.as_str())
    .fetch_one(&mut *tx)
    .await?;
    if count(&row, "n")? >= EVIDENCE_PER_HEAD {
        return Ok(Placed::Full);
    }
    sqlx::query(
        "insert into evidence (repo, head, verifier, context, carrier, document, at, url) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
    )
    .bind(repo)
    .bind(new.head.as_str())
    .bind(verifier)
    .bind(new.context.as_str())
    .bind(json(CARRIER, &new.carrier)?)
    .bind(new.document.as_str())
    .bind(micros(new.at))
    .bind(new.url.as_deref())
    .execute(tx)
    .await?;
    Ok(Placed::Stored)
}

/// Every document about a head, oldest first.
pub async fn about(db: &mut SqliteConnection, repo: RepoId, head: &HeadSha) -> Stored<Vec<Posted>> {
    let rows = sqlx::query(
        "select id, carrier, document, at, url from evidence \
         where repo = $1 and head = $2 order by id",
    )
    .bind(integer(repo.get())?)
    .bind(head.as_str())
    .fetch_all(db)
    .await?;
    rows.iter().map(posted).collect()
}

fn posted(row: &SqliteRow) -> Stored<Posted> {
    let id = count(row, "id")?;
    Ok(Posted {
        id: PostedId::new(id).ok_or_else(|| corrupt("the id of posted evidence", id))?,
        carrier: document(CARRIER, row.try_get("carrier")?)?,
        document: row.try_get("document")?,
        at: time(row.try_get("at")?)?,
        url: row.try_get("url")?,
    })
}

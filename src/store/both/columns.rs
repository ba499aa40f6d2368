//! Rows as values.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;

use super::DbRow;
use crate::domain::model::{PullNumber, RepoId};
use crate::store::Stored;
pub use crate::store::values::*;

/// A count from its column; a negative one was not written here.
pub fn count(row: &DbRow, column: &str) -> Stored<u64> {
    let count: i64 = row.try_get(column)?;
    u64::try_from(count).map_err(|_| corrupt(column, count))
}

/// A small count from its column.
pub fn small_count(row: &DbRow, column: &str) -> Stored<u32> {
    Ok(u32::try_from(count(row, column)?).unwrap_or(u32::MAX))
}

/// A repository's id from its column.
pub fn repo_id(row: &DbRow, column: &str) -> Stored<RepoId> {
    let id = count(row, column)?;
    RepoId::new(id).ok_or_else(|| corrupt("a repository's id", id))
}

/// A pull request's number from the column `number`.
pub fn pull_number(row: &DbRow) -> Stored<PullNumber> {
    let number = count(row, "number")?;
    PullNumber::new(number).ok_or_else(|| corrupt("a pull request's number", number))
}

/// A document from the columns `version` and `document` of a row, or the default where there is none.
pub fn read<T: Default + Serialize + DeserializeOwned>(
    what: &'static str,
    row: Option<DbRow>,
) -> Stored<Loaded<T>> {
    let kept = row
        .map(|row| Ok::<_, sqlx::Error>((row.try_get("version")?, row.try_get("document")?)))
        .transpose()?;
    Loaded::read(what, kept)
}

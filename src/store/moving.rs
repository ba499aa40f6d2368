//! Moving everything from SQLite to PostgreSQL.
//!
//! # Properties
//!
//! - **All or nothing.** One transaction on the target; one that fails leaves it as empty as it was.
//! - **Into nothing.** A target that holds anything is refused: two histories do not mix, and the ledger is one
//!   chain.
//! - **Nobody writes meanwhile.** The source is locked for writing until the end, and so is the target; a
//!   server that still runs on the source is answered "busy", and its deliveries are refused with a 503, which
//!   GitHub records as failed: they can be asked for again.
//! - **Proven before it counts.** Every table's rows are counted on both sides, and the ledger's chain is
//!   followed on both, before the transaction is committed.
//!
//! Leases and their numbers move too: who held one of them on the source is overtaken as anybody is, and no
//! number is given twice. The source is left as it was.
//!
//! # Left out
//!
//! The way back. Texts with the character NUL, which PostgreSQL cannot keep: it becomes U+FFFD, as in everything
//! that is stored there.

use futures::TryStreamExt;
use futures::stream::TryChunksError;
use sqlx::postgres::{PgConnection, Postgres as Pg};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection, QueryBuilder, Row};

use super::postgres::{self, Postgres, address, rows::text};
use super::sqlite::{self, Sqlite, file};
use super::{StoreError, Stored};
use crate::domain::ledger::{Broken, Verifier};

/// How many rows are written at a time. A row may be a megabyte; one at a time would have the triggers count
/// each delivery by itself.
const SOME: usize = 50;

/// How a column is kept on the two sides.
#[derive(Clone, Copy)]
enum Kind {
    /// Integers on both.
    Int,
    /// 0 or 1, and a truth value.
    Flag,
    /// Texts on both.
    Text,
    /// Bytes on both; SQLite may call them a text.
    Bytes,
}
use Kind::{Bytes, Flag, Int, Text};

/// A table: its name, the columns that order it, all its columns.
type Table = (&'static str, &'static str, &'static [(&'static str, Kind)]);

/// Every table that holds something of its own. Counts and numbers of leases follow from these.
const TABLES: [Table; 13] = [
    (
        "deliveries",
        "seq",
        &[
            ("seq", Int),
            ("id", Text),
            ("event", Text),
            ("body", Bytes),
            ("at", Int),
            ("state", Text),
            ("attempts", Int),
            ("note", Text),
        ],
    ),
    (
        "work",
        "key",
        &[
            ("key", Text),
            ("due", Int),
            ("confirm", Int),
            ("lease_until", Int),
            ("lease_confirm", Int),
            ("fence", Int),
            ("attempt", Int),
        ],
    ),
    (
        "repos",
        "id",
        &[
            ("id", Int),
            ("version", Int),
            ("named", Text),
            ("name", Text),
            ("installation", Int),
            ("active", Flag),
            ("document", Text),
        ],
    ),
    (
        "pulls",
        "repo, number",
        &[
            ("repo", Int),
            ("number", Int),
            ("version", Int),
            ("head", Text),
            ("base", Text),
            ("open", Flag),
            ("created", Int),
            ("pull", Text),
            ("document", Text),
        ],
    ),
    (
        "heads",
        "repo, head",
        &[
            ("repo", Int),
            ("head", Text),
            ("version", Int),
            ("no_pulls_at", Int),
            ("document", Text),
        ],
    ),
    (
        "records",
        "repo, number",
        &[("repo", Int), ("number", Int), ("document", Text)],
    ),
    (
        "freezes",
        "repo, base",
        &[("repo", Int), ("base", Text), ("document", Text)],
    ),
    (
        "effects",
        "key",
        &[
            ("key", Text),
            ("state", Text),
            ("attempts", Int),
            ("intent", Text),
            ("outcome", Text),
            ("at", Int),
        ],
    ),
    (
        "ledger",
        "seq",
        &[
            ("seq", Int),
            ("repo", Int),
            ("number", Int),
            ("entry", Text),
            ("hash", Text),
        ],
    ),
    (
        "issues",
        "repo",
        &[("repo", Int), ("version", Int), ("document", Text)],
    ),
    ("dispatches", "repo", &[("repo", Int), ("document", Text)]),
    (
        "evidence",
        "id",
        &[
            ("id", Int),
            ("repo", Int),
            ("head", Text),
            ("verifier", Text),
            ("context", Bytes),
            ("carrier", Text),
            ("document", Bytes),
            ("at", Int),
            ("url", Text),
        ],
    ),
    (
        "notes",
        "name",
        &[("name", Text), ("version", Int), ("document", Text)],
    ),
];

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Every table with the number of its rows.
    pub tables: Vec<(&'static str, u64)>,
    /// How many entries of the ledger were followed in the target.
    pub chain: u64,
}

/// Why nothing was moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// A database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target is in use.
    #[error("the target holds rows in its table `{0}` already: move into an empty database")]
    NotEmpty(&'static str),
    /// The two sides differ.
    #[error("of {table}, {read} rows were read and {written} are in the target: nothing was moved")]
    Miscounted {
        /// The table.
        table: &'static str,
        /// How many rows the source has.
        read: u64,
        /// How many rows the target has.
        written: u64,
    },
    /// The ledger does not hold.
    #[error("the ledger's chain does not hold, so nothing was moved: {0}")]
    Broken(String),
}

impl From<sqlx::Error> for MoveError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Moves everything from the SQLite database at `from` to the PostgreSQL database at `to`.
///
/// # Errors
/// [`MoveError`]; then the target is as it was, but for empty tables.
pub async fn everything(from: &str, to: &str) -> Result<Moved, MoveError> {
    // Each brings its own schema up to date.
    Sqlite::open(from).await?.close().await;
    Postgres::open(to).await?.close().await;
    let mut source = SqliteConnection::connect_with(&file::address(from)?.options).await?;
    let mut target = PgConnection::connect_with(&address::options(to)?).await?;
    let mut reading = source.begin_with("begin immediate").await?;
    let mut writing = target.begin().await?;
    refuse_what_is_not_empty(&mut writing).await?;
    // Before it is copied: the target's own end is that of what comes.
    let broken = |broken: Broken| MoveError::Broken(broken.to_string());
    let chain = sqlite::ledger::follow(&mut reading, Verifier::default());
    chain.await?.map_err(broken)?;
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        tables.push((table.0, copy(&mut reading, &mut writing, table).await?));
    }
    for (name, read) in &tables {
        let written = count(&mut writing, name).await?;
        if written != *read {
            let (table, read) = (*name, *read);
            return Err(MoveError::Miscounted {
                table,
                read,
                written,
            });
        }
    }
    go_on_numbering(&mut reading, &mut writing).await?;
    let chain = postgres::ledger::follow(&mut writing, Verifier::default());
    let chain = chain.await?.map_err(broken)?.followed();
    writing.commit().await?;
    reading.rollback().await?;
    Ok(Moved { tables, chain })
}

async fn refuse_what_is_not_empty(writing: &mut PgConnection) -> Result<(), MoveError> {
    for (table, ..) in TABLES {
        let lock = format!("lock table {table} in exclusive mode");
        sqlx::query(AssertSqlSafe(lock))
            .execute(&mut *writing)
            .await?;
        if count(writing, table).await? > 0 {
            return Err(MoveError::NotEmpty(table));
        }
    }
    Ok(())
}

async fn count(writing: &mut PgConnection, table: &str) -> Stored<u64> {
    let row = sqlx::query(AssertSqlSafe(format!("select count(*) as n from {table}")))
        .fetch_one(writing)
        .await?;
    super::postgres::rows::count(&row, "n")
}

/// Copies a table, some rows at a time; tells how many the source has.
async fn copy(
    reading: &mut SqliteConnection,
    writing: &mut PgConnection,
    (table, order, columns): &Table,
) -> Stored<u64> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    let select = format!("select {names} from {table} order by {order}");
    let mut rows = sqlx::query(AssertSqlSafe(select))
        .fetch(reading)
        .try_chunks(SOME);
    let mut moved = 0;
    while let Some(some) = rows
        .try_next()
        .await
        .map_err(|TryChunksError(_, error)| error)?
    {
        let mut insert = QueryBuilder::<Pg>::new(format!("insert into {table} ({names}) values "));
        for (nth, row) in some.iter().enumerate() {
            insert.push(if nth == 0 { "(" } else { "), (" });
            for (at, (_, kind)) in columns.iter().enumerate() {
                if at > 0 {
                    insert.push(", ");
                }
                bind(&mut insert, row, at, *kind)?;
            }
            moved += 1;
        }
        insert.push(")").build().execute(&mut *writing).await?;
    }
    Ok(moved)
}

fn bind(insert: &mut QueryBuilder<Pg>, row: &SqliteRow, at: usize, kind: Kind) -> Stored<()> {
    match kind {
        Int => insert.push_bind(row.try_get::<Option<i64>, _>(at)?),
        Flag => insert.push_bind(row.try_get::<Option<i64>, _>(at)?.map(|flag| flag != 0)),
        Text => {
            let said: Option<String> = row.try_get(at)?;
            insert.push_bind(said.map(|said| text(&said).into_owned()))
        }
        Bytes => insert.push_bind(row.try_get_unchecked::<Option<Vec<u8>>, _>(at)?),
    };
    Ok(())
}

/// New rows and leases take numbers that the source has not given away.
async fn go_on_numbering(reading: &mut SqliteConnection, writing: &mut PgConnection) -> Stored<()> {
    let last = sqlx::query("select last from fences where id = 1")
        .fetch_one(&mut *reading)
        .await?;
    sqlx::query("select setval('fences', $1 + 1, false)")
        .bind(last.try_get::<i64, _>("last")?)
        .execute(&mut *writing)
        .await?;
    for (table, column) in [("deliveries", "seq"), ("evidence", "id")] {
        let given = sqlx::query(
            "select coalesce(max(seq), 0) as last from sqlite_sequence where name = $1",
        )
        .bind(table)
        .fetch_one(&mut *reading)
        .await?;
        sqlx::query("select setval(pg_get_serial_sequence($1, $2), $3 + 1, false)")
            .bind(table)
            .bind(column)
            .bind(given.try_get::<i64, _>("last")?)
            .execute(&mut *writing)
            .await?;
    }
    Ok(())
}

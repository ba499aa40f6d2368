//! Making a call again, where nothing can have come of it.

use crate::store::StoreError;

/// How often a call is made again.
const AGAIN: u32 = 8;

/// Why a transaction is not to be committed.
#[derive(Debug)]
pub enum Halt {
    /// It met another and is to be made again from its beginning.
    Met,
    /// It failed.
    Failed(StoreError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Database(cause) if met(cause) => Self::Met,
            _ => Self::Failed(error),
        }
    }
}

impl From<sqlx::Error> for Halt {
    fn from(error: sqlx::Error) -> Self {
        StoreError::from(error).into()
    }
}

/// Whether the database rolled a transaction back because of another one.
fn met(error: &sqlx::Error) -> bool {
    // Serialization failure, deadlock.
    code(error).is_some_and(|code| matches!(code.as_str(), "40001" | "40P01"))
}

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Whether the connection was lost, rather than that the database said no.
pub fn lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed | sqlx::Error::BeginFailed => true,
        // Shut down by its operator, crashed, or idle too long in a transaction.
        _ => code(error)
            .is_some_and(|code| matches!(code.as_str(), "57P01" | "57P02" | "57P03" | "25P03")),
    }
}

/// How often a call was made.
#[derive(Debug, Default)]
pub struct Trials(u32);

impl Trials {
    /// Whether to make it again.
    pub fn again(&mut self) -> bool {
        self.0 += 1;
        self.0 <= AGAIN
    }
}

/// Makes a transaction on a pool, again if it met another or found its connection dead when it began. `$work`
/// ends in a `Result` of [`Halt`].
macro_rules! transaction {
    ($pool:expr, $tx:ident, $work:expr) => {{
        let mut trials = $crate::store::postgres::retry::Trials::default();
        loop {
            let mut $tx = match $pool.begin().await {
                Ok(tx) => tx,
                Err(error) if $crate::store::postgres::retry::lost(&error) && trials.again() => {
                    continue;
                }
                Err(error) => break Err(error.into()),
            };
            let worked: Result<_, $crate::store::postgres::retry::Halt> = async { $work }.await;
            let ended = match worked {
                Ok(worked) => $tx
                    .commit()
                    .await
                    .map(|()| worked)
                    .map_err($crate::store::postgres::retry::Halt::from),
                Err(halt) => {
                    // Before the next try, and before anybody else is given the connection.
                    let _ = $tx.rollback().await;
                    Err(halt)
                }
            };
            match ended {
                Ok(worked) => break Ok(worked),
                Err($crate::store::postgres::retry::Halt::Met) if trials.again() => {}
                Err($crate::store::postgres::retry::Halt::Met) => {
                    let why = "other transactions came in between again and again";
                    break Err(sqlx::Error::Protocol(why.to_owned()).into());
                }
                Err($crate::store::postgres::retry::Halt::Failed(error)) => break Err(error),
            }
        }
    }};
}

/// Makes a call of which a second one does no harm, again if its connection was lost.
macro_rules! calmly {
    ($pool:expr, $db:ident, $work:expr) => {{
        let mut trials = $crate::store::postgres::retry::Trials::default();
        loop {
            let mut $db = $pool.acquire().await?;
            let worked: $crate::store::Stored<_> = async { $work }.await;
            match worked {
                Err($crate::store::StoreError::Database(error))
                    if $crate::store::postgres::retry::lost(&error) && trials.again() => {}
                worked => break worked,
            }
        }
    }};
}

pub(super) use {calmly, transaction};

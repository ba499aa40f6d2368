//! Who was asked for a verification, when, and why.

use serde::{Deserialize, Serialize};

use crate::domain::model::{BaseRef, HeadSha, Login, Timestamp, VerifierName};

/// Why a verifier was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nobody was asked before.
    First,
    /// Another one could not say.
    Inconclusive,
    /// Another one said nothing in time.
    Silent,
    /// Another one could not be told.
    Refused,
    /// It is enough since the policy's fallback is in use.
    Fallback,
    /// Nobody else is left, and what kept it from running before may have passed.
    Again,
    /// A person asked for it.
    Person,
}

/// One asking of a verifier about one head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Who was asked.
    pub verifier: VerifierName,
    /// About which head.
    pub head: HeadSha,
    /// Into which base: a report is made against one.
    pub base: BaseRef,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: Why,
    /// Who asked for it; nobody where Countersign did by itself.
    pub by: Option<Login>,
    /// How many of its reports on this head were known before: the next one is the answer. Clocks differ,
    /// so times do not tell. `None` where it is about to be told.
    pub before: Option<usize>,
    /// Why it could not be told, in GitHub's words.
    pub refused: Option<String>,
}

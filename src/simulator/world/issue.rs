//! Issues, comments and labels.

use super::{AccountId, AppId, Number, Time};

/// An issue that is not a pull request.
#[derive(Debug, Clone)]
pub struct Issue {
    /// Identity (not the number).
    pub id: u64,
    /// Its number.
    pub number: Number,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: Option<String>,
    /// Open.
    pub open: bool,
    /// `completed` or `not_planned`, once closed.
    pub state_reason: Option<String>,
    /// Who opened it.
    pub author: AccountId,
    /// Names of its labels.
    pub labels: Vec<String>,
    /// When it was opened.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// When it was closed.
    pub closed_at: Option<Time>,
}

/// A comment on an issue or pull request.
#[derive(Debug, Clone)]
pub struct IssueComment {
    /// Identity.
    pub id: u64,
    /// On which issue or pull request.
    pub number: Number,
    /// Who wrote it.
    pub author: AccountId,
    /// The App through which it was written.
    pub app: Option<AppId>,
    /// Its text.
    pub body: String,
    /// When it was written.
    pub created_at: Time,
    /// When it was last edited (or written).
    pub updated_at: Time,
    /// Reactions: who, with what (`+1`, `eyes`, ...).
    pub reactions: Vec<(u64, AccountId, String)>,
}

/// A label of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Identity.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its colour, six hex digits.
    pub color: String,
    /// What it is for.
    pub description: Option<String>,
}

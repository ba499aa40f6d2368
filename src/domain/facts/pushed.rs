//! Who pushed what.

use serde::{Deserialize, Serialize};

use crate::domain::model::{Actor, HeadSha};

/// Somebody made a commit a pull request's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// The commit.
    pub head: HeadSha,
    /// Who.
    pub by: Actor,
}

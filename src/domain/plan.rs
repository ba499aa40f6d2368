//! The effects that make GitHub agree with the verdict.
//!
//! A plan leaves no choice to whoever carries it out. Order matters in one place: our own check is
//! set to `success` before the merge is tried, since a repository may require it.

use chrono::Duration;

use super::model::{CheckRunId, HeadSha, PullNumber};
use super::render::check::CheckPage;
use super::verdict::Clearance;

/// One write to GitHub.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Say on the head what the verdict is.
    PublishCheck(CheckOrder),
    /// Merge the cleared head.
    Merge(MergeOrder),
}

/// A check run to create or to update.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOrder {
    /// On which head.
    pub head: HeadSha,
    /// For which pull request.
    pub number: PullNumber,
    /// Update this run; `None` makes a new one.
    pub update: Option<CheckRunId>,
    /// What it says.
    pub page: CheckPage,
    /// The digest of what it says.
    pub digest: String,
}

/// A merge. Cannot be made without a [`Clearance`].
#[derive(Debug, Clone, PartialEq)]
pub struct MergeOrder {
    clearance: Clearance,
}

impl MergeOrder {
    /// Orders the merge that the clearance allows.
    pub fn new(clearance: Clearance) -> Self {
        Self { clearance }
    }

    /// What it rests on.
    pub fn clearance(&self) -> &Clearance {
        &self.clearance
    }
}

/// What to do, and when to look again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// In this order; a failed one stops the rest.
    pub effects: Vec<Effect>,
    /// Look again after this, if nothing wakes the pull request before.
    pub again: Option<Duration>,
}

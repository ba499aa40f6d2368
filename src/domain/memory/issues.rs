//! What deliveries told of a repository's issues since they were last looked at.
//!
//! Nothing of an issue itself is remembered, only that something happened to it: whoever decides reads
//! it. That keeps this small, and any order and repetition of deliveries harmless.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Change;
use crate::domain::model::{CommentId, Login, PullNumber, Timestamp};
use crate::domain::request::Ask;

/// What deliveries told of a repository's issues since the last pass.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IssuesMemory {
    /// Issues to look at again.
    pub touched: BTreeMap<PullNumber, Touch>,
    /// Comments on issues with commands.
    pub asks: BTreeMap<CommentId, (PullNumber, Ask)>,
}

impl IssuesMemory {
    /// Applies a change that is about this repository's issues; any other changes nothing.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::IssueTouched(_, issue, touch) => self.touch(*issue, touch.clone()),
            Change::AskedOnIssue(_, issue, ask) => {
                let asked = (*issue, ask.clone());
                self.asks.entry(ask.comment).or_insert(asked);
            }
            _ => {}
        }
    }

    /// Remembers that something happened to an issue. Of several labels the last one counts.
    fn touch(&mut self, issue: PullNumber, touch: Touch) {
        let known = self.touched.entry(issue).or_default();
        if touch.labelled.is_some() {
            known.labelled = touch.labelled;
        }
    }
}

/// What happened to an issue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Touch {
    /// A label was put on it: which, by whom, and when the delivery came.
    pub labelled: Option<Labelled>,
}

/// A label that was put on an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labelled {
    /// Which.
    pub label: String,
    /// By whom.
    pub by: Option<Login>,
    /// When.
    pub at: Timestamp,
}

//! What somebody asks about facts as they are not: another policy, another head. Pure.

use super::wants::{Wants, wants};
use crate::domain::facts::{PolicyFact, PullRequest};
use crate::domain::model::HeadSha;

/// What is to be taken as so, while everything else is read.
#[derive(Debug, Clone, Default)]
pub struct Supposed {
    /// This policy applies.
    pub policy: Option<PolicyFact>,
    /// What this policy asks about is read as well; it does not apply.
    pub also: Option<PolicyFact>,
    /// This commit is the head.
    pub head: Option<HeadSha>,
}

impl Supposed {
    /// The pull request with the supposed head. What GitHub said of the real one (whether it merges,
    /// how many files change) says nothing about another.
    pub(super) fn pull(&self, pull: PullRequest) -> PullRequest {
        match &self.head {
            Some(head) if *head != pull.head => PullRequest {
                head: head.clone(),
                mergeable: None,
                test_merge: None,
                changed_files: None,
                ..pull
            },
            _ => pull,
        }
    }

    /// What is worth asking for.
    pub(super) fn wants(&self, policy: &PolicyFact) -> Wants {
        let wanted = wants(policy);
        match &self.also {
            Some(also) => wanted.and(wants(also)),
            None => wanted,
        }
    }
}

//! What is worth reading under a policy, and whether what was read is all there is. Pure.

use std::collections::BTreeMap;

use crate::domain::facts::{Comparison, PolicyFact, PullRequest, Snapshot};
use crate::domain::policy::Party;

/// What a policy makes worth asking for.
#[derive(Default)]
pub struct Wants {
    /// Which workflow each run of GitHub Actions belongs to.
    pub workflows: bool,
    /// How many conversations are open.
    pub conversations: bool,
    /// The members of these teams: organisation and name.
    pub teams: Vec<(String, String)>,
}

impl Wants {
    /// What either makes worth asking for.
    pub fn and(mut self, other: Self) -> Self {
        self.workflows |= other.workflows;
        self.conversations |= other.conversations;
        self.teams.extend(other.teams);
        self
    }
}

pub fn wants(policy: &PolicyFact) -> Wants {
    let PolicyFact::Valid { policy, .. } = policy else {
        return Wants::default();
    };
    let checks = policy.gates.checks.as_ref();
    let approvals = policy.gates.approvals.as_ref();
    Wants {
        workflows: checks.is_some_and(|c| c.required.iter().any(|r| r.workflow.is_some())),
        conversations: approvals.is_some_and(|a| a.conversations_resolved),
        teams: approvals
            .into_iter()
            .flat_map(|approvals| &approvals.from)
            .filter_map(|party| match party {
                Party::Team { org, slug } => Some((org.clone(), slug.clone())),
                Party::User(_) => None,
            })
            .collect(),
    }
}

/// GitHub's list of files ends at 3,000 without a word; only the pull request's own count tells.
pub fn lists_every_file(comparison: &Comparison, pull: &PullRequest) -> bool {
    let listed = comparison.files.items.len() as u64;
    let counted = pull.changed_files;
    comparison.files.complete && counted.is_none_or(|counted| counted <= listed)
}

/// Whether several suites of GitHub Actions report one name: which of them supersedes which is told by
/// their workflows alone.
pub fn reported_twice(snapshot: &Snapshot) -> bool {
    let runs = snapshot.runs.known().map_or(&[][..], |list| &list.items);
    let mut suites = BTreeMap::new();
    let mut of_actions = runs.iter().filter(|run| {
        run.app
            .as_ref()
            .is_some_and(|app| app.slug == "github-actions")
    });
    of_actions.any(|run| *suites.entry(&run.name).or_insert(run.suite) != run.suite)
}

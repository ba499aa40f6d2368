//! What GitHub prints: JSON of everything in the world, for answers and deliveries alike.
//!
//! The shapes follow GitHub's REST reference and its published webhook schemas (the npm package
//! `@octokit/webhooks-schemas`; a test validates every delivery against them where the package is
//! at hand). Where an answer and a delivery differ, the delivery's form is named `*_event`. Deleted
//! accounts print as null, which the schemas do not allow and GitHub does.
//!
//! Nothing here changes the world, and nothing fails: what cannot be computed prints as null.

mod account;
mod check;
mod commit;
mod issue;
mod pull;
mod repository;
mod rules;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use account::{
    account, app, installation, installation_lite, organization, permission, ping, pusher,
    selection, team,
};
pub use check::{
    check_run, check_run_event, check_suite, check_suite_event, combined_status, status,
    status_event, workflow, workflow_run,
};
pub use commit::{
    branch, commit, commit_simple, compare, content, file, git_commit, git_ref, push_commit,
};
pub use issue::{comment, issue, issue_of_pull, label, numbered, reaction};
pub use pull::{
    pull, pull_commits, pull_files, pull_simple, review, review_comment, review_event, thread,
};
pub use repository::{repository, repository_brief, repository_in_push};
pub use rules::{branch_rules, protection, ruleset};

use super::world::{Repo, Time, World};

/// A time as GitHub prints it: whole seconds, UTC.
pub fn time(time: Time) -> String {
    time.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The `node_id` of something, as the GraphQL API takes it.
pub fn node_id(prefix: &str, id: u64) -> String {
    format!("{prefix}_kwDO{id:x}")
}

/// The API's address of a repository.
fn api(world: &World, repo: &Repo) -> String {
    format!("{}/repos/{}", world.origin, world.full_name(repo))
}

/// The page of a repository.
fn page(world: &World, repo: &Repo) -> String {
    format!("{}/{}", world.origin, world.full_name(repo))
}

fn link(address: String) -> Value {
    json!({ "href": address })
}

/// `author_association`: a display fact that grants nothing.
fn association(world: &World, repo: &Repo, account: u64) -> &'static str {
    let in_team =
        |team: &super::world::Team| team.org == repo.owner && team.members.contains(&account);
    if repo.owner == account {
        "OWNER"
    } else if world.teams.iter().any(in_team) {
        "MEMBER"
    } else if repo.collaborators.contains_key(&account) {
        "COLLABORATOR"
    } else {
        "NONE"
    }
}

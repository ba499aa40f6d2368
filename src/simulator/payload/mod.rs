//! What GitHub prints: JSON of everything in the world, for answers and deliveries alike.

use serde_json::Value;

use super::world::*;

/// `simple-user`; null for nobody and for deleted accounts.
pub fn account(world: &World, account: Option<AccountId>) -> Value {
    todo!()
}

/// An `integration`, as in `check_run.app`.
pub fn app(world: &World, app: AppId) -> Value {
    todo!()
}

/// A whole installation.
pub fn installation(world: &World, installation: &Installation) -> Value {
    todo!()
}

/// A whole repository.
pub fn repository(world: &World, repo: &Repo) -> Value {
    todo!()
}

/// The five fields of a repository in `installation*` deliveries.
pub fn repository_brief(world: &World, repo: &Repo) -> Value {
    todo!()
}

/// A pull request as `GET /pulls/{n}` and `pull_request` deliveries show it.
pub fn pull(world: &World, repo: &Repo, pull: &Pull) -> Value {
    todo!()
}

/// A pull request as lists and review deliveries show it: no `mergeable`, no counts.
pub fn pull_simple(world: &World, repo: &Repo, pull: &Pull) -> Value {
    todo!()
}

/// A review (REST: upper-case state).
pub fn review(world: &World, repo: &Repo, review: &Review) -> Value {
    todo!()
}

/// A check run.
pub fn check_run(world: &World, repo: &Repo, run: &CheckRun) -> Value {
    todo!()
}

/// A check suite.
pub fn check_suite(world: &World, repo: &Repo, suite: &Suite) -> Value {
    todo!()
}

/// A commit status entry.
pub fn status(world: &World, repo: &Repo, status: &Status) -> Value {
    todo!()
}

/// `GET /commits/{ref}/status`, newest per context.
pub fn combined_status(world: &World, repo: &Repo, sha: &str) -> Value {
    todo!()
}

/// A workflow run.
pub fn workflow_run(world: &World, repo: &Repo, run: &WorkflowRun) -> Value {
    todo!()
}

/// An issue.
pub fn issue(world: &World, repo: &Repo, issue: &Issue) -> Value {
    todo!()
}

/// A pull request as the issues API shows it.
pub fn issue_of_pull(world: &World, repo: &Repo, pull: &Pull) -> Value {
    todo!()
}

/// A comment.
pub fn comment(world: &World, repo: &Repo, comment: &IssueComment) -> Value {
    todo!()
}

/// A label.
pub fn label(world: &World, repo: &Repo, label: &Label) -> Value {
    todo!()
}

/// `GET /branches/{branch}`, with its protection's required contexts.
pub fn branch(world: &World, repo: &Repo, name: &str) -> Value {
    todo!()
}

/// `GET /git/ref/{ref}`.
pub fn git_ref(world: &World, repo: &Repo, name: &str) -> Value {
    todo!()
}

/// `GET /git/commits/{sha}`; null when there is no such commit.
pub fn git_commit(world: &World, repo: &Repo, sha: &str) -> Value {
    todo!()
}

/// `GET /commits/{sha}` and entries of pull request commits (without files); null when unknown.
pub fn commit(world: &World, repo: &Repo, sha: &str) -> Value {
    todo!()
}

/// Commits of a pull request, oldest first (`GET /pulls/{n}/commits`).
pub fn pull_commits(world: &World, repo: &Repo, pull: &Pull) -> Value {
    todo!()
}

/// Changed files of a pull request against its merge base (`GET /pulls/{n}/files`).
pub fn pull_files(world: &World, repo: &Repo, pull: &Pull) -> Value {
    todo!()
}

/// `GET /compare/{base}...{head}`; null when a side is unknown. Whole: the HTTP room pages it.
pub fn compare(world: &World, repo: &Repo, base: &str, head: &str) -> Value {
    todo!()
}

/// `GET /contents/{path}`; null when it is not there.
pub fn content(world: &World, repo: &Repo, path: &str, sha: &str) -> Value {
    todo!()
}

/// `GET /rules/branches/{branch}`: the active rules that cover it.
pub fn branch_rules(world: &World, repo: &Repo, branch: &str) -> Value {
    todo!()
}

/// A ruleset.
pub fn ruleset(world: &World, repo: &Repo, ruleset: &Ruleset) -> Value {
    todo!()
}

/// `GET /branches/{branch}/protection`; null when it has none.
pub fn protection(world: &World, repo: &Repo, branch: &str) -> Value {
    todo!()
}

/// A team.
pub fn team(world: &World, team: &Team) -> Value {
    todo!()
}

/// `GET /collaborators/{login}/permission`.
pub fn permission(world: &World, repo: &Repo, account: AccountId) -> Value {
    todo!()
}

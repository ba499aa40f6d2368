//! GitHub's answers as they are written, and the facts they carry.
//!
//! Small and lenient: only the fields that are used, every other one ignored; words of an enumeration
//! are kept when they are new; users, Apps, owners and repositories may be null.

use serde::Deserialize;

use super::patch;
use crate::domain::evidence;
use crate::domain::facts::{
    ChangeKind, CheckRun, Comment, CommitStatus, Conclusion, FileChange, PlatformRule, PullCommit,
    PullRequest, PullState, Review, ReviewState, RunStatus, StatusState, WorkflowRun,
};
use crate::domain::model::{
    Actor, ActorId, ActorKind, AppId, AppRef, BaseRef, CheckRunId, CommentId, HeadSha,
    InstallationId, Login, Oid, PullNumber, RepoId, RepoName, Repository, ReviewId, StatusId,
    SuiteId, Timestamp, WorkflowRunId,
};

/// Whether a text may hold evidence; other texts are not kept.
pub fn holds_evidence(text: &str) -> bool {
    ["```", "~~~"]
        .iter()
        .any(|fence| text.contains(&format!("{fence}{}", evidence::FENCE)))
}

#[derive(Deserialize)]
pub struct User {
    id: Option<ActorId>,
    login: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl User {
    /// An account without id or login is nobody.
    pub fn actor(self) -> Option<Actor> {
        Some(Actor {
            id: self.id?,
            login: Login::new(self.login?),
            kind: match self.kind.as_deref() {
                Some("User") => ActorKind::User,
                Some("Bot") => ActorKind::Bot,
                _ => ActorKind::Other,
            },
        })
    }
}

fn actor(user: Option<User>) -> Option<Actor> {
    user.and_then(User::actor)
}

#[derive(Deserialize)]
pub struct App {
    id: AppId,
    slug: Option<String>,
}

impl App {
    pub fn reference(self) -> AppRef {
        AppRef {
            id: self.id,
            slug: self.slug.unwrap_or_default(),
        }
    }
}

#[derive(Deserialize)]
pub struct Installation {
    pub id: InstallationId,
    pub suspended_at: Option<Timestamp>,
}

#[derive(Deserialize)]
pub struct Repo {
    id: RepoId,
    full_name: RepoName,
    default_branch: Option<BaseRef>,
    #[serde(default)]
    pub archived: bool,
}

impl Repo {
    pub fn seen_through(self, installation: InstallationId) -> Repository {
        Repository {
            id: self.id,
            name: self.full_name,
            installation,
            default_branch: self.default_branch,
        }
    }
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    name: String,
    sha: HeadSha,
    repo: Option<SideRepo>,
}

#[derive(Deserialize)]
struct SideRepo {
    id: RepoId,
}

#[derive(Deserialize)]
struct Label {
    name: Option<String>,
}

#[derive(Deserialize)]
pub struct Pull {
    number: PullNumber,
    #[serde(default)]
    title: Option<String>,
    body: Option<String>,
    state: String,
    #[serde(default)]
    draft: Option<bool>,
    head: Side,
    base: Side,
    user: Option<User>,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    merged: Option<bool>,
    merged_at: Option<Timestamp>,
    merged_by: Option<User>,
    mergeable: Option<bool>,
    merge_commit_sha: Option<Oid>,
    changed_files: Option<u64>,
    auto_merge: Option<serde_json::Value>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Pull {
    /// The fact, unless the base is no branch's name.
    pub fn fact(self) -> Option<PullRequest> {
        let merged = self.merged.unwrap_or(false) || self.merged_at.is_some();
        let state = if merged {
            PullState::Merged {
                at: self.merged_at,
                by: actor(self.merged_by),
                commit: self.merge_commit_sha.clone(),
            }
        } else if self.state == "open" {
            PullState::Open
        } else {
            PullState::Closed
        };
        Some(PullRequest {
            number: self.number,
            title: self.title.unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            test_merge: (state == PullState::Open)
                .then_some(self.merge_commit_sha)
                .flatten(),
            state,
            draft: self.draft.unwrap_or(false),
            head: self.head.sha,
            head_ref: self.head.name,
            head_repo: self.head.repo.map(|repo| repo.id),
            base: BaseRef::parse(&self.base.name).ok()?,
            author: actor(self.user),
            labels: self.labels.into_iter().filter_map(|l| l.name).collect(),
            mergeable: self.mergeable,
            changed_files: self.changed_files,
            auto_merge: self.auto_merge.is_some_and(|value| !value.is_null()),
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }
}

#[derive(Deserialize, Default)]
struct Output {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Suite {
    id: SuiteId,
}

#[derive(Deserialize)]
pub struct Run {
    id: CheckRunId,
    name: String,
    head_sha: HeadSha,
    status: String,
    conclusion: Option<String>,
    app: Option<App>,
    check_suite: Option<Suite>,
    external_id: Option<String>,
    completed_at: Option<Timestamp>,
    html_url: Option<String>,
    output: Option<Output>,
}

impl Run {
    pub fn fact(self) -> CheckRun {
        let status = if self.status == "completed" {
            RunStatus::Completed(conclusion(self.conclusion.unwrap_or_default()))
        } else {
            RunStatus::Unfinished(self.status)
        };
        CheckRun {
            id: self.id,
            name: self.name,
            app: self.app.map(App::reference),
            head: self.head_sha,
            status,
            suite: self.check_suite.map(|suite| suite.id),
            external_id: self.external_id.filter(|id| !id.is_empty()),
            completed_at: self.completed_at,
            url: self.html_url,
            output_text: self
                .output
                .and_then(|output| output.text)
                .filter(|text| holds_evidence(text)),
        }
    }
}

fn conclusion(word: String) -> Conclusion {
    match word.as_str() {
        "success" => Conclusion::Success,
        "failure" => Conclusion::Failure,
        "neutral" => Conclusion::Neutral,
        "cancelled" => Conclusion::Cancelled,
        "skipped" => Conclusion::Skipped,
        "timed_out" => Conclusion::TimedOut,
        "action_required" => Conclusion::ActionRequired,
        "stale" => Conclusion::Stale,
        "startup_failure" => Conclusion::StartupFailure,
        _ => Conclusion::Unknown(word),
    }
}

#[derive(Deserialize)]
pub struct Status {
    id: Option<StatusId>,
    context: String,
    state: String,
    creator: Option<User>,
    updated_at: Option<Timestamp>,
    target_url: Option<String>,
}

impl Status {
    pub fn fact(self) -> CommitStatus {
        CommitStatus {
            id: self.id,
            context: self.context,
            state: match self.state.as_str() {
                "success" => StatusState::Success,
                "failure" => StatusState::Failure,
                "error" => StatusState::Error,
                "pending" => StatusState::Pending,
                _ => StatusState::Unknown(self.state),
            },
            creator: actor(self.creator),
            updated_at: self.updated_at,
            url: self.target_url,
        }
    }
}

#[derive(Deserialize)]
pub struct Workflow {
    id: WorkflowRunId,
    check_suite_id: Option<SuiteId>,
    path: Option<String>,
    event: Option<String>,
    run_attempt: Option<u64>,
    head_sha: HeadSha,
}

impl Workflow {
    /// The fact, unless it cannot be tied to check runs.
    pub fn fact(self) -> Option<WorkflowRun> {
        let path = self.path?;
        Some(WorkflowRun {
            id: self.id,
            suite: self.check_suite_id?,
            path: path.split('@').next().unwrap_or(&path).to_owned(),
            event: self.event.unwrap_or_default(),
            attempt: self.run_attempt.unwrap_or(1),
            head: self.head_sha,
        })
    }
}

#[derive(Deserialize)]
pub struct ReviewAnswer {
    id: ReviewId,
    user: Option<User>,
    body: Option<String>,
    state: String,
    commit_id: Option<HeadSha>,
    submitted_at: Option<Timestamp>,
    html_url: Option<String>,
}

impl ReviewAnswer {
    pub fn fact(self) -> Review {
        let body = self.body.unwrap_or_default();
        Review {
            id: self.id,
            author: actor(self.user),
            state: match self.state.to_ascii_uppercase().as_str() {
                "APPROVED" => ReviewState::Approved,
                "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
                "COMMENTED" => ReviewState::Commented,
                "DISMISSED" => ReviewState::Dismissed,
                "PENDING" => ReviewState::Pending,
                _ => ReviewState::Unknown(self.state),
            },
            head: self.commit_id,
            submitted_at: self.submitted_at,
            body: if holds_evidence(&body) {
                body
            } else {
                String::new()
            },
            edited: false,
            url: self.html_url,
        }
    }
}

#[derive(Deserialize)]
pub struct CommentAnswer {
    id: CommentId,
    user: Option<User>,
    body: Option<String>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    html_url: Option<String>,
    performed_via_github_app: Option<App>,
}

impl CommentAnswer {
    /// The fact, where it holds evidence.
    pub fn fact(self) -> Option<Comment> {
        let body = self.body.filter(|body| holds_evidence(body))?;
        Some(Comment {
            id: self.id,
            author: actor(self.user),
            app: self.performed_via_github_app.map(App::reference),
            body,
            created_at: self.created_at,
            edited: self.updated_at.is_some_and(|at| at != self.created_at),
            url: self.html_url,
        })
    }
}

#[derive(Deserialize)]
pub struct File {
    filename: String,
    previous_filename: Option<String>,
    status: String,
    #[serde(default)]
    additions: u64,
    #[serde(default)]
    deletions: u64,
    patch: Option<String>,
}

impl File {
    pub fn fact(self) -> FileChange {
        let moved_only = self.additions == 0
            && self.deletions == 0
            && matches!(self.status.as_str(), "renamed" | "copied");
        let hunks = match &self.patch {
            Some(patch) => patch::hunks(patch),
            // A pure move changes no line. Otherwise no patch means binary, or too large to show.
            None => moved_only.then(Vec::new),
        };
        FileChange {
            path: self.filename,
            old_path: self.previous_filename,
            kind: match self.status.as_str() {
                "added" => ChangeKind::Added,
                "modified" => ChangeKind::Modified,
                "removed" => ChangeKind::Removed,
                "renamed" => ChangeKind::Renamed,
                "copied" => ChangeKind::Copied,
                _ => ChangeKind::Other(self.status),
            },
            additions: self.additions,
            deletions: self.deletions,
            hunks,
        }
    }
}

#[derive(Deserialize)]
struct Object {
    sha: Oid,
}

#[derive(Deserialize)]
struct InnerCommit {
    tree: Object,
}

/// A commit as lists of commits show it.
#[derive(Deserialize)]
pub struct ListedCommit {
    pub sha: Oid,
    commit: InnerCommit,
    #[serde(default)]
    parents: Vec<Object>,
    author: Option<User>,
    committer: Option<User>,
}

impl ListedCommit {
    pub fn fact(self) -> PullCommit {
        PullCommit {
            sha: self.sha,
            tree: self.commit.tree.sha,
            parents: self.parents.into_iter().map(|parent| parent.sha).collect(),
            author: actor(self.author),
            committer: actor(self.committer),
        }
    }
}

/// A commit as `git/commits/{sha}` shows it: its people have no accounts there.
#[derive(Deserialize)]
pub struct GitCommit {
    sha: Oid,
    tree: Object,
    #[serde(default)]
    parents: Vec<Object>,
}

impl GitCommit {
    pub fn fact(self) -> PullCommit {
        PullCommit {
            sha: self.sha,
            tree: self.tree.sha,
            parents: self.parents.into_iter().map(|parent| parent.sha).collect(),
            author: None,
            committer: None,
        }
    }
}

#[derive(Deserialize)]
pub struct BranchAnswer {
    commit: Object,
    protection: Option<Protection>,
}

#[derive(Deserialize)]
struct Protection {
    required_status_checks: Option<ClassicChecks>,
}

#[derive(Deserialize)]
struct ClassicChecks {
    enforcement_level: Option<String>,
    #[serde(default)]
    contexts: Vec<String>,
    #[serde(default)]
    checks: Vec<ClassicCheck>,
}

#[derive(Deserialize)]
struct ClassicCheck {
    context: String,
    app_id: Option<i64>,
}

impl BranchAnswer {
    pub fn fact(self) -> super::Branch {
        let required = self
            .protection
            .and_then(|protection| protection.required_status_checks)
            .filter(|checks| checks.enforcement_level.as_deref() != Some("off"));
        let mut classic = Vec::new();
        if let Some(required) = required {
            let pinned: Vec<String> = required.checks.iter().map(|c| c.context.clone()).collect();
            for check in required.checks {
                // -1 means "any App" here.
                let app = check.app_id.and_then(|id| u64::try_from(id).ok());
                classic.push(required_check(check.context, app, false));
            }
            for context in required.contexts {
                if !pinned.contains(&context) {
                    classic.push(required_check(context, None, false));
                }
            }
        }
        super::Branch {
            tip: self.commit.sha,
            classic,
        }
    }
}

fn required_check(context: String, app: Option<u64>, strict: bool) -> PlatformRule {
    PlatformRule::RequiredCheck {
        context,
        app: app.and_then(AppId::new),
        strict,
    }
}

#[derive(Deserialize)]
pub struct Rule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: RuleParameters,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RuleParameters {
    required_status_checks: Vec<RuleCheck>,
    strict_required_status_checks_policy: bool,
    required_approving_review_count: u64,
    require_code_owner_review: bool,
    required_review_thread_resolution: bool,
    allowed_merge_methods: Vec<String>,
}

#[derive(Deserialize)]
struct RuleCheck {
    context: String,
    integration_id: Option<u64>,
}

impl Rule {
    /// One rule may require several checks.
    pub fn facts(self) -> Vec<PlatformRule> {
        let parameters = self.parameters;
        match self.kind.as_str() {
            "required_status_checks" => {
                let strict = parameters.strict_required_status_checks_policy;
                parameters
                    .required_status_checks
                    .into_iter()
                    .map(|check| required_check(check.context, check.integration_id, strict))
                    .collect()
            }
            "pull_request" => vec![PlatformRule::Reviews {
                approvals: parameters.required_approving_review_count,
                code_owners: parameters.require_code_owner_review,
                conversations: parameters.required_review_thread_resolution,
                methods: parameters.allowed_merge_methods,
            }],
            "merge_queue" => vec![PlatformRule::MergeQueue],
            "required_linear_history" => vec![PlatformRule::LinearHistory],
            "required_signatures" => vec![PlatformRule::SignedCommits],
            "update" => vec![PlatformRule::UpdatesRestricted],
            _ => vec![PlatformRule::Other(self.kind)],
        }
    }
}

//! The only room that knows HTTP to GitHub.
//!
//! Two traits: [`Reads`] for anybody above, [`Writes`] for `execute` alone; one [`Client`](client::Client)
//! is both. Answers come as facts of the domain; refusals come by meaning ([`Refused`]), never as a
//! status number. A list says whether it is whole. Nothing is tried again in here except reads, and
//! never blindly.
//!
//! # How an answer gets its meaning
//!
//! GitHub says one thing in several ways and several things in one way, so the reading stands in one
//! place each, as a table with tests:
//!
//! | what is asked | where | what it hinges on |
//! |---|---|---|
//! | was it refused, and why | `refusal` | status, then headers, then words |
//! | is a 403 or 429 a limit, and for how long | `quota` | `retry-after`, `x-ratelimit-*`, words |
//! | what did GitHub say to a merge | `merging` | total; doubt means "unknown: read back" |
//! | is a list whole | `listing` | last page, totals, every item readable |
//! | is our clock wrong | `auth` | the `Date` header of a refused assertion |
//! | which lines changed | `domain::patch` | a whole patch that agrees with GitHub's own counts |
//!
//! Three rules run through all of them. **Absence is not success:** what is missing, null, cut or new
//! is kept as unknown, or leaves its list incomplete. **A 404 proves little:** it may be a missing
//! permission, a renamed repository, or a commit that is not there yet; "it does not exist" is said
//! only after something next to it was read. **After a write, silence is not failure:**
//! [`Refused::outcome_unknown`] tells which answers leave it open whether something happened.
//!
//! # Floors within the room
//!
//! `transport` sends one request; `auth` and `tokens` put a name to it; `quota` keeps calls away for
//! a while, `allowance`, `pace` and `breaker` before GitHub has to, `class` says who goes first and
//! `admission` asks them all; `kept` asks only for what changed; `client` joins these and knows what may be done twice; `listing`, `reads` and `writes` are
//! the endpoints; `registration` asks before there is an App; `issuer` knows who signs workflows' tokens;
//! `line` reaches one address that is no API's: where a workflow run asks for its token, another Countersign;
//! `wire` turns what came into facts, and is pure.

mod admission;
mod allowance;
pub mod auth;
mod breaker;
pub mod carrier;
pub mod class;
pub mod client;
mod counted;
mod deliveries;
pub mod issuer;
mod kept;
pub mod line;
mod listing;
mod merging;
mod pace;
mod quota;
mod reads;
mod refusal;
pub mod registration;
mod tokens;
mod transport;
mod wire;
mod writes;

pub use client::{Client, ClientOptions, Timeouts};

use async_trait::async_trait;

use crate::domain::doctor::facts::{Delivered, Hook, Installation, Registration};
use crate::domain::facts::{
    CheckRun, Comment, CommitStatus, Comparison, Issue, Listing, PlatformRule, PullCommit,
    PullRequest, Review, WorkflowRun,
};
use crate::domain::model::{
    Actor, AppId, AppRef, BaseRef, CheckRunId, CommentId, HeadSha, InstallationId, Oid,
    PolicyDigest, PullNumber, RepoName, Repository, Timestamp,
};
use crate::domain::policy::Method;
use crate::domain::policy::lint::Methods;
use crate::domain::redelivery::Attempt;
use crate::domain::render::check::CheckPage;

/// Why GitHub did not give what was asked, by meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// 404 (or 410): it does not exist, or this App may not know that it does.
    #[error("GitHub knows no such thing (404): {0}")]
    NotFound(String),
    /// 401: the credentials are wrong; names clock skew where the `Date` header shows it.
    #[error("GitHub refused the credentials (401): {0}")]
    Unauthorized(String),
    /// 403 for want of a permission.
    #[error("GitHub refused for want of permission (403): {0}")]
    Forbidden(String),
    /// The installation is suspended or gone.
    #[error("the installation is suspended or removed: {0}")]
    Inactive(String),
    /// A primary or secondary limit, GitHub's word or our own care not to come to it.
    #[error("GitHub's rate limit is used up; again in {} s", after.num_seconds())]
    Limited {
        /// How long to wait.
        after: chrono::Duration,
    },
    /// Nothing was sent: the last calls for this installation failed, so it is left alone for a while.
    #[error("GitHub failed several times in a row; again in {} s", after.num_seconds())]
    Resting {
        /// How long to wait.
        after: chrono::Duration,
    },
    /// 409.
    #[error("GitHub reports a conflict (409): {0}")]
    Conflict(String),
    /// 422 and other 4xx: the request itself is wrong.
    #[error("GitHub did not accept the request ({status}): {message}")]
    Invalid {
        /// The status.
        status: u16,
        /// GitHub's words.
        message: String,
    },
    /// 5xx. After a write the outcome is unknown.
    #[error("GitHub failed ({0})")]
    Server(u16),
    /// No answer (time-out, broken connection). After a write the outcome is unknown.
    #[error("GitHub did not answer: {0}")]
    NoAnswer(String),
    /// An answer that cannot be read as what was asked for.
    #[error("GitHub's answer could not be read: {0}")]
    Unreadable(String),
}

impl Refused {
    /// When to ask again, where nothing but time is missing.
    pub fn wait(&self) -> Option<chrono::Duration> {
        match self {
            Self::Limited { after } | Self::Resting { after } => Some(*after),
            _ => None,
        }
    }

    /// After a write: whether it may have happened all the same.
    pub fn outcome_unknown(&self) -> bool {
        matches!(
            self,
            Self::Server(_) | Self::NoAnswer(_) | Self::Unreadable(_)
        )
    }
}

/// An answer, or why there is none.
pub type Answer<T> = Result<T, Refused>;

/// A branch as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its tip.
    pub tip: Oid,
    /// GitHub protects it, in whichever way.
    pub protected: bool,
    /// What classic protection requires, as far as the branch endpoint tells (checks only).
    pub classic: Vec<PlatformRule>,
}

/// A file at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAt {
    /// The blob's id.
    pub blob: PolicyDigest,
    /// Its text.
    pub text: String,
}

/// What may be asked of GitHub. Every method names the endpoint it uses in its documentation.
#[async_trait]
pub trait Reads: Send + Sync {
    /// `GET /app`: who we are. Proves the credentials.
    async fn app(&self) -> Answer<AppRef>;
    /// `GET /installation/repositories`; archived ones are left out.
    async fn repositories(&self, installation: InstallationId) -> Answer<Listing<Repository>>;
    /// `GET /repos/{owner}/{repo}/installation`, then the repository: for the command line.
    async fn repository(&self, name: &RepoName) -> Answer<Repository>;
    /// `GET /repos/{owner}/{repo}/installation` in the App's own name, then `GET /repositories/{id}`: what the
    /// repository is called now and which installation opens it; `None` where the App may not act in it
    /// (taken out, suspended, removed, archived, deleted).
    async fn whereabouts(&self, repo: &Repository) -> Answer<Option<Repository>>;
    /// `GET /repos/{}/pulls?state=open`.
    async fn open_pulls(&self, repo: &Repository) -> Answer<Listing<PullRequest>>;
    /// `GET /repos/{}/pulls/{number}`.
    async fn pull(&self, repo: &Repository, number: PullNumber) -> Answer<PullRequest>;
    /// `GET /repos/{}/commits/{sha}/pulls`, filtered to open ones whose head is exactly this.
    async fn pulls_with_head(
        &self,
        repo: &Repository,
        head: &HeadSha,
    ) -> Answer<Listing<PullRequest>>;
    /// `GET /repos/{}/branches/{branch}`. Whether classic checks are strict is not told there.
    async fn branch(&self, repo: &Repository, base: &BaseRef) -> Answer<Branch>;
    /// `GET /repos/{}/rules/branches/{branch}`.
    async fn rules(&self, repo: &Repository, base: &BaseRef) -> Answer<Vec<PlatformRule>>;
    /// `GET /repos/{}/contents/{path}?ref={sha}`; `None` when it is confirmed not to be there.
    async fn file_at(&self, repo: &Repository, path: &str, at: &Oid) -> Answer<Option<FileAt>>;
    /// `GET /repos/{}/commits/{sha}/check-runs`, counted against `total_count`.
    async fn check_runs(&self, repo: &Repository, head: &HeadSha) -> Answer<Listing<CheckRun>>;
    /// `GET /repos/{}/commits/{sha}/status`: newest per context, counted against `total_count`.
    async fn statuses(&self, repo: &Repository, head: &HeadSha) -> Answer<Listing<CommitStatus>>;
    /// `GET /repos/{}/actions/runs?head_sha={sha}`.
    async fn workflow_runs(
        &self,
        repo: &Repository,
        head: &HeadSha,
    ) -> Answer<Listing<WorkflowRun>>;
    /// `GET /repos/{}/pulls/{number}/reviews`; `head` is GitHub's `commit_id`, bodies are whole where
    /// they may hold evidence and empty otherwise. REST does not tell of edits: `edited` is false.
    async fn reviews(&self, repo: &Repository, number: PullNumber) -> Answer<Listing<Review>>;
    /// `GET /repos/{}/issues/{number}/comments`; only those with a fenced evidence block or commands.
    async fn comments(&self, repo: &Repository, number: PullNumber) -> Answer<Listing<Comment>>;
    /// GraphQL `reviewThreads`: how many conversations are not resolved.
    async fn open_conversations(&self, repo: &Repository, number: PullNumber) -> Answer<u64>;
    /// `GET /orgs/{org}/teams/{slug}/members`.
    async fn team_members(&self, repo: &Repository, org: &str, slug: &str) -> Answer<Vec<Actor>>;
    /// `GET /repos/{}/compare/{base}...{head}`, and the pull request's file list where that is cut.
    async fn compare(
        &self,
        repo: &Repository,
        number: PullNumber,
        base_tip: &Oid,
        head: &HeadSha,
    ) -> Answer<Comparison>;
    /// `GET /repos/{}/git/commits/{sha}`: tree and parents. Accounts are not told there.
    async fn commit(&self, repo: &Repository, sha: &Oid) -> Answer<PullCommit>;
    /// `GET /repos/{}/issues/{number}/comments`: the comment of this App that holds the marker, to find
    /// out what became of a try to write it.
    async fn own_comment(
        &self,
        repo: &Repository,
        number: PullNumber,
        own_app: AppId,
        marker: &str,
    ) -> Answer<Option<CommentId>>;
    /// `GET /repos/{}/issues/{number}`; `None` when it is gone: deleted (410), moved to another repository
    /// (a redirect to there), or never there.
    async fn issue(&self, repo: &Repository, number: PullNumber) -> Answer<Option<Issue>>;
    /// `GET /repos/{}/issues?state=open`: pull requests are listed as well, and marked as such.
    async fn open_issues(&self, repo: &Repository) -> Answer<Listing<Issue>>;
    /// `GET /repos/{}/collaborators/{login}/permission`: may write; errors are "cannot tell".
    async fn may_write(&self, repo: &Repository, actor: &Actor) -> Answer<bool>;

    /// The issuer of tokens for workflow runs: what their `iss` must be.
    fn token_issuer(&self) -> &str;
    /// The issuer's `/.well-known/openid-configuration`, then the keys it names: what tokens for workflow
    /// runs are signed with now.
    async fn signing_keys(&self) -> Answer<Vec<issuer::SigningKey>>;

    /// `GET /app`, whole, and what GitHub's clock says (the `Date` header), also of a refusal.
    async fn introduce(&self) -> Introduction;
    /// `GET /app/installations`: all of them, suspended ones too, with what each granted.
    async fn granted(&self) -> Answer<Listing<Installation>>;
    /// `GET /app/hook/config`.
    async fn hook(&self) -> Answer<Hook>;
    /// `GET /app/hook/deliveries`: the newest hundred attempts, newest first.
    async fn deliveries(&self) -> Answer<Listing<Delivered>>;
    /// `GET /app/hook/deliveries` from below a cursor, a page of a hundred attempts, newest first.
    async fn attempts(&self, cursor: Option<&str>) -> Answer<Attempts>;
    /// `POST /app/hook/deliveries/{id}/attempts`: has a delivery sent again. It stands among the reads
    /// because it writes to no repository and tells nobody anything: what it changes is when we hear.
    async fn redeliver(&self, attempt: u64) -> Answer<()>;
    /// `GET /apps/{slug}`, and where that is 404 or 403 `GET /users/{slug}[bot]`: a private App is
    /// shown to nobody, its bot user is. Whether there is such an App.
    async fn app_named(&self, repo: &Repository, slug: &str) -> Answer<bool>;
    /// `GET /users/{login}`; `None` where nobody has the login.
    async fn account(&self, repo: &Repository, login: &str) -> Answer<Option<Actor>>;
    /// `GET /orgs/{org}/teams/{slug}`: whether there is such a team that this App may see.
    async fn team(&self, repo: &Repository, org: &str, slug: &str) -> Answer<bool>;
    /// `GET /repos/{}`: the merge methods its settings allow.
    async fn methods(&self, repo: &Repository) -> Answer<Methods>;
    /// `GET /repos/{}/pulls?state=all&sort=updated`: the newest, open or not.
    async fn recent_pulls(&self, repo: &Repository, most: usize) -> Answer<Listing<PullRequest>>;

    /// What is left of the installations' budgets, as the answers so far told it. Asks nobody.
    fn budgets(&self) -> Vec<Left> {
        Vec::new()
    }
}

/// What is left for one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Whose.
    pub installation: InstallationId,
    /// What is left of the hour, what the hour has, and when it is over.
    pub hour: Option<(i64, i64, Timestamp)>,
    /// Until when passes wait, so that merges and check runs have what is left.
    pub passes_wait: Option<Timestamp>,
    /// Until when sweeps wait.
    pub sweeps_wait: Option<Timestamp>,
    /// Until when GitHub wants no call at all.
    pub held: Option<Timestamp>,
    /// Until when it is left alone because its calls failed.
    pub resting: Option<Timestamp>,
}

impl Left {
    /// Nothing known.
    fn unknown(installation: InstallationId) -> Self {
        Self {
            installation,
            hour: None,
            passes_wait: None,
            sweeps_wait: None,
            held: None,
            resting: None,
        }
    }
}

/// A page of the App's deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempts {
    /// Those that could be read, newest first.
    pub items: Vec<Attempt>,
    /// Where older ones are.
    pub next: Option<String>,
}

/// What GitHub says of us, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// Who we are.
    pub app: Answer<Registration>,
    /// By how many seconds our clock is ahead of GitHub's; `None` where GitHub told no time.
    pub ahead: Option<i64>,
}

/// What GitHub said to a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeAnswer {
    /// Merged, as this commit.
    Merged(Oid),
    /// 409 (or a 422 that says so): the head is not the expected one any more.
    HeadMoved(String),
    /// 405 "Base branch was modified": look again.
    BaseMoved(String),
    /// 405 for any other cause: GitHub's words. Equal refusals are not repeated soon.
    NotAllowed(String),
    /// 403 for want of permission.
    Forbidden(String),
    /// 404: the pull request or our access is gone.
    Gone(String),
    /// 422: the request is wrong for this pull request.
    Invalid(String),
    /// A limit; nothing happened.
    Limited(chrono::Duration),
    /// 401; nothing happened.
    Unauthorized(String),
    /// 5xx, no answer, or an answer nobody can read: it may have happened. Read back first.
    Unknown(String),
}

/// What may be written to GitHub. Only `execute` holds one.
#[async_trait]
pub trait Writes: Send + Sync {
    /// `POST /repos/{}/check-runs`, name `countersign`.
    async fn create_check(
        &self,
        repo: &Repository,
        head: &HeadSha,
        external_id: &str,
        page: &CheckPage,
    ) -> Answer<CheckRunId>;
    /// `PATCH /repos/{}/check-runs/{id}`.
    async fn update_check(
        &self,
        repo: &Repository,
        run: CheckRunId,
        page: &CheckPage,
    ) -> Answer<()>;
    /// `PUT /repos/{}/pulls/{number}/merge` with `sha`. Total: every answer has its meaning.
    async fn merge(
        &self,
        repo: &Repository,
        number: PullNumber,
        head: &HeadSha,
        method: Method,
    ) -> MergeAnswer;
    /// `POST /repos/{}/issues/comments/{id}/reactions`. The same reaction twice is one.
    async fn react(&self, repo: &Repository, comment: CommentId, content: &str) -> Answer<()>;
    /// `POST /repos/{}/issues/{number}/comments`, on an issue or a pull request.
    async fn comment(&self, repo: &Repository, number: PullNumber, body: &str)
    -> Answer<CommentId>;
    /// `PATCH /repos/{}/issues/comments/{id}`.
    async fn edit_comment(&self, repo: &Repository, comment: CommentId, body: &str) -> Answer<()>;
    /// `POST /repos/{}/issues/{number}/labels`; one that is there already is no error.
    async fn add_label(&self, repo: &Repository, number: PullNumber, label: &str) -> Answer<()>;
    /// `DELETE /repos/{}/issues/{number}/labels/{name}`; one that is not there is no error.
    async fn remove_label(&self, repo: &Repository, number: PullNumber, label: &str) -> Answer<()>;
    /// `DELETE /repos/{}/git/refs/heads/{branch}`. GitHub asks for no condition: whoever calls has looked.
    async fn delete_branch(&self, repo: &Repository, branch: &BaseRef) -> Answer<()>;
    /// GraphQL `disablePullRequestAutoMerge`; REST has no such call. One that is not armed is no error.
    async fn disarm_auto_merge(&self, repo: &Repository, number: PullNumber) -> Answer<()>;
    /// `POST /repos/{}/actions/workflows/{file}/dispatches` with the inputs `head` and `number`.
    async fn start_workflow(
        &self,
        repo: &Repository,
        file: &str,
        branch: &BaseRef,
        head: &HeadSha,
        number: PullNumber,
    ) -> Answer<()>;
}

#[cfg(test)]
mod tests;

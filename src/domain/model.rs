//! Names and ids that cannot be confused with one another, and cannot be empty.
//!
//! GitHub hands out many numbers and strings that look alike. A pull request's number put where a
//! repository's id belongs compiles in most programs and merges the wrong thing; here it does not
//! compile. Every type checks its value when it is made (also when it is read from JSON), so a value
//! in hand is a valid one.
//!
//! Identity is always the number: names change hands (a repository is renamed, a login is freed and
//! registered again), numbers do not. Names stand beside the numbers for people to read.

use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// A point in time, UTC. Pure rooms receive it as a fact and never ask a clock.
pub type Timestamp = chrono::DateTime<chrono::Utc>;

macro_rules! number_id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(NonZeroU64);

        impl $name {
            /// The id, or `None` for zero, which GitHub never hands out.
            pub fn new(value: u64) -> Option<Self> {
                NonZeroU64::new(value).map(Self)
            }

            /// The number as GitHub writes it.
            pub fn get(self) -> u64 {
                self.0.get()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

number_id! {
    /// A repository's numeric id: the key under which everything about it is kept.
    RepoId;
    /// An installation of the App on one account.
    InstallationId;
    /// A pull request's (or issue's) number within its repository.
    PullNumber;
    /// The numeric id of a user, bot user or organisation.
    ActorId;
    /// The numeric id of a GitHub App. Its bot user has an [`ActorId`] of its own.
    AppId;
    /// A check run. Within one producer a higher id is a later run.
    CheckRunId;
    /// A check suite: all runs of one App (or one workflow run) on one commit.
    SuiteId;
    /// A run of a GitHub Actions workflow.
    WorkflowRunId;
    /// A commit status entry.
    StatusId;
    /// A pull request review.
    ReviewId;
    /// An issue comment (pull requests are issues here).
    CommentId;
    /// A posted document; ours, counted up. A higher one came later.
    PostedId;
}

/// Why a text is not the value it was offered as. The message names the kind and the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct Malformed {
    expected: &'static str,
    text: String,
}

impl Malformed {
    fn new(expected: &'static str, text: &str) -> Self {
        Self {
            expected,
            text: text.chars().take(80).collect(),
        }
    }
}

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident, $expected:literal, $check:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the text and takes it.
            ///
            /// # Errors
            /// [`Malformed`] when the text is not such a value.
            pub fn parse(text: &str) -> Result<Self, Malformed> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(Malformed::new($expected, text))
                }
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Malformed;
            fn try_from(text: String) -> Result<Self, Malformed> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

text_id! {
    /// A full git object id: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits. Never abbreviated.
    Oid, "a full git object id (40 or 64 lower-case hex digits)",
    |text| matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    /// The head commit of a pull request: what every verdict is bound to.
    HeadSha, "a full commit id (40 or 64 lower-case hex digits)",
    |text| Oid::parse(text).is_ok();
    /// The branch a pull request wants to enter, without `refs/heads/`.
    BaseRef, "a branch name",
    |text| !text.is_empty() && !text.starts_with("refs/") && !text.contains(char::is_whitespace);
    /// `X-GitHub-Delivery`: GitHub's id of one webhook request, the same again when it is redelivered.
    DeliveryId, "a delivery id (1 to 128 printable characters)",
    |text| (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    /// The key under which a policy names a verifier.
    VerifierName, "a verifier's name (letters, digits, '-', '_', '.')",
    |text| !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    /// The digest of the policy a verdict was made under: the git blob id of its text.
    PolicyDigest, "a git blob id",
    |text| Oid::parse(text).is_ok();
    /// The digest of every fact a verdict rests on.
    SnapshotDigest, "a SHA-256 digest (64 lower-case hex digits)",
    |text| text.len() == 64 && Oid::parse(text).is_ok();
}

impl HeadSha {
    /// The same commit as a plain object id.
    pub fn oid(&self) -> Oid {
        Oid(self.0.clone())
    }

    /// The first seven digits, for people; never for comparing.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl Oid {
    /// The first seven digits, for people; never for comparing.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl From<Oid> for HeadSha {
    fn from(oid: Oid) -> Self {
        Self(oid.0)
    }
}

/// A GitHub login. Compares without case, as GitHub does; identity is the [`ActorId`] beside it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Login(String);

impl Login {
    /// Takes a login as GitHub wrote it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The login as GitHub wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Login {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Login {}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({})", self.0)
    }
}

/// What sort of account an actor is. Anything GitHub may invent later is `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person.
    User,
    /// The bot user of an App.
    Bot,
    /// An organisation, or a kind not known here.
    Other,
}

/// Somebody GitHub vouched for. Deleted accounts have no actor: such places hold `Option<Actor>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Identity.
    pub id: ActorId,
    /// For people to read, and to match the names a policy writes.
    pub login: Login,
    /// Person or bot.
    pub kind: ActorKind,
}

/// A GitHub App as it appears on what it produced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppRef {
    /// Identity.
    pub id: AppId,
    /// Its name in addresses; its bot user is `SLUG[bot]`.
    pub slug: String,
}

/// `OWNER/REPO`: a display fact, for addresses and texts. The key is [`RepoId`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoName {
    owner: String,
    name: String,
}

impl RepoName {
    /// Reads `OWNER/REPO`.
    ///
    /// # Errors
    /// [`Malformed`] unless there are exactly two non-empty parts of the characters GitHub allows.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let fits = |part: &str| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        match text.split_once('/') {
            Some((owner, name)) if fits(owner) && fits(name) => Ok(Self {
                owner: owner.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(Malformed::new("a repository's name (OWNER/REPO)", text)),
        }
    }

    /// The account that owns it.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its own name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl TryFrom<String> for RepoName {
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
        Self::parse(&text)
    }
}

impl From<RepoName> for String {
    fn from(value: RepoName) -> String {
        value.to_string()
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl fmt::Debug for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoName({self})")
    }
}

/// A repository as the App sees it: identity, the name to show, and the installation to act through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Identity.
    pub id: RepoId,
    /// The present name.
    pub name: RepoName,
    /// Through which installation calls about it are made.
    pub installation: InstallationId,
    /// The default branch, where known.
    pub default_branch: Option<BaseRef>,
}

/// What one pass works on. Passes on the same key never overlap; wakes of one key coalesce.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// One pull request.
    Pull(RepoId, PullNumber),
    /// A commit for which checks were reported while no open pull request with that head is known:
    /// the pass asks GitHub which there are, since "none known" is not "none".
    Head(RepoId, HeadSha),
    /// A whole repository: its open pull requests are listed and woken.
    Repo(RepoId),
    /// The dispatches of a repository, all of them: whoever counts slots gives them away.
    Dispatch(RepoId),
}

impl Key {
    /// The repository the key belongs to.
    pub fn repo(&self) -> RepoId {
        match self {
            Self::Pull(repo, _) | Self::Head(repo, _) | Self::Repo(repo) | Self::Dispatch(repo) => {
                *repo
            }
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pull(repo, number) => write!(f, "pull:{repo}:{number}"),
            Self::Head(repo, head) => write!(f, "head:{repo}:{head}"),
            Self::Repo(repo) => write!(f, "repo:{repo}"),
            Self::Dispatch(repo) => write!(f, "dispatch:{repo}"),
        }
    }
}

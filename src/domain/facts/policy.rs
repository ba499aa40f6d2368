//! The policy a pull request is judged under, and where it stands.

use serde::{Deserialize, Serialize};

use crate::domain::model::{Oid, PolicyDigest, RepoName};
use crate::domain::policy::{Policy, Problem};

/// Where a policy stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyOrigin {
    /// In the repository itself, at the base branch's tip.
    Repository,
    /// In the account's `.github` repository: the repository itself has none.
    Organisation {
        /// `OWNER/.github`.
        repo: RepoName,
        /// The tip of its default branch.
        tip: Oid,
    },
}

impl PolicyOrigin {
    /// The name, within an account, of the repository that holds its defaults.
    pub const DEFAULTS: &str = ".github";

    /// Whether a repository is the one that holds its account's defaults.
    pub fn holds_defaults(repo: &RepoName) -> bool {
        repo.name().eq_ignore_ascii_case(Self::DEFAULTS)
    }

    /// "the organisation's default, OWNER/.github at abc1234"; `None` for a repository's own policy.
    pub fn of_organisation(&self) -> Option<String> {
        match self {
            Self::Repository => None,
            Self::Organisation { repo, tip } => Some(format!(
                "the organisation's default, {repo} at {}",
                tip.short()
            )),
        }
    }
}

/// The policy that applies to a pull request: its repository's own at the base branch's tip, or, where
/// there surely is none, the organisation's default.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicyFact {
    /// Read, and it says what it means.
    Valid {
        /// What it means.
        policy: Box<Policy>,
        /// The blob's id.
        digest: PolicyDigest,
        /// Where it stands.
        origin: PolicyOrigin,
    },
    /// Read, and wrong: merging stops until it is mended.
    Invalid {
        /// Everything that is wrong with it.
        problems: Vec<Problem>,
        /// The blob's id.
        digest: PolicyDigest,
        /// Where it stands.
        origin: PolicyOrigin,
    },
    /// Confirmed: there is no policy at the base's tip, and no default.
    Absent,
    /// It could not be read.
    Unavailable(String),
}

impl PolicyFact {
    /// The same, standing elsewhere.
    #[must_use]
    pub fn placed(mut self, place: PolicyOrigin) -> Self {
        if let Self::Valid { origin, .. } | Self::Invalid { origin, .. } = &mut self {
            *origin = place;
        }
        self
    }

    /// Where it stands, if it was read.
    pub fn origin(&self) -> Option<&PolicyOrigin> {
        match self {
            Self::Valid { origin, .. } | Self::Invalid { origin, .. } => Some(origin),
            Self::Absent | Self::Unavailable(_) => None,
        }
    }

    /// The blob's id, if it was read.
    pub fn digest(&self) -> Option<&PolicyDigest> {
        match self {
            Self::Valid { digest, .. } | Self::Invalid { digest, .. } => Some(digest),
            Self::Absent | Self::Unavailable(_) => None,
        }
    }
}

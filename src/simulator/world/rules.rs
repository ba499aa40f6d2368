//! The platform's own gates: classic branch protection and rulesets.

use super::{AccountId, AppId, MergeMethod, Time};

/// A context that must be green.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredCheck {
    /// The name of the check run or status.
    pub context: String,
    /// The App it must come from (`app_id` in protection, `integration_id` in rulesets).
    pub app: Option<AppId>,
}

/// Reviews that are required.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequiredReviews {
    /// How many approvals.
    pub approvals: u64,
    /// A code owner must approve.
    pub code_owners: bool,
    /// A push dismisses approvals.
    pub dismiss_stale: bool,
    /// The last push must be approved by somebody else.
    pub last_push: bool,
    /// Conversations must be resolved (rulesets keep it here).
    pub threads_resolved: bool,
    /// The merge methods allowed; empty for all (rulesets only).
    pub methods: Vec<MergeMethod>,
}

/// Classic branch protection.
#[derive(Debug, Clone, Default)]
pub struct BranchProtection {
    /// Required contexts.
    pub checks: Vec<RequiredCheck>,
    /// The branch must contain the base's tip.
    pub strict: bool,
    /// Required reviews.
    pub reviews: Option<RequiredReviews>,
    /// Conversations must be resolved.
    pub conversations: bool,
    /// No merge commits.
    pub linear_history: bool,
    /// Every commit must be signed.
    pub signatures: bool,
    /// Holds for administrators too.
    pub enforce_admins: bool,
    /// Nobody may push or merge.
    pub locked: bool,
}

/// Whether a ruleset has teeth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// It holds.
    Active,
    /// It is only tried out.
    Evaluate,
    /// It is off.
    Disabled,
}

impl Enforcement {
    /// GitHub's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Evaluate => "evaluate",
            Self::Disabled => "disabled",
        }
    }
}

/// Who may pass a ruleset by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// An App.
    App(AppId),
    /// Administrators of the repository.
    Admins,
    /// A user.
    Account(AccountId),
}

/// One rule of a ruleset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// `required_status_checks`.
    RequiredStatusChecks {
        /// What must be green.
        checks: Vec<RequiredCheck>,
        /// The branch must contain the base's tip.
        strict: bool,
    },
    /// `pull_request`.
    PullRequest(RequiredReviews),
    /// `merge_queue`.
    MergeQueue(MergeMethod),
    /// `required_linear_history`.
    LinearHistory,
    /// `required_signatures`.
    Signatures,
    /// `update`: nobody may update the branch.
    Update,
    /// `non_fast_forward`: no force pushes.
    NonFastForward,
    /// `deletion`: the branch may not be deleted.
    Deletion,
    /// A type that cannot hinder a merge here, or one not known yet.
    Other(String),
}

/// A ruleset.
#[derive(Debug, Clone)]
pub struct Ruleset {
    /// Identity.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Branches it covers: names, `prefix/*`, `~DEFAULT_BRANCH` or `~ALL`.
    pub branches: Vec<String>,
    /// Whether it has teeth.
    pub enforcement: Enforcement,
    /// Who may pass it by.
    pub bypass: Vec<Bypass>,
    /// Its rules.
    pub rules: Vec<Rule>,
    /// When it was made.
    pub created_at: Time,
}

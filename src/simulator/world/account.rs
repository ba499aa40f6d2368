//! Accounts, Apps, installations, teams and permissions.

use std::collections::{BTreeMap, BTreeSet};

use super::{AccountId, AppId, InstallationId, RepoId, Time};

/// What sort of account it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// A person.
    User,
    /// An App's bot user.
    Bot,
    /// An organisation.
    Organization,
}

impl AccountKind {
    /// GitHub's word in `type`.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Bot => "Bot",
            Self::Organization => "Organization",
        }
    }
}

/// A user, bot user or organisation.
#[derive(Debug, Clone)]
pub struct Account {
    /// Identity.
    pub id: AccountId,
    /// Its login (`slug[bot]` for bot users).
    pub login: String,
    /// What it is.
    pub kind: AccountKind,
    /// Deleted: every payload shows null where this account would stand.
    pub deleted: bool,
}

impl Account {
    /// The address its commits carry, by which GitHub finds the account again.
    pub fn email(&self) -> String {
        format!("{}+{}@users.noreply.github.com", self.id, self.login)
    }
}

/// A GitHub App.
#[derive(Debug, Clone)]
pub struct App {
    /// Identity.
    pub id: AppId,
    /// Its name in addresses.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Who registered it.
    pub owner: AccountId,
    /// Its bot user.
    pub bot: AccountId,
    /// The permissions it asks for (`checks` -> `write`).
    pub permissions: BTreeMap<String, String>,
    /// The events it subscribed to.
    pub events: BTreeSet<String>,
    /// Everybody may see it. A private App answers 404 to strangers, its bot user does not.
    pub public: bool,
    /// When it was registered.
    pub created_at: Time,
}

/// Which repositories of the account an installation covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepoSelection {
    /// All, also those made later.
    All,
    /// These.
    Selected(BTreeSet<RepoId>),
}

/// An App on an account.
#[derive(Debug, Clone)]
pub struct Installation {
    /// Identity.
    pub id: InstallationId,
    /// Which App.
    pub app: AppId,
    /// On which account.
    pub account: AccountId,
    /// Which repositories.
    pub selection: RepoSelection,
    /// What the account granted; may lag behind what the App asks for.
    pub permissions: BTreeMap<String, String>,
    /// The events that are sent for it.
    pub events: BTreeSet<String>,
    /// When, and by whom it was suspended, if it is.
    pub suspended: Option<(Time, Option<AccountId>)>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// A team of an organisation.
#[derive(Debug, Clone)]
pub struct Team {
    /// Identity.
    pub id: u64,
    /// The organisation.
    pub org: AccountId,
    /// Its name in addresses.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Who is in it.
    pub members: BTreeSet<AccountId>,
}

/// What somebody may do in a repository. Ordered: more is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Nothing (in a public repository: read).
    None,
    /// Read.
    Read,
    /// Handle issues and pull requests without pushing.
    Triage,
    /// Push and merge.
    Write,
    /// Manage without the dangerous parts.
    Maintain,
    /// Everything.
    Admin,
}

impl Permission {
    /// The `role_name` of GitHub's permission endpoint.
    pub fn role(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The old four-valued `permission` of the same endpoint: triage reads as read, maintain as
    /// write.
    pub fn legacy(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }
}

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Principal {
    /// A user (or an App's bot user driven as one).
    Account(AccountId),
    /// An App, through its installation: shows as its bot user.
    App(AppId),
}

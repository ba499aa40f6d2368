//! Making a world, and finding things in it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{
    ACTIONS_APP, Account, AccountId, AccountKind, App, AppId, Behaviour, Done, Installation,
    MergeFaults, Number, Permission, Principal, Pull, Refusal, Repo, RepoId, RepoSelection, Time,
    World,
};
use crate::clock::Clock;
use crate::simulator::git::{self, Pool};

/// `web-flow`: GitHub's own committer of merges made on its pages and by its API.
pub const WEB_FLOW: AccountId = 19_864_447;

/// What our App asks for, as its manifest says.
const OUR_PERMISSIONS: [(&str, &str); 10] = [
    ("actions", "write"),
    ("checks", "write"),
    ("contents", "write"),
    ("deployments", "read"),
    ("issues", "write"),
    ("members", "read"),
    ("merge_queues", "read"),
    ("metadata", "read"),
    ("pull_requests", "write"),
    ("statuses", "write"),
];

/// What our App subscribes to. `installation*` and `ping` come to every App unasked.
const OUR_EVENTS: [&str; 14] = [
    "check_run",
    "check_suite",
    "deployment_status",
    "issue_comment",
    "issues",
    "label",
    "merge_group",
    "pull_request",
    "pull_request_review",
    "pull_request_review_thread",
    "push",
    "repository",
    "status",
    "workflow_run",
];

impl From<git::Failure> for Refusal {
    /// GitHub's own trouble is a 500 to whoever asks.
    fn from(failure: git::Failure) -> Self {
        match failure {
            git::Failure::Unknown {
                kind: "commit",
                sha,
            } => Self::new(422, format!("No commit found for SHA: {sha}")),
            other => Self::new(500, other.to_string()),
        }
    }
}

impl World {
    /// A world with GitHub's own accounts and our App (slug `countersign`) in it.
    pub fn new(clock: Clock, seed: u64, pool: Arc<Pool>) -> Self {
        let mut world = Self {
            clock,
            pool,
            our_app: 0,
            accounts: BTreeMap::new(),
            apps: BTreeMap::new(),
            installations: BTreeMap::new(),
            repos: BTreeMap::new(),
            old_names: BTreeMap::new(),
            teams: Vec::new(),
            outbox: VecDeque::new(),
            behaviour: Behaviour::default(),
            merge_faults: MergeFaults::default(),
            origin: "http://github.localhost".to_owned(),
            ids: BTreeMap::new(),
            seed,
        };
        world.insert_account(9_919, "github", AccountKind::Organization);
        world.insert_account(WEB_FLOW, "web-flow", AccountKind::User);
        world.insert_account(41_898_282, "github-actions[bot]", AccountKind::Bot);
        world.insert_app(ACTIONS_APP, "github-actions", 9_919, 41_898_282);
        world.our_app = world.add_app("countersign");
        if let Some(app) = world.apps.get_mut(&world.our_app) {
            let granted = |(name, level): &(&str, &str)| ((*name).to_owned(), (*level).to_owned());
            app.permissions = OUR_PERMISSIONS.iter().map(granted).collect();
            app.events = OUR_EVENTS.iter().map(|&event| event.to_owned()).collect();
        }
        world
    }

    /// What time it is here.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// The next id of a kind. Kinds start far apart, so that one taken for another is found out.
    pub(in crate::simulator) fn next_id(&mut self, kind: &'static str) -> u64 {
        let start = match kind {
            "account" => 1_000,
            "app" => 200_000,
            "team" => 3_000_000,
            "installation" => 50_000_000,
            "repository" => 700_000_000,
            "workflow" => 90_000_000,
            "pull" => 2_100_000_000,
            "issue" => 2_300_000_000,
            "comment" => 2_500_000_000,
            "review" => 2_700_000_000,
            "thread" => 2_900_000_000,
            "workflow_run" => 15_000_000_000,
            "status" => 25_000_000_000,
            "suite" => 35_000_000_000,
            "check_run" => 45_000_000_000,
            _ => 5_000_000_000,
        };
        let offset = self.seed % 997;
        let next = self.ids.entry(kind).or_insert(start + offset);
        *next += 1;
        *next
    }

    /// The seed the world was made with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    fn insert_account(&mut self, id: AccountId, login: &str, kind: AccountKind) {
        let account = Account {
            id,
            login: login.to_owned(),
            kind,
            deleted: false,
        };
        self.accounts.insert(id, account);
    }

    fn insert_app(&mut self, id: AppId, slug: &str, owner: AccountId, bot: AccountId) {
        let app = App {
            id,
            slug: slug.to_owned(),
            name: slug.to_owned(),
            owner,
            bot,
            permissions: BTreeMap::new(),
            events: BTreeSet::new(),
            public: true,
            created_at: self.now(),
        };
        self.apps.insert(id, app);
    }

    /// The account with this login, made if there is none.
    pub fn account(&mut self, login: &str, kind: AccountKind) -> AccountId {
        if let Some(account) = self.account_named(login) {
            return account.id;
        }
        let id = self.next_id("account");
        self.insert_account(id, login, kind);
        id
    }

    /// The account with this login (compared without case).
    pub fn account_named(&self, login: &str) -> Option<&Account> {
        self.accounts
            .values()
            .find(|account| account.login.eq_ignore_ascii_case(login))
    }

    /// The App with this slug, made (with its bot user) if there is none.
    pub fn add_app(&mut self, slug: &str) -> AppId {
        if let Some(app) = self.apps.values().find(|app| app.slug == slug) {
            return app.id;
        }
        let id = self.next_id("app");
        let owner = self.account("app-makers", AccountKind::Organization);
        let bot = self.account(&format!("{slug}[bot]"), AccountKind::Bot);
        self.insert_app(id, slug, owner, bot);
        id
    }

    /// A team of an organisation, made if there is none, with these members.
    pub fn set_team(&mut self, org: &str, slug: &str, members: &[AccountId]) -> u64 {
        let org = self.account(org, AccountKind::Organization);
        let members: BTreeSet<AccountId> = members.iter().copied().collect();
        let known = |team: &&mut super::Team| team.org == org && team.slug == slug;
        if let Some(team) = self.teams.iter_mut().find(known) {
            team.members = members;
            return team.id;
        }
        let id = self.next_id("team");
        self.teams.push(super::Team {
            id,
            org,
            slug: slug.to_owned(),
            name: slug.to_owned(),
            members,
        });
        id
    }

    /// Which account an act shows as.
    pub fn actor(&self, by: Principal) -> AccountId {
        match by {
            Principal::Account(account) => account,
            Principal::App(app) => self.apps.get(&app).map_or(0, |app| app.bot),
        }
    }

    /// The App behind an act, if one is.
    pub fn app_behind(&self, by: Principal) -> Option<AppId> {
        match by {
            Principal::App(app) => Some(app),
            Principal::Account(account) => self
                .apps
                .values()
                .find(|app| app.bot == account)
                .map(|app| app.id),
        }
    }

    /// A repository.
    ///
    /// # Errors
    /// 404.
    pub fn repo(&self, id: RepoId) -> Done<&Repo> {
        self.repos.get(&id).ok_or_else(Refusal::not_found)
    }

    pub(super) fn repo_mut(&mut self, id: RepoId) -> Done<&mut Repo> {
        self.repos.get_mut(&id).ok_or_else(Refusal::not_found)
    }

    /// A repository by `OWNER/REPO`, compared without case; former names lead to it too (the HTTP
    /// room answers those with 301).
    ///
    /// # Errors
    /// 404.
    pub fn repo_named(&self, full_name: &str) -> Done<RepoId> {
        let wanted = full_name.to_lowercase();
        self.repos
            .values()
            .find(|repo| self.full_name(repo).to_lowercase() == wanted)
            .map(|repo| repo.id)
            .or_else(|| self.old_names.get(&wanted).copied())
            .filter(|id| self.repos.contains_key(id))
            .ok_or_else(Refusal::not_found)
    }

    /// `OWNER/REPO` as it is now.
    pub fn full_name(&self, repo: &Repo) -> String {
        format!("{}/{}", self.login(repo.owner), repo.name)
    }

    /// An account's login; `ghost` for nobody.
    pub fn login(&self, account: AccountId) -> &str {
        self.accounts
            .get(&account)
            .map_or("ghost", |account| account.login.as_str())
    }

    /// A pull request.
    ///
    /// # Errors
    /// 404.
    pub fn pull(&self, repo: RepoId, number: Number) -> Done<&Pull> {
        self.repo(repo)?
            .pulls
            .get(&number)
            .ok_or_else(Refusal::not_found)
    }

    pub(super) fn pull_mut(&mut self, repo: RepoId, number: Number) -> Done<&mut Pull> {
        self.repo_mut(repo)?
            .pulls
            .get_mut(&number)
            .ok_or_else(Refusal::not_found)
    }

    /// The installation of an App that covers a repository, active or suspended.
    pub fn installation_for(&self, app: AppId, repo: RepoId) -> Option<&Installation> {
        let owner = self.repos.get(&repo)?.owner;
        self.installations.values().find(|installation| {
            installation.app == app
                && installation.account == owner
                && match &installation.selection {
                    RepoSelection::All => true,
                    RepoSelection::Selected(repos) => repos.contains(&repo),
                }
        })
    }

    /// What an account may do in a repository: the most of what it has as owner, collaborator, team
    /// member or App; reading is everybody's in a public one.
    pub fn permission_of(&self, repo: RepoId, account: AccountId) -> Permission {
        let Some(repo) = self.repos.get(&repo) else {
            return Permission::None;
        };
        if repo.owner == account {
            return Permission::Admin;
        }
        let least = if repo.private {
            Permission::None
        } else {
            Permission::Read
        };
        let own = repo.collaborators.get(&account).copied();
        let teams = self
            .teams
            .iter()
            .filter(|team| team.members.contains(&account))
            .filter_map(|team| repo.team_access.get(&team.id).copied());
        let as_app = self
            .app_behind(Principal::Account(account))
            .and_then(|app| self.installation_for(app, repo.id))
            .filter(|installation| {
                installation.permissions.get("contents").map(String::as_str) == Some("write")
            })
            .map(|_| Permission::Write);
        own.into_iter()
            .chain(teams)
            .chain(as_app)
            .fold(least, Permission::max)
    }

    /// Whether a commit is known and its text, for whoever asks by id.
    ///
    /// # Errors
    /// 422 "No commit found for SHA".
    pub(super) fn known_commit(&self, sha: &str) -> Done<Arc<git::Commit>> {
        Ok(self.pool.commit(sha)?)
    }
}

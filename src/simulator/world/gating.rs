//! The platform's own gates, judged: classic protection and rulesets together.
//!
//! GitHub tells only some of what is unmet, as text. The order here is checks, reviews, history,
//! queue, so that the first is what GitHub would name.

use std::collections::BTreeMap;

use super::{
    AccountId, BranchProtection, Bypass, Done, Enforcement, MergeMethod, Number, Permission,
    Principal, Pull, Repo, RepoId, RequiredCheck, RequiredReviews, ReviewState, Rule, Ruleset,
    World,
};

/// One platform requirement that a merge does not meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// It comes from a ruleset; GitHub words those differently.
    pub by_ruleset: bool,
    /// It is about being behind the base.
    pub behind: bool,
    /// GitHub's words.
    pub text: String,
}

impl Unmet {
    fn new(by_ruleset: bool, text: impl Into<String>) -> Self {
        Self {
            by_ruleset,
            behind: false,
            text: text.into(),
        }
    }

    /// The message of the 405: what classic protection lacks is told alone and first, what rulesets
    /// lack is told together. `None` when nothing is unmet.
    pub fn refusal(unmet: &[Self]) -> Option<String> {
        let first = unmet.first()?;
        if !first.by_ruleset {
            return Some(first.text.clone());
        }
        let texts: Vec<&str> = unmet.iter().map(|unmet| unmet.text.as_str()).collect();
        let told = texts.join("\n\n");
        Some(format!("Repository rule violations found\n\n{told}\n\n"))
    }
}

/// Everything that one system (protection, or one ruleset) asks of a merge.
#[derive(Debug, Default)]
struct Demands {
    by_ruleset: bool,
    checks: Vec<RequiredCheck>,
    strict: bool,
    reviews: Vec<RequiredReviews>,
    linear: bool,
    signed: bool,
    locked: bool,
    queue: bool,
}

impl From<&BranchProtection> for Demands {
    fn from(classic: &BranchProtection) -> Self {
        let mut reviews: Vec<RequiredReviews> = classic.reviews.iter().cloned().collect();
        if classic.conversations {
            reviews.push(RequiredReviews {
                threads_resolved: true,
                ..RequiredReviews::default()
            });
        }
        Self {
            by_ruleset: false,
            checks: classic.checks.clone(),
            strict: classic.strict,
            reviews,
            linear: classic.linear_history,
            signed: classic.signatures,
            locked: classic.locked,
            queue: false,
        }
    }
}

impl From<&Ruleset> for Demands {
    fn from(ruleset: &Ruleset) -> Self {
        let mut demands = Self {
            by_ruleset: true,
            ..Self::default()
        };
        for rule in &ruleset.rules {
            match rule {
                Rule::RequiredStatusChecks { checks, strict } => {
                    demands.checks.extend(checks.iter().cloned());
                    demands.strict |= strict;
                }
                Rule::PullRequest(reviews) => demands.reviews.push(reviews.clone()),
                Rule::MergeQueue(_) => demands.queue = true,
                Rule::LinearHistory => demands.linear = true,
                Rule::Signatures => demands.signed = true,
                Rule::Update => demands.locked = true,
                Rule::NonFastForward | Rule::Deletion | Rule::Other(_) => {}
            }
        }
        demands
    }
}

impl World {
    /// The classic protection of a branch: an exact name wins over a pattern.
    pub fn protection_of<'a>(&self, repo: &'a Repo, branch: &str) -> Option<&'a BranchProtection> {
        repo.protections.get(branch).or_else(|| {
            repo.protections
                .iter()
                .find(|(pattern, _)| covers(pattern, branch))
                .map(|(_, protection)| protection)
        })
    }

    /// The active rulesets that cover a branch.
    pub fn rulesets_of<'a>(&self, repo: &'a Repo, branch: &str) -> Vec<&'a Ruleset> {
        repo.rulesets
            .values()
            .filter(|ruleset| ruleset.enforcement == Enforcement::Active)
            .filter(|ruleset| {
                ruleset
                    .branches
                    .iter()
                    .any(|pattern| match pattern.as_str() {
                        "~ALL" => true,
                        "~DEFAULT_BRANCH" => branch == repo.default_branch,
                        pattern => pattern == branch || covers(pattern, branch),
                    })
            })
            .collect()
    }

    pub(super) fn required_reviews(&self, repo: RepoId, base: &str) -> Vec<RequiredReviews> {
        let Some(repo) = self.repos.get(&repo) else {
            return Vec::new();
        };
        let classic = self.protection_of(repo, base).map(Demands::from);
        let rules = self.rulesets_of(repo, base).into_iter().map(Demands::from);
        classic
            .into_iter()
            .chain(rules)
            .flat_map(|demands| demands.reviews)
            .collect()
    }

    /// What the platform's gates still ask before this merge by this actor.
    ///
    /// # Errors
    /// 404.
    pub fn unmet(
        &self,
        repo: RepoId,
        number: Number,
        by: Principal,
        method: MergeMethod,
    ) -> Done<Vec<Unmet>> {
        let account = self.actor(by);
        let about = self.repo(repo)?;
        let pull = self.pull(repo, number)?;
        let admin = self.permission_of(repo, account) == Permission::Admin;
        let passes = |ruleset: &Ruleset| {
            ruleset.bypass.iter().any(|bypass| match bypass {
                Bypass::App(app) => self.app_behind(by) == Some(*app),
                Bypass::Admins => admin,
                Bypass::Account(other) => *other == account,
            })
        };
        let classic = self
            .protection_of(about, &pull.base.branch)
            .filter(|protection| protection.enforce_admins || !admin)
            .map(Demands::from);
        let rules = self
            .rulesets_of(about, &pull.base.branch)
            .into_iter()
            .filter(|ruleset| !passes(ruleset))
            .map(Demands::from);
        let mut unmet = Vec::new();
        for demands in classic.into_iter().chain(rules) {
            self.unmet_checks(about, pull, &demands, &mut unmet)?;
            self.unmet_reviews(about, pull, &demands, method, &mut unmet)?;
            self.unmet_history(about, pull, &demands, method, &mut unmet)?;
        }
        Ok(unmet)
    }

    fn unmet_checks(
        &self,
        repo: &Repo,
        pull: &Pull,
        demands: &Demands,
        unmet: &mut Vec<Unmet>,
    ) -> Done<()> {
        let waiting: Vec<(&str, &str)> = demands
            .checks
            .iter()
            .filter_map(|check| Some((check.context.as_str(), self.lacks(repo, pull, check)?)))
            .collect();
        match waiting.as_slice() {
            [] => {}
            [(context, state)] => unmet.push(Unmet::new(
                demands.by_ruleset,
                format!("Required status check \"{context}\" is {state}."),
            )),
            several => unmet.push(Unmet::new(
                demands.by_ruleset,
                format!(
                    "{} of {} required status checks have not succeeded: {}.",
                    several.len(),
                    demands.checks.len(),
                    count_states(several)
                ),
            )),
        }
        let base = self.tip(repo.id, &pull.base.branch)?;
        if demands.strict && !self.pool.contains(&pull.head.sha, &base)? {
            let mut behind = Unmet::new(
                demands.by_ruleset,
                "This branch is out-of-date with the base branch",
            );
            behind.behind = true;
            unmet.push(behind);
        }
        Ok(())
    }

    /// How a required context falls short on the head: `expected` (nobody reported), `failing` or
    /// `pending`. Run and status of one name must both be green; skipped and neutral count as green.
    fn lacks(&self, repo: &Repo, pull: &Pull, check: &RequiredCheck) -> Option<&'static str> {
        let fits = |app| check.app.is_none_or(|pin| Some(pin) == app);
        let runs = repo
            .latest_runs(&pull.head.sha)
            .into_iter()
            .filter(|run| run.name == check.context && fits(Some(run.app)))
            .map(
                |run| match (run.status.as_str(), run.conclusion.as_deref()) {
                    ("completed", Some("success" | "neutral" | "skipped")) => "green",
                    ("completed", _) => "failing",
                    _ => "pending",
                },
            );
        let status = repo
            .latest_statuses(&pull.head.sha)
            .into_iter()
            .filter(|status| status.context == check.context && fits(status.app))
            .map(|status| match status.state.as_str() {
                "success" => "green",
                "pending" => "pending",
                _ => "failing",
            });
        let states: Vec<&'static str> = runs.chain(status).collect();
        if states.is_empty() {
            return Some("expected");
        }
        ["failing", "pending"]
            .into_iter()
            .find(|bad| states.contains(bad))
    }

    fn unmet_reviews(
        &self,
        repo: &Repo,
        pull: &Pull,
        demands: &Demands,
        method: MergeMethod,
        unmet: &mut Vec<Unmet>,
    ) -> Done<()> {
        let mut add = |text: String| unmet.push(Unmet::new(demands.by_ruleset, text));
        let stands = self.standing_reviews(repo, pull);
        let approvers: Vec<AccountId> = stands
            .iter()
            .filter(|(_, state)| **state == ReviewState::Approved)
            .map(|(author, _)| *author)
            .collect();
        for reviews in &demands.reviews {
            let wanted = reviews.approvals;
            let have = u64::try_from(approvers.len()).unwrap_or(u64::MAX);
            if have < wanted {
                let plural = if wanted == 1 {
                    "review is"
                } else {
                    "reviews are"
                };
                add(format!(
                    "At least {wanted} approving {plural} required by reviewers with write access."
                ));
            } else if wanted > 0 && stands.values().any(|s| *s == ReviewState::ChangesRequested) {
                add("Changes must be addressed before this can be merged.".to_owned());
            }
            if reviews.code_owners && !self.code_owner_among(repo, pull, &approvers)? {
                add("Waiting on code owner review".to_owned());
            }
            let open =
                |thread: &&super::ReviewThread| thread.pull == pull.number && !thread.resolved;
            if reviews.threads_resolved && repo.threads.values().any(|thread| open(&thread)) {
                add(
                    "A conversation must be resolved before this pull request can be merged."
                        .to_owned(),
                );
            }
            if !reviews.methods.is_empty() && !reviews.methods.contains(&method) {
                add(format!("Merge method {} is not allowed", method.word()));
            }
        }
        Ok(())
    }

    /// What each reviewer with write access says now; the author's own voice does not count.
    fn standing_reviews(&self, repo: &Repo, pull: &Pull) -> BTreeMap<AccountId, ReviewState> {
        let mut stands = BTreeMap::new();
        for review in repo.reviews.values() {
            let counts = review.pull == pull.number
                && review.author != pull.author
                && review.state != ReviewState::Commented
                && self.permission_of(repo.id, review.author) >= Permission::Write;
            if counts {
                stands.insert(review.author, review.state);
            }
        }
        stands
    }

    /// Whether somebody `CODEOWNERS` names is among the approvers. Its patterns are not matched.
    fn code_owner_among(&self, repo: &Repo, pull: &Pull, approvers: &[AccountId]) -> Done<bool> {
        let base = self.tip(repo.id, &pull.base.branch)?;
        let files = self.pool.files(&self.pool.commit(&base)?.tree)?;
        let places = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
        let Some(entry) = places.iter().find_map(|place| files.get(*place)) else {
            return Ok(true);
        };
        let text = self.pool.blob(&entry.id)?;
        let text = String::from_utf8_lossy(&text).to_lowercase();
        let named = |login: &str| {
            text.split_whitespace()
                .any(|word| word.strip_prefix('@') == Some(login))
        };
        Ok(approvers
            .iter()
            .any(|approver| named(&self.login(*approver).to_lowercase())))
    }

    fn unmet_history(
        &self,
        repo: &Repo,
        pull: &Pull,
        demands: &Demands,
        method: MergeMethod,
        unmet: &mut Vec<Unmet>,
    ) -> Done<()> {
        let mut add = |text: &str| unmet.push(Unmet::new(demands.by_ruleset, text));
        if demands.linear && method == MergeMethod::Merge {
            add("This branch must not contain merge commits.");
        }
        if demands.signed && method != MergeMethod::Squash {
            let base = self.tip(repo.id, &pull.base.branch)?;
            let commits = self.pool.ahead(&base, &pull.head.sha)?;
            if commits
                .iter()
                .any(|commit| !repo.verified.contains(&commit.sha))
            {
                add("Commits must have verified signatures.");
            }
        }
        if demands.locked {
            add("Cannot update this protected ref.");
        }
        if demands.queue {
            add("Changes must be made through the merge queue");
        }
        Ok(())
    }
}

/// `prefix/*` and `*suffix` patterns, and `**` at the end: as much as stories use.
fn covers(pattern: &str, branch: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => {
            let after = after.trim_start_matches('*');
            let deep = pattern.contains("**");
            branch
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|middle| deep || !middle.contains('/'))
        }
        None => pattern == branch,
    }
}

fn count_states(waiting: &[(&str, &str)]) -> String {
    let parts: Vec<String> = ["expected", "failing", "pending"]
        .iter()
        .filter_map(|state| {
            let count = waiting.iter().filter(|(_, other)| other == state).count();
            (count > 0).then(|| format!("{count} {state}"))
        })
        .collect();
    parts.join(" and ")
}

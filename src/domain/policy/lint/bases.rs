//! Base branches: are they there, and would GitHub let us merge into them, in that way?

use super::{Facts, Findings, OWN_CHECK, Severity, Step, Subject};
use crate::domain::facts::{Fetched, PlatformRule};
use crate::domain::model::AppId;
use crate::domain::policy::nearest::nearest;
use crate::domain::policy::{Method, Mode, Policy, When};

pub(super) const KEY: [Step<'static>; 2] = [Step::Key("merge"), Step::Key("base_branches")];
const METHOD: [Step<'static>; 2] = [Step::Key("merge"), Step::Key("method")];

/// Judges the base branches and the merge method.
pub(super) fn judge(policy: &Policy, facts: &Facts, findings: &mut Findings<'_>) {
    let patterns = policy.merge.base_branches.patterns();
    for (index, pattern) in patterns.iter().enumerate() {
        let at = [KEY[0], KEY[1], Step::Item(index)];
        if patterns[..index].contains(pattern) {
            let what = format!("`{pattern}` is listed twice");
            findings.warning(Subject::Dead, &at, what, "keep one");
            continue;
        }
        if let Some(read) = facts.bases.get(pattern) {
            exists(pattern, &at, read, facts, findings);
        }
    }
    let hinders = Hinders::of(policy);
    for (base, read) in &facts.bases {
        let index = patterns.iter().position(|pattern| pattern == base);
        let at = [KEY[0], KEY[1], Step::Item(index.unwrap_or(0))];
        let at = if index.is_some() { &at[..] } else { &KEY[..] };
        match read {
            Fetched::Known(Some(rules)) => {
                for rule in rules {
                    forbids(base, at, rule, policy.merge.method, hinders, findings);
                }
                let gate = Gate::of(rules, facts.own_app);
                own_check(base, at, gate, facts.own_app, policy, findings);
            }
            // A branch that only a pull request showed may be gone by now.
            Fetched::Known(None) => {}
            read if index.is_none() => {
                let why = read.require().err().unwrap_or_default();
                findings.blind(Subject::Base, at, &format!("the rules on `{base}`"), why);
            }
            _ => {}
        }
    }
    method(policy, facts, hinders, findings);
}

/// Whether an entry names one branch, and is no pattern.
pub fn is_name(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '{', '\\'])
}

/// How bad it is when GitHub would refuse a merge: a policy that merges nothing is not hindered yet.
#[derive(Clone, Copy)]
struct Hinders(Severity);

impl Hinders {
    fn of(policy: &Policy) -> Self {
        let merges = policy.merge.when != When::Never || policy.merge.others != When::Never;
        if merges && policy.mode == Mode::Enforce {
            Self(Severity::Error)
        } else {
            Self(Severity::Warning)
        }
    }
}

fn exists(
    name: &str,
    at: &[Step<'_>],
    read: &Fetched<Option<Vec<PlatformRule>>>,
    facts: &Facts,
    findings: &mut Findings<'_>,
) {
    match read {
        Fetched::Known(Some(_)) => {}
        Fetched::Known(None) => {
            let there = facts
                .bases
                .iter()
                .filter(|(_, read)| matches!(read, Fetched::Known(Some(_))));
            let default = facts.default_branch.as_ref().map(|base| base.as_str());
            let known = there.map(|(name, _)| name.as_str()).chain(default);
            let what = format!("there is no branch `{name}`");
            let mend = match (nearest(name, known), default) {
                (Some(near), _) => {
                    format!("did you mean `{near}`? Otherwise make the branch, or remove it here")
                }
                (None, Some(default)) => format!(
                    "make the branch, or remove it here (the default branch is `{default}`)"
                ),
                (None, None) => "make the branch, or remove it here".to_owned(),
            };
            findings.error(Subject::Base, at, what, &mend);
        }
        read => {
            let why = read.require().err().unwrap_or_default();
            findings.blind(Subject::Base, at, &format!("the branch `{name}`"), why);
        }
    }
}

fn forbids(
    base: &str,
    at: &[Step<'_>],
    rule: &PlatformRule,
    method: Method,
    hinders: Hinders,
    findings: &mut Findings<'_>,
) {
    let word = word(method);
    let (what, mend) = match rule {
        PlatformRule::MergeQueue => (
            format!(
                "`{base}` is merged by GitHub's merge queue only, which this version does not feed"
            ),
            "take the merge queue rule off the branch, or the branch off this list".to_owned(),
        ),
        PlatformRule::UpdatesRestricted => (
            format!(
                "`{base}` may be updated by nobody without a bypass, and a bypass is never used"
            ),
            "take the rule \"restrict updates\" off the branch".to_owned(),
        ),
        PlatformRule::LinearHistory if method == Method::Merge => (
            format!(
                "`{base}` takes no merge commits (linear history), and the policy merges with one"
            ),
            "set `merge.method` to `squash` or `rebase`, or take the rule off".to_owned(),
        ),
        PlatformRule::SignedCommits if method == Method::Rebase => (
            format!(
                "`{base}` takes signed commits only, and GitHub signs none of those it rebases"
            ),
            "set `merge.method` to `merge` or `squash`, or take the rule off".to_owned(),
        ),
        PlatformRule::Reviews { methods, .. }
            if !methods.is_empty() && !methods.iter().any(|allowed| allowed == word) =>
        {
            let allowed: Vec<_> = methods.iter().map(|one| format!("`{one}`")).collect();
            let allowed = allowed.join(" or ");
            (
                format!("a rule on `{base}` allows {allowed} only, and the policy says `{word}`"),
                format!("set `merge.method` to {allowed}, or allow `{word}` in the rule"),
            )
        }
        _ => return,
    };
    findings.add(hinders.0, Subject::Base, at, what, Some(mend));
}

/// How GitHub holds merges by hand to our check on a branch. All rules hold together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// It is required, and taken from us alone.
    Closed,
    /// It is required from another App: ours never satisfies that.
    Elsewhere(AppId),
    /// It is required, and whoever may write can report it.
    Forgeable,
    /// It is not required.
    Open,
}

impl Gate {
    /// What the rules on a branch make of our check.
    pub fn of(rules: &[PlatformRule], own: AppId) -> Self {
        let pins: Vec<Option<AppId>> = rules
            .iter()
            .filter_map(|rule| match rule {
                PlatformRule::RequiredCheck { context, app, .. } if context == OWN_CHECK => {
                    Some(*app)
                }
                _ => None,
            })
            .collect();
        match pins.iter().flatten().find(|app| **app != own) {
            Some(other) => Self::Elsewhere(*other),
            None if pins.contains(&Some(own)) => Self::Closed,
            None if pins.is_empty() => Self::Open,
            None => Self::Forgeable,
        }
    }
}

/// Without a rule that holds everybody to our check the gate is advice: it merges only what it cleared,
/// and anybody else may merge what it did not.
fn own_check(
    base: &str,
    at: &[Step<'_>],
    gate: Gate,
    own: AppId,
    policy: &Policy,
    findings: &mut Findings<'_>,
) {
    let (severity, what, mend) = match gate {
        Gate::Closed => return,
        Gate::Elsewhere(other) => (
            Severity::Error,
            format!(
                "GitHub wants the check `{OWN_CHECK}` on `{base}` from App {other}; this one is App \
                 {own}, so no merge would ever be allowed"
            ),
            format!("pin the required check `{OWN_CHECK}` to this App ({own})"),
        ),
        Gate::Open => (
            Severity::Warning,
            format!(
                "GitHub does not require the check `{OWN_CHECK}` on `{base}`: the gate is advice, \
                 anybody with write access may merge past it"
            ),
            format!(
                "add a ruleset for `{base}` that requires the status check `{OWN_CHECK}`, with this App \
                 as its source"
            ),
        ),
        Gate::Forgeable => (
            // It looks closed and is not; a policy that only observes closes nothing anyway.
            match policy.mode {
                Mode::Enforce => Severity::Error,
                Mode::Observe => Severity::Warning,
            },
            format!(
                "GitHub requires the check `{OWN_CHECK}` on `{base}` from any source: whoever may \
                 write to the repository can report it green"
            ),
            format!("set this App ({own}) as the source of the required check `{OWN_CHECK}`"),
        ),
    };
    findings.add(severity, Subject::OwnCheck, at, what, Some(mend));
}

fn method(policy: &Policy, facts: &Facts, hinders: Hinders, findings: &mut Findings<'_>) {
    let method = policy.merge.method;
    let methods = match facts.methods.require() {
        Ok(methods) => methods,
        Err(why) => {
            findings.blind(Subject::Method, &METHOD, "the merge methods allowed", why);
            return;
        }
    };
    let all = [
        (Method::Merge, methods.merge),
        (Method::Squash, methods.squash),
        (Method::Rebase, methods.rebase),
    ];
    let ours = all.iter().find(|(one, _)| *one == method);
    let word = word(method);
    match ours.and_then(|(_, allowed)| *allowed) {
        Some(true) => {}
        Some(false) => {
            let allowed = all.iter().filter(|(_, allowed)| *allowed == Some(true));
            let allowed: Vec<_> = allowed
                .map(|(one, _)| format!("`{}`", self::word(*one)))
                .collect();
            let what = format!("the repository's settings do not allow the merge method `{word}`");
            let mend = match allowed.as_slice() {
                [] => format!("allow `{word}` under Settings, General, Pull Requests"),
                some => format!(
                    "set `merge.method` to {}, or allow `{word}` under Settings, General, Pull Requests",
                    some.join(" or ")
                ),
            };
            findings.add(hinders.0, Subject::Method, &METHOD, what, Some(mend));
        }
        None => {
            let why = "GitHub does not tell this App; it needs the permission `contents: write`";
            findings.blind(Subject::Method, &METHOD, "the merge methods allowed", why);
        }
    }
}

/// A method as GitHub and policies write it.
pub fn word(method: Method) -> &'static str {
    match method {
        Method::Merge => "merge",
        Method::Squash => "squash",
        Method::Rebase => "rebase",
    }
}

//! What GitHub itself demands on the base branch: a merge that it would refuse is told in advance, by
//! the name of the rule.
//!
//! Rulesets and classic protection count together. Our own check is left out: it is set just before
//! the merge, and must never wait for itself; only that the branch must be up to date for it counts. Rules that only GitHub can judge (signatures,
//! deployments, code scanning, code owners) are named and left to GitHub's answer.

use super::approvals::standing_reviews;
use super::checks::{self, Source};
use super::{Case, as_open_as, worst};
use crate::domain::facts::{PlatformRule, ReviewState};
use crate::domain::model::AppId;
use crate::domain::policy::Method;
use crate::domain::verdict::{Basis, GateResult, Move, Proof};

/// The name under which we publish.
const OWN_CHECK: &str = "countersign";

/// Judges the gate.
pub fn judge(case: &Case<'_>) -> GateResult {
    let base = &case.pull.base;
    let rules = match case.snapshot.rules.require() {
        Ok(rules) => rules,
        Err(why) => {
            let reason = format!("GitHub's rules on `{base}` could not be read: {why}.");
            return GateResult::undetermined("platform_rules", Move::Countersign, reason);
        }
    };
    let details: Vec<_> = rules.iter().filter_map(|rule| one(case, rule)).collect();
    if let Some(open) = worst(&details) {
        let reason = format!("GitHub would refuse the merge: {}", open.reason);
        return as_open_as("platform_rules", open, reason).details(details);
    }
    let what = match rules.len() {
        0 => format!("GitHub lists no rule on `{base}`"),
        count => format!("{count} rules of GitHub on `{base}`"),
    };
    let proof = Proof::one(Basis::new(what, None));
    let reason = "No rule of GitHub is known to stand in the way.";
    GateResult::satisfied("platform_rules", proof, reason).details(details)
}

fn one(case: &Case<'_>, rule: &PlatformRule) -> Option<GateResult> {
    match rule {
        PlatformRule::RequiredCheck {
            context,
            app,
            strict,
        } => {
            let ours = context == OWN_CHECK && app.is_none_or(|app| app == case.snapshot.own_app);
            let check = (!ours).then(|| required(case, context, *app));
            let passes = check.as_ref().is_none_or(|check| check.state.passes());
            let behind = if *strict && passes {
                behind(case, context)
            } else {
                None
            };
            behind.or(check)
        }
        PlatformRule::Reviews { .. } => Some(reviews(case, rule)),
        PlatformRule::MergeQueue => Some(refused(
            "merge_queue",
            "the branch is merged by GitHub's merge queue only, which this version does not feed.",
            "take the merge queue rule off the branch, or merge by the queue yourself",
        )),
        PlatformRule::LinearHistory if case.policy.merge.method == Method::Merge => Some(refused(
            "required_linear_history",
            "the branch takes no merge commits, and the policy merges with one.",
            "set merge.method to squash or rebase, or take the rule off the branch",
        )),
        PlatformRule::UpdatesRestricted => Some(refused(
            "update",
            "nobody without a bypass may update the branch.",
            "take the rule off the branch; a bypass is never used",
        )),
        PlatformRule::LinearHistory => None,
        PlatformRule::SignedCommits => Some(left_to_github("required_signatures")),
        PlatformRule::Other(kind) => Some(left_to_github(kind)),
    }
}

fn required(case: &Case<'_>, context: &str, app: Option<AppId>) -> GateResult {
    let app = app.map(|app| app.to_string());
    let source = Source {
        name: context,
        app: app.as_deref(),
        workflow: None,
    };
    checks::judge_one(case, &source, checks::Passing::AsGitHub)
}

/// A strict check must have run on a head that contains the base; `None` when it does.
fn behind(case: &Case<'_>, context: &str) -> Option<GateResult> {
    let base = &case.pull.base;
    match case.comparison() {
        Ok(comparison) if comparison.up_to_date() => None,
        Ok(_) => {
            let reason = format!("`{context}` must have run on a head that contains `{base}`.");
            let failed = GateResult::failed(context, Move::Author, reason);
            Some(failed.next(format!("update the branch with `{base}`")))
        }
        Err(why) => {
            let reason = format!("Whether the head contains `{base}` is not known: {why}.");
            Some(GateResult::undetermined(context, Move::Countersign, reason))
        }
    }
}

fn refused(rule: &str, reason: &str, next: &str) -> GateResult {
    GateResult::failed(rule, Move::Owner, reason).next(next)
}

fn left_to_github(rule: &str) -> GateResult {
    let reason = format!("The rule `{rule}` is GitHub's to judge; it is not foretold.");
    GateResult::skipped(rule, reason)
}

fn reviews(case: &Case<'_>, rule: &PlatformRule) -> GateResult {
    const NAME: &str = "pull_request";
    let PlatformRule::Reviews {
        approvals, methods, ..
    } = rule
    else {
        return left_to_github(NAME);
    };
    let method = match case.policy.merge.method {
        Method::Merge => "merge",
        Method::Squash => "squash",
        Method::Rebase => "rebase",
    };
    if !methods.is_empty() && !methods.iter().any(|allowed| allowed == method) {
        let reason = format!(
            "the branch is merged by {} only, and the policy merges by {method}.",
            methods.join(" or ")
        );
        return refused(
            NAME,
            &reason,
            "set merge.method to a method that the rule allows",
        );
    }
    let standing = match standing_reviews(case) {
        Ok(standing) => standing,
        Err(why) => {
            let reason = format!("the reviews could not be read: {why}.");
            return GateResult::undetermined(NAME, Move::Countersign, reason);
        }
    };
    if let Some(against) = standing
        .iter()
        .find(|review| review.state == ReviewState::ChangesRequested)
    {
        let who = against
            .author
            .as_ref()
            .map_or("somebody", |a| a.login.as_str());
        let reason = format!("{who} requested changes.");
        return GateResult::waiting(NAME, Move::Author, reason)
            .next(format!("answer {who} and ask for another review"))
            .seen(Basis::new("the review", against.url.clone()));
    }
    let approving: Vec<_> = standing
        .iter()
        .filter(|review| review.state == ReviewState::Approved)
        .collect();
    if (approving.len() as u64) < *approvals {
        let reason = format!(
            "{} of {approvals} approvals that GitHub requires are there.",
            approving.len()
        );
        let step = format!("ask a reviewer to approve {}", case.pull.head.short());
        return GateResult::waiting(NAME, Move::Maintainer, reason).next(step);
    }
    match Proof::new(
        approving
            .iter()
            .map(|review| Basis::new("an approval", review.url.clone()))
            .collect(),
    ) {
        Some(proof) => {
            GateResult::satisfied(NAME, proof, "The approvals that GitHub requires are there.")
        }
        None => GateResult::skipped(NAME, "The rule requires no approval."),
    }
}

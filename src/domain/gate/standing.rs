//! The gates that every pull request has, whatever the policy says.

use chrono::{Datelike, Duration, NaiveTime, Weekday};

use super::next_step::command;
use super::{Case, platform_rules};
use crate::domain::facts::{PolicyOrigin, PullState, Refusal};
use crate::domain::model::Timestamp;
use crate::domain::policy::{FreezeWindow, Problem};
use crate::domain::verdict::{Basis, GateResult, Move, Proof};

/// The name of the gate that hangs on GitHub's word about conflicts.
pub const CONFLICTS: &str = "conflicts";

/// The policy does not validate.
pub fn invalid_policy(problems: &[Problem], origin: &PolicyOrigin) -> GateResult {
    let details = problems
        .iter()
        .map(|problem| {
            let place = match problem.line {
                0 => "policy".to_owned(),
                line => format!("line {line}, column {}", problem.column),
            };
            let hint = problem.hint.as_deref().map(|hint| format!("; {hint}"));
            let reason = format!("{}{}", problem.message, hint.unwrap_or_default());
            GateResult::failed(place, Move::Owner, reason)
        })
        .collect::<Vec<_>>();
    let count = problems.len();
    let first = details
        .first()
        .map(|first| format!(" First, at {}: {}", first.gate, first.reason));
    let (which, place) = match origin {
        PolicyOrigin::Repository => (
            "The policy at the base branch's tip".to_owned(),
            "on the base branch".to_owned(),
        ),
        PolicyOrigin::Organisation { repo, tip } => (
            format!(
                "The organisation's default policy, {repo} at {},",
                tip.short()
            ),
            format!("in {repo}, or give this repository a policy of its own"),
        ),
    };
    let reason = format!(
        "{which} does not validate ({count} problem{}); nothing merges until it is mended.{}",
        if count == 1 { "" } else { "s" },
        first.unwrap_or_default()
    );
    GateResult::failed("policy", Move::Owner, reason)
        .next(format!(
            "mend .github/countersign.yml {place}; `countersign policy check FILE` shows every problem"
        ))
        .details(details)
}

/// The policy could not be read.
pub fn unreadable_policy(why: &str) -> GateResult {
    let reason = format!("The policy that applies could not be read: {why}.");
    GateResult::undetermined("policy", Move::Countersign, reason)
}

/// Every standing gate, in the order of display.
pub fn judge(case: &Case<'_>) -> Vec<GateResult> {
    let mut gates = vec![
        open(case),
        draft(case),
        policy(case),
        conflicts(case),
        base(case),
    ];
    gates.push(held(case));
    gates.push(frozen(case));
    if case.policy.merge.up_to_date_required {
        gates.push(up_to_date(case));
    }
    gates.push(platform_rules::judge(case));
    if let Some(refusal) = &case.snapshot.refusal {
        gates.push(landing(case, refusal));
    }
    gates
}

fn fact(what: impl Into<String>) -> Proof {
    Proof::one(Basis::new(what, None))
}

fn open(case: &Case<'_>) -> GateResult {
    match &case.pull.state {
        PullState::Open => {
            GateResult::satisfied("open", fact("GitHub says it is open"), "It is open.")
        }
        PullState::Closed => {
            GateResult::failed("open", Move::Author, "It is closed.").next("reopen it")
        }
        PullState::Merged { .. } => {
            GateResult::satisfied("open", fact("GitHub says it is merged"), "It is merged.")
        }
    }
}

fn draft(case: &Case<'_>) -> GateResult {
    if case.pull.draft {
        GateResult::waiting("not_draft", Move::Author, "It is a draft.")
            .next("mark it as ready for review")
    } else {
        GateResult::satisfied(
            "not_draft",
            fact("GitHub says it is no draft"),
            "It is no draft.",
        )
    }
}

fn policy(case: &Case<'_>) -> GateResult {
    let origin = case.snapshot.policy.origin();
    if let Some(default) = origin.and_then(PolicyOrigin::of_organisation) {
        let reason = format!("The policy is valid: {default}.");
        return GateResult::satisfied("policy", fact(default), reason);
    }
    let tip = case.snapshot.base.known().map(|base| base.tip.short());
    let what = match tip {
        Some(tip) => format!("the policy at {} {tip}", case.pull.base),
        None => "the policy".to_owned(),
    };
    GateResult::satisfied("policy", fact(what), "The policy is valid.")
}

/// `mergeable` speaks of conflicts and of nothing else.
fn conflicts(case: &Case<'_>) -> GateResult {
    let base = &case.pull.base;
    match case.pull.mergeable {
        Some(true) => GateResult::satisfied(
            CONFLICTS,
            fact("GitHub's trial merge"),
            format!("It merges into `{base}` without conflicts."),
        ),
        Some(false) => GateResult::failed(
            CONFLICTS,
            Move::Author,
            format!("It conflicts with `{base}`."),
        )
        .next(format!(
            "merge or rebase onto `{base}` and resolve the conflicts"
        )),
        None => GateResult::waiting(
            CONFLICTS,
            Move::GitHub,
            format!("GitHub has not said yet whether it merges into `{base}` without conflicts."),
        ),
    }
}

fn base(case: &Case<'_>) -> GateResult {
    let base = &case.pull.base;
    if case.policy.merge.allows(base) {
        if let Err(why) = tip_of_base(case) {
            let reason = format!("The tip of `{base}` is not known: {why}.");
            return GateResult::undetermined("base", Move::Countersign, reason);
        }
        let proof = fact("merge.base_branches of the policy");
        return GateResult::satisfied("base", proof, format!("The policy merges into `{base}`."));
    }
    let allowed = case.policy.merge.base_branches.patterns().join("`, `");
    GateResult::failed(
        "base",
        Move::Author,
        format!("The policy does not merge into `{base}`, only into `{allowed}`."),
    )
    .next(format!("retarget it to one of `{allowed}`"))
}

/// Whether the base branch that was read is the one the pull request has.
fn tip_of_base(case: &Case<'_>) -> Result<(), String> {
    let read = case.snapshot.base.require()?;
    if read.name == case.pull.base {
        Ok(())
    } else {
        Err(format!("the branch that was read is `{}`", read.name))
    }
}

fn held(case: &Case<'_>) -> GateResult {
    match (&case.snapshot.hold, &case.snapshot.stop_asked) {
        (None, None) => {
            GateResult::satisfied("not_held", fact("no hold is recorded"), "It is not held.")
        }
        // In doubt it is a stop: one that comes too late is worth nothing.
        (None, Some(why)) => GateResult::undetermined("not_held", Move::Countersign, why.clone()),
        (Some(hold), _) => {
            let mut reason = format!("{} holds it: {}", hold.by, hold.reason);
            if case.pull.auto_merge {
                let stop = if reason.ends_with('.') { "" } else { "." };
                reason += stop;
                reason += " GitHub's own auto-merge is armed and may merge past this hold.";
            }
            GateResult::waiting("not_held", Move::Maintainer, reason).next(format!(
                "let it go with the button on this check, or comment {}",
                command(Some(case.policy), "unhold")
            ))
        }
    }
}

fn frozen(case: &Case<'_>) -> GateResult {
    let base = &case.pull.base;
    if let Some(freeze) = &case.snapshot.freeze {
        let reason = format!("`{base}` is frozen by {}: {}", freeze.by, freeze.reason);
        return GateResult::waiting("not_frozen", Move::Owner, reason).next(format!(
            "look at what happened, then comment {}",
            command(Some(case.policy), &format!("thaw {base}"))
        ));
    }
    let now = case.snapshot.now;
    let mut windows = case.policy.merge.freeze.iter();
    if let Some(window) = windows.find(|window| covers(window, now)) {
        let reason = format!(
            "Nothing merges from {} to {} ({}), by the policy.",
            moment(window.from),
            moment(window.to),
            window.timezone
        );
        return GateResult::waiting("not_frozen", Move::Countersign, reason).next(format!(
            "wait until {} ({})",
            moment(window.to),
            window.timezone
        ));
    }
    let proof = fact("no freeze is recorded, and no window of the policy covers this time");
    GateResult::satisfied("not_frozen", proof, format!("`{base}` is not frozen."))
}

fn moment((day, time): (Weekday, NaiveTime)) -> String {
    format!("{day} {}", time.format("%H:%M"))
}

/// Whether a weekly window covers a time. Both ends are read on the clocks of its time zone, so a
/// window keeps its wall-clock hours when clocks change; one that ends before it begins goes on over
/// the end of the week; one that ends where it begins never ends.
fn covers(window: &FreezeWindow, now: Timestamp) -> bool {
    let local = now.with_timezone(&window.timezone);
    let minute_of_week = |day: Weekday, time: NaiveTime| {
        let since_midnight = time - NaiveTime::MIN;
        Duration::days(i64::from(day.num_days_from_monday())) + since_midnight
    };
    let at = minute_of_week(local.weekday(), local.time());
    let from = minute_of_week(window.from.0, window.from.1);
    let to = minute_of_week(window.to.0, window.to.1);
    if from < to {
        from <= at && at < to
    } else {
        at >= from || at < to
    }
}

fn up_to_date(case: &Case<'_>) -> GateResult {
    let base = &case.pull.base;
    match case.comparison() {
        Err(why) => {
            let reason = format!("Whether it contains the tip of `{base}` is not known: {why}.");
            GateResult::undetermined("up_to_date", Move::Countersign, reason)
        }
        Ok(comparison) if comparison.up_to_date() => {
            let proof = fact(format!(
                "its merge base is the tip {}",
                comparison.base_tip.short()
            ));
            GateResult::satisfied(
                "up_to_date",
                proof,
                format!("It contains the tip of `{base}`."),
            )
        }
        Ok(comparison) => GateResult::failed(
            "up_to_date",
            Move::Author,
            format!(
                "`{base}` has moved to {}, which it does not contain.",
                comparison.base_tip.short()
            ),
        )
        .next(format!("update the branch with `{base}`")),
    }
}

/// GitHub refused to merge this head. Tried again after a while that grows with every refusal, or
/// when something changes; until then the gate says in GitHub's words why.
fn landing(case: &Case<'_>, refusal: &Refusal) -> GateResult {
    let reason = format!(
        "GitHub refused to merge {}: {}",
        refusal.head.short(),
        refusal.reason
    );
    if case.snapshot.now < refusal.until() {
        let until = refusal.until().format("%Y-%m-%d %H:%M:%S UTC");
        return GateResult::waiting("landing", Move::Countersign, reason).next(format!(
            "mend what GitHub names; the merge is tried again at {until}"
        ));
    }
    let proof = fact("the pause after GitHub's refusal has passed");
    GateResult::satisfied("landing", proof, format!("{reason} It is tried again."))
}

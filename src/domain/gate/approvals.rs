//! People's approvals of exactly this head.
//!
//! Reviews fold per person: of approvals, requests for changes and dismissals the latest stands; a
//! comment changes nothing; a dismissed review means that nothing stands. An approval counts for the
//! head and the base it was first seen with, whatever GitHub says later. One that no delivery told of, only a list, may have
//! been moved before: GitHub moves reviews along when the base is merged into the branch. So it counts for such a
//! merge only if it was given after the merge was there.

use std::collections::BTreeMap;

use super::Case;
use super::principals::AuthorSide;
use crate::domain::facts::{Fetched, Review, ReviewState};
use crate::domain::model::{Actor, ActorId, ActorKind};
use crate::domain::policy::{Approvals, Party};
use crate::domain::verdict::{Basis, GateResult, Move, Proof};

const GATE: &str = "approvals";

/// The review of each person that stands, if any does.
///
/// # Errors
/// Why the reviews are not known.
pub fn standing_reviews<'a>(case: &Case<'a>) -> Result<Vec<&'a Review>, String> {
    let list = case.snapshot.reviews.require().map_err(str::to_owned)?;
    if !list.complete {
        return Err("the list is not whole".into());
    }
    let mut standing: BTreeMap<ActorId, &Review> = BTreeMap::new();
    for review in &list.items {
        let speaks = matches!(
            review.state,
            ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed
        );
        let Some(author) = review.author.as_ref().filter(|_| speaks) else {
            continue;
        };
        let held = standing.entry(author.id).or_insert(review);
        // Of one review that is listed twice (it changed between two pages) the dissent counts.
        let dissents = |review: &Review| review.state != ReviewState::Approved;
        if (held.id, dissents(held)) < (review.id, dissents(review)) {
            *held = review;
        }
    }
    let stands = |review: &&Review| review.state != ReviewState::Dismissed;
    Ok(standing.into_values().filter(stands).collect())
}

/// Judges the gate.
pub fn judge(case: &Case<'_>, gate: &Approvals) -> GateResult {
    if gate.code_owners {
        let reason = "The policy asks for code owners, which this version does not judge.";
        return GateResult::failed(GATE, Move::Owner, reason)
            .next("take gates.approvals.code_owners out of the policy");
    }
    if let Some(open) = conversations(case, gate) {
        return open;
    }
    let standing = match standing_reviews(case) {
        Ok(standing) => standing,
        Err(why) => {
            let reason = format!("The reviews could not be read: {why}.");
            return GateResult::undetermined(GATE, Move::Countersign, reason);
        }
    };
    let side = AuthorSide::of(case);
    let mut records = Vec::new();
    let mut details = Vec::new();
    for review in standing {
        let Some(author) = &review.author else {
            continue;
        };
        let name = author.login.as_str();
        let counts = match may_speak(case, gate, &side, review, author) {
            Ok(counts) => counts,
            Err(why) if review.state == ReviewState::ChangesRequested => {
                let reason = format!("{name} requested changes. {why}");
                return GateResult::undetermined(GATE, Move::Countersign, reason);
            }
            Err(why) => {
                details.push(GateResult::undetermined(name, Move::Countersign, why));
                continue;
            }
        };
        match (counts, &review.state) {
            (Err(why), _) => {
                details.push(GateResult::skipped(name, format!("Does not count: {why}.")));
            }
            (Ok(()), ReviewState::ChangesRequested) => {
                let reason = format!("{name} requested changes.");
                return GateResult::failed(GATE, Move::Author, reason)
                    .next(format!("answer {name} and ask for another review"))
                    .seen(Basis::new(
                        format!("the review of {name}"),
                        review.url.clone(),
                    ));
            }
            (Ok(()), _) => match void(case, review) {
                Some(why) => details.push(GateResult::skipped(name, why)),
                None => records.push(Basis::new(
                    format!("approval by {name}"),
                    review.url.clone(),
                )),
            },
        }
    }
    counted(case, gate, records, details)
}

/// Why an approval is not, or may not be, of what stands to be merged now.
fn void(case: &Case<'_>, review: &Review) -> Option<&'static str> {
    if review.head.as_ref() != Some(&case.pull.head) {
        Some("Approved another head than this one; that is void.")
    } else if is_for_another_base(case, review) {
        Some(
            "Approved this head for another base, against which it changed other lines; that is void.",
        )
    } else if moved(case, review) {
        Some(
            "It was given before this merge of the base was seen; GitHub moves approvals along then, and whether \
             it was of this head is not known.",
        )
    } else {
        None
    }
}

/// Whether a review was, or may have been, given while the pull request had another base. A retarget changes what
/// there is to approve and leaves the head; GitHub dismisses approvals then only where it is told to.
fn is_for_another_base(case: &Case<'_>, review: &Review) -> bool {
    let before = |since| review.submitted_at.is_none_or(|at| at <= since);
    match &review.base {
        Some(base) => *base != case.pull.base,
        None => !review.head_told && case.snapshot.base_since.is_some_and(before),
    }
}

/// Whether a review may be of an older head than GitHub says. Pushes move no review, only merges of the base do.
fn moved(case: &Case<'_>, review: &Review) -> bool {
    let later = |since| review.submitted_at.is_some_and(|at| at > since);
    let given_later = case.snapshot.head_since.is_some_and(later);
    let head = case.pull.head.oid();
    let is_merge = case.comparison().is_ok_and(|comparison| {
        let mut commits = comparison.commits.items.iter();
        commits.any(|commit| commit.sha == head && commit.parents.len() > 1)
    });
    !review.head_told && is_merge && !given_later
}

fn counted(
    case: &Case<'_>,
    gate: &Approvals,
    records: Vec<Basis>,
    details: Vec<GateResult>,
) -> GateResult {
    let (there, needed) = (records.len() as u64, u64::from(gate.count));
    if needed == 0 {
        let reason = "The policy asks for no approval, and nobody requested changes.";
        return GateResult::skipped(GATE, reason).details(details);
    }
    let head = case.pull.head.short();
    let reason = format!("{there} of {needed} approvals of {head}.");
    if let Some(proof) = Proof::new(records).filter(|_| there >= needed) {
        return GateResult::satisfied(GATE, proof, reason).details(details);
    }
    if let Some(unknown) = details.iter().find(|d| d.state.word() == "undetermined") {
        let reason = format!("{reason} {}", unknown.reason);
        return GateResult::undetermined(GATE, Move::Countersign, reason).details(details);
    }
    GateResult::waiting(GATE, Move::Maintainer, reason)
        .next(format!("ask a reviewer to approve {head}"))
        .details(details)
}

fn conversations(case: &Case<'_>, gate: &Approvals) -> Option<GateResult> {
    if !gate.conversations_resolved {
        return None;
    }
    match case.snapshot.open_conversations.require() {
        Ok(0) => None,
        Ok(open) => {
            let reason = format!("{open} review conversations are not resolved.");
            Some(GateResult::waiting(GATE, Move::Author, reason).next("resolve them"))
        }
        Err(why) => {
            let reason = format!("Whether conversations are open is not known: {why}.");
            Some(GateResult::undetermined(GATE, Move::Countersign, reason))
        }
    }
}

/// Whether somebody's review counts: the inner result says no with the reason, the outer that it
/// cannot be known. Who asks for changes need not be independent.
fn may_speak(
    case: &Case<'_>,
    gate: &Approvals,
    side: &AuthorSide,
    review: &Review,
    actor: &Actor,
) -> Result<Result<(), String>, String> {
    if actor.kind != ActorKind::User {
        return Ok(Err("only people approve here".into()));
    }
    if review.state == ReviewState::Approved
        && let Err(why) = side.excludes(actor)
    {
        return Ok(Err(why));
    }
    if gate.from.is_empty() {
        return Ok(Ok(()));
    }
    let mut unknown = None;
    for party in &gate.from {
        match party {
            Party::User(login) if *login == actor.login => return Ok(Ok(())),
            Party::User(_) => {}
            Party::Team { org, slug } => match case.snapshot.teams.get(&format!("{org}/{slug}")) {
                Some(Fetched::Known(members)) => {
                    if members.iter().any(|member| member.id == actor.id) {
                        return Ok(Ok(()));
                    }
                }
                Some(Fetched::Unavailable(why)) => {
                    unknown = Some(format!("Who is in @{org}/{slug} is not known: {why}."));
                }
                Some(Fetched::NotAsked) | None => {
                    unknown = Some(format!("Who is in @{org}/{slug} has not been read yet."));
                }
            },
        }
    }
    match unknown {
        Some(why) => Err(why),
        None => Ok(Err("the policy does not name them".into())),
    }
}

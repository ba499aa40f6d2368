//! What is remembered becomes facts, and what was read becomes memory.
//!
//! Pure: nothing here reads or writes. A remembered list counts as whole, since it can only say "not
//! yet"; a list that was cut short never replaces one.

use std::collections::BTreeSet;

use crate::domain::facts::{Comment, Fetched, Listing, Review, Snapshot};
use crate::domain::memory::{HeadMemory, PullMemory, PullRecord};
use crate::domain::model::ReviewId;
use crate::domain::request::{Ask, MergeRequest, Pressed, Requests};

/// Remembered lists are taken as whole: they can only say "not yet", since nothing succeeds on
/// remembered facts.
pub fn fill_from_head(snapshot: &mut Snapshot, head: &HeadMemory) {
    snapshot.runs = Fetched::Known(Listing::whole(head.runs.values().cloned().collect()));
    snapshot.statuses = Fetched::Known(Listing::whole(head.statuses.values().cloned().collect()));
    snapshot.workflows = Fetched::Known(Listing::whole(head.workflows.clone()));
}

/// Since when head and base are what they are, and who pushed.
pub fn place_moves(snapshot: &mut Snapshot, memory: &PullMemory) {
    snapshot.pushes.clone_from(&memory.pushes);
    snapshot.head_since = memory.head_since;
    snapshot.base_since = memory.base_since;
}

pub fn fill_from_memory(snapshot: &mut Snapshot, memory: &PullMemory) {
    place_moves(snapshot, memory);
    snapshot.reviews = Fetched::Known(Listing::whole(memory.reviews.values().cloned().collect()));
    snapshot.comments = Fetched::Known(Listing::whole(memory.comments.values().cloned().collect()));
}

/// What people asked for, as far as it stands for this head and base.
pub fn fill_from_requests(snapshot: &mut Snapshot, requests: &Requests, pressed: &Pressed) {
    snapshot.hold = requests.standing_hold(pressed);
    snapshot.overrides.clone_from(&requests.overrides);
    let pull = snapshot.pull.known();
    let stands = |request: &&MergeRequest| pull.is_some_and(|pull| pull.base == request.base);
    let asked = pull.map(|pull| requests.asked_about(pull));
    let request = requests.merge.as_ref().filter(stands);
    snapshot.asked = asked.unwrap_or_default();
    snapshot.merge_requested = request.map(|request| request.head.clone());
}

/// Comments with commands whose delivery was lost: those of a list that was read, as far as nobody has
/// heard them and they are not from before the App was there. On a pull request that was opened since,
/// none is; on an older one, those from before the first pass may be.
pub fn missed_asks(
    list: &[Comment],
    opened_since: bool,
    memory: &mut PullMemory,
    record: &PullRecord,
) {
    let later = |comment: &Comment| {
        let first_pass = record.first_pass_at;
        first_pass.is_some_and(|first_pass| comment.created_at > first_pass)
    };
    let missed = list.iter().filter(|comment| {
        // The first pass hears them too: it may be the one that merges.
        let counts = opened_since || later(comment);
        counts && !comment.edited && !record.heard.contains(&comment.id)
    });
    for ask in missed.filter_map(Ask::of) {
        memory.asks.entry(ask.comment).or_insert(ask);
    }
}

/// Why nobody knows whether a comment asks to stop: its delivery may have been lost, and the comments
/// could not be read.
pub fn unread(comments: &Fetched<Listing<Comment>>) -> Option<String> {
    let why = match comments.require() {
        Ok(list) if list.complete => return None,
        Ok(_) => "their list was cut short",
        Err(why) => why,
    };
    Some(format!(
        "Whether a comment asks to stop it is not known: {}.",
        why.trim_end_matches('.')
    ))
}

/// Gives each review the head and the text it was first seen with. GitHub moves `commit_id` to a
/// newer head after an update of the branch, and lets people with write access edit a review.
///
/// A review whose delivery was lost is first seen here; what happened to it before goes unnoticed.
pub fn first_sight(list: Listing<Review>, memory: &mut PullMemory) -> Listing<Review> {
    let mut seen = Vec::with_capacity(list.items.len());
    for review in list.items {
        let id = review.id;
        memory.see_review(review);
        seen.extend(memory.reviews.get(&id).cloned());
    }
    Listing {
        items: seen,
        complete: list.complete,
    }
}

/// Gives each comment the text it was first seen with; one that is gone stays, marked as changed.
pub fn as_first_written(list: Listing<Comment>, memory: &mut PullMemory) -> Listing<Comment> {
    if !list.complete {
        return list;
    }
    memory.see_comments(&list.items);
    Listing::whole(memory.comments.values().cloned().collect())
}

/// What was read replaces what was remembered.
pub fn remember_lists(snapshot: &Snapshot, memory: &mut PullMemory, head: &mut HeadMemory) {
    if let Some(list) = snapshot.reviews.known().filter(|list| list.complete) {
        memory.reviews = list.items.iter().map(|r| (r.id, r.clone())).collect();
        let known: BTreeSet<ReviewId> = memory.reviews.keys().copied().collect();
        memory.review_texts.retain(|id, _| known.contains(id));
    }
    if let Some(list) = snapshot.runs.known().filter(|list| list.complete) {
        head.runs = list.items.iter().map(|run| (run.id, run.clone())).collect();
    }
    if let Some(list) = snapshot.statuses.known().filter(|list| list.complete) {
        head.statuses = list
            .items
            .iter()
            .map(|status| (status.context.clone(), status.clone()))
            .collect();
    }
    if let Some(list) = snapshot.workflows.known().filter(|list| list.complete) {
        head.workflows.clone_from(&list.items);
    }
}

//! What is said about a dispatch that waits: why, who holds the slots, and which place it has.

use sha2::{Digest, Sha256};

use super::share::leaves_room;
use super::{Count, Grant, Holder, Record, Waiting};
use crate::domain::model::PullNumber;
use crate::domain::policy::Dispatch;

/// Holders that are named one by one.
const MOST_HOLDERS: usize = 30;

/// By what the comment on an issue is found again.
pub fn marker(order: u64) -> String {
    format!("<!-- countersign:dispatch:{order} -->")
}

pub(super) fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// Why an issue is kept back, as a half sentence; `None` when it may be granted now.
pub(super) fn kept_back(
    policy: &Dispatch,
    count: &Count,
    record: &Record,
    waiting: &Waiting,
) -> Option<String> {
    if let Some(lacks) = &waiting.lacks {
        return Some(lacks.clone());
    }
    if let Some(why) = reason(policy, count, record) {
        return Some(why);
    }
    match &policy.share {
        Some(share) if !waiting.shared => leaves_room(share, record).err(),
        _ => None,
    }
}

/// Why nothing at all can be granted now, as a half sentence; `None` while a slot is free.
pub fn reason(policy: &Dispatch, count: &Count, record: &Record) -> Option<String> {
    let holders = match count {
        Count::Unknown(why) => return Some(format!("the limit cannot be known: {why}")),
        Count::Known(holders) => holders.len(),
    };
    let under_way = record.grants.len();
    if under_way >= policy.max_in_flight as usize {
        let dispatches = match under_way {
            1 => "1 granted dispatch has",
            _ => &format!("{under_way} granted dispatches have"),
        };
        return Some(format!(
            "{dispatches} not opened a pull request yet, and the policy allows {}",
            policy.max_in_flight
        ));
    }
    if holders + under_way > policy.max_open_prs as usize {
        let more = match under_way {
            0 => String::new(),
            1 => " and 1 granted dispatch without one".to_owned(),
            _ => format!(" and {under_way} granted dispatches without one"),
        };
        return Some(format!(
            "{} open{more}, and the policy blocks above {}",
            pulls(holders, "is", "are"),
            policy.max_open_prs
        ));
    }
    None
}

/// The comment on an issue that waits.
pub fn comment_text(
    policy: &Dispatch,
    count: &Count,
    record: &Record,
    waiting: &Waiting,
    place: usize,
) -> String {
    let why = kept_back(policy, count, record, waiting);
    let why = why.unwrap_or_else(|| "others are before it".into());
    let mut lines = vec![
        marker(waiting.order),
        String::new(),
        format!(
            "**Queued, number {place} in line.** This dispatch waits because {}.",
            why.trim_end_matches('.')
        ),
        String::new(),
    ];
    let fix = match &waiting.lacks {
        Some(_) => "Write them into the issue; it is looked at again when it is edited.".to_owned(),
        None => format!(
            "Nothing has to be done: {} comes by itself when a slot is free and this is the first in \
             line. A slot frees when an agent's pull request is merged or closed.",
            match policy.grant_by_label {
                true => format!("`{}`", policy.grant_label),
                false => format!("`{}`", waiting.labels.join("`, `")),
            }
        ),
    };
    lines.push(fix);
    if waiting.taken_off.len() >= super::MOST_TAKEN_OFF {
        lines.push(
            "Its label was put on again so often within an hour that it is left on for now; whatever \
             does that should stop."
                .to_owned(),
        );
    }
    lines.push(format!(
        "To give up the place, take `{}` off.",
        policy.queued_label
    ));
    if let Count::Known(holders) = count
        && !holders.is_empty()
    {
        lines.push(String::new());
        lines.push(format!("{} slots:", pulls(holders.len(), "holds", "hold")));
        lines.push(String::new());
        lines.extend(holders.iter().take(MOST_HOLDERS).map(holder));
        if holders.len() > MOST_HOLDERS {
            lines.push(format!("- and {} more", holders.len() - MOST_HOLDERS));
        }
    }
    lines.join("\n") + "\n"
}

fn pulls(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 agent pull request {one}"),
        _ => format!("{count} agent pull requests {many}"),
    }
}

fn holder(holder: &Holder) -> String {
    format!(
        "- #{}, open since {} UTC",
        holder.number,
        holder.since.format("%Y-%m-%d %H:%M")
    )
}

/// What the same comment says once the dispatch is granted. The order stands in the marker no more:
/// the comment is known by its id.
pub(super) fn granted_text(grant: &Grant) -> String {
    format!(
        "**Granted** at {} UTC. It waited in line before; it counts as under way until a pull request \
         that names #{} is opened.\n",
        grant.at.format("%Y-%m-%d %H:%M"),
        grant.issue
    )
}

/// Where an issue stands, for whoever asks on it.
pub(super) fn status(policy: Option<&Dispatch>, record: &Record, issue: PullNumber) -> String {
    let Some(policy) = policy else {
        return "The policy limits no dispatches.".into();
    };
    if let Some(grant) = record.grants.iter().find(|grant| grant.issue == issue) {
        return format!(
            "Granted at {} UTC; no pull request that names it is open yet.",
            grant.at.format("%Y-%m-%d %H:%M")
        );
    }
    let line = record.line();
    let Some(place) = line.iter().position(|waiting| waiting.issue == issue) else {
        return "No dispatch is asked for here.".into();
    };
    let unknown = Count::Unknown("it was not counted yet".into());
    let counted = record.counted.as_ref();
    let count = counted.map_or(&unknown, |(count, _)| count);
    let why = kept_back(policy, count, record, line[place]);
    let why = why.unwrap_or_else(|| "others are before it".into());
    format!("Queued, number {} in line, because {why}.", place + 1)
}

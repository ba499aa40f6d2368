//! "May I start?", for programs: the limit as it stands, without giving anything away.

use serde::Serialize;

use super::{Count, Holder, Over, Record, reason, words};
use crate::domain::model::PullNumber;
use crate::domain::policy::Dispatch;

/// The answer. Field names are stable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Whether a dispatch that is asked for now would be granted, as far as the limit goes.
    pub allowed: bool,
    /// How many agents' pull requests are open; `null` where that is not known.
    pub open_agent_prs: Option<usize>,
    /// Above how many nothing is granted; `null` where the policy has no limit.
    pub limit: Option<u32>,
    /// Granted dispatches that have not opened a pull request yet.
    pub in_flight: usize,
    /// How many more may be granted now; `null` where there is no limit.
    pub slots: Option<usize>,
    /// Who waits, in the order of getting a slot.
    pub queued: Vec<Queued>,
    /// The agents' open pull requests.
    pub holders: Vec<Holder>,
    /// Agents' pull requests for issues that were not granted.
    pub over: Vec<Over>,
    /// One sentence.
    pub reason: String,
}

/// One that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Queued {
    pub issue: PullNumber,
    pub title: String,
    pub place: usize,
    pub since: crate::domain::model::Timestamp,
    pub priority: crate::domain::command::Priority,
    pub shared: bool,
    pub reason: String,
}

/// Answers over what is remembered. `limit` is `None` where the policy has none.
pub fn answer(limit: Option<&Dispatch>, count: &Count, record: &Record) -> Answer {
    let holders = match count {
        Count::Known(holders) => Some(holders.clone()),
        Count::Unknown(_) => None,
    };
    let under_way = record.grants.len();
    let Some(limit) = limit else {
        return Answer {
            allowed: true,
            open_agent_prs: holders.as_ref().map(Vec::len),
            limit: None,
            in_flight: under_way,
            slots: None,
            queued: Vec::new(),
            holders: holders.unwrap_or_default(),
            over: Vec::new(),
            reason: "The policy limits no dispatches.".into(),
        };
    };
    let kept = reason(limit, count, record);
    let open = holders.as_ref().map(Vec::len);
    let slots = open.map_or(0, |open| {
        let above = (limit.max_open_prs as usize + 1).saturating_sub(open + under_way);
        above.min((limit.max_in_flight as usize).saturating_sub(under_way))
    });
    let line = record.line();
    let queued = line.iter().enumerate().map(|(at, waiting)| Queued {
        issue: waiting.issue,
        title: waiting.title.clone(),
        place: at + 1,
        since: waiting.since,
        priority: waiting.priority,
        shared: waiting.shared,
        reason: words::kept_back(limit, count, record, waiting)
            .unwrap_or_else(|| "it is next".into()),
    });
    Answer {
        allowed: kept.is_none(),
        open_agent_prs: open,
        limit: Some(limit.max_open_prs),
        in_flight: under_way,
        slots: Some(slots),
        queued: queued.collect(),
        holders: holders.unwrap_or_default(),
        over: record.over.clone(),
        reason: match kept {
            Some(why) => format!("Blocked: {why}."),
            None => format!(
                "{} of {} slots taken by open agent pull requests, {under_way} granted and under way.",
                open.unwrap_or_default(),
                limit.max_open_prs + 1
            ),
        },
    }
}

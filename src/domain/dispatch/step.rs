//! One step of the allocator: from the state and the facts to the next state and what to write.
//!
//! The order within a step is fixed. First whatever ended is taken out (it frees slots), then whoever
//! asked anew gets in line, then slots are given away from the front of the line. What is to be written
//! is read off the state afterwards.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::naming::names;
use super::words::{self, comment_text};
use super::{Act, Count, Grant, Holder, Over, Past, Record, Spent, Waiting, is_open, share};
use crate::domain::facts::{Fetched, Issue, Listing, PullRequest};
use crate::domain::gate::counts_as_agents;
use crate::domain::gate::form::has_section;
use crate::domain::memory::{IssuesMemory, Labelled};
use crate::domain::model::{PullNumber, RepoId, Timestamp};
use crate::domain::policy::{Agents, Dispatch};

/// A pull request that was opened a little before its grant may still be its own: clocks differ.
const LEEWAY: chrono::Duration = chrono::Duration::minutes(1);
/// Comments that are brought up to date in one step: only those in front are read anyway.
const MOST_EDITS: usize = 5;

/// What a step is made over.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The limit.
    pub policy: &'a Dispatch,
    /// Whose pull requests are agents'.
    pub agents: &'a Agents,
    /// The repository that all this is in.
    pub home: RepoId,
    /// The open pull requests, as listed.
    pub pulls: &'a Fetched<Listing<PullRequest>>,
    /// Issues that were read; `None` for one that is gone.
    pub issues: &'a BTreeMap<PullNumber, Fetched<Option<Issue>>>,
    /// What deliveries told.
    pub told: &'a IssuesMemory,
    /// Only watch: nothing is queued, nothing written.
    pub observe: bool,
    /// The time of the pass.
    pub now: Timestamp,
}

/// What a step leads to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// The state afterwards.
    pub record: Record,
    /// What to write, in this order, once the state is saved.
    pub acts: Vec<Act>,
    /// For the ledger: on which issue, and what.
    pub entries: Vec<(PullNumber, Value)>,
    /// What would have been done, where the policy only observes.
    pub would: Vec<(PullNumber, Value)>,
}

/// The agents' open pull requests, if the list is whole.
pub fn count(agents: &Agents, home: RepoId, pulls: &Fetched<Listing<PullRequest>>) -> Count {
    let listing = match pulls.require() {
        Ok(listing) if listing.complete => listing,
        Ok(_) => return Count::Unknown("the list of open pull requests is cut short".into()),
        Err(why) => {
            return Count::Unknown(format!("the open pull requests could not be listed: {why}"));
        }
    };
    let mut holders: Vec<Holder> = listing
        .items
        .iter()
        .filter(|pull| is_open(&pull.state) && counts_as_agents(agents, pull, home))
        .map(|pull| Holder {
            number: pull.number,
            title: pull.title.clone(),
            since: pull.created_at,
        })
        .collect();
    holders.sort_by_key(|holder| holder.number);
    Count::Known(holders)
}

/// Makes one step. Total and pure.
pub fn step(before: &Record, facts: &Facts<'_>) -> Step {
    let mut stepper = Stepper {
        facts,
        step: Step {
            record: before.clone(),
            ..Step::default()
        },
        count: count(facts.agents, facts.home, facts.pulls),
    };
    stepper.end_what_ended();
    stepper.take_new_asks();
    stepper.refresh();
    stepper.give_away();
    stepper.write();
    let mut step = stepper.step;
    step.record.counted = Some((stepper.count, facts.now));
    share::forget(facts.policy.share.as_ref(), &mut step.record.past);
    step
}

struct Stepper<'a> {
    facts: &'a Facts<'a>,
    step: Step,
    count: Count,
}

impl Stepper<'_> {
    fn note(&mut self, issue: PullNumber, what: impl Into<String>) {
        let entry = json!({ "what": what.into(), "issue": issue });
        self.step.entries.push((issue, entry));
    }

    /// The issue as read; `None` where it could not be.
    fn read(&self, issue: PullNumber) -> Option<&Option<Issue>> {
        self.facts.issues.get(&issue)?.known()
    }

    /// An agent's open pull request that names the issue, opened since a time.
    fn pull_for(&self, issue: PullNumber, since: Timestamp) -> Option<PullNumber> {
        let listing = self.facts.pulls.known()?;
        let mut pulls = listing.items.iter().filter(|pull| {
            is_open(&pull.state)
                && counts_as_agents(self.facts.agents, pull, self.facts.home)
                && pull.created_at + LEEWAY >= since
                && names(pull, issue)
        });
        pulls.next().map(|pull| pull.number)
    }

    fn end_what_ended(&mut self) {
        let grants = std::mem::take(&mut self.step.record.grants);
        for grant in grants {
            match self.end_of(&grant) {
                None => self.step.record.grants.push(grant),
                Some(why) => {
                    self.spend(grant.issue, &grant.labels);
                    // It has been answered; left there, it could not be put on again.
                    let answered = self
                        .marks(&grant)
                        .iter()
                        .filter(|mark| !grant.labels.contains(mark));
                    let on: Vec<String> = answered
                        .filter_map(|mark| self.on(grant.issue, mark))
                        .collect();
                    let off = on.into_iter().map(|on| Act::Unlabel(grant.issue, on));
                    self.step.acts.extend(off);
                    self.note(
                        grant.issue,
                        format!("the grant for #{} ended: {why}", grant.issue),
                    );
                }
            }
        }
        let queue = std::mem::take(&mut self.step.record.queue);
        for waiting in queue {
            match self.leaves(&waiting) {
                None => self.step.record.queue.push(waiting),
                Some((why, over)) => {
                    let issue = waiting.issue;
                    if let Some(pull) = over {
                        self.step.record.over.push(Over {
                            pull,
                            issue,
                            at: self.facts.now,
                        });
                        self.spend(issue, &waiting.labels);
                        if let Some(queued) = self.on(issue, &self.facts.policy.queued_label) {
                            self.step.acts.push(Act::Unlabel(issue, queued));
                        }
                    }
                    self.note(issue, format!("#{issue} left the line: {why}"));
                }
            }
        }
        let open = |count: &Count, pull: PullNumber| match count {
            Count::Known(holders) => holders.iter().any(|holder| holder.number == pull),
            Count::Unknown(_) => true,
        };
        let count = &self.count;
        self.step.record.over.retain(|over| open(count, over.pull));
        // A label that has been taken off asks again when it is put on again.
        let issues = self.facts.issues;
        self.step.record.spent.retain(|issue, spent| {
            match issues.get(issue).and_then(Fetched::known) {
                Some(Some(read)) => read.open && spent.labels.iter().any(|label| read.has(label)),
                Some(None) => false,
                None => true,
            }
        });
    }

    /// These labels have been answered.
    fn spend(&mut self, issue: PullNumber, labels: &[String]) {
        let spent = self.step.record.spent.entry(issue).or_insert(Spent {
            labels: Vec::new(),
            at: self.facts.now,
        });
        spent.labels.extend_from_slice(labels);
        spent.at = self.facts.now;
    }

    /// The label as it is written on the issue, if it is on it.
    fn on(&self, issue: PullNumber, label: &str) -> Option<String> {
        let read = self.read(issue)?.as_ref()?;
        let mut on = read.labels.iter();
        on.find(|on| on.eq_ignore_ascii_case(label)).cloned()
    }

    /// Why a grant has ended, if it has.
    fn end_of(&self, grant: &Grant) -> Option<String> {
        if let Some(pull) = self.pull_for(grant.issue, grant.at) {
            return Some(format!("#{pull} was opened"));
        }
        match self.read(grant.issue) {
            Some(None) => return Some("the issue was deleted or moved".into()),
            Some(Some(issue)) if !issue.open => return Some("the issue was closed".into()),
            Some(Some(issue)) => {
                let gone = !self.marks(grant).iter().any(|mark| issue.has(mark));
                if grant.settled && gone {
                    return Some("somebody took its label off".into());
                }
            }
            None => {}
        }
        let expires = grant.at + self.facts.policy.in_flight_expires;
        (self.facts.now >= expires).then(|| "no pull request was opened in time".into())
    }

    /// The labels that tell of a grant.
    fn marks<'g>(&'g self, grant: &'g Grant) -> &'g [String] {
        match self.facts.policy.grant_by_label {
            _ if !grant.under.is_empty() => &grant.under,
            true => std::slice::from_ref(&self.facts.policy.grant_label),
            false => &grant.labels,
        }
    }

    /// Why an issue leaves the line without a grant, and the pull request that was begun all the same.
    fn leaves(&self, waiting: &Waiting) -> Option<(String, Option<PullNumber>)> {
        match self.read(waiting.issue) {
            Some(None) => return Some(("it was deleted or moved".into(), None)),
            Some(Some(issue)) if !issue.open => return Some(("it was closed".into(), None)),
            Some(Some(issue))
                if waiting.settled_under(&self.facts.policy.queued_label)
                    && !issue.has(&self.facts.policy.queued_label)
                    && !waiting.labels.iter().any(|label| issue.has(label)) =>
            {
                let queued = &self.facts.policy.queued_label;
                return Some((format!("somebody took `{queued}` off"), None));
            }
            Some(Some(_)) | None => {}
        }
        let pull = self.pull_for(waiting.issue, waiting.since)?;
        let why = format!("an agent opened #{pull} for it without a grant");
        Some((why, Some(pull)))
    }

    /// Labels that ask, on issues that are neither in line nor under way.
    fn take_new_asks(&mut self) {
        let mut asking: Vec<(Option<Timestamp>, PullNumber)> = Vec::new();
        for (number, fact) in self.facts.issues {
            if let Some(Some(issue)) = fact.known()
                && issue.open
                && !issue.is_pull
                && !self.asking_labels(*number, issue).is_empty()
            {
                let labelled = self.labelled(*number).map(|labelled| labelled.at);
                asking.push((labelled, *number));
            }
        }
        // In the order of asking; those of which no delivery told have waited longest.
        asking.sort();
        for (_, number) in asking {
            self.take(number);
        }
    }

    fn labelled(&self, issue: PullNumber) -> Option<&Labelled> {
        self.facts.told.touched.get(&issue)?.labelled.as_ref()
    }

    /// The labels on an issue that ask for something that was not answered yet.
    fn asking_labels(&self, number: PullNumber, issue: &Issue) -> Vec<String> {
        let policy = self.facts.policy;
        let record = &self.step.record;
        let same = |labels: &[String], label: &str| {
            labels.iter().any(|known| known.eq_ignore_ascii_case(label))
        };
        let granted = record.grants.iter().filter(|grant| grant.issue == number);
        let granted: Vec<&[String]> = granted.map(|grant| grant.labels.as_slice()).collect();
        let spent = record.spent.get(&number);
        let anew = |label: &str| {
            let labelled = self.labelled(number);
            let since = spent.map(|spent| spent.at);
            labelled
                .is_some_and(|put| put.label.eq_ignore_ascii_case(label) && Some(put.at) >= since)
        };
        let answered = |label: &str| {
            let spent = spent.is_some_and(|spent| same(&spent.labels, label)) && !anew(label);
            spent || granted.iter().any(|labels| same(labels, label))
        };
        let asking = issue
            .labels
            .iter()
            .filter(|label| policy.labels.matches(label));
        asking.filter(|label| !answered(label)).cloned().collect()
    }

    fn take(&mut self, number: PullNumber) {
        let Some(Some(issue)) = self.read(number).cloned() else {
            return;
        };
        let labels = self.asking_labels(number, &issue);
        let mut queue = self.step.record.queue.iter_mut();
        if let Some(waiting) = queue.find(|waiting| waiting.issue == number) {
            // Asked again, or with another label, while it waits: it comes back with all of them.
            for label in labels {
                if !waiting
                    .labels
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(&label))
                {
                    waiting.labels.push(label);
                }
            }
            return;
        }
        self.step.record.spent.remove(&number);
        let order = self.step.record.next_order;
        self.step.record.next_order += 1;
        let since = self
            .labelled(number)
            .map_or(self.facts.now, |labelled| labelled.at);
        self.step.record.queue.push(Waiting {
            issue: number,
            title: issue.title.clone(),
            labels,
            order,
            since,
            shared: false,
            priority: crate::domain::command::Priority::default(),
            lacks: None,
            settled: false,
            under: String::new(),
            taken_off: Vec::new(),
            comment: None,
            told: String::new(),
        });
        self.note(number, format!("#{number} asks for a dispatch"));
    }

    /// What may have changed about those in line since they asked.
    fn refresh(&mut self) {
        let facts = self.facts;
        let priorities = self.step.record.priorities.clone();
        for waiting in &mut self.step.record.queue {
            let priority = priorities.get(&waiting.issue).copied();
            waiting.priority = priority.unwrap_or_default();
            let Some(Some(Some(issue))) = facts.issues.get(&waiting.issue).map(Fetched::known)
            else {
                continue;
            };
            waiting.title.clone_from(&issue.title);
            let share = facts.policy.share.as_ref();
            waiting.shared =
                share.is_some_and(|share| share.labels.iter().any(|label| issue.has(label)));
            waiting.lacks = lacks(&facts.policy.sections, &issue.body);
        }
        let known: Vec<PullNumber> = self.step.record.queue.iter().map(|w| w.issue).collect();
        let gone = |issue: &PullNumber| {
            let read = self.facts.issues.get(issue).and_then(Fetched::known);
            matches!(read, Some(None)) || matches!(read, Some(Some(issue)) if !issue.open)
        };
        self.step
            .record
            .priorities
            .retain(|issue, _| known.contains(issue) || !gone(issue));
    }

    /// Gives slots to those in front of the line, as long as there are any.
    fn give_away(&mut self) {
        if self.facts.observe {
            return self.only_watch();
        }
        loop {
            let line: Vec<PullNumber> = self.step.record.line().iter().map(|w| w.issue).collect();
            let next = line.into_iter().find(|issue| self.may_have(*issue));
            let Some(issue) = next else {
                return;
            };
            self.grant(issue);
        }
    }

    fn may_have(&self, issue: PullNumber) -> bool {
        let record = &self.step.record;
        let Some(waiting) = record.queue.iter().find(|w| w.issue == issue) else {
            return false;
        };
        // An issue that could not be read may have been closed, or emptied.
        let read = matches!(self.read(issue), Some(Some(_)));
        read && words::kept_back(self.facts.policy, &self.count, record, waiting).is_none()
    }

    fn grant(&mut self, issue: PullNumber) {
        let queue = &mut self.step.record.queue;
        let Some(at) = queue.iter().position(|waiting| waiting.issue == issue) else {
            return;
        };
        let waiting = queue.remove(at);
        let now = self.facts.now;
        self.step.record.past.push(Past {
            issue,
            at: now,
            shared: waiting.shared,
        });
        self.note(issue, format!("#{issue} was granted"));
        if waiting.under != self.facts.policy.queued_label
            && let Some(on) = self.on(issue, &waiting.under)
        {
            self.step.acts.push(Act::Unlabel(issue, on));
        }
        // One that is on it from before tells nobody anything.
        if self.facts.policy.grant_by_label
            && let Some(on) = self.on(issue, &self.facts.policy.grant_label)
        {
            self.step.acts.push(Act::Unlabel(issue, on));
            let label = self.facts.policy.grant_label.clone();
            self.step.acts.push(Act::Label(issue, label));
        }
        let under = match self.facts.policy.grant_by_label {
            true => vec![self.facts.policy.grant_label.clone()],
            false => waiting.labels.clone(),
        };
        self.step.record.grants.push(Grant {
            issue,
            title: waiting.title,
            labels: waiting.labels,
            under,
            at: now,
            shared: waiting.shared,
            settled: false,
            comment: waiting.comment,
            told: waiting.told,
        });
    }

    /// Where the policy only observes: says what would have become of each, and lets it be.
    fn only_watch(&mut self) {
        let queue = std::mem::take(&mut self.step.record.queue);
        for waiting in queue {
            let kept =
                words::kept_back(self.facts.policy, &self.count, &self.step.record, &waiting);
            let would = match kept {
                None => format!("the dispatch of #{} granted", waiting.issue),
                Some(why) => format!("the dispatch of #{} queued: {why}", waiting.issue),
            };
            let body = json!({ "would": would, "issue": waiting.issue });
            self.step.would.push((waiting.issue, body));
            self.spend(waiting.issue, &waiting.labels);
        }
    }

    /// What has to be written for the issues to agree with the state.
    fn write(&mut self) {
        if self.facts.observe {
            self.step.acts.clear();
            return;
        }
        self.write_grants();
        self.write_queue();
    }

    fn write_grants(&mut self) {
        let policy = self.facts.policy;
        let mut grants = std::mem::take(&mut self.step.record.grants);
        for grant in &mut grants {
            let Some(Some(issue)) = self.read(grant.issue).cloned() else {
                continue;
            };
            let before = self.step.acts.len();
            let waits_too = self
                .step
                .record
                .queue
                .iter()
                .any(|w| w.issue == grant.issue);
            if let Some(queued) = self.on(grant.issue, &policy.queued_label)
                && !waits_too
            {
                self.step.acts.push(Act::Unlabel(grant.issue, queued));
            }
            let missing = self.marks(grant).iter().filter(|mark| !issue.has(mark));
            let wanted = missing.map(|mark| Act::Label(grant.issue, mark.clone()));
            let wanted: Vec<Act> = wanted.collect();
            self.step.acts.extend(wanted);
            grant.settled = self.step.acts.len() == before;
            if let Some(comment) = grant.comment {
                let text = words::granted_text(grant);
                if words::digest(&text) != grant.told {
                    self.step.acts.push(Act::Say {
                        issue: grant.issue,
                        comment: Some(comment),
                        order: 0,
                        text,
                    });
                }
            }
        }
        self.step.record.grants = grants;
    }

    fn write_queue(&mut self) {
        let policy = self.facts.policy;
        let line: Vec<PullNumber> = self.step.record.line().iter().map(|w| w.issue).collect();
        let mut edits = 0;
        for (place, number) in line.into_iter().enumerate() {
            let Some(Some(issue)) = self.read(number).cloned() else {
                continue;
            };
            let mut acts = Vec::new();
            let queue = &self.step.record.queue;
            let waiting = queue.iter().find(|waiting| waiting.issue == number);
            let asking = waiting.into_iter().flat_map(|waiting| &waiting.labels);
            let on = asking.filter_map(|label| self.on(number, label));
            let left = waiting.map_or(0, |waiting| waiting.tries_left(self.facts.now));
            acts.extend(on.take(left).map(|on| Act::Unlabel(number, on)));
            let taken_off = acts.len();
            // One of another name, from before the policy changed.
            let before = waiting.filter(|waiting| waiting.under != policy.queued_label);
            if let Some(on) = before.and_then(|waiting| self.on(number, &waiting.under)) {
                acts.push(Act::Unlabel(number, on));
            }
            if !issue.has(&policy.queued_label) {
                acts.push(Act::Label(number, policy.queued_label.clone()));
            }
            let settled = acts.is_empty();
            let record = &self.step.record;
            let Some(waiting) = record.queue.iter().find(|w| w.issue == number) else {
                continue;
            };
            let text = comment_text(policy, &self.count, record, waiting, place + 1);
            let digest = words::digest(&text);
            let (comment, order) = (waiting.comment, waiting.order);
            let news = digest != waiting.told && (comment.is_none() || edits < MOST_EDITS);
            if news {
                edits += usize::from(comment.is_some());
                acts.push(Act::Say {
                    issue: number,
                    comment,
                    order,
                    text,
                });
            }
            self.step.acts.extend(acts);
            let queue = self.step.record.queue.iter_mut();
            for waiting in queue.filter(|waiting| waiting.issue == number) {
                waiting.took_off(taken_off, self.facts.now);
                waiting.settled = settled;
                if settled {
                    waiting.under.clone_from(&policy.queued_label);
                }
            }
        }
    }
}

/// The headings that an issue lacks, as a sentence.
fn lacks(sections: &[String], body: &str) -> Option<String> {
    let missing: Vec<String> = sections
        .iter()
        .filter(|section| !has_section(body, section))
        .map(|section| format!("`{section}`"))
        .collect();
    (!missing.is_empty()).then(|| {
        let what = match missing.len() {
            1 => "heading",
            _ => "headings",
        };
        format!(
            "the issue lacks text under the {what} {}",
            missing.join(", ")
        )
    })
}

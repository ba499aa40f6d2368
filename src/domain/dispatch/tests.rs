use std::collections::{BTreeMap, BTreeSet};

use chrono::Duration;
use proptest::prelude::*;

use super::*;
use crate::domain::facts::{Fetched, Issue, Listing, PullRequest};
use crate::domain::memory::{Change, IssuesMemory, Labelled, Touch};
use crate::domain::model::{Login, RepoId};
use crate::domain::policy::read::read;
use crate::domain::policy::{Agents, Dispatch};
use crate::domain::testing;

const LIMIT: &str = "dispatch:
  labels: [dispatch, 'agent:*']
  max_open_prs: 2
  max_in_flight: 2
  in_flight_expires: 1h
  sections: [Trap, Proof]
";
const WHOLE: &str = "## Trap\nIt was lost.\n## Proof\n`cargo test`\n";

fn home() -> RepoId {
    testing::snapshot().repo.id
}

fn number(number: u64) -> PullNumber {
    PullNumber::new(number).unwrap()
}

/// A repository in which labels are put on and taken off, seen as the allocator sees it.
#[derive(Debug, Clone)]
struct World {
    limit: Dispatch,
    agents: Agents,
    issues: BTreeMap<PullNumber, Issue>,
    gone: BTreeSet<PullNumber>,
    unread: BTreeSet<PullNumber>,
    pulls: BTreeMap<PullNumber, PullRequest>,
    told: IssuesMemory,
    record: Record,
    now: Timestamp,
    comments: BTreeMap<CommentId, String>,
    listed: bool,
    observe: bool,
}

impl World {
    fn new(limit: &str) -> Self {
        let policy = read(&format!("{}{limit}", testing::POLICY)).unwrap();
        Self {
            limit: policy.dispatch.unwrap(),
            agents: policy.agents,
            issues: BTreeMap::new(),
            gone: BTreeSet::new(),
            unread: BTreeSet::new(),
            pulls: BTreeMap::new(),
            told: IssuesMemory::default(),
            record: Record::default(),
            now: testing::time("03-04 12:00"),
            comments: BTreeMap::new(),
            listed: true,
            observe: false,
        }
    }

    fn issue(&mut self, of: u64, body: &str) -> &mut Issue {
        self.issues.entry(number(of)).or_insert_with(|| Issue {
            number: number(of),
            title: format!("Issue {of}"),
            body: body.to_owned(),
            open: true,
            labels: Vec::new(),
            is_pull: false,
            url: None,
        })
    }

    fn touch(&mut self, of: u64, labelled: Option<Labelled>) {
        let repo = RepoId::new(1).unwrap();
        let touch = Touch { labelled };
        self.told
            .apply(&Change::IssueTouched(repo, number(of), touch));
    }

    fn label(&mut self, of: u64, label: &str) {
        let issue = self.issue(of, WHOLE);
        if !issue.has(label) {
            issue.labels.push(label.to_owned());
        }
        let labelled = Labelled {
            label: label.to_owned(),
            by: Some(Login::new("olga")),
            at: self.now,
        };
        self.touch(of, Some(labelled));
    }

    fn unlabel(&mut self, of: u64, label: &str) {
        if let Some(issue) = self.issues.get_mut(&number(of)) {
            issue.labels.retain(|on| !on.eq_ignore_ascii_case(label));
        }
        self.touch(of, None);
    }

    fn open_pull(&mut self, of: u64, title: &str) {
        let mut pull = testing::pull();
        pull.number = number(of);
        pull.title = title.to_owned();
        pull.body = String::new();
        pull.head_ref = "agent/work".into();
        pull.author = Some(testing::agent());
        pull.created_at = self.now;
        self.pulls.insert(number(of), pull);
    }

    fn close_pull(&mut self, of: u64) {
        self.pulls.remove(&number(of));
    }

    /// One step; what it wants written is handed back, and not written.
    fn decide(&mut self) -> Vec<Act> {
        let pulls = match self.listed {
            true => Fetched::Known(Listing::whole(self.pulls.values().cloned().collect())),
            false => Fetched::Unavailable("GitHub failed (503)".into()),
        };
        let mut issues: BTreeMap<_, _> = self
            .issues
            .iter()
            .map(|(number, issue)| (*number, Fetched::Known(Some(issue.clone()))))
            .collect();
        issues.extend(self.gone.iter().map(|gone| (*gone, Fetched::Known(None))));
        let failed = || Fetched::Unavailable("GitHub failed (503)".into());
        issues.extend(self.unread.iter().map(|unread| (*unread, failed())));
        let facts = Facts {
            policy: &self.limit,
            agents: &self.agents,
            home: home(),
            pulls: &pulls,
            issues: &issues,
            told: &self.told,
            observe: self.observe,
            now: self.now,
        };
        let step = step(&self.record, &facts);
        self.record = step.record;
        self.told = IssuesMemory::default();
        step.acts
    }

    fn write(&mut self, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Label(issue, label) => {
                    self.label(issue.get(), &label);
                }
                Act::Unlabel(issue, label) => self.unlabel(issue.get(), &label),
                Act::Say {
                    issue,
                    comment,
                    text,
                    ..
                } => {
                    let next = self.comments.len() as u64 + 1;
                    let id = comment.unwrap_or_else(|| CommentId::new(next).unwrap());
                    self.record.said(issue, id, &text);
                    self.comments.insert(id, text);
                }
            }
        }
    }

    /// Passes until nothing is left to write.
    fn settle(&mut self) {
        for _ in 0..10 {
            let acts = self.decide();
            if acts.is_empty() {
                return;
            }
            self.write(acts);
        }
        panic!("it does not settle: {:#?}", self.record);
    }

    fn queued(&self) -> Vec<u64> {
        self.record.line().iter().map(|w| w.issue.get()).collect()
    }

    fn granted(&self) -> Vec<u64> {
        self.record.grants.iter().map(|g| g.issue.get()).collect()
    }

    fn labels(&self, of: u64) -> Vec<&str> {
        let labels = &self.issues[&number(of)].labels;
        labels.iter().map(String::as_str).collect()
    }

    fn full() -> Self {
        let mut world = Self::new(LIMIT);
        for pull in 101..=103 {
            world.open_pull(pull, "Work");
        }
        world
    }
}

#[test]
fn a_dispatch_within_the_limit_keeps_its_label() {
    let mut world = World::new(LIMIT);
    world.label(1, "dispatch");
    world.settle();
    assert_eq!(world.granted(), [1]);
    assert_eq!(world.labels(1), ["dispatch"]);
    assert_eq!(world.comments, BTreeMap::new());
}

#[test]
fn above_the_limit_it_is_queued_with_its_reason_its_place_and_the_holders_and_comes_back() {
    let mut world = World::full();
    world.label(1, "dispatch");
    world.label(2, "agent:codex");
    world.settle();
    assert_eq!(world.queued(), [1, 2]);
    assert_eq!(world.labels(1), ["dispatch:queued"]);
    assert_eq!(world.labels(2), ["dispatch:queued"]);
    insta::assert_snapshot!(world.comments[&CommentId::new(2).unwrap()]);
    // Nothing more is said while nothing changes.
    let said = world.comments.clone();
    world.settle();
    assert_eq!(world.comments, said);
    world.close_pull(102);
    world.settle();
    assert_eq!(world.granted(), [1]);
    assert_eq!(world.labels(1), ["dispatch"]);
    assert_eq!(world.queued(), [2]);
    insta::assert_snapshot!(world.comments[&CommentId::new(1).unwrap()]);
    world.close_pull(101);
    world.settle();
    assert_eq!(world.granted(), [1, 2]);
    assert_eq!(world.labels(2), ["agent:codex"]);
}

#[test]
fn grants_in_flight_hold_slots_until_their_pull_request_opens() {
    let mut world = World::new(LIMIT);
    for issue in 1..=4 {
        world.label(issue, "dispatch");
    }
    world.settle();
    assert_eq!(world.granted(), [1, 2], "two may be in flight");
    world.open_pull(101, "Fix it (#1)");
    world.settle();
    // One open and two in flight are three: the limit is above two.
    assert_eq!(world.granted(), [2, 3]);
    world.open_pull(102, "Fixes #2");
    world.settle();
    assert_eq!((world.granted(), world.queued()), (vec![3], vec![4]));
    // The label of an issue that was answered asks for nothing more.
    assert_eq!(world.labels(1), ["dispatch"]);
    world.close_pull(101);
    world.close_pull(102);
    world.settle();
    assert_eq!(world.granted(), [3, 4]);
}

#[test]
fn a_label_that_is_put_on_again_asks_again() {
    let mut world = World::new(LIMIT);
    world.label(1, "dispatch");
    world.settle();
    world.open_pull(101, "Fixes #1");
    world.settle();
    assert_eq!(world.granted(), [0; 0]);
    world.now += Duration::hours(1);
    world.close_pull(101);
    world.unlabel(1, "dispatch");
    world.settle();
    world.label(1, "dispatch");
    world.settle();
    assert_eq!(world.granted(), [1]);
}

#[test]
fn an_issue_without_its_sections_waits_until_they_are_written() {
    let mut world = World::new(LIMIT);
    world.issue(1, "## Trap\nIt was lost.\n## Proof\n\n");
    world.label(1, "dispatch");
    world.settle();
    assert_eq!(world.queued(), [1]);
    insta::assert_snapshot!(world.comments[&CommentId::new(1).unwrap()]);
    // It keeps nobody else.
    world.label(2, "dispatch");
    world.settle();
    assert_eq!(world.granted(), [2]);
    world.issue(1, "").body = WHOLE.into();
    world.touch(1, None);
    world.settle();
    assert_eq!(world.granted(), [2, 1]);
}

#[test]
fn an_issue_that_cannot_be_read_is_granted_nothing_and_keeps_its_place() {
    let mut world = World::full();
    world.label(1, "dispatch");
    world.settle();
    world.close_pull(101);
    world.unread.insert(number(1));
    world.decide();
    assert_eq!((world.granted(), world.queued()), (vec![], vec![1]));
    world.unread.clear();
    world.settle();
    assert_eq!(world.granted(), [1]);
}

#[test]
fn a_stranger_takes_no_slot_by_the_name_of_a_branch() {
    let mut world = World::new(LIMIT);
    world.agents = read(&format!(
        "{}{LIMIT}",
        testing::policy_with("authors: [\"acme-agent[bot]\"]", "branches: [\"agent/**\"]")
    ))
    .unwrap()
    .agents;
    world.open_pull(101, "A gift");
    let pulls = |world: &World| {
        let all = world.pulls.values().cloned().collect();
        match count(&world.agents, home(), &Fetched::Known(Listing::whole(all))) {
            Count::Known(holders) => holders.len(),
            Count::Unknown(why) => panic!("{why}"),
        }
    };
    let from = |world: &mut World, repo| {
        if let Some(pull) = world.pulls.get_mut(&number(101)) {
            pull.head_repo = repo;
        }
    };
    from(&mut world, Some(home()));
    assert_eq!(pulls(&world), 1);
    from(&mut world, RepoId::new(99));
    assert_eq!(pulls(&world), 0);
    from(&mut world, None);
    assert_eq!(pulls(&world), 0);
}

#[test]
fn without_a_whole_list_nothing_is_granted_and_the_reason_is_told() {
    let mut world = World::new(LIMIT);
    world.listed = false;
    world.label(1, "dispatch");
    world.settle();
    assert_eq!((world.granted(), world.queued()), (vec![], vec![1]));
    let said = &world.comments[&CommentId::new(1).unwrap()];
    assert!(said.contains("GitHub failed (503)"), "{said}");
    world.listed = true;
    world.settle();
    assert_eq!(world.granted(), [1]);
    let cut = Fetched::Known(Listing {
        items: Vec::new(),
        complete: false,
    });
    assert!(matches!(
        count(&world.agents, home(), &cut),
        Count::Unknown(_)
    ));
}

#[test]
fn priority_then_share_then_the_order_of_asking_decide_who_is_next() {
    let share = format!("{LIMIT}  share: {{ labels: [tech-debt], at_least: 50%, window: 4 }}\n");
    let mut world = World::new(&share);
    for pull in 101..=103 {
        world.open_pull(pull, "Work");
    }
    for issue in 1..=4 {
        world.label(issue, "dispatch");
    }
    world.issue(3, WHOLE).labels.push("tech-debt".into());
    world.record.priorities.insert(number(4), Priority::High);
    world.record.priorities.insert(number(1), Priority::Low);
    world.settle();
    assert_eq!(world.queued(), [4, 3, 2, 1]);
}

#[test]
fn other_work_waits_while_the_share_is_not_met() {
    let share = "dispatch:\n  max_open_prs: 50\n  max_in_flight: 50\n  sections: []\n  share: { labels: [tech-debt], at_least: 50%, window: 4 }\n";
    let mut world = World::new(share);
    for issue in 1..=4 {
        world.label(issue, "dispatch");
    }
    world.settle();
    // Of four in a row, two are kept.
    assert_eq!(world.granted(), [1, 2]);
    let said = &world.comments[&CommentId::new(1).unwrap()];
    assert!(said.contains("keeps 2 of 4 for `tech-debt`"), "{said}");
    world.issue(5, WHOLE).labels.push("Tech-Debt".into());
    world.label(5, "dispatch");
    world.settle();
    assert_eq!(world.granted(), [1, 2, 5]);
    world.issue(6, WHOLE).labels.push("tech-debt".into());
    world.label(6, "dispatch");
    world.settle();
    assert_eq!(world.granted(), [1, 2, 5, 6, 3, 4]);
}

#[test]
fn whoever_closes_moves_or_withdraws_leaves_the_line_and_frees_a_grant() {
    let mut world = World::full();
    for issue in 1..=3 {
        world.label(issue, "dispatch");
    }
    world.settle();
    world.issue(1, "").open = false;
    world.issues.remove(&number(2));
    world.gone.insert(number(2));
    world.unlabel(3, "dispatch:queued");
    world.settle();
    assert_eq!(world.queued(), [0; 0]);
    let mut world = World::new(LIMIT);
    for issue in 1..=3 {
        world.label(issue, "dispatch");
    }
    world.settle();
    assert_eq!(world.granted(), [1, 2]);
    world.unlabel(1, "dispatch");
    world.settle();
    assert_eq!(world.granted(), [2, 3]);
    world.issue(2, "").open = false;
    world.settle();
    assert_eq!(world.granted(), [3]);
    world.now += Duration::hours(1);
    world.settle();
    assert_eq!(world.granted(), [0; 0], "no pull request in time");
}

#[test]
fn an_agent_that_starts_all_the_same_is_seen_to_be_over_the_limit() {
    let mut world = World::full();
    world.label(1, "dispatch");
    world.settle();
    world.open_pull(104, "Fixes #1");
    world.settle();
    assert_eq!(world.queued(), [0; 0]);
    assert_eq!(world.labels(1), [""; 0]);
    assert_eq!(world.record.over[0].pull, number(104));
    world.close_pull(104);
    world.settle();
    assert_eq!(world.record.over, []);
}

#[test]
fn by_a_label_of_its_own_a_grant_is_told_anew_each_time() {
    let mut world = World::new(&format!("{LIMIT}  grant: granted\n"));
    world.label(1, "dispatch");
    world.settle();
    assert_eq!(world.labels(1), ["dispatch", "dispatch:granted"]);
    world.open_pull(101, "Fixes #1");
    world.settle();
    assert_eq!(world.labels(1), ["dispatch"]);
    // A label that was left there by somebody is put on anew, or nobody would hear of it.
    world.issue(2, WHOLE).labels.push("dispatch:granted".into());
    world.label(2, "dispatch");
    let acts = world.decide();
    let granted = || "dispatch:granted".to_owned();
    assert_eq!(
        acts,
        [
            Act::Unlabel(number(2), granted()),
            Act::Label(number(2), granted())
        ]
    );
}

#[test]
fn another_label_on_an_issue_under_way_is_another_ask() {
    let mut world = World::new(LIMIT);
    world.label(1, "agent:codex");
    world.label(2, "dispatch");
    world.settle();
    world.label(1, "agent:claude");
    world.settle();
    assert_eq!((world.granted(), world.queued()), (vec![1, 2], vec![1]));
    assert_eq!(world.labels(1), ["agent:codex", "dispatch:queued"]);
}

#[test]
fn a_policy_that_observes_says_what_would_be_and_touches_nothing() {
    let mut world = World::full();
    world.observe = true;
    world.label(1, "dispatch");
    let acts = world.decide();
    assert_eq!(acts, []);
    assert_eq!(world.labels(1), ["dispatch"]);
    assert_eq!((world.granted(), world.queued()), (vec![], vec![]));
    assert!(world.record.spent.contains_key(&number(1)));
}

#[test]
fn a_pull_request_names_an_issue_by_its_number_alone() {
    let named = |title: &str, body: &str, branch: &str| {
        let mut pull = testing::pull();
        (pull.title, pull.body, pull.head_ref) = (title.into(), body.into(), branch.into());
        names(&pull, number(12))
    };
    assert!(named("Fix #12", "", "x"));
    assert!(named(
        "",
        "see https://github.com/acme/shop/issues/12.",
        "x"
    ));
    assert!(named("", "", "agent/issue-12-retry"));
    assert!(!named("Fix #123", "", "x"));
    assert!(!named("Fix 12", "issue", "agent/12"));
}

/// What can happen, in any order.
#[derive(Debug, Clone)]
enum Event {
    Label(u64),
    Unlabel(u64),
    Unqueue(u64),
    Close(u64),
    Reopen(u64),
    Edit(u64, bool),
    /// The platform opens the pull request of the oldest grant.
    Open,
    /// It opens one for an issue that waits.
    Anyway,
    /// Somebody else's, for no issue.
    Other,
    ClosePull(usize),
    Pass,
    /// A pass that is killed before it writes anything.
    Killed,
    /// A pass that cannot list.
    Blind,
    Wait(i64),
}

fn event() -> impl Strategy<Value = Event> {
    let issue = || 1_u64..8;
    prop_oneof![
        4 => issue().prop_map(Event::Label),
        1 => issue().prop_map(Event::Unlabel),
        1 => issue().prop_map(Event::Unqueue),
        1 => issue().prop_map(Event::Close),
        1 => issue().prop_map(Event::Reopen),
        1 => (issue(), any::<bool>()).prop_map(|(issue, whole)| Event::Edit(issue, whole)),
        3 => Just(Event::Open),
        1 => Just(Event::Anyway),
        2 => Just(Event::Other),
        3 => (0_usize..8).prop_map(Event::ClosePull),
        4 => Just(Event::Pass),
        2 => Just(Event::Killed),
        1 => Just(Event::Blind),
        1 => (1_i64..90).prop_map(Event::Wait),
    ]
}

impl World {
    fn happens(&mut self, event: &Event, pulls: &mut u64) {
        let mut open = |world: &mut Self, title: String| {
            *pulls += 1;
            world.open_pull(*pulls, &title);
        };
        match event {
            Event::Label(issue) => self.label(*issue, "dispatch"),
            Event::Unlabel(issue) => self.unlabel(*issue, "dispatch"),
            Event::Unqueue(issue) => self.unlabel(*issue, "dispatch:queued"),
            Event::Close(issue) | Event::Reopen(issue) => {
                let open = matches!(event, Event::Reopen(_));
                self.issue(*issue, WHOLE).open = open;
                self.touch(*issue, None);
            }
            Event::Edit(issue, whole) => {
                let body = if *whole { WHOLE } else { "" };
                self.issue(*issue, "").body = body.into();
                self.touch(*issue, None);
            }
            Event::Open => {
                if let Some(grant) = self.record.grants.first() {
                    let title = format!("Fixes #{}", grant.issue);
                    open(self, title);
                }
            }
            Event::Anyway => {
                if let Some(waiting) = self.record.queue.first() {
                    let title = format!("Fixes #{}", waiting.issue);
                    open(self, title);
                }
            }
            Event::Other => open(self, "Unasked".into()),
            Event::ClosePull(nth) => {
                if let Some(pull) = self.pulls.keys().nth(*nth).copied() {
                    self.pulls.remove(&pull);
                }
            }
            Event::Pass => {
                let acts = self.decide();
                self.write(acts);
            }
            Event::Killed => drop(self.decide()),
            Event::Blind => {
                self.listed = false;
                let acts = self.decide();
                self.write(acts);
                self.listed = true;
            }
            Event::Wait(minutes) => self.now += Duration::minutes(*minutes),
        }
    }

    /// Issues whose labels ask and were not answered: each must be in line.
    fn forgotten(&self) -> Vec<PullNumber> {
        let known = |number: &PullNumber| {
            self.record.queue.iter().any(|w| w.issue == *number)
                || self.record.grants.iter().any(|g| g.issue == *number)
                || self.record.spent.contains_key(number)
        };
        let asking = self.issues.values().filter(|i| i.open && i.has("dispatch"));
        let asking = asking.map(|issue| issue.number);
        asking.filter(|number| !known(number)).collect()
    }
}

proptest! {
    #[test]
    fn never_more_grants_than_slots_and_nobody_forgotten_in_whatever_order_things_happen(
        events in proptest::collection::vec(event(), 0..60)
    ) {
        let mut world = World::new(LIMIT);
        let mut pulls = 100;
        for event in &events {
            let before: BTreeSet<u64> = world.granted().into_iter().collect();
            world.happens(event, &mut pulls);
            let granted = world.granted();
            let anew = granted.iter().any(|issue| !before.contains(issue));
            if anew {
                // One above the limit is what "blocked above the limit" lets through.
                prop_assert!(world.pulls.len() + granted.len() <= 3, "{:#?}", world.record);
                prop_assert!(granted.len() <= 2);
            }
            prop_assert!(granted.len() <= 2, "never more in flight than allowed");
        }
        world.settle();
        prop_assert_eq!(world.forgotten(), vec![]);
        // The labels tell the state.
        for waiting in &world.record.queue {
            let issue = &world.issues[&waiting.issue];
            prop_assert!(issue.has("dispatch:queued") && !issue.has("dispatch"), "{:?}", issue);
        }
        for grant in &world.record.grants {
            let issue = &world.issues[&grant.issue];
            prop_assert!(issue.has("dispatch") && !issue.has("dispatch:queued"), "{:?}", issue);
        }
        // Once everything has landed, everybody who still waits and lacks nothing gets a turn.
        for _ in 0..20 {
            world.pulls.clear();
            world.now += Duration::hours(2);
            world.settle();
        }
        let waits = world.record.queue.iter().filter(|waiting| waiting.lacks.is_none());
        prop_assert_eq!(waits.count(), 0, "{:#?}", world.record);
    }
}

//! One world: its people, what they do, and the script's own books of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use countersign::clock::Clock;
use countersign::simulator::faults::FaultPlan;
use countersign::simulator::{Edits, Options, PullHandle, Simulator};
use countersign::store::Store;
use countersign::store::sqlite::Sqlite;
use serde_json::json;

use super::process;
use super::stage::{POLICY, Stage};
use super::trouble::Trouble;

/// Pull requests in one world, at most.
const PULLS: usize = 3;

/// SplitMix64: the same seed gives the same script on every machine.
pub struct Dice(u64);

impl Dice {
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// Writes into a log.
pub fn add(log: &mut Vec<String>, line: impl Into<String>) {
    let line = line.into();
    process::tell(|| line.clone());
    log.push(line);
}

/// What the script knows of one head.
#[derive(Debug, Default, Clone)]
pub struct Books {
    unit: Option<bool>,
    /// An independent verifier approved it with tests and a killed mutant, against `main`.
    good: bool,
    /// Somebody of the policy rejected it, or a mutant survived.
    bad: bool,
}

impl Books {
    pub fn deserves(&self) -> bool {
        self.unit == Some(true) && self.good && !self.bad
    }
}

pub struct World {
    pub stage: Stage,
    pub dice: Dice,
    pub pulls: Vec<PullHandle>,
    pub drafts: BTreeSet<u64>,
    /// Sent to a branch that nothing is merged into.
    pub astray: BTreeSet<u64>,
    /// Held by a comment, and whether it was merged before.
    pub held: BTreeMap<u64, bool>,
    pub books: BTreeMap<String, Books>,
    /// Heads that deserved it at any time: a success may outlive what it rested on by one delivery.
    deserved: BTreeSet<String>,
    pub log: Vec<String>,
    /// The time as the product's machine has it: GitHub's, and how far it is off.
    clock: Clock,
    /// What goes wrong in the product's process.
    pub trouble: Arc<Trouble>,
    /// Whether two processes worked at the same time.
    pub doubled: bool,
    /// How many calls were looked at one by one.
    looked_at: usize,
}

impl World {
    pub async fn build(seed: u64) -> Self {
        // Only the independent verifier's mutants count, so that one report says it all.
        let policy = POLICY.replace(
            "critical: ['src/**']",
            "critical: ['src/**']\n    by: [codex]",
        );
        let policy = format!("{policy}owners: [alice]\n");
        let start = chrono::DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        let (hers, ours) = (Clock::manual(start), Clock::manual(start));
        let store: Arc<dyn Store> = Arc::new(Sqlite::open("sqlite::memory:").await.unwrap());
        let options = Options {
            clock: hers.clone(),
            seed,
        };
        let github = Simulator::new(options).unwrap();
        {
            let mut world = github.lock();
            world.behaviour.mergeable_null_reads = 0;
            world.behaviour.addresses = false;
            process::API.clone_into(&mut world.origin);
        }
        let trouble = Arc::new(Trouble::default());
        let app = process::product(&github, &store, &ours, &trouble);
        process::receive(&github, &app);
        let stage = Stage::set_up(&policy, github, app, store, hers, process::API.into());
        stage.alice.branch(&stage.shop, "side", "main").unwrap();
        process::settle(&stage.github, &stage.app).await.unwrap();
        Self {
            clock: ours,
            trouble,
            doubled: false,
            looked_at: 0,
            astray: BTreeSet::new(),
            stage,
            dice: Dice(seed),
            pulls: Vec::new(),
            drafts: BTreeSet::new(),
            held: BTreeMap::new(),
            books: BTreeMap::new(),
            deserved: BTreeSet::new(),
            log: Vec::new(),
        }
    }

    pub fn open(&self) -> Vec<PullHandle> {
        let open = |pull: &&PullHandle| pull.look(|pull| pull.open).unwrap();
        self.pulls.iter().filter(open).cloned().collect()
    }

    pub fn note(&mut self, act: impl Into<String>) {
        add(&mut self.log, act);
        let deserving = self.books.iter().filter(|(_, books)| books.deserves());
        self.deserved
            .extend(deserving.map(|(head, _)| head.clone()));
    }

    /// One act of somebody.
    pub fn act(&mut self) {
        // Equal commits in one second are one commit: time moves with every act.
        self.pass(1);
        let open = self.open();
        let roll = self.dice.roll(17);
        if open.is_empty() || (roll == 0 && self.pulls.len() < PULLS) {
            return self.open_pull();
        }
        let pull = open[self.dice.roll(open.len() as u64) as usize].clone();
        let head = pull.head().unwrap();
        match roll {
            0 | 1 => self.push(&pull),
            2..=4 => {
                let passed = self.dice.roll(4) > 0;
                let actions = self.stage.github.actions();
                let name = "unit";
                let done = if passed {
                    actions.pass(&self.stage.shop, &head, name)
                } else {
                    // A run that was skipped has tested nothing either.
                    let ends = ["failure", "skipped"][self.dice.roll(2) as usize];
                    actions.report(&self.stage.shop, &head, name, ends, "")
                };
                done.unwrap();
                // Each run stands in the App's one suite: the newest counts.
                self.books.entry(head.clone()).or_default().unit = Some(passed);
                self.note(format!("unit {passed} on {}", &head[..7]));
            }
            5..=9 => self.report(&pull, &head),
            10 => {
                let number = pull.look(|pull| pull.number).unwrap();
                if self.drafts.remove(&number) {
                    self.stage.agent.ready_for_review(&pull).unwrap();
                } else {
                    self.stage.agent.convert_to_draft(&pull).unwrap();
                    self.drafts.insert(number);
                }
                self.note(format!("draft toggled on #{number}"));
            }
            11 | 12 => self.say(&pull),
            13 => self.retarget(&pull),
            14 => self.rewrite(&pull),
            15 => {
                // The machine's clock is set, wrongly or rightly.
                let off = [-7_200, -90, 0, 0, 90, 7_200][self.dice.roll(6) as usize];
                self.set_clock(off);
                self.note(format!("the product's clock is {off} s off"));
            }
            _ => {
                let edits = Edits::write("NOTES.md", format!("{}", self.log.len()));
                let alice = self.stage.alice.clone();
                alice
                    .push(&self.stage.shop, "main", "A note", edits)
                    .unwrap();
                self.note("main moved");
            }
        }
    }

    /// Time passes, for everybody.
    pub fn pass(&self, seconds: i64) {
        let seconds = chrono::Duration::seconds(seconds);
        self.stage.clock.advance(seconds);
        self.clock.advance(seconds);
    }

    /// The product's machine is so many seconds ahead of GitHub.
    pub fn set_clock(&self, ahead: i64) {
        let off = self.stage.clock.now() - self.clock.now();
        self.clock.advance(off + chrono::Duration::seconds(ahead));
    }

    /// A process that knows nothing but the store takes over.
    pub fn restart(&mut self) {
        let (github, store) = (&self.stage.github, &self.stage.store);
        self.stage.app = process::product(github, store, &self.clock, &self.trouble);
        process::receive(github, &self.stage.app);
    }

    /// Lets the product work, through what was planned for it: it may die and come back, or stand still
    /// while another process does its work.
    pub async fn settle(&mut self) {
        let settled = {
            let working = process::settle(&self.stage.github, &self.stage.app);
            tokio::pin!(working);
            tokio::select! {
                biased;
                () = self.trouble.died.notified() => None,
                () = self.trouble.stands.notified() => {
                    // What it has asked of the store is done there, and leaves the one connection to others.
                    tokio::select! {
                        biased;
                        _ = &mut working => unreachable!("it stands still"),
                        () = self.trouble.nothing_kept() => {}
                    }
                    self.pass(61);
                    let (github, store) = (&self.stage.github, &self.stage.store);
                    let calm = Arc::new(Trouble::default());
                    let other = process::product(github, store, &self.clock, &calm);
                    let work = other.settle(400).await;
                    work.expect("nothing troubles the other one");
                    self.trouble.go_on();
                    self.doubled = true;
                    let line = "stood still past its lease while another worked";
                    add(&mut self.log, line);
                    Some(working.await)
                }
                settled = &mut working => Some(settled),
            }
        };
        match settled {
            None => {
                add(&mut self.log, "died, and came back");
                self.restart();
                let back = process::settle(&self.stage.github, &self.stage.app).await;
                back.expect("no more trouble is planned");
            }
            // A server waits and goes on; here the next act comes first.
            Some(Err(error)) => add(&mut self.log, format!("the store failed: {error}")),
            Some(Ok(())) => {}
        }
    }

    /// Lets nothing more go wrong.
    pub fn calm(&self) {
        self.trouble.plan(None);
        self.stage.github.set_faults(FaultPlan::none());
    }

    fn retarget(&mut self, pull: &PullHandle) {
        let number = pull.look(|pull| pull.number).unwrap();
        let base = if self.astray.remove(&number) {
            "main"
        } else {
            self.astray.insert(number);
            "side"
        };
        self.stage.agent.retarget(pull, base).unwrap();
        self.note(format!("#{number} is sent to {base}"));
    }

    /// The branch is written anew from the base's tip.
    fn rewrite(&mut self, pull: &PullHandle) {
        let branch = pull.look(|pull| pull.head.branch.clone()).unwrap();
        let index = branch.rsplit('-').next().unwrap().to_owned();
        let text = format!("pub fn start() {{\n    let _ = {};\n}}\n", self.log.len());
        let edits = Edits::write(&format!("src/start{index}.rs"), text);
        let agent = self.stage.agent.clone();
        let pushed = agent.force_push(&self.stage.shop, &branch, "main", "Anew", edits);
        pushed.unwrap();
        self.note(format!("#{index} is written anew"));
    }

    /// A word on a pull request: of somebody who may, or of somebody who may not.
    fn say(&mut self, pull: &PullHandle) {
        let number = pull.look(|pull| pull.number).unwrap();
        let alice = self.stage.alice.clone();
        let held = self.held.contains_key(&number);
        let stranger = self.dice.roll(3) == 0;
        let text = match (stranger, held) {
            (true, true) => "/unhold",
            (true, false) | (false, false) => "/hold on",
            (false, true) => "/unhold\n\n> /hold",
        };
        if stranger {
            let mallory = self.stage.github.user("mallory");
            mallory.comment(pull, text).unwrap();
        } else {
            alice.comment(pull, text).unwrap();
            match held {
                true => drop(self.held.remove(&number)),
                false => drop(self.held.insert(number, self.stage.merged(pull))),
            }
        }
        let who = if stranger { "mallory" } else { "alice" };
        self.note(format!("{who} says {text:?} on #{number}"));
    }

    fn open_pull(&mut self) {
        let index = self.pulls.len() + 1;
        let branch = format!("agent/work-{index}");
        let text = format!("pub fn start(runs: &mut Vec<u32>) {{\n    runs.push({index});\n}}\n");
        // Each in a file of its own, so that none conflicts with another.
        let edits = Edits::write(&format!("src/start{index}.rs"), text);
        let agent = self.stage.agent.clone();
        agent
            .push(&self.stage.shop, &branch, "Work", edits)
            .unwrap();
        let pull = agent
            .open_pull(&self.stage.shop, &branch, "main", "Work")
            .unwrap();
        self.pulls.push(pull);
        self.note(format!("opened #{index}"));
    }

    fn push(&mut self, pull: &PullHandle) {
        let branch = pull.look(|pull| pull.head.branch.clone()).unwrap();
        let index = branch.rsplit('-').next().unwrap().to_owned();
        let text = format!("pub fn start() {{\n    let _ = {};\n}}\n", self.log.len());
        let edits = Edits::write(&format!("src/start{index}.rs"), text);
        let agent = self.stage.agent.clone();
        agent
            .push(&self.stage.shop, &branch, "More", edits)
            .unwrap();
        self.note(format!("pushed to #{index}"));
    }

    fn report(&mut self, pull: &PullHandle, head: &str) {
        let (path, line) = {
            let files = pull.look(|pull| pull.head.branch.clone()).unwrap();
            (
                format!("src/start{}.rs", files.rsplit('-').next().unwrap()),
                1,
            )
        };
        let context = format!("run-{}", self.log.len());
        let report = self
            .stage
            .evidence(pull)
            .with("/context", json!(context))
            .with("/mutation/mutants/0/path", json!(path))
            .with("/mutation/mutants/0/start_line", json!(line))
            .with("/mutation/mutants/0/end_line", json!(99));
        let kind = self.dice.roll(9);
        let (report, by, good, bad) = match kind {
            0..=3 => (report, "codex", true, false),
            4 => (report, "twin", false, false),
            5 => {
                let survived = report.with("/mutation/mutants/0/status", json!("survived"));
                (
                    survived.with("/mutation/mutants/0/killed_by", json!([])),
                    "codex",
                    false,
                    true,
                )
            }
            6 => (report.with("/tests", json!([])), "codex", false, false),
            7 => {
                let rejected = report.with("/result", json!("rejected"));
                (rejected, "codex", false, true)
            }
            _ => {
                let tree = "0".repeat(40);
                (
                    report.with("/mutation/restored_tree", json!(tree)),
                    "codex",
                    false,
                    false,
                )
            }
        };
        let verifier = match by {
            "codex" => self.stage.codex.clone(),
            _ => self.stage.twin.clone(),
        };
        let text = report.block();
        verifier
            .report(&self.stage.shop, head, "verification", "success", &text)
            .unwrap();
        // The newest conclusive report of the second verifier is what it says; so is its newest run
        // of mutants.
        let books = self.books.entry(head.to_owned()).or_default();
        if by == "codex" {
            (books.good, books.bad) = (good, bad);
        }
        self.note(format!("report {kind} by {by} on {}", &head[..7]));
    }

    /// What was promised since the last look deserves it now: nothing was changed by anybody since.
    fn check_what_was_done_now(&mut self, seed: u64) {
        let id = self.stage.repo_id().get();
        let calls = self.stage.github.calls();
        let world = self.stage.github.lock();
        let runs = &world.repo(id).unwrap().check_runs;
        for call in &calls[self.looked_at..] {
            let run = call.path.split("/check-runs/").nth(1);
            let run = run
                .and_then(|id| id.parse().ok())
                .and_then(|id| runs.get(&id));
            let head = match (call.method.as_str(), run) {
                ("PATCH", Some(run)) => Some(run.head.to_string()),
                ("POST", _) => call.body["head_sha"].as_str().map(str::to_owned),
                _ => None,
            };
            let Some(head) = head.filter(|_| call.body["conclusion"] == "success") else {
                continue;
            };
            let deserves = self.books.get(&head).is_some_and(Books::deserves);
            assert!(
                deserves,
                "seed {seed}: {head} is promised what it deserved once; {:#?}",
                self.log
            );
        }
        self.looked_at = calls.len();
    }

    /// What must hold at any time.
    pub async fn check(&mut self, seed: u64) {
        if super::honest(seed) {
            self.check_what_was_done_now(seed);
        }
        let told = || {
            format!(
                "seed {seed}: {:#?}\nfaults: {:#?}",
                self.log,
                self.stage.github.faults_fired()
            )
        };
        let mut merged = BTreeSet::new();
        for call in self.stage.github.calls_to("PUT", "/merge") {
            let head = call.body["sha"]
                .as_str()
                .expect("every merge names its head")
                .to_owned();
            assert!(
                self.deserved.contains(&head),
                "{head} was merged undeserved; {}",
                told()
            );
            // What stands still between its last look and its call cannot know that another did it:
            // then GitHub refuses the second call, which is what the head in it is for.
            let known = merged.contains(&head);
            assert!(
                !known || (self.doubled && call.status != 200),
                "{head} was merged again; {}",
                told()
            );
            if call.status == 200 {
                merged.insert(head);
            }
        }
        for pull in &self.pulls {
            let number = pull.look(|pull| pull.number).unwrap();
            // A lost delivery and an emptied list together leave a hold unheard.
            if super::honest(seed) && self.held.get(&number) == Some(&false) {
                assert!(!self.stage.merged(pull), "#{number} was held; {}", told());
            }
            let head = pull.head().unwrap();
            let check = self.stage.our_check(&head);
            let success = check.is_some_and(|check| check.conclusion.as_deref() == Some("success"));
            assert!(
                !success || self.deserved.contains(&head),
                "success on {head}; {}",
                told()
            );
        }
    }

    /// Wherever we died: what was published is found again, and not published twice.
    pub fn no_check_run_twice(&self, seed: u64) {
        let id = self.stage.repo_id().get();
        let world = self.stage.github.lock();
        let repo = world.repo(id).unwrap();
        // A page is written over the one before, unless it ends differently.
        let mut stands = BTreeMap::new();
        for call in self.stage.github.calls() {
            let made = call.method == "POST" && call.path.ends_with("/check-runs");
            let id = call.path.split("/check-runs/").nth(1);
            let head = match id.and_then(|id| id.parse().ok()) {
                Some(id) if call.method == "PATCH" => repo.check_runs.get(&id).map(|run| &run.head),
                _ if made => repo
                    .check_runs
                    .values()
                    .map(|run| &run.head)
                    .find(|head| call.body["head_sha"].as_str() == Some(head.as_str())),
                _ => None,
            };
            let Some(head) = head else { continue };
            let ends = call.body["conclusion"].clone();
            let before = stands.insert(head, ends.clone());
            let twice = made && before == Some(ends);
            assert!(!twice, "seed {seed}: made again on {head}: {:#?}", self.log);
        }
    }

    /// Lets everything come to rest.
    pub async fn rest(&mut self) {
        for seconds in [0, 5, 60, 400, 4_000] {
            self.pass(seconds);
            self.settle().await;
        }
    }

    /// The product's clock is right again, a sweep is made, everything comes to rest.
    pub async fn recover(&mut self) {
        self.calm();
        self.set_clock(0);
        // A clock that ran ahead has left work for later.
        self.pass(8_000);
        self.rest().await;
        self.stage.app.sweep().await.unwrap();
        self.rest().await;
    }

    /// What happened, bit by bit: every act, every call and its answer, every entry of the ledger.
    pub async fn trace(&self) -> Vec<String> {
        let mut lines = self.log.clone();
        let calls = self.stage.github.calls();
        lines.extend(calls.iter().map(|call| {
            format!(
                "{} {} {} {}",
                call.status, call.method, call.path, call.body
            )
        }));
        lines.extend(self.stage.github.faults_fired());
        let ledger = self.stage.store.ledger(None, 0, 100_000).await.unwrap();
        lines.extend(ledger.iter().map(|entry| {
            format!(
                "{} {:?} {:?} {}",
                entry.seq, entry.kind, entry.number, entry.hash
            )
        }));
        lines
    }
}

//! Random worlds: what must hold whatever people, verifiers, networks and GitHub do.
//!
//! A seed makes a world, a script of acts and a plan of faults: deliveries lost, doubled and late, API
//! answers refused, cut, emptied, stale, done and then denied, and restarts of the product in between.
//! The script keeps its own books of which heads deserve what; the product is never asked. After every
//! step and at the end these are compared with what the product did:
//!
//! 1. It merges a head only if that head, into that base, has everything the policy asks for.
//! 2. It calls a head a success only if that head has it.
//! 3. One head is merged once; after a merge is done, none is tried again.
//! 4. When the faults end, one sweep brings every deserving pull request into the base, leaves every
//!    other one open, and leaves none without a published state.
//! 5. What somebody who may has put on hold is held in the end, and is not merged while every delivery
//!    and answer is whole; a stranger's word changes nothing.
//! 6. A product that starts from nothing at that moment judges the same.
//!
//! `COUNTERSIGN_SEEDS=FROM..TO` runs other seeds than the usual ones; a failing seed is printed.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "support/stage.rs"]
#[allow(dead_code, reason = "stories use the rest of the stage")]
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use countersign::simulator::faults::FaultPlan;
use countersign::simulator::{Edits, PullHandle};
use countersign::store::sqlite::Sqlite;
use serde_json::json;
use stage::{POLICY, Stage};

/// A build without optimisation takes half a second for each: it tells early, an optimised one tells all.
const SEEDS: std::ops::Range<u64> = if cfg!(debug_assertions) {
    0..40
} else {
    0..1_000
};
/// Acts in one script.
const ACTS: usize = 14;
/// Pull requests in one world, at most.
const PULLS: usize = 3;

/// SplitMix64: the same seed gives the same script on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// What the script knows of one head.
#[derive(Debug, Default, Clone)]
struct Books {
    unit: Option<bool>,
    /// An independent verifier approved it with tests and a killed mutant, against `main`.
    good: bool,
    /// Somebody of the policy rejected it, or a mutant survived.
    bad: bool,
}

impl Books {
    fn deserves(&self) -> bool {
        self.unit == Some(true) && self.good && !self.bad
    }
}

struct World {
    stage: Stage,
    dice: Dice,
    pulls: Vec<PullHandle>,
    drafts: BTreeSet<u64>,
    /// Held by a comment, and whether it was merged before.
    held: BTreeMap<u64, bool>,
    books: BTreeMap<String, Books>,
    /// Heads that deserved it at any time: a success may outlive what it rested on by one delivery.
    deserved: BTreeSet<String>,
    log: Vec<String>,
}

impl World {
    async fn build(seed: u64) -> Self {
        let store = Arc::new(Sqlite::open("sqlite::memory:").await.unwrap());
        // Only the independent verifier's mutants count, so that one report says it all.
        let policy = POLICY.replace(
            "critical: ['src/**']",
            "critical: ['src/**']\n    by: [codex]",
        );
        let stage = Stage::build(&policy, store, seed).await;
        stage.github.lock().behaviour.addresses = false;
        Self {
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

    fn open(&self) -> Vec<PullHandle> {
        let open = |pull: &&PullHandle| pull.look(|pull| pull.open).unwrap();
        self.pulls.iter().filter(open).cloned().collect()
    }

    fn note(&mut self, act: impl Into<String>) {
        self.log.push(act.into());
        let deserving = self.books.iter().filter(|(_, books)| books.deserves());
        self.deserved
            .extend(deserving.map(|(head, _)| head.clone()));
    }

    /// One act of somebody.
    fn act(&mut self) {
        // Equal commits in one second are one commit: time moves with every act.
        self.stage.clock.advance(chrono::Duration::seconds(1));
        let open = self.open();
        let roll = self.dice.roll(14);
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
                    actions.fail(&self.stage.shop, &head, name)
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

    /// What must hold at any time.
    async fn check(&self, seed: u64) {
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
            assert!(
                !merged.contains(&head),
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
            let heard = seed.is_multiple_of(4);
            if heard && self.held.get(&number) == Some(&false) {
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

    /// Lets everything come to rest.
    async fn rest(&self) {
        for seconds in [0, 5, 60, 400, 4_000] {
            self.stage.clock.advance(chrono::Duration::seconds(seconds));
            self.stage.settle().await;
        }
    }
}

async fn live(seed: u64) {
    let mut world = World::build(seed).await;
    let faulty = !seed.is_multiple_of(4);
    if faulty {
        world
            .stage
            .github
            .set_faults(FaultPlan::random(seed, 60, 120));
    }
    for _ in 0..ACTS {
        world.act();
        if world.dice.roll(3) > 0 {
            world.stage.settle().await;
        }
        if world.dice.roll(10) == 0 {
            world.stage.restart().await;
            world.log.push("restarted".into());
        }
        world.check(seed).await;
    }
    world.stage.github.set_faults(FaultPlan::none());
    world.rest().await;
    world.stage.app.sweep().await.unwrap();
    world.rest().await;
    world.check(seed).await;
    end(&world, seed).await;
}

/// When the faults have ended and one sweep was made.
async fn end(world: &World, seed: u64) {
    let stage = &world.stage;
    for pull in &world.pulls {
        let number = pull.look(|pull| pull.number).unwrap();
        let head = pull.head().unwrap();
        let held = world.held.contains_key(&number);
        let deserves = world.books.get(&head).is_some_and(Books::deserves)
            && !world.drafts.contains(&number)
            && !held;
        let told = stage.told(pull).await;
        let told = format!("seed {seed}, #{number}: {:#?}\n{told}", world.log);
        if deserves {
            assert!(stage.merged(pull), "it deserves to be merged; {told}");
        } else if pull.look(|pull| pull.open).unwrap() {
            assert!(!stage.merged(pull));
            let outcome = stage.outcome(pull).await;
            assert_eq!(held, outcome == "held", "{told}");
            assert!(
                stage.our_check(&head).is_some(),
                "nothing is published; {told}"
            );
        }
    }
    // A product that starts from nothing judges the same.
    let fresh = Arc::new(Sqlite::open("sqlite::memory:").await.unwrap());
    let app = stage::product(
        &stage.github,
        &stage.api_url,
        fresh.clone(),
        stage.clock.clone(),
    )
    .await;
    app.sweep().await.unwrap();
    app.settle(200).await.unwrap();
    for pull in world.open() {
        let number = pull.look(|pull| pull.number).unwrap();
        // What was said before it was there it cannot know.
        if world.held.contains_key(&number) {
            continue;
        }
        let number = countersign::domain::model::PullNumber::new(number).unwrap();
        use countersign::store::Store;
        let record = fresh.record(stage.repo_id(), number).await.unwrap();
        let afresh = record.verdict.map(|verdict| verdict["outcome"].clone());
        let known = stage.verdict(&pull).await["outcome"].clone();
        assert_eq!(afresh, Some(known), "seed {seed}: {:#?}", world.log);
    }
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("COUNTERSIGN_SEEDS") else {
        return SEEDS;
    };
    let (from, to) = text.split_once("..").expect("COUNTERSIGN_SEEDS=FROM..TO");
    from.parse().unwrap()..to.parse().unwrap()
}

#[test]
fn whatever_happens_only_deserving_heads_are_merged_and_all_of_them_are_in_the_end() {
    let range = seeds();
    let next = AtomicU64::new(range.start);
    // A world waits for its database and its git now and then: others use the time.
    let threads = std::thread::available_parallelism().map_or(2, |cores| 2 * cores.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= range.end {
                        return;
                    }
                    let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        runtime.block_on(live(seed));
                    }));
                    if let Err(panic) = lived {
                        next.store(range.end, Ordering::Relaxed);
                        eprintln!("failing seed: COUNTERSIGN_SEEDS={seed}..{}", seed + 1);
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
    println!("{} seeds", range.end - range.start);
}

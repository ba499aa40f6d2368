//! Random worlds: what must hold whatever people, verifiers, networks and GitHub do.
//!
//! A seed makes a world, a script of acts and a plan of faults: deliveries lost, doubled and late, API
//! answers refused, cut, emptied, stale, slower than patience, done and then denied; and of what goes wrong in
//! the product's own process: it dies at any step and comes back with nothing but its store, its disk is
//! full for a while, its clock is set wrong, it stands still past its lease while another does its work.
//! Nothing of it is simulated but GitHub, the wire and the time (`process`, `trouble`): intake, worker,
//! passes, client and store are the real ones.
//!
//! The script keeps its own books of which heads deserve what; the product is never asked. After every
//! step and at the end these are compared with what the product did:
//!
//! 1. It merges a head only if that head, into that base, has everything the policy asks for.
//! 2. It calls a head a success only if that head has it.
//! 3. One head is merged once; after a merge is done, none is tried again.
//! 4. When the faults end, one sweep brings every deserving pull request into the base, leaves every
//!    other one open, and leaves none without a published state.
//! 5. What somebody who may has put on hold is held in the end, and is not merged where every answer is
//!    honest, whatever is refused or lost; a stranger's word changes nothing.
//! 6. A product that starts from nothing at that moment judges the same.
//! 7. Where every answer is honest, what is promised or merged deserves it at that very moment, not only
//!    once.
//! 8. Without faults of GitHub's no check run is made twice, wherever we die.
//!
//! One seed is one run, bit by bit. `COUNTERSIGN_SEEDS=FROM..TO` runs other seeds than the usual ones; a
//! failing seed is printed and ends the run, unless `COUNTERSIGN_ALL_SEEDS=1` asks for all of them.
//! `COUNTERSIGN_TRACE=1` tells each world whole, while it lives and at its end.
//!
//! **What is left out.** Evidence that is posted, and slots for agents' work. Time within a step: between two
//! steps nothing is looked at.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

mod known_bad;
mod meanwhile;
mod process;
#[path = "../support/stage.rs"]
#[allow(dead_code, reason = "stories use the rest of the stage")]
mod stage;
mod trouble;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use countersign::simulator::faults::{Fate, Fault, FaultPlan, When};
use countersign::store::Store;
use countersign::store::sqlite::Sqlite;
use trouble::{Plan, Trouble};
use world::{Books, Dice, World};

/// A build without optimisation takes a hundred times as long: it tells early, an optimised one tells all.
const SEEDS: std::ops::Range<u64> = if cfg!(debug_assertions) {
    0..40
} else {
    0..1_000
};
/// Acts in one script.
const ACTS: usize = 14;

/// What kind of trouble a seed makes.
struct Kind {
    /// GitHub's answers and deliveries fail.
    faulty: bool,
    /// The product's process is in trouble.
    troubled: bool,
}

impl Kind {
    fn of(seed: u64) -> Self {
        Self {
            faulty: !seed.is_multiple_of(4),
            troubled: !seed.is_multiple_of(8) && !seed.is_multiple_of(3),
        }
    }
}

/// What befalls the product's process while it works next, mostly nothing.
fn befalls(dice: &mut Dice) -> Option<Plan> {
    let nth = 1 + dice.roll(60);
    match dice.roll(12) {
        0 | 1 => Some(Plan::DiesBefore(nth)),
        2 | 3 => Some(Plan::DiesAfter(nth)),
        4 => Some(Plan::Stands(nth)),
        5 => Some(Plan::Full(nth, 1 + dice.roll(20))),
        6 | 7 => Some(Plan::DiesSaying(1 + dice.roll(3))),
        _ => None,
    }
}

/// Worlds in which no answer is a lie: calls are refused or end in silence, deliveries are lost and late, but
/// what is answered is so. There a product that looks before it promises is never wrong, not by one moment.
fn honest(seed: u64) -> bool {
    seed.is_multiple_of(4) || seed % 8 == 2
}

fn faults(seed: u64) -> FaultPlan {
    if honest(seed) {
        return FaultPlan::seeded(seed)
            .with_delivery("*", When::Chance(0.1), Fate::Lost)
            .with_delivery("*", When::Chance(0.05), Fate::Late)
            .when("*", "", When::Chance(0.04), Fault::status(404))
            .when("*", "", When::Chance(0.02), Fault::status(502))
            .when("*", "", When::Chance(0.01), Fault::Reset)
            .when("*", "", When::Chance(0.01), Fault::DoneThen502)
            .when("*", "", When::Chance(0.01), Fault::DoneThenReset);
    }
    FaultPlan::random(seed, 60, 120)
        .when("*", "", When::Chance(0.004), Fault::Silence)
        .when("*", "", When::Chance(0.004), Fault::DoneThenSilence)
}

async fn live(seed: u64) -> World {
    process::tell(|| format!("seed {seed}"));
    let mut world = World::build(seed).await;
    let mut fate = Dice::of(seed ^ 0x7700_b1e5);
    let kind = Kind::of(seed);
    if kind.faulty {
        world.stage.github.set_faults(faults(seed));
    }
    for _ in 0..ACTS {
        world.act();
        if kind.troubled && world.trouble.planned().is_none() {
            world.trouble.plan(befalls(&mut fate));
        }
        if world.dice.roll(3) > 0 {
            world.settle().await;
        }
        if world.dice.roll(10) == 0 {
            world.restart();
            world::add(&mut world.log, "restarted");
        }
        world.check(seed).await;
    }
    world.recover().await;
    world.check(seed).await;
    if !kind.faulty && !world.doubled {
        world.no_check_run_twice(seed);
    }
    end(&world, seed).await;
    world
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
            && !world.astray.contains(&number)
            && !held;
        let told = stage.told(pull).await;
        let told = format!("seed {seed}, #{number}: {:#?}\n{told}", world.log);
        if deserves {
            assert!(stage.merged(pull), "it deserves to be merged; {told}");
        } else if pull.look(|pull| pull.open).unwrap() {
            assert!(!stage.merged(pull));
            let outcome = stage.outcome(pull).await;
            let astray = world.astray.contains(&number);
            assert_eq!(held && !astray, outcome == "held", "{told}");
            assert!(
                astray || stage.our_check(&head).is_some(),
                "nothing is published; {told}"
            );
        }
    }
    // A product that starts from nothing judges the same.
    let fresh = Arc::new(Sqlite::open("sqlite::memory:").await.unwrap());
    let kept: Arc<dyn Store> = fresh.clone();
    let calm = Arc::new(Trouble::default());
    let app = process::product(&stage.github, &kept, &stage.clock, &calm);
    app.sweep().await.unwrap();
    app.settle(200).await.unwrap();
    for pull in world.open() {
        let number = pull.look(|pull| pull.number).unwrap();
        // What was said before it was there it cannot know.
        if world.held.contains_key(&number) {
            continue;
        }
        let number = countersign::domain::model::PullNumber::new(number).unwrap();
        let record = fresh.record(stage.repo_id(), number).await.unwrap();
        let afresh = record.verdict.map(|verdict| verdict["outcome"].clone());
        let known = stage.verdict(&pull).await["outcome"].clone();
        assert_eq!(afresh, Some(known), "seed {seed}: {:#?}", world.log);
    }
}

/// One world in a runtime of its own, which ends with it; its trace, where `told` wants it.
fn run(seed: u64, told: bool) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = live(seed).await;
        match told {
            true => world.trace().await,
            false => Vec::new(),
        }
    })
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("COUNTERSIGN_SEEDS") else {
        return SEEDS;
    };
    let (from, to) = text.split_once("..").expect("COUNTERSIGN_SEEDS=FROM..TO");
    from.parse().unwrap()..to.parse().unwrap()
}

/// Lives through a range of seeds on all cores; which failed. Without `all`, ends with the first that does.
fn failing(range: std::ops::Range<u64>, all: bool) -> Vec<u64> {
    let next = AtomicU64::new(range.start);
    let told = process::asked();
    let failed = Mutex::new(Vec::new());
    // A world waits for its database, for patience to end and between its writes: others use the time.
    let threads = std::thread::available_parallelism().map_or(16, |cores| 16 * cores.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= range.end {
                        return;
                    }
                    let lived = std::panic::catch_unwind(|| run(seed, told));
                    if let Ok(trace) = &lived
                        && told
                    {
                        println!("seed {seed}\n{}", trace.join("\n"));
                    }
                    if lived.is_err() {
                        eprintln!("failing seed: COUNTERSIGN_SEEDS={seed}..{}", seed + 1);
                        failed.lock().unwrap().push(seed);
                        if !all {
                            next.store(range.end, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

#[test]
fn whatever_happens_only_deserving_heads_are_merged_and_all_of_them_are_in_the_end() {
    let range = seeds();
    let all = std::env::var_os("COUNTERSIGN_ALL_SEEDS").is_some();
    let failed = failing(range.clone(), all);
    println!("seeds {range:?}, failing: {failed:?}");
    assert!(failed.is_empty(), "failing seeds: {failed:?}");
}

#[test]
fn one_seed_is_one_run_bit_by_bit() {
    for seed in [1, 5, 10, 12, 16] {
        let (first, second) = (run(seed, true), run(seed, true));
        let differs = first
            .iter()
            .zip(&second)
            .position(|(one, other)| one != other);
        let shown = differs.map(|at| (&first[at], &second[at]));
        assert!(first == second, "seed {seed} differs: {shown:#?}");
    }
}

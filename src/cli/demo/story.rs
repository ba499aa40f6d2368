//! The story, step by step.

mod people;

use std::io::IsTerminal;
use std::time::Duration;

use serde_json::Value;

use super::evidence::{claimed, found};
use super::stage::{Stage, TESTS};
use crate::domain::ledger::Verifier;
use crate::simulator::world::{Change, Principal, Refusal};
use crate::simulator::{Actor, Edits, PullHandle, ReviewState};

/// Why the story does not go on.
pub struct Stuck(pub String);

impl From<Refusal> for Stuck {
    fn from(refusal: Refusal) -> Self {
        Self(format!(
            "the simulated GitHub refused an act of the story: {refusal}"
        ))
    }
}

type Told<T> = Result<T, Stuck>;

/// The third line is the critical change.
const FIRST: &str = "\
/// Starts an execution.
pub fn start(log: &mut Vec<u64>, id: u64) {
    log.push(id);
}
";
const SECOND: &str = "\
/// Starts an execution.
pub fn start(log: &mut Vec<u64>, id: u64) {
    if !log.contains(&id) { log.push(id); }
}
";
const THIRD: &str = "\
/// Starts an execution, once.
pub fn start(log: &mut Vec<u64>, id: u64) {
    if !log.contains(&id) { log.push(id); }
}
";
/// What the author adds when told that no test notices.
const TESTED: &str = "
#[test]
fn starts_are_recorded_once() {
    let mut log = Vec::new();
    start(&mut log, 7);
    start(&mut log, 7);
    assert_eq!(log, [7]);
}
";

/// How many steps it has.
const STEPS: u32 = 17;

/// Plays it.
///
/// # Errors
/// Where it got stuck, for whoever watches.
pub async fn play(stage: &Stage) -> Result<(), String> {
    let teller = Teller::new(stage);
    let told = whole(&teller).await;
    told.map_err(|Stuck(why)| stuck(teller.steps.get(), &why))
}

async fn whole(teller: &Teller<'_>) -> Told<()> {
    let pull = refused_for_want_of_evidence(teller).await?;
    merged_by_head(teller, &pull).await?;
    raced(teller).await?;
    people::play(teller).await?;
    ledger_holds(teller).await
}

fn stuck(step: u32, why: &str) -> String {
    format!("the story got stuck at step {step} of {STEPS}: {why}")
}

/// A verdict in some lines: how it stands, and each gate.
fn in_short(verdict: &Value) -> String {
    let gates = verdict["gates"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let line = |gate: &Value| {
        let (name, state) = (text(&gate["name"]), text(&gate["state"]));
        format!("\n  {name} {state}: {}", text(&gate["reason"]))
    };
    let gates: String = gates.iter().map(line).collect();
    format!("{}{gates}", text(&verdict["outcome"]))
}

async fn refused_for_want_of_evidence(teller: &Teller<'_>) -> Told<PullHandle> {
    let stage = teller.stage;
    teller.step("acme/shop: a policy is committed, the App is installed. An agent opens #1, which changes a critical line.");
    let edits = Edits::write("src/start.rs", FIRST);
    stage
        .agent
        .push(&stage.shop, "agent/start", "Record every start", edits)?;
    let pull = stage
        .agent
        .open_pull(&stage.shop, "agent/start", "main", "Record every start")?;
    teller
        .expect(
            &pull,
            "for checks, a second verifier and mutation evidence",
            |v| v["outcome"] == "waiting",
        )
        .await?;

    teller.step("CI goes green. A green check proves what it ran, and nothing more.");
    stage
        .github
        .actions()
        .pass(&stage.shop, &pull.head()?, "unit")?;
    teller
        .expect(
            &pull,
            "for a second verifier; the check is satisfied",
            |v| gate(v, "checks") == "satisfied" && gate(v, "second_verifier") == "waiting",
        )
        .await?;

    teller.step("The author's own model \"verifies\" again, under another name.");
    teller.reports(&stage.claude, &pull)?;
    teller
        .expect(&pull, "since it is not independent", |v| {
            gate(v, "second_verifier") == "waiting" && says(v, "not independent")
        })
        .await?;
    teller
        .quote(&pull, "second_verifier", "not independent")
        .await;

    teller.step("Another vendor's verifier approves after reading: a review that ran nothing.");
    let report = claimed(stage, &pull, false).ok_or_else(gone)?;
    stage.codex.review(&pull, ReviewState::Approved, &report)?;
    teller
        .expect(&pull, "since no tests ran", |v| {
            gate(v, "second_verifier") == "waiting" && says(v, "no tests ran")
        })
        .await?;
    teller.quote(&pull, "second_verifier", "no tests ran").await;

    teller.step("It runs `countersign verify` now: the tests pass, the critical line is undone, and no test fails.");
    teller.verifies(&stage.codex, &pull).await?;
    teller
        .expect(&pull, "by a surviving mutant", |v| {
            v["outcome"] == "blocked" && gate(v, "mutation_check") == "failed"
        })
        .await?;
    teller.quote(&pull, "mutation_check", "survived").await;
    Ok(pull)
}

async fn merged_by_head(teller: &Teller<'_>, pull: &PullHandle) -> Told<()> {
    let stage = teller.stage;
    let before = pull.head()?;
    teller.step("The author pushes a fix with a test. Everything that was said is about another commit now.");
    let edits = Edits::write("src/start.rs", SECOND)
        .and_write("tests/start.rs", format!("{TESTS}{TESTED}"));
    stage.agent.push(
        &stage.shop,
        "agent/start",
        "Record every start, once, and test it",
        edits,
    )?;
    let head = pull.head()?;
    teller
        .expect(pull, "since everything earlier is void", |v| {
            v["head"] == head.as_str()
                && gate(v, "checks") == "waiting"
                && says(v, "which is not the head")
        })
        .await?;
    println!("     {} -> {}", &before[..7], &head[..7]);

    teller.step("CI goes green again; the second verifier reports that the line is tested.");
    stage.github.actions().pass(&stage.shop, &head, "unit")?;
    teller
        .expect(pull, "for the second verifier", |v| {
            gate(v, "checks") == "satisfied"
        })
        .await?;
    teller.verifies(&stage.codex, pull).await?;
    let took = teller
        .expect(pull, "exactly that head", |v| v["outcome"] == "merged")
        .await?;
    let merges = stage.github.calls_to("PUT", "/pulls/1/merge");
    let guarded = merges.len() == 1 && merges[0].body["sha"] == head.as_str();
    if !guarded {
        return Err(Stuck(format!(
            "one merge of {head} was expected, not {merges:?}"
        )));
    }
    println!(
        "     merged with sha={} {} ms after the last report",
        &head[..7],
        took.as_millis()
    );
    Ok(())
}

/// A push lands between the clearance and the merge.
async fn raced(teller: &Teller<'_>) -> Told<()> {
    let stage = teller.stage;
    teller.step("#2 is cleared, and in the very moment of the merge its author pushes once more.");
    let edits = Edits::write("src/start.rs", THIRD);
    stage
        .agent
        .push(&stage.shop, "agent/once", "Say that it starts once", edits)?;
    let pull =
        stage
            .agent
            .open_pull(&stage.shop, "agent/once", "main", "Say that it starts once")?;
    let cleared = pull.head()?;
    push_before_the_merge(stage)?;
    stage.github.actions().pass(&stage.shop, &cleared, "unit")?;
    teller.verifies(&stage.codex, &pull).await?;
    let refused = |v: &Value| v["head"] != cleared.as_str() && v["outcome"] == "waiting";
    teller
        .expect(
            &pull,
            "since GitHub answered 409, and the gate starts again",
            refused,
        )
        .await?;
    let head = pull.head()?;
    println!(
        "     cleared {}, found {}: not merged",
        &cleared[..7],
        &head[..7]
    );

    teller.step("The new head needs evidence of its own, gets it, and is merged.");
    stage.github.actions().pass(&stage.shop, &head, "unit")?;
    teller.verifies(&stage.codex, &pull).await?;
    teller
        .expect(&pull, "exactly that head", |v| v["outcome"] == "merged")
        .await?;
    Ok(())
}

fn push_before_the_merge(stage: &Stage) -> Told<()> {
    let repo = stage.shop.look(|repo| repo.id)?;
    let agent = stage.agent.principal();
    stage.github.before_next_merge(move |world| {
        let change = Change::Write {
            path: "notes.md".to_owned(),
            content: b"One more thought.\n".to_vec(),
        };
        let by = world.actor(agent);
        // Should the push fail, no 409 comes and the step is told to be stuck.
        if let Ok(tip) = world.tip(repo, "agent/once")
            && let Ok(commit) = world.commit(Some(&tip), by, &[change], "One more thought")
        {
            let _ = world.move_branch(repo, "agent/once", Some(&commit), agent, false);
        }
    });
    let Principal::App(_) = agent else {
        return Err(Stuck("the agent is an App in this story".into()));
    };
    Ok(())
}

async fn ledger_holds(teller: &Teller<'_>) -> Told<()> {
    teller.step("Every decision is on record, hash-chained.");
    let failed = |why: String| Stuck(format!("the ledger: {why}"));
    let followed = teller.stage.store.prove_ledger(Verifier::default()).await;
    let verifier = followed
        .map_err(|error| failed(error.to_string()))?
        .map_err(|broken| failed(broken.to_string()))?;
    println!("     {} entries, the chain holds", verifier.followed());
    Ok(())
}

fn gone() -> Stuck {
    Stuck("a head that the story needs is gone".into())
}

pub(super) fn gate<'a>(verdict: &'a Value, name: &str) -> &'a str {
    let gates = verdict["gates"].as_array().map_or(&[][..], Vec::as_slice);
    let found = gates.iter().find(|gate| gate["name"] == name);
    found
        .and_then(|gate| gate["state"].as_str())
        .unwrap_or("none")
}

/// Whether any sentence of the tree says this.
fn says(verdict: &Value, words: &str) -> bool {
    sentence(&verdict["gates"], words).is_some()
}

fn sentence<'a>(gates: &'a Value, words: &str) -> Option<&'a str> {
    gates.as_array()?.iter().find_map(|gate| {
        let own = gate["reason"]
            .as_str()
            .filter(|reason| reason.contains(words));
        own.or_else(|| sentence(&gate["details"], words))
    })
}

/// Tells the steps, and waits for what each must come to.
struct Teller<'a> {
    stage: &'a Stage,
    colour: bool,
    steps: std::cell::Cell<u32>,
}

impl<'a> Teller<'a> {
    fn new(stage: &'a Stage) -> Self {
        Self {
            stage,
            colour: std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
            steps: std::cell::Cell::new(0),
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn step(&self, text: &str) {
        self.steps.set(self.steps.get() + 1);
        println!("{:>3}. {}", self.steps.get(), self.paint("1", text));
    }

    /// A verifier claims, in a check run on the head that stands, that tests ran and passed.
    fn reports(&self, by: &Actor, pull: &PullHandle) -> Told<()> {
        let stage = self.stage;
        let text = claimed(stage, pull, true).ok_or_else(gone)?;
        by.report(&stage.shop, &pull.head()?, "verification", "success", &text)?;
        Ok(())
    }

    /// A verifier runs the tests and mutants of the head that stands, and reports what it finds.
    async fn verifies(&self, by: &Actor, pull: &PullHandle) -> Told<()> {
        let stage = self.stage;
        let (text, summary) = found(stage, pull)
            .await
            .map_err(|why| Stuck(format!("the runner could not run: {why}")))?;
        println!("     {}", self.paint("90", &format!("verify: {summary}")));
        by.report(&stage.shop, &pull.head()?, "verification", "success", &text)?;
        Ok(())
    }

    /// Waits for the expected state, and shows the check run's title as GitHub has it.
    async fn expect(
        &self,
        pull: &PullHandle,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Told<Duration> {
        let Some((verdict, took)) = self.stage.verdict(pull, wanted).await else {
            let now = self.stage.verdict(pull, |_| true).await;
            let now = now.map_or_else(|| "there is none".into(), |(v, _)| in_short(&v));
            return Err(Stuck(format!(
                "the verdict did not become the expected one ({what}); it is: {now}"
            )));
        };
        let outcome = verdict["outcome"].as_str().unwrap_or_default();
        let code = match outcome {
            "merged" | "ready" => "32",
            "blocked" => "31",
            _ => "33",
        };
        println!("     {} {what}", self.paint(code, outcome));
        if let Some(title) = self.stage.title(pull, &verdict).await {
            println!("     {}", self.paint("90", &format!("check run: {title}")));
        }
        Ok(took)
    }

    /// Quotes the sentence of a gate's tree that says why.
    async fn quote(&self, pull: &PullHandle, name: &str, words: &str) {
        let Some((verdict, _)) = self.stage.verdict(pull, |_| true).await else {
            return;
        };
        let gates = verdict["gates"].as_array().map_or(&[][..], Vec::as_slice);
        let gate = gates.iter().find(|gate| gate["name"] == name);
        let own = gate.map(|gate| Value::Array(vec![gate.clone()]));
        if let Some(sentence) = own.as_ref().and_then(|gates| sentence(gates, words)) {
            println!("     \"{sentence}\"");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_stuck_is_told_the_step_of_how_many_and_what_was_seen_last() {
        let seen = in_short(&serde_json::json!({
            "outcome": "waiting",
            "gates": [
                { "name": "checks", "state": "satisfied", "reason": "`unit` passed" },
                { "name": "second_verifier", "state": "waiting", "reason": "nobody reported" },
            ],
        }));
        insta::assert_snapshot!(stuck(5, &seen), @r"
        the story got stuck at step 5 of 17: waiting
          checks satisfied: `unit` passed
          second_verifier waiting: nobody reported
        ");
    }

    #[test]
    fn the_story_has_as_many_steps_as_it_says() {
        let told = [include_str!("story.rs"), include_str!("story/people.rs")];
        let steps = told.map(|text| text.matches("teller.step(").count());
        // Once more in this very test.
        assert_eq!(
            u32::try_from(steps.iter().sum::<usize>() - 1).unwrap(),
            STEPS
        );
    }
}

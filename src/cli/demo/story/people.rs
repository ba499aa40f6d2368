//! The second half of the story: people's words, a change of the policy, and the limit on agents' work.

use super::super::stage::wait_for;
use super::{Stuck, THIRD, Teller, Told, gate, gone};
use crate::domain::ledger::Kind;
use crate::simulator::world::Repo;
use crate::simulator::{Actor, Edits, PullHandle};

/// How many agent pull requests are open when the dispatch is asked for.
const OPEN: u64 = 9;
/// An issue that may be dispatched.
const ISSUE: &str = "## Trap\nA start was counted twice.\n\n## Proof\n`cargo test counts_once`\n";

/// Plays it.
pub(super) async fn play(teller: &Teller<'_>) -> Told<()> {
    let pull = refused_to_a_stranger(teller).await?;
    waived_by_an_owner(teller, &pull).await?;
    held_and_let_go(teller).await?;
    policy_changed(teller).await?;
    queued_and_granted(teller).await
}

fn number(pull: &PullHandle) -> Told<u64> {
    Ok(pull.look(|pull| pull.number)?)
}

/// An agent's pull request that changes line 1 of the critical file.
async fn open(teller: &Teller<'_>, branch: &str, line: &str) -> Told<PullHandle> {
    let stage = teller.stage;
    let text = THIRD.replace("once.", &format!("once. {line}."));
    let edits = Edits::write("src/start.rs", text);
    stage.agent.push(&stage.shop, branch, line, edits)?;
    Ok(stage.agent.open_pull(&stage.shop, branch, "main", line)?)
}

/// Somebody comments; the reaction that comes, and the sentence of the answer that holds some words.
async fn says(
    teller: &Teller<'_>,
    who: &Actor,
    on: u64,
    text: &str,
    reaction: &str,
    words: &str,
) -> Told<()> {
    let stage = teller.stage;
    let comment = who.comment_on(&stage.shop, on, text)?;
    let reacted = |repo: &Repo| {
        let comment = repo.comments.get(&comment);
        comment.is_some_and(|comment| comment.reactions.iter().any(|(_, _, one)| one == reaction))
    };
    let answered = || {
        stage
            .last_answer(on)
            .is_some_and(|said| said.contains(words))
    };
    let came = stage.until(reacted).await && (words.is_empty() || wait_for(answered).await);
    if !came {
        return Err(Stuck(format!(
            "{text:?} was not answered with {reaction} and {words:?}"
        )));
    }
    println!("     reaction: {reaction}");
    let said = stage.last_answer(on).unwrap_or_default();
    if let Some(line) = said
        .lines()
        .find(|line| !words.is_empty() && line.contains(words))
    {
        println!(
            "     \"{}\"",
            line.trim_start_matches("- ").replace(['*', '\\'], "")
        );
    }
    Ok(())
}

async fn refused_to_a_stranger(teller: &Teller<'_>) -> Told<PullHandle> {
    let stage = teller.stage;
    teller.step("#3 waits for its verifier. A stranger comments `/merge`.");
    let pull = open(teller, "agent/count", "Count starts").await?;
    let waiting = |v: &serde_json::Value| v["outcome"] == "waiting";
    teller.expect(&pull, "for everything", waiting).await?;
    let number = number(&pull)?;
    says(
        teller,
        &stage.mallory,
        number,
        "/merge",
        "-1",
        "write access",
    )
    .await?;
    Ok(pull)
}

async fn waived_by_an_owner(teller: &Teller<'_>, pull: &PullHandle) -> Told<()> {
    let stage = teller.stage;
    let number = number(pull)?;
    teller.step("The check passes and the second verifier approves, but made no mutants. An owner waives that one gate, for this head alone.");
    stage
        .github
        .actions()
        .pass(&stage.shop, &pull.head()?, "unit")?;
    teller.reports(&stage.codex, pull)?;
    teller
        .expect(pull, "for mutation evidence", |v| {
            gate(v, "second_verifier") == "satisfied" && gate(v, "mutation_check") == "waiting"
        })
        .await?;
    let text = "/override mutation_check accepted_risk a counter, tested by hand";
    says(teller, &stage.olga, number, text, "+1", "is waived").await?;
    teller
        .expect(pull, "with one gate overridden", |v| {
            v["outcome"] == "merged"
        })
        .await?;
    let entries = stage.store.ledger(None, 0, 1_000).await;
    let entries = entries.map_err(|error| Stuck(error.to_string()))?;
    let waiver = entries.iter().find(|entry| entry.kind == Kind::Override);
    let waiver = waiver.ok_or_else(|| Stuck("the override left no trace".into()))?;
    println!(
        "     ledger entry {}: {} waived {} ({})",
        waiver.seq,
        waiver.body["by"]["login"].as_str().unwrap_or_default(),
        waiver.body["override"]["gate"].as_str().unwrap_or_default(),
        waiver.body["override"]["reason"]
            .as_str()
            .unwrap_or_default(),
    );
    Ok(())
}

async fn held_and_let_go(teller: &Teller<'_>) -> Told<()> {
    let stage = teller.stage;
    teller.step(
        "#4 is held by a word before anything has reported, and stays held when everything has.",
    );
    let pull = open(teller, "agent/rename", "Rename starts").await?;
    let number = number(&pull)?;
    says(
        teller,
        &stage.alice,
        number,
        "/hold not before the release",
        "+1",
        "",
    )
    .await?;
    stage
        .github
        .actions()
        .pass(&stage.shop, &pull.head()?, "unit")?;
    teller.verifies(&stage.codex, &pull).await?;
    teller
        .expect(&pull, "by alice", |v| {
            v["outcome"] == "held" && gate(v, "mutation_check") == "satisfied"
        })
        .await?;
    teller.step("`/unhold` lets it go.");
    says(teller, &stage.alice, number, "/unhold", "+1", "").await?;
    teller
        .expect(&pull, "since nothing is open any more", |v| {
            v["outcome"] == "merged"
        })
        .await?;
    Ok(())
}

async fn policy_changed(teller: &Teller<'_>) -> Told<()> {
    let stage = teller.stage;
    teller.step("An agent's #5 has its check. #6 changes the policy: it asks for a check nobody reports. Judged by the old policy, it shows what the change would do.");
    let other = open(teller, "agent/log", "Log starts").await?;
    stage
        .github
        .actions()
        .pass(&stage.shop, &other.head()?, "unit")?;
    teller
        .expect(&other, "for its verifier", |v| {
            gate(v, "checks") == "satisfied"
        })
        .await?;
    let text = stage
        .policy
        .replace("required: [unit]", "required: [unit, lint]");
    let edits = Edits::write(".github/countersign.yml", text);
    stage
        .alice
        .push(&stage.shop, "policy", "Ask for lint", edits)?;
    let pull = stage
        .alice
        .open_pull(&stage.shop, "policy", "main", "Ask for lint")?;
    let head = pull.head()?;
    let shown = || {
        let text = stage.shown_text(&head).unwrap_or_default();
        text.contains("What this policy change would do") && text.contains("checks")
    };
    if !wait_for(shown).await {
        return Err(Stuck("the check run shows no preview".into()));
    }
    let text = stage.shown_text(&head).ok_or_else(gone)?;
    let preview = text
        .lines()
        .skip_while(|line| !line.contains("What this policy change would do"));
    let preview = preview.take_while(|line| !line.starts_with("```"));
    for line in preview.filter(|line| !line.is_empty()).take(6) {
        println!("     | {line}");
    }
    stage.alice.close(&pull)?;
    stage.agent.close(&other)?;
    Ok(())
}

async fn queued_and_granted(teller: &Teller<'_>) -> Told<()> {
    let stage = teller.stage;
    teller.step(
        "Nine agent pull requests are open. A label asks for more agent work, and waits in line.",
    );
    let mut pulls = Vec::new();
    for index in 1..=OPEN {
        let branch = format!("agent/idea-{index}");
        let edits = Edits::write(&format!("ideas/{index}.md"), format!("Idea {index}\n"));
        stage.agent.push(&stage.shop, &branch, "An idea", edits)?;
        let title = format!("Idea {index}");
        let opened = stage
            .agent
            .open_pull(&stage.shop, &branch, "main", &title)?;
        pulls.push(opened);
    }
    if let Some(pull) = pulls.last() {
        teller
            .expect(pull, "as all nine do", |v| v["outcome"] == "waiting")
            .await?;
    }
    let issue = stage
        .alice
        .open_issue(&stage.shop, "Count each start once", ISSUE)?;
    stage.alice.label(&stage.shop, issue, "dispatch")?;
    let labelled = |label: &'static str| {
        move |repo: &Repo| {
            let issue = repo.issues.get(&issue);
            issue.is_some_and(|issue| issue.labels == [label])
        }
    };
    let said = || {
        let said = stage.last_answer(issue).unwrap_or_default();
        said.contains("number 1 in line")
    };
    if !stage.until(labelled("dispatch:queued")).await || !wait_for(said).await {
        return Err(Stuck("the dispatch was not queued".into()));
    }
    println!("     issue #{issue}: dispatch -> dispatch:queued");
    let said = stage.last_answer(issue).unwrap_or_default();
    if let Some(line) = said.lines().find(|line| line.contains("in line")) {
        println!("     \"{}\"", line.replace("**", ""));
    }
    teller.step("One of the nine is closed: the slot goes to the first in line.");
    if let Some(pull) = pulls.first() {
        stage.agent.close(pull)?;
    }
    if !stage.until(labelled("dispatch")).await {
        return Err(Stuck("the dispatch was not granted".into()));
    }
    println!("     issue #{issue}: dispatch:queued -> dispatch");
    Ok(())
}

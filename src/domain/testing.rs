//! Facts for tests: one good pull request, and the means to spoil it.
//!
//! [`snapshot`] is an agent's pull request #1 into `main` that passes every gate of [`POLICY`]. A test
//! changes one thing and looks at one gate.

use serde_json::{Value, json};

use super::facts::*;
use super::model::*;
use super::policy::read::read;
use super::verdict::{GateResult, Verdict, decide};

/// Certified by gemini, countersigned by codex, mutation-checked.
pub const POLICY: &str = r#"
version: 1
agents:
  authors: ["acme-agent[bot]"]
  vendor: anthropic
  model: claude-opus
verifiers:
  codex: { app: codex-verify, vendor: openai, model: gpt-5-codex }
  gemini: { app: gemini-verify, vendor: google, model: gemini-pro }
  opus: { app: opus-verify, vendor: anthropic, model: claude-opus }
  haiku: { app: haiku-verify, vendor: anthropic, model: claude-haiku }
  alice: { user: alice }
gates:
  checks: { required: [unit] }
  certification: { by: [gemini] }
  second_verifier: { count: 1, independence: vendor, tests_executed: true }
  mutation_check: { critical: ["src/**"], except: ["**/*.md"] }
merge: { when: ready, base_branches: [main] }
"#;

/// GitHub Actions' own App.
pub const ACTIONS: (u64, &str) = (15_368, "github-actions");
/// The App of the verifier `codex`.
pub const CODEX: (u64, &str) = (501, "codex-verify");
/// The App of the verifier `gemini`.
pub const GEMINI: (u64, &str) = (502, "gemini-verify");
/// The App of `opus`: of the authoring model itself.
pub const OPUS: (u64, &str) = (503, "opus-verify");
/// The App of `haiku`: of the authoring vendor, another model.
pub const HAIKU: (u64, &str) = (504, "haiku-verify");
/// Our own App.
pub const OWN: (u64, &str) = (900, "countersign");

/// The commit id of forty times this digit.
pub fn oid(digit: char) -> Oid {
    Oid::parse(&digit.to_string().repeat(40)).unwrap()
}

/// The commit id of forty times this digit, as a head.
pub fn head(digit: char) -> HeadSha {
    oid(digit).into()
}

/// A time of 2026, UTC, such as `03-04 12:00` (a Wednesday).
pub fn time(text: &str) -> Timestamp {
    let text = format!("2026-{}:00Z", text.replace(' ', "T"));
    text.parse().unwrap()
}

fn actor(id: u64, login: &str, kind: ActorKind) -> Actor {
    Actor {
        id: ActorId::new(id).unwrap(),
        login: Login::new(login),
        kind,
    }
}

/// A person.
pub fn user(id: u64, login: &str) -> Actor {
    actor(id, login, ActorKind::User)
}

/// An App's bot user.
pub fn bot(id: u64, login: &str) -> Actor {
    actor(id, login, ActorKind::Bot)
}

/// The agent that wrote the pull request.
pub fn agent() -> Actor {
    bot(70, "acme-agent[bot]")
}

/// An App.
pub fn app((id, slug): (u64, &str)) -> AppRef {
    AppRef {
        id: AppId::new(id).unwrap(),
        slug: slug.to_owned(),
    }
}

/// A policy, put into the snapshot.
pub fn under(policy: &str, mut snapshot: Snapshot) -> Snapshot {
    let policy = match read(policy) {
        Ok(policy) => Box::new(policy),
        Err(problems) => panic!("{problems:#?}"),
    };
    let digest = PolicyDigest::parse(oid('f').as_str()).unwrap();
    snapshot.policy = PolicyFact::Valid {
        policy,
        digest,
        origin: PolicyOrigin::Repository,
    };
    snapshot
}

/// [`POLICY`] with one piece of its text replaced.
pub fn policy_with(old: &str, new: &str) -> String {
    assert!(POLICY.contains(old), "{old}");
    POLICY.replace(old, new)
}

/// A policy with these gates and nothing else to judge; `gates` is YAML in braces.
pub fn only(gates: &str) -> String {
    let (start, rest) = POLICY.split_once("gates:").unwrap();
    let (_, end) = rest.split_once("merge:").unwrap();
    format!("{start}gates: {gates}\nmerge:{end}")
}

/// A finished check run by GitHub Actions in suite 77.
pub fn run(id: u64, name: &str, conclusion: Conclusion) -> CheckRun {
    CheckRun {
        id: CheckRunId::new(id).unwrap(),
        name: name.to_owned(),
        app: Some(app(ACTIONS)),
        head: head('b'),
        status: RunStatus::Completed(conclusion),
        suite: SuiteId::new(77),
        external_id: None,
        completed_at: Some(time("03-04 10:00")),
        url: None,
        output_text: None,
        output_title: None,
    }
}

/// A check run that is under way.
pub fn underway(id: u64, name: &str) -> CheckRun {
    CheckRun {
        status: RunStatus::Unfinished("in_progress".into()),
        completed_at: None,
        ..run(id, name, Conclusion::Success)
    }
}

/// A commit status by a person with write access.
pub fn status(id: u64, context: &str, state: StatusState) -> CommitStatus {
    CommitStatus {
        id: StatusId::new(id),
        context: context.to_owned(),
        state,
        creator: Some(user(40, "mallory")),
        updated_at: Some(time("03-04 10:00")),
        url: None,
    }
}

/// A run of a workflow file, with the suite its check runs belong to.
pub fn workflow(suite: u64, path: &str, event: &str) -> WorkflowRun {
    WorkflowRun {
        id: WorkflowRunId::new(suite).unwrap(),
        suite: SuiteId::new(suite).unwrap(),
        path: path.to_owned(),
        event: event.to_owned(),
        attempt: 1,
        head: head('b'),
    }
}

/// A review of this head by somebody, holding nothing.
pub fn review(id: u64, author: Actor, state: ReviewState) -> Review {
    Review {
        id: ReviewId::new(id).unwrap(),
        author: Some(author),
        state,
        head: Some(head('b')),
        head_told: true,
        base: BaseRef::parse("main").ok(),
        submitted_at: Some(time("03-04 11:00")),
        body: String::new(),
        edited: false,
        url: None,
    }
}

/// A comment by somebody, holding this document.
pub fn comment(id: u64, author: Actor, document: &Value) -> Comment {
    Comment {
        id: CommentId::new(id).unwrap(),
        author: Some(author),
        app: None,
        body: fenced(document),
        created_at: time("03-04 11:00"),
        edited: false,
        url: None,
    }
}

/// A document in its block.
pub fn fenced(document: &Value) -> String {
    format!("```countersign\n{document}\n```\n")
}

/// A report of a finished check run by an App; higher ids are later.
pub fn report(id: u64, by: (u64, &str), document: &Value) -> CheckRun {
    CheckRun {
        app: Some(app(by)),
        suite: SuiteId::new(by.0),
        output_text: Some(fenced(document)),
        completed_at: Some(time("03-04 10:00") + chrono::Duration::seconds(id as i64)),
        ..run(id, "verify", Conclusion::Success)
    }
}

/// An approval of the head, made against `main`, with passing tests and without mutants.
pub fn approval(context: &str) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "acme/shop", "digest": { "gitCommit": oid('b').as_str() } }],
        "predicateType": "urn:countersign:verification:v1",
        "predicate": {
            "result": "approved",
            "base": { "ref": "main", "sha": oid('a').as_str() },
            "context": context,
            "sandbox": { "executes": true, "writes": true },
            "tests": [tests("cargo test", 12, 0)],
        }
    })
}

/// One command that ran tests.
pub fn tests(command: &str, passed: u64, failed: u64) -> Value {
    json!({
        "command": command, "executed": passed + failed, "passed": passed, "failed": failed,
        "exit_code": i64::from(failed > 0),
    })
}

/// A mutant of one line of `src/start.rs`.
pub fn mutant(id: &str, line: u64, status: &str) -> Value {
    let by = if status == "killed" {
        vec!["starts_are_recorded"]
    } else {
        vec![]
    };
    json!({
        "id": id, "path": "src/start.rs", "start_line": line, "end_line": line,
        "kind": "revert_hunk", "status": status, "killed_by": by,
    })
}

/// A document with a mutation check of these mutants: baseline passed, tree restored.
pub fn mutated(mut document: Value, mutants: &[Value]) -> Value {
    document["predicate"]["mutation"] = json!({
        "tool": "countersign 1.0", "baseline": { "executed": 12, "exit_code": 0 },
        "mutants": mutants, "restored_tree": oid('c').as_str(),
    });
    document
}

/// A run of changed lines: `added` at `start` of the head's version, `removed` gone.
pub fn hunk(start: u64, added: &[&str], removed: &[&str]) -> ChangedHunk {
    let texts = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    ChangedHunk {
        new_start: start,
        new_lines: added.len() as u64,
        old_lines: removed.len() as u64,
        added: texts(added),
        removed: texts(removed),
    }
}

/// A modified file.
pub fn file(path: &str, hunks: Vec<ChangedHunk>) -> FileChange {
    FileChange {
        path: path.to_owned(),
        old_path: None,
        kind: ChangeKind::Modified,
        additions: hunks.iter().map(|hunk| hunk.new_lines).sum(),
        deletions: hunks.iter().map(|hunk| hunk.old_lines).sum(),
        hunks: Some(hunks),
    }
}

/// The pull request: the agent's, #1, into `main`.
pub fn pull() -> PullRequest {
    PullRequest {
        number: PullNumber::new(1).unwrap(),
        title: "Record starts".into(),
        body: "Closes #7".into(),
        state: PullState::Open,
        draft: false,
        head: head('b'),
        head_ref: "agent/starts".into(),
        head_repo: RepoId::new(1),
        base: BaseRef::parse("main").unwrap(),
        author: Some(agent()),
        labels: Vec::new(),
        mergeable: Some(true),
        test_merge: Some(oid('d')),
        changed_files: Some(1),
        auto_merge: false,
        created_at: time("03-04 08:00"),
        updated_at: time("03-04 09:00"),
    }
}

/// What lies between `main` and the head: line 40 of `src/start.rs`, in one commit of the agent.
pub fn comparison() -> Comparison {
    let commit = PullCommit {
        sha: oid('b'),
        tree: oid('c'),
        parents: vec![oid('a')],
        author: Some(agent()),
        committer: Some(agent()),
    };
    Comparison {
        base_tip: oid('a'),
        head: head('b'),
        merge_base: oid('a'),
        files: Listing::whole(vec![file(
            "src/start.rs",
            vec![hunk(40, &["new"], &["old"])],
        )]),
        commits: Listing::whole(vec![commit]),
    }
}

/// The good snapshot, at noon of Wednesday, 4 March 2026: everything passes, and all is confirmed.
pub fn snapshot() -> Snapshot {
    let killed = mutated(approval("exec-1"), &[mutant("m1", 40, "killed")]);
    let runs = vec![
        run(10, "unit", Conclusion::Success),
        report(11, GEMINI, &approval("cert-1")),
        report(12, CODEX, &killed),
    ];
    let snapshot = Snapshot {
        now: time("03-04 12:00"),
        repo: Repository {
            id: RepoId::new(1).unwrap(),
            name: RepoName::parse("acme/shop").unwrap(),
            installation: InstallationId::new(5).unwrap(),
            default_branch: None,
        },
        number: PullNumber::new(1).unwrap(),
        freshness: Freshness::Confirmed,
        own_app: AppId::new(OWN.0).unwrap(),
        pull: Fetched::Known(pull()),
        base: Fetched::Known(Base {
            name: BaseRef::parse("main").unwrap(),
            tip: oid('a'),
        }),
        policy: PolicyFact::Absent,
        runs: Fetched::Known(Listing::whole(runs)),
        statuses: Fetched::Known(Listing::whole(Vec::new())),
        workflows: Fetched::NotAsked,
        reviews: Fetched::Known(Listing::whole(Vec::new())),
        comments: Fetched::Known(Listing::whole(Vec::new())),
        posted: Vec::new(),
        open_conversations: Fetched::NotAsked,
        teams: std::collections::BTreeMap::new(),
        comparison: Fetched::Known(comparison()),
        rules: Fetched::Known(Vec::new()),
        hold: None,
        freeze: None,
        merge_requested: None,
        stop_asked: None,
        asked: Vec::new(),
        overrides: Vec::new(),
        refusal: None,
        pushes: Vec::new(),
        head_since: Some(time("03-04 08:59")),
        base_since: None,
        head_seen_at: Some(time("03-04 09:00")),
        since: std::collections::BTreeMap::new(),
    };
    under(POLICY, snapshot)
}

/// What a fact of a test surely knows, to change it.
pub fn known<T>(fact: &mut Fetched<T>) -> &mut T {
    match fact {
        Fetched::Known(value) => value,
        Fetched::Unavailable(_) | Fetched::NotAsked => panic!("not known in this test"),
    }
}

/// The items of a list, to change them.
pub fn items<T>(list: &mut Fetched<Listing<T>>) -> &mut Vec<T> {
    &mut known(list).items
}

/// The good snapshot with these check runs instead of its own `unit`, beside the reports.
pub fn with_runs(runs: Vec<CheckRun>) -> Snapshot {
    let mut snapshot = snapshot();
    items(&mut snapshot.runs).retain(|run| run.name != "unit");
    items(&mut snapshot.runs).extend(runs);
    snapshot
}

/// The good snapshot with these reports instead of its own, beside `unit`.
pub fn with_reports(reports: Vec<CheckRun>) -> Snapshot {
    let mut snapshot = snapshot();
    items(&mut snapshot.runs).retain(|run| run.output_text.is_none());
    items(&mut snapshot.runs).extend(reports);
    snapshot
}

/// One gate's result.
pub fn gate(snapshot: &Snapshot, name: &str) -> GateResult {
    let verdict = decide(snapshot);
    gate_of(&verdict, name)
}

fn gate_of(verdict: &Verdict, name: &str) -> GateResult {
    let found = verdict.gates.iter().find(|gate| gate.gate == name);
    match found {
        Some(found) => found.clone(),
        None => panic!("no gate {name} in {:#?}", verdict.gates),
    }
}

/// The word for one gate's state.
pub fn state(snapshot: &Snapshot, name: &str) -> &'static str {
    gate(snapshot, name).state.word()
}

/// Everything a gate says: its reason, its next step and its details.
pub fn told(snapshot: &Snapshot, name: &str) -> String {
    fn of(gate: &GateResult, text: &mut String) {
        text.push_str(&format!(
            "{} {}: {}",
            gate.gate,
            gate.state.word(),
            gate.reason
        ));
        if let Some(next) = &gate.next {
            text.push_str(&format!(" -> {next}"));
        }
        text.push('\n');
        for part in &gate.details {
            of(part, text);
        }
    }
    let mut text = String::new();
    of(&gate(snapshot, name), &mut text);
    text
}

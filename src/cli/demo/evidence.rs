//! What the verifiers of the story report: what one of them claims, and what the runner finds.
//!
//! Mutation evidence is never made up here. The runner is given the repository that the simulated GitHub
//! stands on, runs its tests and mutants for real, and its report is sent whatever it says.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::clock::Clock;
use crate::domain::policy::read;
use crate::simulator::PullHandle;
use crate::verify::{self, Choice, Commands, Limits, Request, Said, Watch};

/// An approval of the pull request's head that claims tests (or, read-only, none) and made no mutant, in a
/// fenced block. `None` when the head is gone.
pub fn claimed(stage: &Stage, pull: &PullHandle, executes: bool) -> Option<String> {
    claim(stage, pull, executes).map(|document| block(&document.to_string()))
}

/// The same as a document.
pub fn claim(stage: &Stage, pull: &PullHandle, executes: bool) -> Option<Value> {
    let head = pull.head().ok()?;
    let tests = json!([{ "command": "cargo test", "executed": 12, "passed": 12, "failed": 0,
                         "exit_code": 0, "against": [] }]);
    Some(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "acme/shop", "digest": { "gitCommit": head } }],
        "predicateType": "urn:countersign:verification:v1",
        "predicate": {
            "result": "approved",
            "base": { "ref": "main", "sha": stage.shop.tip("main").ok()? },
            "context": format!("{}-{}", if executes { "run" } else { "read" }, &head[..7]),
            "sandbox": { "executes": executes, "writes": executes },
            "tests": if executes { tests } else { json!([]) },
        },
    }))
}

/// What the runner finds on the pull request's head, in a fenced block, and in a line for the terminal.
///
/// # Errors
/// Why it could not run.
pub async fn found(stage: &Stage, pull: &PullHandle) -> Result<(String, String), String> {
    let head = pull.head().map_err(|error| error.to_string())?;
    let checkout = stage.shop.path().map_err(|error| error.to_string())?;
    let policy =
        read::read(&stage.policy).map_err(|_| "the story's policy is invalid".to_owned())?;
    let check = policy.gates.mutation_check;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let request = Request {
        checkout,
        base: "main".to_owned(),
        context: format!("verify-{}", &head[..7]),
        head,
        repository: "acme/shop".to_owned(),
        commands: Commands {
            build: Some("cargo build --offline --quiet --tests".to_owned()),
            test: "cargo test --offline".to_owned(),
            junit: Vec::new(),
            against: Vec::new(),
            by_exit_code: false,
            env: Vec::new(),
        },
        check: check.ok_or("the story's policy asks for no mutants")?,
        limits: Limits {
            timeout: None,
            budget: None,
            jobs: 1,
            baseline_runs: 1,
        },
        sandbox: Choice::Auto,
        journal: folder.path().join("journal"),
        resume: false,
        vendor: None,
        model: None,
    };
    let report = verify::verify(&request, &Clock::System, &Quiet)
        .await
        .map_err(|fault| fault.to_string())?;
    Ok((block(&report.document().to_string()), report.summary))
}

/// The story tells what comes of it, not how it goes.
struct Quiet;

impl Watch for Quiet {
    fn said(&self, _: Said) {}
}

fn block(document: &str) -> String {
    format!("Verified.\n\n```countersign\n{document}\n```\n")
}

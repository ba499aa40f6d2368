//! What the verifiers of the story report.

use serde_json::{Value, json};

use super::stage::Stage;
use crate::simulator::PullHandle;

/// What a report says of the one mutant.
#[derive(Clone, Copy)]
pub enum Mutant {
    /// It was made at this line, and a test failed.
    Killed(u64),
    /// It was made at this line, and no test failed.
    Survived(u64),
    /// There was none.
    None,
}

/// An approval of the pull request's head, in a fenced block. `None` when the head is gone.
pub fn approval(
    stage: &Stage,
    pull: &PullHandle,
    executes: bool,
    mutant: Mutant,
) -> Option<String> {
    let head = pull.head().ok()?;
    let tree = {
        let world = stage.github.lock();
        world.pool.commit(&head).ok()?.tree.clone()
    };
    let (line, status, killed_by) = match mutant {
        Mutant::Killed(line) => (line, "killed", json!(["starts_are_recorded"])),
        Mutant::Survived(line) => (line, "survived", json!([])),
        Mutant::None => (0, "", Value::Null),
    };
    let mutation = (line > 0).then(|| {
        json!({
            "tool": "countersign",
            "baseline": { "executed": 12, "exit_code": 0 },
            "mutants": [{ "id": "m1", "path": "src/start.rs", "start_line": line, "end_line": line,
                          "kind": "revert_hunk", "status": status, "killed_by": killed_by }],
            "restored_tree": tree,
        })
    });
    let tests = json!([{ "command": "cargo test", "executed": 12, "passed": 12, "failed": 0,
                         "exit_code": 0, "against": [] }]);
    let document = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "acme/shop", "digest": { "gitCommit": head } }],
        "predicateType": "urn:countersign:verification:v1",
        "predicate": {
            "result": "approved",
            "base": { "ref": "main", "sha": stage.shop.tip("main").ok()? },
            "context": format!("{}-{}", if executes { "run" } else { "read" }, &head[..7]),
            "sandbox": { "executes": executes, "writes": executes },
            "tests": if executes { tests } else { json!([]) },
            "mutation": mutation,
        },
    });
    Some(format!("Verified.\n\n```countersign\n{document}\n```\n"))
}

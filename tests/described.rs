//! What the product sends is what GitHub says it takes.
//!
//! A whole life of pull requests is played (checks, evidence in every carrier, a re-run, a refusal, a
//! merge, a lost answer, a sweep), and every request the product made is held against GitHub's published
//! description of its API, npm `@octokit/openapi`: the operation exists, its parameters are known and of
//! the right type, its body fits. The description is looked for in the folder named by
//! `COUNTERSIGN_API_DESCRIPTION`, else under `target/npm`; without it the test is left out, unless
//! `COUNTERSIGN_TEST_ALL` is set.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "support/stage.rs"]
#[allow(dead_code, reason = "stories use the rest of the stage")]
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use countersign::domain::model::{HeadSha, PullNumber, RepoName};
use countersign::github::registration::Registrar;
use countersign::github::{Reads, Refused, Timeouts};
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::http::Call;
use countersign::simulator::world::{RequiredReviews, Rule};
use countersign::simulator::{Edits, Permission, PullHandle};
use serde_json::{Value, json};
use stage::{POLICY, Stage};

/// A gate that makes the product read a team.
const APPROVALS: &str = "  approvals: { count: 1, from: ['@acme/owners'] }\n";

/// GitHub's description of its API.
struct Description(Value);

impl Description {
    fn load() -> Option<Self> {
        let folder = std::env::var("COUNTERSIGN_API_DESCRIPTION").unwrap_or_else(|_| {
            concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/target/npm/node_modules/@octokit/openapi"
            )
            .to_owned()
        });
        let file = Path::new(&folder).join("generated/api.github.com.json");
        match std::fs::read_to_string(&file) {
            Ok(text) => Some(Self(serde_json::from_str(&text).unwrap())),
            Err(error) => {
                let all = std::env::var_os("COUNTERSIGN_TEST_ALL").is_some();
                assert!(!all, "{}: {error}", file.display());
                println!("left out: {} is not there", file.display());
                None
            }
        }
    }

    /// The template and the operation of a request, the most literal one where several match.
    fn operation(&self, method: &str, path: &str) -> Option<(&str, &Value)> {
        let method = method.to_lowercase();
        let paths = self.0["paths"].as_object()?;
        let matching = paths
            .iter()
            .filter(|(template, item)| item.get(&method).is_some() && matches(template, path));
        let (template, item) =
            matching.min_by_key(|(template, _)| template.matches('{').count())?;
        Some((template, &item[&method]))
    }

    /// What a `$ref` stands for.
    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match value["$ref"].as_str() {
            Some(name) => self.0.pointer(name.trim_start_matches('#')).unwrap(),
            None => value,
        }
    }

    /// A validator of a schema whose references point into the description.
    fn validator(&self, schema: &Value) -> jsonschema::Validator {
        // Most refer to nothing; all that can be referred to is thirteen megabytes.
        let schema = match schema.to_string().contains("$ref") {
            true => json!({ "allOf": [schema], "components": self.0["components"] }),
            false => schema.clone(),
        };
        jsonschema::draft202012::new(&schema).unwrap()
    }

    /// What is wrong with a request.
    fn faults(&self, call: &Call) -> Vec<String> {
        let (path, query) = call.path.split_once('?').unwrap_or((&call.path, ""));
        let Some((_, operation)) = self.operation(&call.method, path) else {
            return vec!["no such operation".into()];
        };
        let mut faults = Vec::new();
        let parameters: Vec<&Value> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|parameter| self.resolve(parameter))
            .filter(|parameter| parameter["in"] == "query")
            .collect();
        let mut given = BTreeSet::new();
        for (name, value) in pairs(query) {
            match parameters.iter().find(|one| one["name"] == name.as_str()) {
                None => faults.push(format!("no parameter {name}")),
                Some(parameter) => {
                    let schema = self.resolve(&parameter["schema"]);
                    let value = typed(schema, &value);
                    if !self.validator(schema).is_valid(&value) {
                        faults.push(format!("{name} may not be {value}"));
                    }
                }
            }
            given.insert(name);
        }
        for parameter in &parameters {
            let name = parameter["name"].as_str().unwrap();
            if parameter["required"] == true && !given.contains(name) {
                faults.push(format!("{name} is missing"));
            }
        }
        faults.extend(self.body_faults(operation, &call.body));
        faults
    }

    fn body_faults(&self, operation: &Value, body: &Value) -> Vec<String> {
        let described = self.resolve(&operation["requestBody"]);
        let schema = &described["content"]["application/json"]["schema"];
        if schema.is_null() || body.is_null() {
            let wanted = described["required"] == true && body.is_null();
            let unwanted = schema.is_null() && !body.is_null();
            let what = wanted.then(|| "a body is missing".to_owned());
            return what
                .or_else(|| unwanted.then(|| "a body is not expected".to_owned()))
                .into_iter()
                .collect();
        }
        let mut faults: Vec<String> = self
            .validator(schema)
            .iter_errors(body)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        // The description lets unknown fields pass; a misspelt one would be silently ignored.
        let known = self.resolve(schema)["properties"].as_object();
        for name in body.as_object().into_iter().flatten().map(|(name, _)| name) {
            if known.is_some_and(|known| !known.contains_key(name)) {
                faults.push(format!("no field {name}"));
            }
        }
        faults
    }
}

/// Whether a path fits a template. A parameter is one segment, but for the one that is a path.
fn matches(template: &str, path: &str) -> bool {
    let mut segments = path.trim_matches('/').split('/');
    for part in template.trim_matches('/').split('/') {
        let rest = part == "{path}";
        match segments.next() {
            None => return false,
            Some(_) if rest => return true,
            Some(segment) if !part.starts_with('{') && part != segment => return false,
            Some(_) => {}
        }
    }
    segments.next().is_none()
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

/// A query's value as its schema types it.
fn typed(schema: &Value, text: &str) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "number") => text.parse::<u64>().map_or(json!(text), Value::from),
        Some("boolean") => text.parse::<bool>().map_or(json!(text), Value::from),
        _ => json!(text),
    }
}

/// Every request that the product makes in its life.
async fn life() -> Vec<Call> {
    let policy = POLICY.replace("merge:\n", &format!("{APPROVALS}merge:\n"));
    let mut stage = Stage::with_policy(&policy).await;
    let carol = stage.github.user("carol");
    stage.shop.allow(&carol, Permission::Write).unwrap();
    stage.github.team("acme", "owners", &[&carol]);
    let resolved = Rule::PullRequest(RequiredReviews {
        threads_resolved: true,
        ..RequiredReviews::default()
    });
    let rules = stage.shop.add_ruleset(&["main"], vec![resolved], vec![]);
    rules.unwrap();
    refused(&stage).await;
    stage.restart().await;
    stage.sweep().await;
    // Then one that is merged, its answer lost.
    let pull = stage.open_other("agent/other").await;
    carol.approve(&pull).unwrap();
    let plan = FaultPlan::none().with("PUT", "/merge", 1, Fault::DoneThen502);
    stage.github.set_faults(plan);
    stage.clear(&pull).await;
    stage.after(600).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    seldom(&stage, &pull).await;
    stage.github.calls()
}

/// What people's words lead to: reactions, answers, labels, requests to verifiers, the line of issues.
async fn spoken() -> Vec<Call> {
    let asked = |how: &str| {
        let codex = "codex: { app: codex-verify, vendor: openai, model: gpt-5-codex";
        POLICY.replace(codex, &format!("{codex}, request: {how}"))
    };
    let mut calls = Vec::new();
    for how in [
        "{ label: 'verify:codex' }",
        "{ comment: 'Please verify.' }",
        "{ workflow: .github/workflows/reverify.yml }",
    ] {
        let limit = "owners: ['@acme/owners']\ndispatch: { labels: [dispatch], max_open_prs: 0 }\n";
        let stage = Stage::with_policy(&(asked(how) + limit)).await;
        stage.github.team("acme", "owners", &[&stage.alice]);
        let pull = stage.open_pull().await;
        stage
            .shop
            .merge_settings(|merging| merging.auto_merge = true)
            .unwrap();
        for text in [
            "/verify codex",
            "/freeze main x\n/thaw main",
            "/hold x",
            "/escaped #1",
        ] {
            stage.says(&stage.alice, &pull, text).await;
        }
        let issue = stage.alice.open_issue(&stage.shop, "Work", "text").unwrap();
        stage.alice.label(&stage.shop, issue, "dispatch").unwrap();
        stage.settle().await;
        let gone = stage.alice.open_issue(&stage.shop, "Work", "text").unwrap();
        stage.alice.label(&stage.shop, gone, "dispatch").unwrap();
        stage.settle().await;
        stage.alice.delete_issue(&stage.shop, gone).unwrap();
        stage.agent.close(&pull).unwrap();
        stage.settle().await;
        stage.sweep().await;
        calls.extend(stage.github.calls());
    }
    calls
}

/// What is asked at the start, by the command line, and where deliveries left something open.
async fn seldom(stage: &Stage, pull: &PullHandle) {
    // Before there is an App: the answer is nobody's, the request is what counts.
    let nobody = Registrar::new(&stage.api_url, &Timeouts::default(), stage.clock.clone());
    let refused = nobody.unwrap().exchange(&"0".repeat(40)).await;
    assert!(matches!(refused, Err(Refused::NotFound(_))), "{refused:?}");
    let github = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
    github.app().await.unwrap();
    let name = RepoName::parse("acme/shop").unwrap();
    let shop = github.repository(&name).await.unwrap();
    let number = PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap();
    let head = HeadSha::parse(&pull.head().unwrap()).unwrap();
    github.pulls_with_head(&shop, &head).await.unwrap();
    github.workflow_runs(&shop, &head).await.unwrap();
    github.open_conversations(&shop, number).await.unwrap();
    let author = github.pull(&shop, number).await.unwrap().author;
    github.may_write(&shop, &author.unwrap()).await.unwrap();
    github.introduce().await.app.unwrap();
    github.granted().await.unwrap();
    github.hook().await.unwrap();
    github.deliveries().await.unwrap();
    // An App that is not there is asked for as a user, too.
    assert!(!github.app_named(&shop, "nobody-verify").await.unwrap());
    assert!(github.team(&shop, "acme", "owners").await.unwrap());
    github.methods(&shop).await.unwrap();
    github.recent_pulls(&shop, 10).await.unwrap();
}

/// One that is refused for many reasons: a rejection, workflows that share a job's name, another head
/// with more files than a comparison tells.
async fn refused(stage: &Stage) {
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    let rejected = evidence.clone().with("/result", json!("rejected"));
    stage.reports(&stage.codex, &pull, &rejected).await;
    stage.alice.comment(&pull, &evidence.block()).unwrap();
    let head = pull.head().unwrap();
    let actions = stage.github.actions();
    for path in [".github/workflows/ci.yml", ".github/workflows/other.yml"] {
        let run = actions.start_workflow(&stage.shop, path, "push", &head);
        let done = actions.report_job(&stage.shop, run.unwrap(), "unit", Some("success"));
        done.unwrap();
    }
    stage.settle().await;
    let mut edits = Edits::write("src/start.rs", "pub fn start() {}\n");
    for file in 0..310 {
        edits = edits.and_write(&format!("docs/{file}.md"), "text\n");
    }
    let pushed = stage.agent.push(&stage.shop, "agent/start", "Again", edits);
    pushed.unwrap();
    stage.settle().await;
}

#[tokio::test]
async fn every_request_is_one_that_github_describes() {
    let Some(description) = Description::load() else {
        return;
    };
    let mut calls = life().await;
    calls.extend(spoken().await);
    let mut wrong = BTreeMap::new();
    let mut used = BTreeSet::new();
    for call in &calls {
        let path = call.path.split('?').next().unwrap_or_default();
        if path == "/graphql" {
            used.insert("POST /graphql".to_owned());
            continue;
        }
        // Where GitHub's own redirects of renamed repositories lead; its description leaves it out.
        if path
            .strip_prefix("/repositories/")
            .is_some_and(|id| !id.contains('/'))
        {
            continue;
        }
        if let Some((template, _)) = description.operation(&call.method, path) {
            used.insert(format!("{} {template}", call.method));
        }
        let faults = description.faults(call);
        if !faults.is_empty() {
            wrong.insert(format!("{} {}", call.method, call.path), faults);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // A life that leaves something out proves nothing about it.
    insta::assert_snapshot!(used.into_iter().collect::<Vec<_>>().join("\n"), @r"
    DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}
    GET /app
    GET /app/hook/config
    GET /app/hook/deliveries
    GET /app/installations
    GET /apps/{app_slug}
    GET /installation/repositories
    GET /orgs/{org}/teams/{team_slug}
    GET /orgs/{org}/teams/{team_slug}/members
    GET /repos/{owner}/{repo}
    GET /repos/{owner}/{repo}/actions/runs
    GET /repos/{owner}/{repo}/branches/{branch}
    GET /repos/{owner}/{repo}/collaborators/{username}/permission
    GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls
    GET /repos/{owner}/{repo}/commits/{ref}/check-runs
    GET /repos/{owner}/{repo}/commits/{ref}/status
    GET /repos/{owner}/{repo}/compare/{basehead}
    GET /repos/{owner}/{repo}/contents/{path}
    GET /repos/{owner}/{repo}/git/commits/{commit_sha}
    GET /repos/{owner}/{repo}/installation
    GET /repos/{owner}/{repo}/issues
    GET /repos/{owner}/{repo}/issues/{issue_number}
    GET /repos/{owner}/{repo}/issues/{issue_number}/comments
    GET /repos/{owner}/{repo}/pulls
    GET /repos/{owner}/{repo}/pulls/{pull_number}
    GET /repos/{owner}/{repo}/pulls/{pull_number}/files
    GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews
    GET /repos/{owner}/{repo}/rules/branches/{branch}
    GET /users/{username}
    PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}
    PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}
    POST /app-manifests/{code}/conversions
    POST /app/installations/{installation_id}/access_tokens
    POST /graphql
    POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches
    POST /repos/{owner}/{repo}/check-runs
    POST /repos/{owner}/{repo}/issues/comments/{comment_id}/reactions
    POST /repos/{owner}/{repo}/issues/{issue_number}/comments
    POST /repos/{owner}/{repo}/issues/{issue_number}/labels
    PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge
    ");
}

#[test]
fn a_request_that_github_does_not_describe_is_found() {
    let Some(description) = Description::load() else {
        return;
    };
    let call = |method: &str, path: &str, body| Call {
        method: method.into(),
        path: path.into(),
        route: String::new(),
        body,
        status: 200,
    };
    let told =
        |method: &str, path: &str, body| description.faults(&call(method, path, body)).join("; ");
    let merge = "/repos/acme/shop/pulls/1/merge";
    let body = json!({ "merge_method": "merge", "sha": "1".repeat(40) });
    assert_eq!(told("PUT", merge, body), "");
    assert_eq!(
        told("PUT", merge, json!({ "head_sha": "1" })),
        "no field head_sha"
    );
    assert_ne!(told("PUT", merge, json!({ "merge_method": "ff" })), "");
    assert_eq!(told("POST", merge, json!({})), "no such operation");
    let runs = "/repos/acme/shop/commits/main/check-runs";
    assert_eq!(
        told(
            "GET",
            &format!("{runs}?filter=all&per_page=100"),
            Value::Null
        ),
        ""
    );
    assert_eq!(
        told("GET", &format!("{runs}?filter=every"), Value::Null),
        "filter may not be \"every\""
    );
    assert_eq!(
        told("GET", &format!("{runs}?perpage=3"), Value::Null),
        "no parameter perpage"
    );
}

//! The schema and the reader say the same, as far as a schema can.

use jsonschema::Validator;
use serde_json::Value;

use super::super::keys;
use super::super::read::read;
use super::super::shape::{Kind, Object, Shape};
use super::json_schema;

const COMPLETE: &str = include_str!("../../../../tests/policies/complete.yml");
const SMALL: &str = include_str!("../../../../tests/policies/small.yml");

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// The verdicts of the schema and of the reader on one text.
fn verdicts(validator: &Validator, text: &str) -> (bool, bool) {
    let instance: Value = serde_saphyr::from_str(text).unwrap();
    (validator.is_valid(&instance), read(text).is_ok())
}

#[test]
fn the_schema_in_the_repository_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/policy.schema.json");
    #[allow(clippy::disallowed_methods)] // The pure rooms read no files; their tests may.
    let there = std::fs::read_to_string(path).unwrap_or_default();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    assert!(
        parsed(&there) == parsed(&json_schema()),
        "write the output of `countersign policy schema` to deploy/policy.schema.json"
    );
}

#[test]
fn the_schema_is_a_valid_schema_of_its_draft() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
}

#[test]
fn good_policies_pass_both() {
    let validator = validator();
    for text in [COMPLETE, SMALL] {
        assert_eq!(verdicts(&validator, text), (true, true), "{text}");
    }
}

#[test]
fn every_structural_fault_fails_both() {
    let validator = validator();
    for wrong in [
        "version: 2\n",
        "mode: enfore\n",
        "agents: { authors: alice }\n",
        "agents: { vendor: 5 }\n",
        "verifiers: { codex: { app: a, user: b } }\n",
        "verifiers: { codex: { vendor: openai } }\n",
        "verifiers: { 'bad name': { app: a } }\n",
        "verifiers: { codex: { app: a, request: { label: x, comment: y } } }\n",
        "verifiers: { codex: { workflow: verify.yml } }\n",
        "verifiers: { codex: { app: 0 } }\n",
        "merge: { method: fast-forward }\n",
        "merge: { base_branches: [] }\n",
        "merge: { base_branches: [refs heads] }\n",
        "merge: { freeze: [{ from: 'Fri 16:00' }] }\n",
        "merge: { delete_branch: 'yes' }\n",
        "dispatch: { max_open_prs: -1 }\n",
        "dispatch: { max_in_flight: 2.5 }\n",
        "dispatch: { in_flight_expires: 6 hours }\n",
        "dispatch: { share: { labels: [debt], at_least: 20 } }\n",
        "owners: [org/owners]\n",
        "notify: [ntfy.sh/topic]\n",
        "notify: [{ url: 'https://x.example', kinds: [weather] }]\n",
        "commands:\n",
        "teapot: true\n",
    ] {
        let text = format!(
            "{}{wrong}",
            SMALL.replace(
                "version: 1\n",
                if wrong.starts_with("version") {
                    ""
                } else {
                    "version: 1\n"
                }
            )
        );
        assert_eq!(verdicts(&validator, &text), (false, false), "{text}");
    }
}

#[test]
fn every_structural_fault_in_the_gates_fails_both() {
    let validator = validator();
    for wrong in [
        "mutaton_check: {}",
        "checks: { required: [unit], passing: [] }",
        "checks: { required: [{ app: x }] }",
        "checks: { required: unit }",
        "second_verifier: { count: 11 }",
        "second_verifier: { independence: brand }",
        "second_verifier: { fallback: { after: 4h } }",
        "second_verifier: { max_age: 3 days }",
        "mutation_check: { except: [docs] }",
        "mutation_check: { critical: [] }",
        "mutation_check: { critical: ['!src'] }",
        "mutation_check: { critical: [src], require: some }",
        "mutation_check: { critical: [src], require: { killed_at_least: 0 } }",
        "exercised: [{ paths: [src] }]",
        "approvals: { count: many }",
        "size: {}",
    ] {
        let text =
            format!("version: 1\nverifiers: {{ codex: {{ app: codex }} }}\ngates:\n  {wrong}\n");
        assert_eq!(verdicts(&validator, &text), (false, false), "{text}");
    }
}

#[test]
fn the_patterns_of_the_schema_refuse_nothing_the_reader_takes() {
    let long = "x".repeat(300);
    let samples = [
        "a",
        "alice",
        "@alice",
        "@org/team",
        "acme[bot]",
        "90s",
        "999999d",
        "20%",
        "100%",
        "020%",
        "1%",
        ".github/workflows/ci.yml",
        ".github/workflows/.yaml",
        "Fri 16:00",
        "thursday 00:00",
        "https://x.example/a?b",
        "src/**",
        "/src",
        "src/",
        "*.md",
        "release/*",
        "agent:*",
        "UTC",
        "America/Argentina/Buenos_Aires",
        "Etc/GMT+5",
        "build (linux, 3.12)",
        "a b",
        "\u{fc}ml\u{e4}ut",
        "{a,b}/[x]",
        long.as_str(),
        "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEABwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=\n-----END PUBLIC KEY-----\n",
    ];
    let mut tried = 0;
    let mut accepted_any = std::collections::BTreeMap::new();
    each_kind(&Shape::Object(&keys::POLICY), &mut |kind| {
        let schema = serde_json::json!({ "type": "string", "pattern": kind.pattern });
        let pattern = jsonschema::validator_for(&schema).unwrap();
        let any = accepted_any.entry(kind.what).or_insert(false);
        for sample in samples {
            if (kind.check)(sample).is_ok() {
                tried += 1;
                *any = true;
                assert!(
                    pattern.is_valid(&Value::from(sample)),
                    "{}: {sample:?}",
                    kind.what
                );
            }
        }
    });
    assert!(tried > 100);
    assert!(accepted_any.values().all(|any| *any), "{accepted_any:?}");
}

#[test]
fn every_key_and_word_is_described() {
    fn walk(object: &Object) {
        for key in object.keys {
            assert!(key.doc.len() > 3, "{}", key.name);
            each_object(&key.shape, &mut |object| walk(object));
        }
        for name in object.one_of {
            assert!(object.keys.iter().any(|key| key.name == *name), "{name}");
        }
    }
    walk(&keys::POLICY);
}

fn each_object(shape: &Shape, visit: &mut dyn FnMut(&Object)) {
    match shape {
        Shape::Object(object) => visit(object),
        Shape::List { of, .. } => each_object(of, visit),
        Shape::Named { each, .. } => each_object(each, visit),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| each_object(shape, visit)),
        Shape::Text(_) | Shape::Whole { .. } | Shape::Flag | Shape::Word(_) => {}
    }
}

fn each_kind(shape: &Shape, visit: &mut dyn FnMut(&Kind)) {
    match shape {
        Shape::Text(kind) => visit(kind),
        Shape::List { of, .. } => each_kind(of, visit),
        Shape::Named { by, each } => {
            visit(by);
            each_kind(each, visit);
        }
        Shape::Either(shapes) => shapes.iter().for_each(|shape| each_kind(shape, visit)),
        Shape::Object(object) => object
            .keys
            .iter()
            .for_each(|key| each_kind(&key.shape, visit)),
        Shape::Whole { .. } | Shape::Flag | Shape::Word(_) => {}
    }
}

//! Making an evidence document: the other half of `parse`, for whatever in this program reports.
//!
//! What is written is read back the same (a property test holds the two together). Fields that say
//! nothing are left out, but for `reason`, which readers of the format look for.

use serde_json::{Map, Value, json};

use super::{PREDICATE_TYPE, STATEMENT_TYPE, Statement};
use crate::domain::model::Timestamp;

/// The document of a statement; `times` are when the verification started and finished.
pub fn document(statement: &Statement, times: Option<(Timestamp, Timestamp)>) -> Value {
    let mut predicate = Map::new();
    let mut say = |name: &str, value: Value| {
        if !value.is_null() {
            predicate.insert(name.to_owned(), value);
        }
    };
    say("result", json!(statement.result));
    say("base", json!(statement.base));
    say("context", json!(statement.context));
    say("vendor", json!(statement.vendor));
    say("model", json!(statement.model));
    say("sandbox", json!(statement.sandbox));
    say("tests", json!(statement.tests));
    say("mutation", json!(statement.mutation));
    say("findings", json!(statement.findings));
    say("cost_usd", json!(statement.cost_usd));
    if let Some((started, finished)) = times {
        say("started_at", json!(started));
        say("finished_at", json!(finished));
    }
    predicate.insert("reason".to_owned(), json!(statement.reason));
    json!({
        "_type": STATEMENT_TYPE,
        "subject": [{
            "name": statement.subject_name,
            "digest": { "gitCommit": statement.head },
        }],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    })
}

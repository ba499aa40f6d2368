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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::evidence::parse;
    use crate::domain::evidence::{InconclusiveReason, MutantStatus, Outcome};

    fn sound() -> Statement {
        parse::document(include_str!("../../../tests/evidence/sound.json")).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_the_same(
            inconclusive in proptest::option::of(Just(InconclusiveReason::Capacity)),
            executed in 0..10_000_u64,
            text in "[!-~].{0,40}",
            cost in proptest::option::of(0.0..1e6_f64),
            survived in any::<bool>(),
            (base, sandbox, mutation) in any::<(bool, bool, bool)>(),
        ) {
            let mut statement = sound();
            statement.reason = inconclusive;
            if inconclusive.is_some() {
                statement.result = Outcome::Inconclusive;
            }
            statement.tests[0].executed = executed;
            statement.tests[0].passed = executed;
            statement.tests[0].command.clone_from(&text);
            statement.context = text;
            statement.cost_usd = cost;
            if !base { statement.base = None; }
            if !sandbox { statement.sandbox = None; }
            if let Some(mutation) = &mut statement.mutation && survived {
                mutation.mutants[0].status = MutantStatus::Survived;
            }
            if !mutation { statement.mutation = None; }
            let written = document(&statement, None).to_string();
            prop_assert_eq!(parse::document(&written), Ok(statement));
        }
    }
}

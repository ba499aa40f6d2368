//! What is said of a document that was checked, for people and for programs.
//!
//! Two questions have a line each: may it be believed, and what does it say? What it comes to stands last,
//! and alone decides the exit code.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::verify::visible;
use crate::domain::evidence::Statement;
use crate::domain::gate::appraise::{Appraisal, Belief, Binding, Counts, Part, Says};

/// The answer to one document, as a case's `.expected` holds it.
pub(super) fn answer(appraisal: &Appraisal) -> String {
    let mut lines = vec![match &appraisal.belief {
        Belief::Yes => "believed: yes".to_owned(),
        Belief::NotMutants(why) => format!("believed: yes, but not its mutants: {why}"),
        Belief::No(why) => format!("believed: no: {why}"),
    }];
    for fault in appraisal.document.as_ref().err().into_iter().flatten() {
        let fault = format!("{} {}", fault.path, fault.message);
        lines.push(format!("fault: {}", fault.trim()));
    }
    lines.extend(appraisal.says.as_ref().map(|says| match says {
        Says::Approves => "says: approves".to_owned(),
        Says::Rejects(why) => format!("says: rejects: {why}"),
        Says::Inconclusive(why) => format!("says: inconclusive: {why}"),
    }));
    for (part, shows) in parts(appraisal) {
        let name = match part {
            Part::Tests => "tests",
            Part::Mutants => "mutants",
        };
        lines.push(match shows {
            Ok(what) => format!("{name}: {what}"),
            Err(_) if is_absent(appraisal, part) => format!("{name}: none in it"),
            Err(why) => format!("{name}: show nothing: {why}"),
        });
    }
    lines.push(format!("counts: {}", appraisal.counts()));
    let lines = lines.iter().map(|line| visible(line) + "\n");
    lines.collect()
}

/// What its parts show, where that matters and was not said already.
fn parts(appraisal: &Appraisal) -> Vec<(Part, &Result<String, String>)> {
    let mute = matches!(appraisal.belief, Belief::No(_))
        || matches!(appraisal.says, Some(Says::Inconclusive(_)));
    let unsound = matches!(appraisal.belief, Belief::NotMutants(_));
    let mut parts = vec![
        (Part::Tests, &appraisal.tests),
        (Part::Mutants, &appraisal.mutants),
    ];
    parts.retain(|(part, _)| !(mute || unsound && *part == Part::Mutants));
    parts
}

fn is_absent(appraisal: &Appraisal, part: Part) -> bool {
    let statement = appraisal.document.as_ref();
    statement.is_ok_and(|one| match part {
        Part::Mutants => one.mutation.is_none(),
        Part::Tests => one.tests.is_empty() && one.sandbox.is_none_or(|sandbox| sandbox.executes),
    })
}

/// What a person reads of one file.
pub(super) fn told(file: &str, appraisal: &Appraisal, binding: &Binding) -> String {
    let mut text = match &appraisal.document {
        Ok(statement) => about(file, statement),
        Err(_) => format!("{file}\n"),
    };
    // Writing to a String cannot fail.
    for line in answer(appraisal).lines() {
        let _ = writeln!(text, "  {line}");
    }
    if appraisal.mutants.is_ok() && binding.tree.is_none() {
        let _ = writeln!(
            text,
            "  not compared: the tree it left with the head's (--tree)"
        );
    }
    if let Some(head) = binding.head.as_ref().filter(|head| !head.is_whole()) {
        let _ = writeln!(
            text,
            "  compared: the first {} digits of the head",
            head.as_str().len()
        );
    }
    if appraisal.document.is_ok() {
        let _ = writeln!(
            text,
            "  who reported it is not in the document: GitHub says it of whoever posts it"
        );
    }
    text
}

fn about(file: &str, statement: &Statement) -> String {
    let repository = visible(&statement.subject_name);
    let mut text = format!("{file}: about {} of {repository}\n", statement.head);
    if let Some(base) = &statement.base {
        let _ = writeln!(text, "  made against {} at {}", base.name, base.sha);
    }
    if let Some(mutation) = &statement.mutation {
        let _ = writeln!(text, "  mutants made by {}", visible(&mutation.tool));
    }
    text
}

/// The same for programs. Texts are for people and may change; the words under `believed`, `says` and
/// `counts` stay.
pub(super) fn as_json(file: &str, appraisal: &Appraisal) -> Value {
    let (believed, doubt) = match &appraisal.belief {
        Belief::Yes => ("yes", None),
        Belief::NotMutants(why) => ("not_mutants", Some(why)),
        Belief::No(why) => ("no", Some(why)),
    };
    let (says, because) = match &appraisal.says {
        None => (None, None),
        Some(Says::Approves) => (Some("approves"), None),
        Some(Says::Rejects(why)) => (Some("rejects"), Some(why)),
        Some(Says::Inconclusive(why)) => (Some("inconclusive"), Some(why)),
    };
    let faults = appraisal.document.as_ref().err().into_iter().flatten();
    let faults = faults.map(|fault| json!({ "path": fault.path, "message": fault.message }));
    let part = |part: &Result<String, String>| match part {
        Ok(what) => json!({ "shows": true, "text": what }),
        Err(why) => json!({ "shows": false, "text": why }),
    };
    json!({
        "file": file,
        "head": appraisal.document.as_ref().ok().map(|one| one.head.as_str()),
        "believed": believed,
        "doubt": doubt,
        "faults": faults.collect::<Vec<_>>(),
        "says": says,
        "because": because,
        "tests": part(&appraisal.tests),
        "mutants": part(&appraisal.mutants),
        "counts": match appraisal.counts() {
            Counts::For | Counts::Alone(_) => "for",
            Counts::InPart(_) => "in_part",
            Counts::Against => "against",
            Counts::Nothing => "nothing",
        },
    })
}

//! What one piece of evidence would prove by itself, for whoever writes a verifier.
//!
//! The questions are the gates' own, put by the same functions: may it speak for this head, are its
//! mutants sound, which of them were killed by a test, did tests run and pass, does it object. What
//! only a policy and a pull request can say is left out: who brought it, whether that one is independent,
//! which lines are critical, and whether another report says otherwise.

use super::certification::{Conclusion, conclusion};
use super::mutation_check::{killed, sound, unproven};
use super::second_verifier::executed_tests;
use super::verification::about;
use crate::domain::evidence::collect::content_of;
use crate::domain::evidence::{Content, Fault, Mutant, MutantStatus, Statement, parse};
use crate::domain::model::{BaseRef, HeadSha, Oid};
use crate::domain::policy::Timeouts;

/// What a document must be about; what is not given is not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// `OWNER/REPO`.
    pub repo: Option<String>,
    /// The head.
    pub head: Option<HeadSha>,
    /// The head's tree.
    pub tree: Option<Oid>,
    /// The branch it wants to enter.
    pub base: Option<BaseRef>,
}

/// What a piece of evidence comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Appraisal {
    /// The document; or everything that is wrong with it.
    pub document: Result<Box<Statement>, Vec<Fault>>,
    /// What its mutants prove, or why they prove nothing.
    pub mutants: Result<String, String>,
    /// What its tests prove, or why they prove nothing.
    pub tests: Result<String, String>,
    /// What it says against the head, if it may speak.
    pub objection: Option<String>,
}

impl Appraisal {
    /// Whether it helps a head through a gate, and everything that it holds proves what it seems to. A
    /// mutation check in which every mutant ran out of time is no good evidence, whatever else ran.
    pub fn proves(&self) -> bool {
        let Ok(statement) = &self.document else {
            return false;
        };
        let mutants = self.mutants.is_ok();
        let tests = self.tests.is_ok();
        self.objection.is_none()
            && (mutants || tests)
            && (mutants || statement.mutation.is_none())
            && (tests || statement.tests.is_empty())
    }

    /// The verdict, in one line.
    pub fn verdict(&self) -> String {
        if let Some(objection) = &self.objection {
            return format!("blocks: {objection}");
        }
        match (&self.mutants, &self.tests) {
            (Ok(_), Ok(_)) => "proves: mutants, tests".to_owned(),
            (Ok(_), Err(why)) => format!("proves: mutants; nothing of tests, because {why}"),
            (Err(why), Ok(_)) => format!("proves: tests; nothing of mutants, because {why}"),
            (Err(why), Err(same)) if why == same => format!("proves nothing, because {why}"),
            (Err(mutants), Err(tests)) => {
                format!("proves nothing, because {mutants}; and {tests}")
            }
        }
    }
}

/// Appraises a text: a document, or Markdown with one in a fenced block.
pub fn appraise(text: &str, binding: &Binding) -> Appraisal {
    let document = read(text);
    let statement = match &document {
        Err(faults) => {
            let why = match faults.len() {
                1 => "the document has a fault".to_owned(),
                count => format!("the document has {count} faults"),
            };
            return nothing(document, why);
        }
        Ok(statement) => statement,
    };
    let bound = about(
        statement,
        binding.repo.as_deref(),
        binding.head.as_ref(),
        binding.base.as_ref(),
    );
    if let Err(why) = bound {
        return nothing(document, why);
    }
    let mutants = mutants(statement, binding.tree.as_ref());
    let tests = tests(statement);
    let objection = objection(statement, binding.tree.as_ref());
    Appraisal {
        mutants,
        tests,
        objection,
        document,
    }
}

fn nothing(document: Result<Box<Statement>, Vec<Fault>>, why: String) -> Appraisal {
    Appraisal {
        document,
        mutants: Err(why.clone()),
        tests: Err(why),
        objection: None,
    }
}

fn read(text: &str) -> Result<Box<Statement>, Vec<Fault>> {
    if text.trim_start().starts_with('{') {
        return parse::document(text).map(Box::new);
    }
    let fault = |message: &str| {
        vec![Fault {
            path: String::new(),
            message: message.to_owned(),
        }]
    };
    match content_of(text) {
        Some(Content::Valid(statement)) => Ok(statement),
        Some(Content::Faulty(faults, _)) => Err(faults),
        Some(Content::Void(why)) => Err(fault(&why)),
        None if text.starts_with('\u{feff}') => Err(fault(
            "it begins with a byte order mark: write UTF-8 without one",
        )),
        None => Err(fault(
            "it is neither JSON nor Markdown with a fenced `countersign` block that is not quoted",
        )),
    }
}

/// The mutation check of a statement that may be believed. Without a tree to compare with, the one it
/// names is taken for the head's.
fn believed<'a>(statement: &'a Statement, tree: Option<&Oid>) -> Result<&'a [Mutant], String> {
    let Some(mutation) = &statement.mutation else {
        return Err("it holds no mutation check".into());
    };
    if let Conclusion::Inconclusive(why) = conclusion(statement) {
        return Err(format!("it is inconclusive ({why})"));
    }
    sound(mutation, Some(tree.unwrap_or(&mutation.restored_tree)))?;
    Ok(&mutation.mutants)
}

fn mutants(statement: &Statement, tree: Option<&Oid>) -> Result<String, String> {
    let mutants = believed(statement, tree)?;
    if mutants.is_empty() {
        return Err("no mutant was tried".into());
    }
    let kill = |mutant: &&Mutant| killed(Timeouts::Inconclusive, mutant);
    let kills = mutants.iter().filter(kill).count();
    if kills == 0 {
        let mut others: Vec<_> = mutants.iter().map(|m| unproven(m.status)).collect();
        others.sort_unstable();
        others.dedup();
        return Err(format!("all its mutants {}", others.join(", ")));
    }
    let survived = |mutant: &&Mutant| mutant.status == MutantStatus::Survived;
    let survivors = mutants.iter().filter(survived).count();
    let mut text = format!("{kills} killed by named tests");
    for (count, what) in [
        (survivors, "survived"),
        (
            mutants.len() - kills - survivors,
            "that prove nothing where they lie",
        ),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    Ok(text)
}

fn tests(statement: &Statement) -> Result<String, String> {
    if let Conclusion::Inconclusive(why) = conclusion(statement) {
        return Err(format!("it is inconclusive ({why})"));
    }
    executed_tests(statement)?;
    let executed = statement
        .tests
        .iter()
        .fold(0_u64, |sum, run| sum.saturating_add(run.executed));
    Ok(format!("{executed} executed, none failed"))
}

fn objection(statement: &Statement, tree: Option<&Oid>) -> Option<String> {
    let mutants = believed(statement, tree).unwrap_or_default();
    let survivor = mutants
        .iter()
        .find(|mutant| mutant.status == MutantStatus::Survived);
    if let Some(mutant) = survivor {
        return Some(format!(
            "`{}` ({}) survived at {}:{}",
            mutant.id, mutant.kind, mutant.path, mutant.start_line
        ));
    }
    match conclusion(statement) {
        Conclusion::Rejected(why) => Some(format!("it rejects the head: {why}")),
        Conclusion::Approved | Conclusion::Inconclusive(_) => None,
    }
}

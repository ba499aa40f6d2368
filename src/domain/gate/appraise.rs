//! What one piece of evidence would prove by itself, for whoever writes a verifier.
//!
//! Two questions are kept apart: may it be believed ([`Belief`]), and what does it say ([`Says`])? A sound
//! rejection is good evidence, and counts against the head ([`Counts`]).
//!
//! The questions are the gates' own, put by the same functions: may it speak for this head, are its
//! mutants sound, which of them were killed by a test, did tests run and pass, does it object. What
//! only a policy and a pull request can say is left out: who brought it, whether that one is independent,
//! which lines are critical, and whether another report says otherwise.

use std::fmt;

use super::certification::{Conclusion, conclusion};
use super::mutation_check::{killed, sound};
use super::second_verifier::executed_tests;
use super::verification::about;
use crate::domain::evidence::collect::{content_of, only_objects};
use crate::domain::evidence::{
    Content, Fault, InconclusiveReason, Mutant, MutantStatus, Outcome, Statement, parse,
};
use crate::domain::model::{BaseRef, HeadSha, Oid};
use crate::domain::policy::Timeouts;

/// What a document must be about; what is not given is not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// `OWNER/REPO`.
    pub repo: Option<String>,
    /// The head, or how it begins.
    pub head: Option<HeadStart>,
    /// The head's tree.
    pub tree: Option<Oid>,
    /// The branch it wants to enter.
    pub base: Option<BaseRef>,
}

/// A commit's id or its beginning, as people copy it: for looking at a document by hand, never for a gate.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct HeadStart(String);

impl HeadStart {
    /// Fewer digits than git itself shows say too little.
    const LEAST: usize = 7;

    /// Reads 7 to 64 hex digits.
    ///
    /// # Errors
    /// What to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match digits && (Self::LEAST..=64).contains(&text.len()) {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err(format!(
                "write a commit id, or its first {} hex digits at least; `git rev-parse HEAD` prints one",
                Self::LEAST
            )),
        }
    }

    /// Whether this is the whole id, so that nothing is left uncompared.
    pub fn is_whole(&self) -> bool {
        HeadSha::parse(&self.0).is_ok()
    }

    /// What was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HeadStart {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

/// Whether a document may be believed to be what it says, whatever that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Belief {
    /// As a whole.
    Yes,
    /// All but its mutants, for this reason.
    NotMutants(String),
    /// Not at all, for this reason.
    No(String),
}

/// What a document says of its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// Nothing was found.
    Approves,
    /// This was found.
    Rejects(String),
    /// This kept it from an answer.
    Inconclusive(String),
}

/// What a piece of evidence comes to at a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// For the head, by tests and mutants.
    For,
    /// For the head, by all that it holds, which is this.
    Alone(Part),
    /// By these alone, since the others show nothing.
    InPart(Part),
    /// Against the head.
    Against,
    /// Neither.
    Nothing,
}

/// A part of a document that can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The runs of tests.
    Tests,
    /// The mutation check.
    Mutants,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::For => "for the head",
            Self::Alone(Part::Tests) => "for the head, by its tests alone",
            Self::Alone(Part::Mutants) => "for the head, by its mutants alone",
            Self::InPart(Part::Tests) => "in part: its tests for the head, its mutants for nothing",
            Self::InPart(Part::Mutants) => {
                "in part: its mutants for the head, its tests for nothing"
            }
            Self::Against => "against the head",
            Self::Nothing => "for nothing",
        })
    }
}

/// What a piece of evidence comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Appraisal {
    /// The document; or everything that is wrong with it.
    pub document: Result<Box<Statement>, Vec<Fault>>,
    /// Whether it may be believed.
    pub belief: Belief,
    /// What it says, where it can be read.
    pub says: Option<Says>,
    /// What its mutants prove, or why they prove nothing.
    pub mutants: Result<String, String>,
    /// What its tests prove, or why they prove nothing.
    pub tests: Result<String, String>,
    /// What it says against the head, if it may speak.
    pub objection: Option<String>,
}

impl Appraisal {
    /// What it comes to. A mutation check in which every mutant ran out of time spoils the whole: it is no
    /// good evidence, whatever else ran.
    pub fn counts(&self) -> Counts {
        let Ok(statement) = &self.document else {
            return Counts::Nothing;
        };
        if self.objection.is_some() {
            return Counts::Against;
        }
        match (&self.tests, &self.mutants) {
            (Ok(_), Ok(_)) => Counts::For,
            (Ok(_), Err(_)) if statement.mutation.is_none() => Counts::Alone(Part::Tests),
            (Err(_), Ok(_)) if statement.tests.is_empty() => Counts::Alone(Part::Mutants),
            (Ok(_), Err(_)) => Counts::InPart(Part::Tests),
            (Err(_), Ok(_)) => Counts::InPart(Part::Mutants),
            (Err(_), Err(_)) => Counts::Nothing,
        }
    }

    /// Whether it helps a head through a gate, and everything that it holds proves what it seems to.
    pub fn proves(&self) -> bool {
        matches!(self.counts(), Counts::For | Counts::Alone(_))
    }

    /// The first reason why it does not count for the head as a whole.
    pub fn why_not(&self) -> Option<&str> {
        match (&self.belief, &self.says) {
            _ if self.proves() => None,
            (Belief::No(why) | Belief::NotMutants(why), _) => Some(why),
            (_, Some(Says::Rejects(why) | Says::Inconclusive(why))) => Some(why),
            _ => {
                let mute = self.mutants.as_ref().err().or(self.tests.as_ref().err());
                mute.map(String::as_str)
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
                1 => "it has a fault".to_owned(),
                count => format!("it has {count} faults"),
            };
            return unbelieved(document, why);
        }
        Ok(statement) => statement,
    };
    if let Err(why) = bound(statement, binding) {
        return unbelieved(document, why);
    }
    let tree = binding.tree.as_ref();
    let belief = match &statement.mutation {
        // What is inconclusive shows nothing, whatever its mutants are.
        Some(mutation) if statement.result != Outcome::Inconclusive => {
            match sound(mutation, Some(tree.unwrap_or(&mutation.restored_tree))) {
                Ok(()) => Belief::Yes,
                Err(why) => Belief::NotMutants(why),
            }
        }
        _ => Belief::Yes,
    };
    let objection = objection(statement, tree);
    Appraisal {
        belief,
        says: Some(says(statement, objection.clone())),
        mutants: mutants(statement, tree),
        tests: tests(statement),
        objection,
        document,
    }
}

/// The gates' own rule: what only objects may have been made against another base.
fn bound(statement: &Statement, binding: &Binding) -> Result<(), String> {
    if let Some(start) = &binding.head
        && !statement.head.as_str().starts_with(start.as_str())
    {
        return Err(format!(
            "it is about {}, which is not the head",
            statement.head.short()
        ));
    }
    let base = binding.base.as_ref();
    let base = base.filter(|_| !only_objects(statement));
    about(statement, binding.repo.as_deref(), None, base)
}

fn unbelieved(document: Result<Box<Statement>, Vec<Fault>>, why: String) -> Appraisal {
    Appraisal {
        says: document.as_ref().ok().map(|one| says(one, None)),
        document,
        belief: Belief::No(why.clone()),
        mutants: Err(why.clone()),
        tests: Err(why),
        objection: None,
    }
}

fn says(statement: &Statement, objection: Option<String>) -> Says {
    match (conclusion(statement), objection) {
        (Conclusion::Inconclusive(why), _) => {
            let told = statement.findings.first().map(|finding| &finding.message);
            Says::Inconclusive(match (told, statement.reason) {
                (Some(told), Some(InconclusiveReason::Other) | None) => told.clone(),
                (Some(told), Some(_)) => format!("{why}: {told}"),
                (None, _) => why.to_owned(),
            })
        }
        (_, Some(objection)) => Says::Rejects(objection),
        (Conclusion::Rejected(why), None) => Says::Rejects(why),
        (Conclusion::Approved, None) => Says::Approves,
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
    let kills = killed_by_tests(mutants);
    let counted = by_status(mutants);
    let survived = |mutant: &Mutant| mutant.status == MutantStatus::Survived;
    match kills == 0 && !mutants.iter().any(survived) {
        true => Err(format!("none was killed by a named test ({counted})")),
        false => Ok(counted),
    }
}

fn killed_by_tests(mutants: &[Mutant]) -> usize {
    let kill = |mutant: &&Mutant| killed(Timeouts::Inconclusive, mutant);
    mutants.iter().filter(kill).count()
}

/// How many mutants ended how, each under its own words.
pub fn by_status(mutants: &[Mutant]) -> String {
    let ended = |status| mutants.iter().filter(|one| one.status == status).count();
    let kills = killed_by_tests(mutants);
    let told = [
        (kills, "killed by named tests"),
        (
            ended(MutantStatus::Killed) - kills,
            "killed by no named test",
        ),
        (ended(MutantStatus::Survived), "survived"),
        (ended(MutantStatus::Timeout), "ran out of time"),
        (
            ended(MutantStatus::Unviable),
            "did not build or ran no test",
        ),
        (ended(MutantStatus::Skipped), "left out"),
    ];
    let told = told.iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    told.join(", ")
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
        Conclusion::Rejected(why) => Some(why),
        Conclusion::Approved | Conclusion::Inconclusive(_) => None,
    }
}

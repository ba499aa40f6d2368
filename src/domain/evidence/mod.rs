//! Evidence: what a verifier reports, who vouches for the reporter, what the report proves.
//!
//! A report reaches the App in a check run's output, a review, a comment, or by post. The document
//! says much about itself, and none of it is believed about identity: who reported is what GitHub
//! (or a key) says of the carrier. `parse` reads documents, `write` makes them, `collect` finds
//! them in a snapshot and attaches the principal; judging them is the gates' work. `identity` judges
//! what GitHub's token says of who posts a document, `envelope` reads signed ones.

pub mod collect;
pub mod envelope;
pub mod identity;
pub mod parse;
pub mod write;

use serde::{Deserialize, Serialize};

use super::model::{
    Actor, AppRef, BaseRef, CheckRunId, CommentId, HeadSha, Oid, PostedId, ReviewId, Timestamp,
    VerifierName,
};

/// The info string of the fenced block that holds a document.
pub const FENCE: &str = "countersign";
/// `predicateType` of our own documents.
pub const PREDICATE_TYPE: &str = "urn:countersign:verification:v1";
/// `_type` of an in-toto statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// What a verification concluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Outcome {
    Approved,
    Rejected,
    Inconclusive,
}

/// Why a verification was inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum InconclusiveReason {
    Capacity,
    Quota,
    Timeout,
    ReadOnly,
    Conflict,
    Other,
}

/// The base a verification was made against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceBase {
    /// Branch.
    #[serde(rename = "ref")]
    pub name: BaseRef,
    /// Its commit then.
    pub sha: Oid,
}

/// What the verifier's sandbox could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Sandbox {
    pub executes: bool,
    pub writes: bool,
}

/// One command that ran tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TestRun {
    pub command: String,
    pub executed: u64,
    pub passed: u64,
    pub failed: u64,
    #[serde(default)]
    pub skipped: u64,
    pub exit_code: i64,
    /// What the tests ran against, such as `postgres:15`.
    #[serde(default)]
    pub against: Vec<String>,
    #[serde(default)]
    pub duration_s: Option<f64>,
}

impl TestRun {
    /// Whether tests ran in it at all: executed, and not all left out.
    pub fn ran(&self) -> bool {
        self.executed > 0 && self.passed.saturating_add(self.failed) > 0
    }

    /// Whether tests ran and none failed.
    pub fn passed(&self) -> bool {
        self.ran() && self.failed == 0 && self.exit_code == 0
    }
}

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum MutantStatus {
    Killed,
    Survived,
    Timeout,
    Unviable,
    Skipped,
}

/// One mutant: lines of the head's version of a file, undone or broken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Mutant {
    pub id: String,
    pub path: String,
    /// First line, from 1, in the head's version.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    pub kind: String,
    pub status: MutantStatus,
    /// The tests that failed.
    #[serde(default)]
    pub killed_by: Vec<String>,
    #[serde(default)]
    pub duration_s: Option<f64>,
}

impl Mutant {
    /// The tests that are named as failed. A name that shows nothing names nothing.
    pub fn named_killers(&self) -> impl Iterator<Item = &str> {
        let names = self.killed_by.iter().map(String::as_str);
        names.filter(|name| !shows_nothing(name))
    }

    /// The place, for people: `src/start.rs:40` or `src/start.rs:40-43`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.path, lines(self.start_line, self.end_line))
    }
}

/// Lines from the first to the last, for people: `40` or `40-43`.
pub fn lines(first: u64, last: u64) -> String {
    match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    }
}

/// Whether a text shows nothing to who reads it: blanks, and characters that have no shape.
pub fn shows_nothing(text: &str) -> bool {
    // Characters that Unicode says are drawn as nothing, and Braille's empty cell.
    let shapeless = |c: char| {
        matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
    };
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || shapeless(c))
}

/// The unmutated run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Baseline {
    pub executed: u64,
    pub exit_code: i64,
}

/// The mutation check of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mutation {
    /// What ran it.
    pub tool: String,
    /// The unmutated run; without it nothing is proved.
    pub baseline: Baseline,
    /// The mutants.
    pub mutants: Vec<Mutant>,
    /// The tree after the last mutant was restored; equal to the head's when all is well.
    pub restored_tree: Oid,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Severity {
    Blocking,
    Warning,
    Note,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Finding {
    pub severity: Severity,
    #[serde(default)]
    pub path: Option<String>,
    #[serde(default)]
    pub line: Option<u64>,
    pub message: String,
}

/// A valid document, as meant. Fields not known here were dropped; unknown enum values refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// `OWNER/REPO` as the document names it.
    pub subject_name: String,
    /// The head it is about.
    pub head: HeadSha,
    /// What it concluded.
    pub result: Outcome,
    /// Why, when inconclusive.
    pub reason: Option<InconclusiveReason>,
    /// Against which base.
    pub base: Option<EvidenceBase>,
    /// The verifier's own name of the run's context: two reports of one context are one.
    pub context: String,
    /// What it says of its vendor: shown, never believed.
    pub vendor: Option<String>,
    /// What it says of its model: shown, never believed.
    pub model: Option<String>,
    /// What its sandbox could do.
    pub sandbox: Option<Sandbox>,
    /// The tests it ran.
    pub tests: Vec<TestRun>,
    /// The mutation check it ran.
    pub mutation: Option<Mutation>,
    /// What it found.
    pub findings: Vec<Finding>,
    /// What it cost.
    pub cost_usd: Option<f64>,
}

/// One thing that is wrong with a document: the field's path and a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Where, as `predicate.mutation.mutants[3].status`.
    pub path: String,
    /// What, as a sentence.
    pub message: String,
}

/// Who brought a report, as GitHub vouches for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// The App that made the check run.
    App(AppRef),
    /// The user (or bot user) that wrote the review or comment, and the App it came through.
    Actor {
        /// The account.
        actor: Actor,
        /// The App, where GitHub names it.
        app: Option<AppRef>,
    },
    /// A workflow of this repository that posted it with GitHub's own token for that run.
    Workflow {
        /// The workflow's file.
        path: String,
        /// The full ref it was read at (`refs/heads/main`): whether that may speak is judged each time.
        git_ref: String,
    },
    /// Whoever holds the private half of this ed25519 key (64 hex digits) posted it signed.
    Key(String),
    /// Nobody that can be named (deleted account, check run without App).
    Nobody,
}

/// Where a report stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Place {
    CheckRun(CheckRunId),
    Review(ReviewId),
    Comment(CommentId),
    Posted(PostedId),
}

/// A document that was posted to this server, with what was proven of who brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Its number here.
    pub id: PostedId,
    /// Who brought it: [`Carrier::Workflow`] or [`Carrier::Key`].
    pub carrier: Carrier,
    /// The document, byte for byte.
    pub document: String,
    /// When it came, by this server's clock. Reports of one workflow or key come by post alone, so it is
    /// never compared with a time of GitHub's.
    pub at: Timestamp,
    /// A page about the run.
    pub url: Option<String>,
}

/// A report's text, and whether it may still speak.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A valid document.
    Valid(Box<Statement>),
    /// A document with faults, and the head that it names all the same, if it can be made out.
    Faulty(Vec<Fault>, Option<HeadSha>),
    /// Edited after it was first seen, or dismissed: void, whatever it says.
    Void(String),
}

/// One report found in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Where it stands.
    pub place: Place,
    /// Who brought it.
    pub carrier: Carrier,
    /// The verifier of the policy that the carrier is, if any.
    pub verifier: Option<VerifierName>,
    /// When it was brought (GitHub's time of the carrier).
    pub at: Option<Timestamp>,
    /// What it says.
    pub content: Content,
    /// A page about it.
    pub url: Option<String>,
}

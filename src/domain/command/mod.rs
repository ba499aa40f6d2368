//! What a comment asks for: text in, commands out.
//!
//! A command stands on a line of its own, in plain text, at the top level of a comment. Talking about a
//! command must never run it, so the text is read as the Markdown it is, and whatever is not plain is
//! no command: quotes, code, lists, tables, headings, HTML and what stands between its tags, emphasis,
//! links. So is everything below the line with which mail programs introduce the mail they answer.
//! Where the nesting is not clear, there is no command: asking again costs a line, a wrong merge costs
//! production.
//!
//! Long and short: `/countersign merge` always, `/merge` where the policy allows. Whether it does is not
//! known here, so each says which it was. An unknown word in the long form is a mistake worth an
//! answer; in the short form it is some other App's command, and none of ours.
//!
//! Only newly written comments are read, by whoever calls this. A description, a review and an edited
//! comment are no source: who edits a text is not who wrote it.

mod parse;
mod plain;

#[cfg(test)]
mod tests;

pub use parse::parse;

use serde::{Deserialize, Serialize};

use super::model::PullNumber;

/// How much of a reason, question or default is kept, in characters.
pub const MOST_CHARS: usize = 500;
/// How many commands of one comment are read.
pub const MOST_COMMANDS: usize = 10;

/// The words, in the order of the help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Word {
    Merge,
    Unmerge,
    Hold,
    Unhold,
    Verify,
    Recheck,
    Override,
    Freeze,
    Thaw,
    Priority,
    Ask,
    Escaped,
    Status,
    Help,
}

/// Who may give a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Whoever can comment; limited in number.
    Anybody,
    /// People with write access.
    Writers,
    /// The policy's owners.
    Owners,
}

impl Word {
    /// Every word.
    pub const ALL: [Self; 14] = [
        Self::Merge,
        Self::Unmerge,
        Self::Hold,
        Self::Unhold,
        Self::Verify,
        Self::Recheck,
        Self::Override,
        Self::Freeze,
        Self::Thaw,
        Self::Priority,
        Self::Ask,
        Self::Escaped,
        Self::Status,
        Self::Help,
    ];

    /// As it is typed, without the stroke.
    pub fn text(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Unmerge => "unmerge",
            Self::Hold => "hold",
            Self::Unhold => "unhold",
            Self::Verify => "verify",
            Self::Recheck => "recheck",
            Self::Override => "override",
            Self::Freeze => "freeze",
            Self::Thaw => "thaw",
            Self::Priority => "priority",
            Self::Ask => "ask",
            Self::Escaped => "escaped",
            Self::Status => "status",
            Self::Help => "help",
        }
    }

    /// What follows it.
    pub fn arguments(self) -> &'static str {
        match self {
            Self::Merge
            | Self::Unmerge
            | Self::Unhold
            | Self::Recheck
            | Self::Status
            | Self::Help => "",
            Self::Hold => "REASON",
            Self::Verify => "[VERIFIER]",
            Self::Override => "GATE CATEGORY REASON",
            Self::Freeze => "BRANCH REASON",
            Self::Thaw => "BRANCH",
            Self::Priority => "high|normal|low",
            Self::Ask => "QUESTION | DEFAULT",
            Self::Escaped => "#N",
        }
    }

    /// What it does, as a half sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Merge => "asks for the merge of the head that stands now",
            Self::Unmerge => "withdraws that request",
            Self::Hold => "stops this pull request, and disarms GitHub's auto-merge",
            Self::Unhold => "lets it go",
            Self::Verify => "asks for a verification of this head",
            Self::Recheck => "reads everything again",
            Self::Override => {
                "waives one gate for this head alone; categories: false_positive, does_not_apply, \
                 accepted_risk, fix_follows"
            }
            Self::Freeze => "stops merges into a branch",
            Self::Thaw => "resumes them",
            Self::Priority => "changes the order among what is ready or queued",
            Self::Ask => {
                "puts a question on the owner's list, with the default that is taken meanwhile"
            }
            Self::Escaped => "records that a defect escaped through that merged pull request",
            Self::Status => "answers with the verdict",
            Self::Help => "answers with this list",
        }
    }

    /// Who may give it.
    pub fn who(self) -> Who {
        match self {
            Self::Recheck | Self::Status | Self::Help => Who::Anybody,
            Self::Override | Self::Freeze | Self::Thaw => Who::Owners,
            Self::Merge
            | Self::Unmerge
            | Self::Hold
            | Self::Unhold
            | Self::Verify
            | Self::Priority
            | Self::Ask
            | Self::Escaped => Who::Writers,
        }
    }
}

/// Why a gate is waived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Category {
    FalsePositive,
    DoesNotApply,
    AcceptedRisk,
    FixFollows,
}

impl Category {
    /// Every category.
    pub const ALL: [Self; 4] = [
        Self::FalsePositive,
        Self::DoesNotApply,
        Self::AcceptedRisk,
        Self::FixFollows,
    ];

    /// As it is typed.
    pub fn text(self) -> &'static str {
        match self {
            Self::FalsePositive => "false_positive",
            Self::DoesNotApply => "does_not_apply",
            Self::AcceptedRisk => "accepted_risk",
            Self::FixFollows => "fix_follows",
        }
    }
}

/// The order among the ready, and among issues that wait for a dispatch. The more urgent is the less.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Priority {
    High,
    #[default]
    Normal,
    Low,
}

impl Priority {
    /// As it is typed.
    pub fn text(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

/// One command, well formed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Command {
    Merge,
    Unmerge,
    /// With a reason, or an empty one: a stop must be easy.
    Hold {
        reason: String,
    },
    Unhold,
    Verify {
        verifier: Option<String>,
    },
    Recheck,
    Override {
        gate: String,
        category: Category,
        reason: String,
    },
    Freeze {
        branch: String,
        reason: String,
    },
    Thaw {
        branch: String,
    },
    Priority(Priority),
    Ask {
        question: String,
        default: String,
    },
    Escaped {
        through: PullNumber,
    },
    Status,
    Help,
}

impl Command {
    /// Its word.
    pub fn word(&self) -> Word {
        match self {
            Self::Merge => Word::Merge,
            Self::Unmerge => Word::Unmerge,
            Self::Hold { .. } => Word::Hold,
            Self::Unhold => Word::Unhold,
            Self::Verify { .. } => Word::Verify,
            Self::Recheck => Word::Recheck,
            Self::Override { .. } => Word::Override,
            Self::Freeze { .. } => Word::Freeze,
            Self::Thaw { .. } => Word::Thaw,
            Self::Priority(_) => Word::Priority,
            Self::Ask { .. } => Word::Ask,
            Self::Escaped { .. } => Word::Escaped,
            Self::Status => Word::Status,
            Self::Help => Word::Help,
        }
    }
}

/// A line that was meant as a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// In the short form, which counts only where the policy allows it.
    pub short: bool,
    /// What it asks for, or what is wrong with it.
    pub what: Result<Command, Misuse>,
}

/// What is wrong with a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misuse {
    /// There is no such command.
    Unknown {
        /// What was typed; untrusted text.
        typed: String,
        /// What may have been meant.
        meant: Option<Word>,
    },
    /// There is, and it needs something else after it.
    Form {
        /// The command.
        word: Word,
        /// What is wrong, as a sentence of ours.
        wrong: String,
    },
}

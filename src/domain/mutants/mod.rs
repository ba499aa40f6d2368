//! Mutants: the small changes that undo or break a critical line, so that a test can be watched to fail.
//!
//! A mutant is told as the content that files have in the mutated tree. Whoever runs it writes those
//! contents, builds, tests, and puts the head's contents back: there is nothing to apply and nothing
//! that could fail to apply. Everything here is pure; running is the room `verify`'s work.
//!
//! For each hunk there are rounds, from the plainest to the finest: the hunk undone, pieces of it undone,
//! single lines undone, then small operator mutants on the added lines. A finer round is worth its time
//! only where the rounds before it decided nothing (their mutants did not build).

use super::facts::{ChangeKind, ChangedHunk, FileChange};

/// A changed file with its content on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// What changed, by lines of the head's version.
    pub change: FileChange,
    /// Its content at the merge base; `None` where it did not exist.
    pub old: Option<Vec<u8>>,
    /// Its content at the head; `None` where it is gone.
    pub new: Option<Vec<u8>>,
}

/// How a mutant was made. Its word stands in evidence as `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The whole hunk undone.
    RevertHunk,
    /// A part of a hunk undone.
    RevertPiece,
    /// One line undone.
    RevertLine,
    /// A condition negated.
    NegateCondition,
    /// A comparison swapped for another.
    SwapComparison,
    /// `true` for `false` or the other way round.
    FlipBoolean,
    /// A constant or an index changed by one.
    ChangeNumber,
    /// A statement dropped.
    DropStatement,
    /// A body that returns at once with a default.
    ReturnEarly,
}

impl Kind {
    /// The word in evidence.
    pub fn word(self) -> &'static str {
        match self {
            Self::RevertHunk => "revert_hunk",
            Self::RevertPiece => "revert_piece",
            Self::RevertLine => "revert_line",
            Self::NegateCondition => "negate_condition",
            Self::SwapComparison => "swap_comparison",
            Self::FlipBoolean => "flip_boolean",
            Self::ChangeNumber => "change_number",
            Self::DropStatement => "drop_statement",
            Self::ReturnEarly => "return_early",
        }
    }
}

/// One mutant to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The file it is about, in the head.
    pub path: String,
    /// First line, from 1, in the head's version.
    pub start_line: u64,
    /// Last line, inclusive.
    pub end_line: u64,
    /// How it was made.
    pub kind: Kind,
    /// What the change is, in a few words (`` `<` for `<=` ``).
    pub what: String,
    /// The content of each path in the mutated tree; `None` for a path that is not there.
    pub files: Vec<(String, Option<Vec<u8>>)>,
}

/// Everything to try for one changed hunk, round by round. No round is empty; no mutant leaves the tree
/// as it is.
pub fn rounds(file: &FileText, hunk: &ChangedHunk) -> Vec<Vec<Mutant>> {
    let whole = Mutant {
        path: file.change.path.clone(),
        start_line: hunk.new_start.max(1),
        end_line: (hunk.new_start + hunk.new_lines)
            .saturating_sub(1)
            .max(hunk.new_start.max(1)),
        kind: Kind::RevertHunk,
        what: "the change undone".to_owned(),
        files: match file.change.kind {
            ChangeKind::Removed => vec![(file.change.path.clone(), file.old.clone())],
            _ => vec![(file.change.path.clone(), undone(file, hunk))],
        },
    };
    vec![vec![whole]]
}

fn undone(file: &FileText, hunk: &ChangedHunk) -> Option<Vec<u8>> {
    let new = file.new.as_deref().unwrap_or_default();
    let lines: Vec<&[u8]> = new.split_inclusive(|byte| *byte == b'\n').collect();
    let start = usize::try_from(hunk.new_start).unwrap_or(usize::MAX);
    let gap = usize::from(hunk.new_lines > 0);
    let before = start.saturating_sub(gap).min(lines.len());
    let after = (before + usize::try_from(hunk.new_lines).unwrap_or(usize::MAX)).min(lines.len());
    let mut content = lines[..before].concat();
    for line in &hunk.removed {
        content.extend_from_slice(line.as_bytes());
        content.push(b'\n');
    }
    content.extend(lines[after..].concat());
    Some(content)
}

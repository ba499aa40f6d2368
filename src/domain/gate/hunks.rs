//! Which changed lines are critical: the runs of changed lines in files that the policy names.
//!
//! A file counts under its old path too, or a rename would take it out of sight. A removed file is one
//! hunk: all of it; so is one that is moved unchanged to where nothing is critical. A file whose changed
//! lines GitHub does not show (binary, too large) is a gap, never "nothing changed".
//!
//! Runs in which only blanks changed ask for nothing in languages that no parser here reads. In the others
//! they are a change like any other, since a blank line may stand within a text, and the lines alone do not
//! tell: whoever runs the mutants reads the file, and says so where it does not (`ONLY_COMMENTS`).
//!
//! **What a mutant says of a hunk.** The two answers are not alike, since a wrong "tested" is the worst that
//! could be said. A survivor objects wherever its lines touch the hunk. A kill proves only what nothing but
//! the hunk can have caused, which is so in two cases. Its lines all lie within the hunk. Or it undoes what
//! was changed (a kind that begins with `revert`, as `revert_hunk`), and of all changes of the file it touches
//! this one alone: the lines around are then what they were, however many it names. A mutant that empties a
//! whole body, or undoes two changes at once, may well be killed for the one that is tested.
//! Where lines were only removed there is nothing left to break: breaking a line beside the gap tests that
//! line, and only undoing the removal shows that a test would miss it.

use crate::domain::evidence::{Mutant, lines};
use crate::domain::facts::{ChangeKind, ChangedHunk, Comparison, FileChange};
use crate::domain::mutants;
use crate::domain::policy::MutationCheck;

/// One run of critical changed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// The file.
    pub file: &'a FileChange,
    /// The lines.
    pub lines: &'a ChangedHunk,
}

impl<'a> Hunk<'a> {
    /// Every hunk of a file but those of mere blanks; none where its lines are not known.
    pub fn all_of(file: &'a FileChange) -> impl Iterator<Item = Self> {
        let mut paths = std::iter::once(&file.path).chain(&file.old_path);
        let read = paths.any(|path| mutants::is_read(path));
        let lines = file.hunks.iter().flatten();
        let lines = lines.filter(move |lines| read || !only_blanks(lines));
        lines.map(move |lines| Self { file, lines })
    }
}

impl Hunk<'_> {
    /// The place, for people: `src/start.rs:40` or `src/start.rs:40-43`.
    pub fn place(&self) -> String {
        let path = &self.file.path;
        let (first, last) = self.range();
        match (&self.file.kind, &self.file.old_path) {
            (ChangeKind::Removed, _) => format!("{path} (removed)"),
            (_, Some(old)) if self.is_a_move() => format!("{old} (moved to {path})"),
            _ => format!("{path}:{}", lines(first, last)),
        }
    }

    /// First and last line in the head's version. A pure removal stands for the lines around the gap.
    fn range(&self) -> (u64, u64) {
        let lines = self.lines;
        if lines.new_lines > 0 {
            (lines.new_start, lines.new_start + lines.new_lines - 1)
        } else {
            (lines.new_start.max(1), lines.new_start + 1)
        }
    }

    fn is_a_move(&self) -> bool {
        *self.lines == MOVED
    }

    /// Whether a mutant touches it. A removed file has no lines left, and a moved one no changed lines:
    /// any mutant that names it does.
    pub fn holds(&self, mutant: &Mutant) -> bool {
        if self.is_a_move() {
            let old = self.file.old_path.as_deref();
            return mutant.path == self.file.path || old == Some(&mutant.path);
        }
        if mutant.path != self.file.path {
            return false;
        }
        if self.file.kind == ChangeKind::Removed {
            return true;
        }
        let (first, last) = self.range();
        mutant.start_line <= last && first <= mutant.end_line
    }

    /// Whether a kill of this mutant can have been caused by nothing but this hunk.
    pub fn is_shown_by(&self, mutant: &Mutant) -> bool {
        let (first, last) = self.range();
        let within = first <= mutant.start_line && mutant.end_line <= last;
        self.holds(mutant)
            && match mutant.kind.starts_with("revert") {
                true => self.is_a_whole_file() || self.is_the_only_one_of(mutant),
                false => within && !self.is_a_gap(),
            }
    }

    /// Whether a mutant that touches it touches no other change of the file.
    fn is_the_only_one_of(&self, mutant: &Mutant) -> bool {
        let file = self.file;
        let all = file.hunks.iter().flatten();
        let touched = all.filter(|lines| Hunk { file, lines }.holds(mutant));
        touched.count() == 1
    }

    /// Whether all its lines lie within a mutant's. Lines that were only removed have none; a mutant lies
    /// there that names the line before them, where a hunk of its own could not begin.
    pub fn lies_within(&self, mutant: &Mutant) -> bool {
        let (first, last) = self.range();
        let last = if self.is_a_gap() { first } else { last };
        self.holds(mutant)
            && !self.is_a_whole_file()
            && mutant.start_line <= first
            && last <= mutant.end_line
    }

    /// Whether nothing of it is left in the head's version.
    pub fn is_a_gap(&self) -> bool {
        self.lines.new_lines == 0
    }

    fn is_a_whole_file(&self) -> bool {
        self.is_a_move() || self.file.kind == ChangeKind::Removed
    }
}

/// Stands for the whole of a file that was moved unchanged.
static MOVED: ChangedHunk = ChangedHunk {
    new_start: 0,
    new_lines: 0,
    old_lines: 0,
    added: Vec::new(),
    removed: Vec::new(),
};

/// The critical hunks of a comparison.
///
/// # Errors
/// Which file's changed lines are not known, and why.
pub fn critical<'a>(
    comparison: &'a Comparison,
    gate: &MutationCheck,
) -> Result<Vec<Hunk<'a>>, String> {
    let mut hunks = Vec::new();
    let files = comparison.files.items.iter();
    for file in files.filter(|file| is_critical(file, gate)) {
        let Some(lines) = &file.hunks else {
            return Err(format!(
                "GitHub does not show which lines of `{}` changed (it is binary, or the change is too large)",
                file.path
            ));
        };
        if lines.is_empty() && leaves(file, gate) {
            let lines = &MOVED;
            hunks.push(Hunk { file, lines });
        }
        hunks.extend(Hunk::all_of(file));
    }
    Ok(hunks)
}

/// Whether a policy names a file, under its old path or the new one.
pub(super) fn is_critical(file: &FileChange, gate: &MutationCheck) -> bool {
    let old = file.old_path.as_deref();
    names(gate, &file.path) || old.is_some_and(|old| names(gate, old))
}

fn names(gate: &MutationCheck, path: &str) -> bool {
    gate.critical.matches(path) && !gate.except.matches(path)
}

/// Whether a file was critical and is no longer, by its name alone. A copy leaves the original there.
fn leaves(file: &FileChange, gate: &MutationCheck) -> bool {
    file.kind != ChangeKind::Copied && !names(gate, &file.path)
}

/// Lines whose text is not known are not known to be blank.
fn only_blanks(lines: &ChangedHunk) -> bool {
    let known = (lines.added.len() as u64, lines.removed.len() as u64);
    let mut all = lines.added.iter().chain(&lines.removed);
    known == (lines.new_lines, lines.old_lines) && all.all(|line| line.trim_ascii().is_empty())
}

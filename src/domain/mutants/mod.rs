//! Mutants: the small changes that undo or break a critical line, so that a test can be watched to fail.
//!
//! A mutant is told as the content that files have in the mutated tree. Whoever runs it writes those
//! contents, builds, tests, and puts the head's contents back: there is nothing to apply and nothing
//! that could fail to apply. Everything here is pure; running is the room `verify`'s work.
//!
//! For each hunk there are rounds, from the plainest to the finest: the hunk undone, pieces of it undone,
//! single lines undone, then small operator mutants on the added lines. A finer round is worth its time
//! only where the rounds before it decided nothing (their mutants did not build).

//!
//! What holds of every mutant: it differs from the head; no other has the same contents; it touches the
//! hunk's lines and no other byte, so that line ends, a missing last line end, a byte order mark and bytes
//! that are no text stay as they are. Operators never touch strings and comments: a parser tells them
//! apart, and in languages without a parser only plain lines are touched.
//!
//! Pieces and lines whose undoing the parser does not understand are left out: they would fail any test.
//! The whole hunk stays in even so, because something must be said of it; [`breaks_syntax`] tells.
//!
//! Tests that stand among the code ([`only_tests`]) have no finer mutants: a changed test fails for
//! itself.
//!
//! Known limits: a mutant can mean the same as the head (a survivor that no test could kill); logging is
//! code like any other; undoing one hunk can break the build where another needs it, which is what the
//! finer rounds are for. Rounds are bounded in number and in bytes, and picked evenly where cut.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::facts::{ChangedHunk, FileChange};

use lines::Place;
use operators::Edit;
use syntax::{Language, Syntax};
use undo::Undo;

mod attributes;
mod blank;
mod bodies;
mod caution;
mod comments;
mod lines;
mod operators;
mod syntax;
mod undo;

pub use blank::{speaking_lines, with_a_blank_line};

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
/// as it is, and none is there twice. A hunk that changes nothing has no rounds.
pub fn rounds(file: &FileText, hunk: &ChangedHunk) -> Vec<Vec<Mutant>> {
    let mut known = Known::default();
    let mut rounds = vec![known.fresh(file, undo::whole(file, hunk).into_iter().collect())];
    if let Some(head) = &file.new {
        let place = Place::new(file, hunk);
        let most = most(head.len());
        let mut syntax = understood(file, &place);
        let was = file.old.as_deref().and_then(|old| {
            let path = file.change.old_path.as_ref().unwrap_or(&file.change.path);
            Syntax::of(path, old)
        });
        let mut undo = Undo {
            file,
            hunk,
            place: &place,
            syntax: syntax.as_mut(),
            was: was.as_ref(),
            most,
        };
        rounds.push(known.fresh(file, undo.pieces()));
        rounds.push(known.fresh(file, undo.single_lines()));
        let edits = match (&syntax, Language::of(&file.change.path)) {
            (Some(syntax), _) => operators::edits(syntax, &place.bytes(place.added.clone())),
            (None, Some(_)) => Vec::new(),
            (None, None) => caution::edits(&file.change.path, head, &place),
        };
        let edits = edits
            .into_iter()
            .filter(|edit| !known.knows_without(head, edit, &place));
        let mut edits: Vec<Edit> = edits.collect();
        edits.sort_by_key(|edit| edit.rank);
        let edited = likeliest(edits, most).into_iter();
        let edited = edited
            .map(|edit| mutant(file, head, &place, edit))
            .collect();
        rounds.push(known.fresh(file, edited));
    }
    rounds.retain(|round| !round.is_empty());
    rounds
}

/// Whether a parser reads the language of a path, so that it is known where its texts and comments are.
pub fn is_read(path: &str) -> bool {
    Language::of(path).is_some()
}

/// Whether a hunk touches nothing but comments and blanks, on both sides, so that no test can see it.
///
/// Asked of the parser alone: in a language without one, and where it does not understand the lines, the
/// answer is no. Comments that tools obey (`//go:build`, `# coding:`, `#!`) are no mere comments. All that
/// the file says must be as it was without the hunk, since a comment that is opened in one line may end in
/// another and take the code between.
pub fn only_comments(file: &FileText, hunk: &ChangedHunk) -> bool {
    of_both_sides(file, hunk, &|[is, was]| {
        is.syntax.said(true) == was.syntax.said(true)
    })
}

/// Whether a hunk touches nothing but tests that stand among the code they test (`#[cfg(test)]`,
/// `#[test]`), blanks and comments aside. Undoing a test makes no other test fail.
///
/// Known for Rust alone: elsewhere tests have files of their own, which a policy leaves out by name. All
/// that the file says outside of its tests must be as it was without the hunk: a new `#[cfg(test)]` takes
/// code away.
pub fn only_tests(file: &FileText, hunk: &ChangedHunk) -> bool {
    of_both_sides(file, hunk, &|sides| {
        let alone = |side: &Side<'_>| side.syntax.tests_alone(side.bytes.clone());
        let holds = |side: &Side<'_>| side.syntax.holds_a_test(side.bytes.clone());
        let [is, was] = sides;
        sides.iter().all(alone)
            && sides.iter().any(holds)
            && is.syntax.said(false) == was.syntax.said(false)
    }) && !only_comments(file, hunk)
}

/// The file with a hunk, or without it.
struct Side<'a> {
    syntax: Syntax<'a>,
    /// What the hunk is there.
    bytes: Range<usize>,
}

/// Asks about a hunk of which the parser understands both sides, and in which every comment is a mere one.
/// Of any other the answer is no.
fn of_both_sides(
    file: &FileText,
    hunk: &ChangedHunk,
    asked: &dyn Fn(&[Side<'_>; 2]) -> bool,
) -> bool {
    let place = Place::new(file, hunk);
    let (path, old_path) = (&file.change.path, file.change.old_path.as_ref());
    let same = old_path.is_none_or(|old| Language::of(old) == Language::of(path));
    // Removed lines that were not found cannot be asked about.
    let found = place.removed.is_empty() || place.old_bytes(0..usize::MAX).is_some();
    if place.steps.is_empty() || !same || !found {
        return false;
    }
    let head = file.new.as_deref().unwrap_or_default();
    let undone = place.without(&|_| true);
    let added = place.bytes(place.added.clone());
    let behind = head.len() - added.end;
    let removed = added.start..undone.len().saturating_sub(behind).max(added.start);
    let side = |text, bytes: Range<usize>| {
        let syntax = Syntax::of(path, text)?;
        let clear = syntax.understands(&bytes) && !syntax.is_steered(&bytes);
        clear.then_some(Side { syntax, bytes })
    };
    let (Some(is), Some(was)) = (side(head, added), side(&undone, removed)) else {
        return false;
    };
    is.syntax.encoding() == was.syntax.encoding() && asked(&[is, was])
}

/// Whether a mutant is no text of its language any more, though the head is. Its tests would fail
/// whatever they test, and where nothing is built nothing would say so.
pub fn breaks_syntax(file: &FileText, mutant: &Mutant) -> bool {
    let Some(head) = file.new.as_deref() else {
        return false;
    };
    let content = mutant
        .files
        .iter()
        .find(|(path, _)| *path == file.change.path);
    let Some((_, Some(content))) = content else {
        return false;
    };
    Syntax::of(&file.change.path, head).is_some_and(|mut syntax| !syntax.still_parses(content))
}

/// The parser's view of the head, where it understands the added lines.
fn understood<'a>(file: &'a FileText, place: &Place<'_>) -> Option<Syntax<'a>> {
    let syntax = Syntax::of(&file.change.path, file.new.as_deref()?)?;
    syntax
        .understands(&place.bytes(place.added.clone()))
        .then_some(syntax)
}

/// How many mutants a round may have: each holds a whole file, and each costs a run of the tests.
fn most(size: usize) -> usize {
    const MUTANTS: usize = 200;
    const BYTES: usize = 64 * 1024 * 1024;
    (BYTES / (size + 1)).clamp(4, MUTANTS)
}

/// At most so many of a list, spread evenly over it.
fn spread<T>(list: Vec<T>, most: usize) -> Vec<T> {
    let count = list.len();
    if count <= most {
        return list;
    }
    let picked = list.into_iter().enumerate();
    let picked = picked.filter(|(index, _)| index * most / count != (index + 1) * most / count);
    picked.map(|(_, item)| item).collect()
}

/// The first kinds in their order; of the kind that does not fit any more, some from everywhere.
fn likeliest(edits: Vec<Edit>, most: usize) -> Vec<Edit> {
    let mut taken: Vec<Edit> = Vec::new();
    for group in edits.chunk_by(|a, b| a.rank == b.rank) {
        taken.extend(spread(group.to_vec(), most - taken.len()));
    }
    taken
}

fn mutant(file: &FileText, head: &[u8], place: &Place<'_>, edit: Edit) -> Mutant {
    let Range { start, end } = edit.bytes;
    let line = |byte: usize| place.line_of(byte) as u64 + 1;
    Mutant {
        path: file.change.path.clone(),
        start_line: line(start),
        end_line: line(end.saturating_sub(1).max(start)),
        kind: edit.kind,
        what: edit.what,
        files: vec![(
            file.change.path.clone(),
            Some([&head[..start], &edit.with, &head[end..]].concat()),
        )],
    }
}

/// What was made already.
#[derive(Default)]
struct Known {
    exact: HashSet<u64>,
    /// Without blank lines and blanks at the ends of lines.
    loose: HashSet<u64>,
}

impl Known {
    /// Those that were not made before and are not the head.
    fn fresh(&mut self, file: &FileText, mutants: Vec<Mutant>) -> Vec<Mutant> {
        let new = mutants.into_iter().filter(|mutant| {
            let head = [(file.change.path.clone(), file.new.clone())];
            if mutant.files == head {
                return false;
            }
            if let [(_, Some(content))] = mutant.files.as_slice() {
                self.loose.insert(loosely(&[content]));
            }
            let mut hasher = DefaultHasher::new();
            mutant.files.hash(&mut hasher);
            self.exact.insert(hasher.finish())
        });
        new.collect()
    }

    /// Whether dropping a statement that has its lines to itself was tried as these lines undone.
    fn knows_without(&self, head: &[u8], edit: &Edit, place: &Place<'_>) -> bool {
        if edit.kind != Kind::DropStatement {
            return false;
        }
        let lines = place.line_of(edit.bytes.start)..place.line_of(edit.bytes.end - 1) + 1;
        let bytes = place.bytes(lines);
        let before = &head[bytes.start..edit.bytes.start];
        let after = head[edit.bytes.end..bytes.end].trim_ascii();
        let alone = before.trim_ascii().is_empty() && matches!(after, b"" | b";");
        alone
            && self
                .loose
                .contains(&loosely(&[&head[..bytes.start], &head[bytes.end..]]))
    }
}

fn loosely(parts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for line in parts
        .iter()
        .flat_map(|part| part.split(|byte| *byte == b'\n'))
    {
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            line.hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;

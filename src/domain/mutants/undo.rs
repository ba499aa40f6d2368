//! What a hunk changed, undone: all of it, pieces of it, single lines of it.
//!
//! A piece is something that the language knows as one thing (an item, a statement, an argument) and
//! that has its lines to itself, with the attributes and comments right above it; or a run of lines that
//! were replaced, added or removed alike. Larger pieces come before those within them.

use std::collections::BTreeSet;
use std::ops::Range;

use super::lines::{Place, Step};
use super::syntax::{Syntax, is_comment};
use super::{FileText, Kind, Mutant, spread};
use crate::domain::facts::{ChangeKind, ChangedHunk};

/// The whole hunk undone. `None` where that leaves nothing to write.
pub(super) fn whole(file: &FileText, hunk: &ChangedHunk) -> Option<Mutant> {
    let path = file.change.path.clone();
    let moved = hunk.new_start == 0 && hunk.new_lines == 0 && hunk.old_lines == 0;
    let undone =
        |what: &str, content: Option<Vec<u8>>| (what.to_owned(), vec![(path.clone(), content)]);
    let (what, files) = match (&file.change.kind, &file.new) {
        (_, None) => undone("the removed file restored", Some(file.old.clone()?)),
        (ChangeKind::Renamed, _) if moved => {
            let from = file.change.old_path.clone()?;
            let what = format!("moved back to `{from}`");
            let back = (from, Some(file.old.clone()?));
            (what, vec![(path.clone(), None), back])
        }
        (ChangeKind::Added, _) if file.old.is_none() => undone("the new file taken away", None),
        (ChangeKind::Copied, _) if moved => undone("the copy taken away", None),
        _ if moved => return None,
        _ => undone(
            "the change undone",
            Some(Place::new(file, hunk).without(&|_| true)),
        ),
    };
    let (start_line, end_line) = range(hunk);
    Some(Mutant {
        path,
        start_line,
        end_line,
        kind: Kind::RevertHunk,
        what,
        files,
    })
}

/// The hunk's first and last line in the head's version; the line before the gap where lines were only
/// removed.
fn range(hunk: &ChangedHunk) -> (u64, u64) {
    let first = hunk.new_start.max(1);
    let last = hunk
        .new_start
        .saturating_add(hunk.new_lines)
        .saturating_sub(1);
    (first, last.max(first))
}

/// Undoes parts of one hunk.
pub(super) struct Undo<'a, 's> {
    pub(super) file: &'a FileText,
    pub(super) hunk: &'a ChangedHunk,
    pub(super) place: &'a Place<'a>,
    /// The parser's view of the head, where it understands the added lines.
    pub(super) syntax: Option<&'a mut Syntax<'s>>,
    /// Its view of the old content.
    pub(super) was: Option<&'a Syntax<'s>>,
    pub(super) most: usize,
}

impl Undo<'_, '_> {
    /// Runs of more than one line.
    pub(super) fn pieces(&mut self) -> Vec<Mutant> {
        let all = self.place.steps.len();
        let mut seen = BTreeSet::new();
        let pieces = self.runs().into_iter();
        let pieces = pieces.filter(|run| run.len() > 1 && run.len() < all);
        let pieces: Vec<_> = pieces
            .filter(|run| !self.is_idle(run.clone()) && seen.insert((run.start, run.end)))
            .collect();
        self.mutants(pieces, Kind::RevertPiece)
    }

    /// Each line of the hunk that says something.
    pub(super) fn single_lines(&mut self) -> Vec<Mutant> {
        let lines = (0..self.place.steps.len()).map(|index| index..index + 1);
        let lines = lines.filter(|line| !self.is_idle(line.clone())).collect();
        self.mutants(lines, Kind::RevertLine)
    }

    fn mutants(&mut self, runs: Vec<Range<usize>>, kind: Kind) -> Vec<Mutant> {
        let runs = spread(runs, self.most).into_iter();
        runs.filter_map(|run| self.mutant(run, kind)).collect()
    }

    fn mutant(&mut self, run: Range<usize>, kind: Kind) -> Option<Mutant> {
        let content = self.place.without(&|step| run.contains(&step));
        if let Some(syntax) = &mut self.syntax
            && !syntax.still_parses(&content)
        {
            return None;
        }
        let steps = &self.place.steps[run.clone()];
        let new: Vec<usize> = steps.iter().filter_map(|step| step.is()).collect();
        let (first, last) = range(self.hunk);
        let (start_line, end_line, what) = match (new.first(), new.last()) {
            (Some(start), Some(end)) => {
                let line = |new: usize| (self.place.added.start + new) as u64 + 1;
                let what = match steps.iter().all(|step| step.was().is_none()) {
                    true => "taken away",
                    false => "undone",
                };
                (line(*start), line(*end), what)
            }
            // Removed lines have no place of their own: the line behind them stands for it.
            _ => {
                let behind = self.place.steps[run.end..]
                    .iter()
                    .find_map(|step| step.is());
                let behind = behind.map_or(last, |new| (self.place.added.start + new) as u64 + 1);
                let line = behind.clamp(first, last);
                (line, line, "put back")
            }
        };
        let lines = match kind {
            Kind::RevertLine => "the line",
            _ => "the lines",
        };
        let path = self.file.change.path.clone();
        Some(Mutant {
            path: path.clone(),
            start_line,
            end_line,
            kind,
            what: format!("{lines} {what}"),
            files: vec![(path, Some(content))],
        })
    }

    /// Whether undoing these steps changes nothing but blanks, or comments and tests where those are known.
    /// A test that is changed fails for itself: that proves nothing.
    fn is_idle(&self, run: Range<usize>) -> bool {
        self.place.steps[run].iter().all(|step| {
            let new = step.is().is_none_or(|new| {
                let line = self.place.added.start + new;
                match &self.syntax {
                    Some(syntax) => syntax.tests_alone(self.place.bytes(line..line + 1)),
                    None => self.place.line(line).trim_ascii().is_empty(),
                }
            });
            let old =
                step.was()
                    .is_none_or(|old| match (self.was, self.place.old_bytes(old..old + 1)) {
                        (Some(was), Some(bytes)) => was.tests_alone(bytes),
                        _ => self.place.removed[old].trim_ascii().is_empty(),
                    });
            new && old
        })
    }

    /// Everything that can be undone together, larger before smaller.
    fn runs(&self) -> Vec<Range<usize>> {
        let steps = &self.place.steps;
        let mut runs = Vec::new();
        let index = |of: fn(Step) -> Option<usize>| {
            let told = steps.iter().enumerate();
            let told = told.filter(|(_, step)| of(**step).is_some());
            told.map(|(index, _)| index).collect::<Vec<_>>()
        };
        let mut own =
            |syntax: &Syntax<'_>, bytes: Range<usize>, index: Vec<usize>| {
                let lines = owned(syntax, &bytes).into_iter();
                runs.extend(lines.filter_map(|lines| {
                    Some(*index.get(lines.start)?..index.get(lines.end - 1)? + 1)
                }));
            };
        if let Some(syntax) = &self.syntax {
            let bytes = self.place.bytes(self.place.added.clone());
            own(syntax, bytes, index(Step::is));
        }
        if let (Some(was), Some(bytes)) = (self.was, self.place.old_bytes(0..usize::MAX)) {
            own(was, bytes, index(Step::was));
        }
        // Without a parser, what stands between blank lines is one thing.
        let blank = |step: &Step| match (step.was(), step.is()) {
            (_, Some(new)) => self
                .place
                .line(self.place.added.start + new)
                .trim_ascii()
                .is_empty(),
            (Some(old), None) => self.place.removed[old].trim_ascii().is_empty(),
            (None, None) => true,
        };
        if self.syntax.is_none() {
            runs.extend(cut(steps, &|a, b| blank(a) == blank(b)));
        }
        let like = |a: &Step, b: &Step| std::mem::discriminant(a) == std::mem::discriminant(b);
        runs.extend(cut(steps, &like));
        runs.sort_by_key(|run| std::cmp::Reverse(run.len()));
        runs
    }
}

/// The steps cut into runs of which neighbours belong together.
fn cut(steps: &[Step], together: &dyn Fn(&Step, &Step) -> bool) -> Vec<Range<usize>> {
    let mut at = 0;
    let runs = steps.chunk_by(together).map(|run| {
        at += run.len();
        at - run.len()..at
    });
    runs.collect()
}

/// The lines, counted from the first of these bytes, of each thing that has them to itself.
fn owned(syntax: &Syntax<'_>, bytes: &Range<usize>) -> Vec<Range<usize>> {
    let text = syntax.text;
    let mut starts = vec![bytes.start];
    let ends = text[bytes.clone()].iter().enumerate();
    let ends = ends.filter(|(_, byte)| **byte == b'\n');
    starts.extend(ends.map(|(at, _)| bytes.start + at + 1));
    let line_of = |byte: usize| starts.partition_point(|start| *start <= byte) - 1;
    let (mut owned, mut seen) = (Vec::new(), BTreeSet::new());
    // What stands right above, at each depth: attributes and comments go with what they speak of.
    let mut above: Vec<Option<Range<usize>>> = Vec::new();
    syntax.walk(bytes, &mut |visit| {
        let node = visit.node;
        let depth = visit.parents.len();
        above.resize(depth + 1, None);
        let lead = above[depth].take();
        let start = node.start_byte();
        let end = start + text[node.byte_range()].trim_ascii_end().len();
        let inside = bytes.start <= start && end <= bytes.end && start < end;
        if !inside || !node.is_named() {
            return true;
        }
        let (first, last) = (line_of(start), line_of(end - 1));
        let line_end = starts.get(last + 1).copied().unwrap_or(bytes.end);
        let marks = text[end..line_end].iter();
        let marks = marks.take_while(|byte| b",; \t".contains(byte)).count();
        let alone = text[starts[first]..start].trim_ascii().is_empty()
            && syntax.is_idle(end + marks..line_end);
        if !alone {
            return true;
        }
        let joined = lead.filter(|lead| lead.end == first);
        let lines = joined.map_or(first, |lead| lead.start)..last + 1;
        if is_comment(node.kind()) || matches!(node.kind(), "attribute_item" | "decorator") {
            above[depth] = Some(lines);
            return false;
        }
        // A statement and the expression in it are one thing.
        if seen.insert((first, last)) {
            owned.push(lines);
        }
        true
    });
    owned
}

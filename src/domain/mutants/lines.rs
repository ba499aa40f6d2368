//! A hunk laid over the bytes of both sides of its file, line by line.
//!
//! A [`ChangedHunk`] tells the removed lines as text: their line ends are lost, and bytes that are no
//! UTF-8 with them. So the hunk is found again in the old content and its lines are taken from there.
//! Where that fails (the old content is not known, or is not the one the hunk was made from), the text
//! itself is used, with the line end that the file uses.
//!
//! Removed and added lines that look alike are paired, so that one line of a replaced run can be undone
//! alone. Pairing looks at every removed and every added line, so it is left out for hunks where that
//! would take long; those pair in order when the counts agree, and not at all otherwise.

use std::borrow::Cow;
use std::ops::Range;

use super::FileText;
use crate::domain::facts::ChangedHunk;

/// More comparisons of lines than this are not made to pair them.
const MOST_COMPARED: usize = 40_000;

/// Lines pair when this many of a hundred bytes agree at their beginning and end.
const ALIKE: u32 = 50;

/// Longer lines are compared by their beginning alone.
const COMPARED: usize = 200;

/// What stands for one line of a hunk. Numbers count from 0 within the hunk's removed or added lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A line replaced by another.
    Pair { old: usize, new: usize },
    /// A line that is new.
    Added { new: usize },
    /// A line that is gone.
    Removed { old: usize },
}

impl Step {
    /// The line that stood here.
    pub(super) fn was(self) -> Option<usize> {
        match self {
            Self::Pair { old, .. } | Self::Removed { old } => Some(old),
            Self::Added { .. } => None,
        }
    }

    /// The line that stands here now.
    pub(super) fn is(self) -> Option<usize> {
        match self {
            Self::Pair { new, .. } | Self::Added { new } => Some(new),
            Self::Removed { .. } => None,
        }
    }
}

/// A hunk in its place.
pub(super) struct Place<'a> {
    lines: Vec<&'a [u8]>,
    /// Where each line of the head begins, and where the last one ends.
    starts: Vec<usize>,
    /// The added lines, among those of the head, from 0.
    pub(super) added: Range<usize>,
    /// The removed lines with their ends.
    pub(super) removed: Vec<Cow<'a, [u8]>>,
    /// Where each removed line begins in the old content and where the last one ends, if they were
    /// found there.
    removed_starts: Option<Vec<usize>>,
    /// The hunk line by line.
    pub(super) steps: Vec<Step>,
    line_end: &'static [u8],
}

impl<'a> Place<'a> {
    pub(super) fn new(file: &'a FileText, hunk: &'a ChangedHunk) -> Self {
        let head = file.new.as_deref().unwrap_or_default();
        let old = file.old.as_deref().unwrap_or_default();
        let lines = split(head);
        let mut starts = Vec::with_capacity(lines.len() + 1);
        let mut at = 0;
        for line in &lines {
            starts.push(at);
            at += line.len();
        }
        starts.push(at);
        let before = before(hunk).min(lines.len());
        let after = before.saturating_add(size(hunk.new_lines)).min(lines.len());
        let line_end = line_end(if head.is_empty() { old } else { head });
        let (removed, at) = removed(file, hunk, &split(old), line_end);
        let removed_starts = at.map(|at| {
            let mut starts = vec![bytes(old, 0..at).end];
            for line in &removed {
                starts.push(starts[starts.len() - 1] + line.len());
            }
            starts
        });
        let steps = steps(&removed, &lines[before..after]);
        Self {
            lines,
            starts,
            added: before..after,
            removed,
            removed_starts,
            steps,
            line_end,
        }
    }

    /// The bytes of the head that lines of it take.
    pub(super) fn bytes(&self, lines: Range<usize>) -> Range<usize> {
        let at = |line: usize| self.starts[line.min(self.lines.len())];
        at(lines.start)..at(lines.end)
    }

    /// The bytes of the old content that some of the removed lines take, if they were found there.
    pub(super) fn old_bytes(&self, removed: Range<usize>) -> Option<Range<usize>> {
        let starts = self.removed_starts.as_ref()?;
        let at = |line: usize| starts[line.min(starts.len() - 1)];
        Some(at(removed.start)..at(removed.end))
    }

    /// A line of the head, with its end.
    pub(super) fn line(&self, index: usize) -> &'a [u8] {
        self.lines.get(index).copied().unwrap_or_default()
    }

    /// The line of the head that holds a byte.
    pub(super) fn line_of(&self, byte: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= byte)
            .saturating_sub(1)
            .min(self.lines.len().saturating_sub(1))
    }

    /// The head's content with some steps undone, told by their place among the steps.
    pub(super) fn without(&self, undone: &dyn Fn(usize) -> bool) -> Vec<u8> {
        let mut content = Vec::with_capacity(self.starts.last().copied().unwrap_or_default());
        let mut push = |line: &[u8]| {
            // A last line without an end that comes to stand before another needs one.
            if content.last().is_some_and(|last| *last != b'\n') {
                content.extend_from_slice(self.line_end);
            }
            content.extend_from_slice(line);
        };
        for line in &self.lines[..self.added.start] {
            push(line);
        }
        for (index, step) in self.steps.iter().enumerate() {
            let line = match (undone(index), step.was(), step.is()) {
                (true, old, _) => old.map(|old| &*self.removed[old]),
                (false, _, new) => new.map(|new| self.line(self.added.start + new)),
            };
            if let Some(line) = line {
                push(line);
            }
        }
        for line in &self.lines[self.added.end..] {
            push(line);
        }
        content
    }
}

fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// How many lines of the head stand before the hunk.
fn before(hunk: &ChangedHunk) -> usize {
    size(hunk.new_start).saturating_sub(usize::from(hunk.new_lines > 0))
}

pub(super) fn split(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The bytes that some lines of a content take.
pub(super) fn bytes(content: &[u8], lines: Range<usize>) -> Range<usize> {
    let size = |lines: &[&[u8]]| lines.iter().map(|line| line.len()).sum::<usize>();
    let all = split(content);
    let (start, end) = (lines.start.min(all.len()), lines.end.min(all.len()));
    let before = size(&all[..start]);
    before..before + size(&all[start..end.max(start)])
}

/// The line end most lines of a content have.
fn line_end(content: &[u8]) -> &'static [u8] {
    let ends = content.iter().filter(|byte| **byte == b'\n').count();
    let returns = content.windows(2).filter(|pair| pair == b"\r\n").count();
    if returns * 2 > ends { b"\r\n" } else { b"\n" }
}

/// The removed lines as they stand in the old content, and where.
fn removed<'a>(
    file: &'a FileText,
    hunk: &'a ChangedHunk,
    old: &[&'a [u8]],
    line_end: &[u8],
) -> (Vec<Cow<'a, [u8]>>, Option<usize>) {
    let count = size(hunk.old_lines).max(hunk.removed.len());
    if let Some(at) = found(old, expected(file, hunk), count, &hunk.removed) {
        let lines = old[at..at + count].iter().map(|line| Cow::Borrowed(*line));
        return (lines.collect(), Some(at));
    }
    let with_end = |text: &String| {
        let mut line = text.clone().into_bytes();
        match line.ends_with(b"\r") {
            true => line.push(b'\n'),
            false => line.extend_from_slice(line_end),
        }
        Cow::Owned(line)
    };
    (hunk.removed.iter().map(with_end).collect(), None)
}

/// Where the removed lines begin in the old content, by what the hunks before this one changed.
fn expected(file: &FileText, hunk: &ChangedHunk) -> usize {
    let at = before(hunk);
    let hunks = file.change.hunks.as_deref().unwrap_or_default();
    hunks
        .iter()
        .filter(|other| before(other) < at)
        .fold(at, |at, other| {
            at.saturating_add(size(other.old_lines))
                .saturating_sub(size(other.new_lines))
        })
}

/// The place nearest to the expected one where the lines stand.
fn found(old: &[&[u8]], expected: usize, count: usize, texts: &[String]) -> Option<usize> {
    let last = old.len().checked_sub(count)?;
    let fits = |at: &usize| {
        let lines = &old[*at..*at + count];
        texts.len() == count && lines.iter().zip(texts).all(|(line, text)| is(line, text))
    };
    if texts.is_empty() && expected <= last {
        return Some(expected);
    }
    let expected = expected.min(last);
    let near = (0..=last).flat_map(|away| {
        let after = expected.checked_add(away);
        let before = expected.checked_sub(away);
        [after, before].into_iter().flatten()
    });
    near.filter(|at| *at <= last).find(fits)
}

/// Whether a line says this text. Its end, and bytes that are no text, are not compared.
fn is(line: &[u8], text: &str) -> bool {
    let bare = |bytes: &'_ [u8]| bytes.trim_ascii_end().len();
    if bare(line) == bare(text.as_bytes()) && line.starts_with(text.trim_ascii_end().as_bytes()) {
        return true;
    }
    String::from_utf8_lossy(line).trim_end_matches(['\r', '\n']) == text.trim_end_matches('\r')
}

/// Pairs lines that look alike and keeps the order of both sides.
fn steps(removed: &[Cow<'_, [u8]>], added: &[&[u8]]) -> Vec<Step> {
    let (rows, columns) = (removed.len(), added.len());
    let in_order = |count: usize| (0..count).map(|at| (at, at)).collect();
    let pairs: Vec<(usize, usize)> = if (rows, columns) == (1, 1) {
        in_order(1)
    } else if rows.saturating_mul(columns) <= MOST_COMPARED {
        let best = best_pairs(removed, added);
        if best.is_empty() && rows == columns {
            in_order(rows)
        } else {
            best
        }
    } else if rows == columns {
        in_order(rows)
    } else {
        Vec::new()
    };
    let mut steps = Vec::with_capacity(rows + columns);
    let (mut old, mut new) = (0, 0);
    for (pair_old, pair_new) in pairs.into_iter().chain([(rows, columns)]) {
        steps.extend((old..pair_old).map(|old| Step::Removed { old }));
        steps.extend((new..pair_new).map(|new| Step::Added { new }));
        if pair_old < rows && pair_new < columns {
            steps.push(Step::Pair {
                old: pair_old,
                new: pair_new,
            });
        }
        (old, new) = (pair_old + 1, pair_new + 1);
    }
    steps
}

/// The pairs, in order, whose likeness adds up to most.
fn best_pairs(removed: &[Cow<'_, [u8]>], added: &[&[u8]]) -> Vec<(usize, usize)> {
    let width = added.len() + 1;
    let mut best = vec![0_u32; (removed.len() + 1) * width];
    let likeness: Vec<u32> = removed
        .iter()
        .flat_map(|old| added.iter().map(|new| likeness(old, new)))
        .collect();
    for old in (0..removed.len()).rev() {
        for new in (0..added.len()).rev() {
            let skip = best[(old + 1) * width + new].max(best[old * width + new + 1]);
            let like = likeness[old * added.len() + new];
            let take = if like >= ALIKE {
                like + best[(old + 1) * width + new + 1]
            } else {
                0
            };
            best[old * width + new] = skip.max(take);
        }
    }
    let mut pairs = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < removed.len() && new < added.len() {
        let here = best[old * width + new];
        let like = likeness[old * added.len() + new];
        if like >= ALIKE && here == like + best[(old + 1) * width + new + 1] {
            pairs.push((old, new));
            (old, new) = (old + 1, new + 1);
        } else if here == best[(old + 1) * width + new] {
            old += 1;
        } else {
            new += 1;
        }
    }
    pairs
}

/// Of a hundred bytes, how many agree at the beginning and the end of two lines. Blanks around do not
/// count, and a blank line is like nothing: it says too little.
fn likeness(old: &[u8], new: &[u8]) -> u32 {
    let bare = |line: &'_ [u8]| -> Vec<u8> {
        let line = line.trim_ascii();
        line[..line.len().min(COMPARED)].to_vec()
    };
    let (old, new) = (bare(old), bare(new));
    let (short, long) = (old.len().min(new.len()), old.len().max(new.len()));
    if short == 0 {
        return 0;
    }
    let same =
        |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(a, b)| a == b).count();
    let front = same(&mut old.iter().zip(&new));
    let back = same(&mut old.iter().rev().zip(new.iter().rev())).min(short - front);
    u32::try_from((front + back) * 100 / long).unwrap_or_default()
}

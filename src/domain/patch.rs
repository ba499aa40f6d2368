//! From a patch's text to the runs of changed lines.
//!
//! GitHub hands out a file's patch with three lines of context around each change. A gate asks which
//! lines changed, so the context is taken away again: one [`ChangedHunk`] for each unbroken run of
//! added and removed lines, counted in the head's version.
//!
//! A patch is believed only if it is whole: every `@@` header's counts must be met by its lines. One
//! that is cut off, or that is no unified diff, gives nothing, which is "cannot tell" and never "no
//! change". The caller compares with GitHub's own counts of added and removed lines on top.

use super::facts::ChangedHunk;

/// Reads a patch. `None` when it is not a whole unified diff.
pub fn hunks(patch: &str) -> Option<Vec<ChangedHunk>> {
    let mut hunks = Vec::new();
    // A last line break ends the last line; it does not begin another.
    let patch = patch.strip_suffix('\n').unwrap_or(patch);
    let mut lines = patch.split('\n').peekable();
    while let Some(line) = lines.next() {
        let header = Header::read(line)?;
        let mut run = Run::at(header.new_start, header.new_lines);
        let (mut old_left, mut new_left) = (header.old_lines, header.new_lines);
        while old_left > 0 || new_left > 0 {
            let line = lines.next()?;
            match line.as_bytes().first() {
                Some(b'+') => {
                    new_left = new_left.checked_sub(1)?;
                    run.added(line.get(1..)?);
                }
                Some(b'-') => {
                    old_left = old_left.checked_sub(1)?;
                    run.removed(line.get(1..)?);
                }
                // "\ No newline at end of file" speaks of the line before it and is none itself.
                Some(b'\\') => {}
                // Some tools strip the one space of an empty context line.
                Some(b' ') | None => {
                    old_left = old_left.checked_sub(1)?;
                    new_left = new_left.checked_sub(1)?;
                    hunks.extend(run.context());
                }
                Some(_) => return None,
            }
        }
        hunks.extend(run.end());
        while lines.next_if(|line| line.starts_with('\\')).is_some() {}
    }
    Some(hunks)
}

/// `@@ -old_start,old_lines +new_start,new_lines @@`; a count that is left out is 1.
struct Header {
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
}

impl Header {
    fn read(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let (_, old_lines) = range(old)?;
        let (new_start, new_lines) = range(new)?;
        Some(Self {
            old_lines,
            new_start,
            new_lines,
        })
    }
}

fn range(text: &str) -> Option<(u64, u64)> {
    match text.split_once(',') {
        Some((start, lines)) => Some((start.parse().ok()?, lines.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

/// The run of changed lines that is being read.
struct Run {
    /// The number of the next line of the head's version.
    next: u64,
    added: Vec<String>,
    removed: Vec<String>,
}

impl Run {
    /// Where a hunk leaves nothing in the head's version, its header names the line before the gap.
    fn at(new_start: u64, new_lines: u64) -> Self {
        Self {
            next: new_start.saturating_add(u64::from(new_lines == 0)),
            added: Vec::new(),
            removed: Vec::new(),
        }
    }

    fn added(&mut self, line: &str) {
        self.added.push(line.to_owned());
        self.next = self.next.saturating_add(1);
    }

    fn removed(&mut self, line: &str) {
        self.removed.push(line.to_owned());
    }

    /// A line that did not change: it ends the run, if there is one.
    fn context(&mut self) -> Option<ChangedHunk> {
        let ended = self.end();
        self.next = self.next.saturating_add(1);
        ended
    }

    fn end(&mut self) -> Option<ChangedHunk> {
        let added = std::mem::take(&mut self.added);
        let removed = std::mem::take(&mut self.removed);
        if added.is_empty() && removed.is_empty() {
            return None;
        }
        let new_lines = added.len() as u64;
        // `next` is past the added lines; without any, the gap lies after the line before it.
        let new_start = match new_lines {
            0 => self.next.saturating_sub(1),
            lines => self.next.saturating_sub(lines),
        };
        Some(ChangedHunk {
            new_start,
            new_lines,
            old_lines: removed.len() as u64,
            added,
            removed,
        })
    }
}

#[cfg(test)]
mod tests;

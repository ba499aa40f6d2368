//! Reads what `git diff-tree -r -M --raw -p -z` prints.
//!
//! First a raw block, its fields ended by NUL; then one NUL; then the patches, one a file, in the
//! same order.

use super::Failure;

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FileStatus {
    Added,
    Removed,
    Modified,
    Renamed,
    /// The mode or type changed.
    Changed,
}

impl FileStatus {
    /// GitHub's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Changed => "changed",
        }
    }
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// Its path afterwards (before, when removed).
    pub path: String,
    /// Its path before, when renamed.
    pub previous: Option<String>,
    /// How it changed.
    pub status: FileStatus,
    /// The blob afterwards (before, when removed).
    pub blob: String,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// The hunks as GitHub's `patch` shows them; `None` for binary files and pure renames.
    pub patch: Option<String>,
}

pub(super) fn read(said: &str) -> Result<Vec<FileDiff>, Failure> {
    let unreadable = || Failure::Unreadable(said.chars().take(200).collect());
    let mut files = Vec::new();
    let mut rest = said;
    while let Some(after) = rest.strip_prefix(':') {
        let (about, after) = after.split_once('\0').ok_or_else(unreadable)?;
        let words: Vec<&str> = about.split(' ').collect();
        let [_, _, before_id, after_id, status] = words.as_slice() else {
            return Err(unreadable());
        };
        let (first, mut after) = after.split_once('\0').ok_or_else(unreadable)?;
        let mut file = FileDiff {
            path: first.to_owned(),
            previous: None,
            status: FileStatus::Modified,
            blob: (*after_id).to_owned(),
            additions: 0,
            deletions: 0,
            patch: None,
        };
        match status.chars().next() {
            Some('A') => file.status = FileStatus::Added,
            Some('D') => {
                file.status = FileStatus::Removed;
                file.blob = (*before_id).to_owned();
            }
            Some('R' | 'C') => {
                let (second, beyond) = after.split_once('\0').ok_or_else(unreadable)?;
                after = beyond;
                file.status = FileStatus::Renamed;
                file.previous = Some(std::mem::replace(&mut file.path, second.to_owned()));
            }
            Some('T') => file.status = FileStatus::Changed,
            _ => {}
        }
        files.push(file);
        rest = after;
    }
    let patches = rest.strip_prefix('\0').unwrap_or(rest);
    for (file, patch) in files.iter_mut().zip(split_patches(patches)) {
        take_patch(file, patch);
    }
    Ok(files)
}

/// Lines inside a patch start with a space, `+`, `-`, `\` or `@@`, so `diff --git` at the start of a
/// line can only be the next file.
fn split_patches(patches: &str) -> impl Iterator<Item = &str> {
    const HEAD: &str = "diff --git ";
    let mut rest = patches.strip_prefix(HEAD);
    std::iter::from_fn(move || {
        let whole = rest?;
        match whole.split_once("\ndiff --git ") {
            Some((one, others)) => {
                rest = Some(others);
                Some(one)
            }
            None => {
                rest = None;
                Some(whole)
            }
        }
    })
}

fn take_patch(file: &mut FileDiff, patch: &str) {
    let Some(start) = patch.find("\n@@ ") else {
        return;
    };
    let hunks = patch[start..]
        .trim_start_matches('\n')
        .trim_end_matches('\n');
    for line in hunks.lines() {
        match line.as_bytes().first() {
            Some(b'+') => file.additions += 1,
            Some(b'-') => file.deletions += 1,
            _ => {}
        }
    }
    file.patch = Some(hunks.to_owned());
}

//! What changed from the merge base to the head, as the gate sees it: files with their runs of changed
//! lines.
//!
//! Diffs are made without anybody's settings: the lines must be those that the host shows. What cannot be
//! read as lines (binary files) or cannot be written as a file's content (links, submodules) is kept and
//! named; nothing is dropped in silence.

use std::collections::BTreeMap;

use super::ends::Ends;
use super::git::Git;
use crate::domain::facts::{ChangeKind, Comparison, FileChange, Listing};
use crate::domain::mutants::FileText;
use crate::domain::patch;

/// The change.
#[derive(Debug)]
pub(super) struct Change {
    /// As the gate takes it.
    pub comparison: Comparison,
    /// What git says of each file, by its path in the head.
    sides: BTreeMap<String, Side>,
}

#[derive(Debug, Clone)]
struct Side {
    old_mode: String,
    new_mode: String,
    old: String,
    new: String,
}

const DIFF: [&str; 11] = [
    "-c",
    "core.quotePath=false",
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-prefix",
    "--unified=3",
    "--inter-hunk-context=0",
    "--submodule=short",
    "-M",
];

impl Change {
    /// Reads it.
    pub async fn read(git: &Git, ends: &Ends) -> Result<Self, String> {
        let git = git.plain();
        let (from, to) = (ends.merge_base.as_str(), ends.head.as_str());
        let words = [&DIFF[..], &["--raw", "-z", "--no-abbrev", from, to, "--"]].concat();
        let listed = git.bytes(&words).await.map_err(|why| incomplete(&why))?;
        let mut items = Vec::new();
        let mut sides = BTreeMap::new();
        for (side, mut file) in raw(&listed)? {
            let paths: Vec<&str> = file.old_path.iter().map(String::as_str).collect();
            let words = [
                &DIFF[..],
                &["--patch", from, to, "--"],
                &paths,
                &[&file.path],
            ]
            .concat();
            let git = git.clone();
            let text = literal(&git)
                .bytes(&words)
                .await
                .map_err(|why| incomplete(&why))?;
            file.hunks = hunks(&String::from_utf8_lossy(&text));
            for hunk in file.hunks.iter().flatten() {
                file.additions += hunk.new_lines;
                file.deletions += hunk.old_lines;
            }
            sides.insert(file.path.clone(), side);
            items.push(file);
        }
        let comparison = Comparison {
            base_tip: ends.base_sha.clone(),
            head: ends.head.clone(),
            merge_base: ends.merge_base.clone(),
            files: Listing::whole(items),
            commits: Listing::default(),
        };
        Ok(Self { comparison, sides })
    }

    /// A file's content on both sides.
    pub async fn text(&self, git: &Git, file: &FileChange) -> Result<FileText, String> {
        let side = self
            .sides
            .get(&file.path)
            .ok_or("a file that did not change")?;
        let blob = async |oid: &String| match oid.bytes().all(|digit| digit == b'0') {
            true => Ok(None),
            false => git
                .plain()
                .bytes(&["cat-file", "blob", oid])
                .await
                .map(Some),
        };
        Ok(FileText {
            change: file.clone(),
            old: blob(&side.old).await.map_err(|why| incomplete(&why))?,
            new: blob(&side.new).await.map_err(|why| incomplete(&why))?,
        })
    }

    /// A file as if it were new, its content with it: what it was called before, and what it was then, are
    /// left out.
    pub async fn as_new(&self, git: &Git, file: &FileChange) -> Result<FileText, String> {
        let of = &self.comparison;
        let ends = [of.merge_base.as_str(), of.head.as_str()];
        let words = [
            &DIFF[..],
            &["--no-renames", "--patch"],
            &ends,
            &["--", &file.path],
        ];
        let text = literal(&git.plain()).bytes(&words.concat()).await;
        let text = text.map_err(|why| incomplete(&why))?;
        let hunks = hunks(&String::from_utf8_lossy(&text));
        let additions = hunks.iter().flatten().map(|hunk| hunk.new_lines).sum();
        let change = FileChange {
            old_path: None,
            kind: ChangeKind::Added,
            additions,
            deletions: 0,
            hunks,
            path: file.path.clone(),
        };
        let known = self.text(git, file).await?;
        Ok(FileText {
            change,
            old: None,
            ..known
        })
    }

    /// Why a file is none whose content could be changed.
    pub fn odd(&self, file: &FileChange) -> Option<&'static str> {
        let side = self.sides.get(&file.path)?;
        let modes = [side.old_mode.as_str(), side.new_mode.as_str()];
        if modes.contains(&"160000") {
            Some("it is a submodule")
        } else if modes.contains(&"120000") {
            Some("it is a symbolic link")
        } else {
            None
        }
    }

    /// Whether a path that only the merge base has was to be executed there.
    pub fn was_executable(&self, path: &str) -> bool {
        let files = self.comparison.files.items.iter();
        let mut named =
            files.filter(|file| file.path == path || file.old_path.as_deref() == Some(path));
        named.any(|file| {
            self.sides
                .get(&file.path)
                .is_some_and(|side| side.old_mode == "100755")
        })
    }
}

/// Paths are meant as they are, not as patterns.
fn literal(git: &Git) -> Git {
    git.with_setting("GIT_LITERAL_PATHSPECS", "1")
}

fn incomplete(why: &str) -> String {
    format!(
        "{why}: this checkout lacks some of the change's content; in a partial clone, run: \
         git fetch --refetch --no-filter origin"
    )
}

/// The records of `git diff --raw -z`.
fn raw(listed: &[u8]) -> Result<Vec<(Side, FileChange)>, String> {
    let text = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec())
            .map_err(|_| "a changed file's name is not UTF-8: rename it".to_owned())
    };
    let mut fields = listed.split(|byte| *byte == 0);
    let mut files = Vec::new();
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let head = text(field)?;
        let mut words = head.trim_start_matches(':').split(' ').map(str::to_owned);
        let mut word = || {
            words
                .next()
                .ok_or("git's list of changes is not understood")
        };
        let side = Side {
            old_mode: word()?,
            new_mode: word()?,
            old: word()?,
            new: word()?,
        };
        let status = word()?;
        let mut path = || fields.next().ok_or("git's list of changes is cut off");
        let first = text(path()?)?;
        let kind = match status.as_bytes().first() {
            Some(b'A') => ChangeKind::Added,
            Some(b'M') => ChangeKind::Modified,
            Some(b'D') => ChangeKind::Removed,
            Some(b'R') => ChangeKind::Renamed,
            Some(b'C') => ChangeKind::Copied,
            _ => ChangeKind::Other(status.clone()),
        };
        let (path, old_path) = match kind {
            ChangeKind::Renamed | ChangeKind::Copied => (text(path()?)?, Some(first)),
            _ => (first, None),
        };
        let file = FileChange {
            path,
            old_path,
            kind,
            additions: 0,
            deletions: 0,
            hunks: None,
        };
        files.push((side, file));
    }
    Ok(files)
}

/// The runs of changed lines of one file's patch, as git prints it with its headers.
fn hunks(text: &str) -> Option<Vec<crate::domain::facts::ChangedHunk>> {
    let start = match text.starts_with("@@ ") {
        true => Some(0),
        false => text.find("\n@@ ").map(|at| at + 1),
    };
    match start {
        Some(start) => patch::hunks(&text[start..]),
        // Headers alone: a new mode, a new name, an empty file.
        None if !text.contains("\nBinary files ") => Some(Vec::new()),
        None => None,
    }
}

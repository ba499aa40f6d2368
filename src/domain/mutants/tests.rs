use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::domain::facts::ChangeKind;
use crate::domain::testing::{file, hunk};

mod exempt;
mod kinds;
mod languages;
mod properties;

/// A file with one hunk that replaces `removed` by `added` between two texts.
fn changed(path: &str, before: &str, removed: &str, added: &str, after: &str) -> FileText {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.split_inclusive('\n');
        lines
            .map(|line| line.strip_suffix('\n').unwrap_or(line).to_owned())
            .collect()
    };
    let (removed_lines, added_lines) = (lines(removed), lines(added));
    let start = lines(before).len() as u64 + u64::from(!added.is_empty());
    let mut hunk = hunk(start, &[], &[]);
    (hunk.new_lines, hunk.old_lines) = (added_lines.len() as u64, removed_lines.len() as u64);
    (hunk.added, hunk.removed) = (added_lines, removed_lines);
    FileText {
        change: file(path, vec![hunk]),
        old: Some(format!("{before}{removed}{after}").into_bytes()),
        new: Some(format!("{before}{added}{after}").into_bytes()),
    }
}

/// A file whose lines are all new, between two that are old.
fn added(path: &str, text: &str) -> FileText {
    changed(path, "", "", text, "")
}

fn only_hunk(file: &FileText) -> ChangedHunk {
    file.change.hunks.as_ref().unwrap()[0].clone()
}

fn all(file: &FileText) -> Vec<Vec<Mutant>> {
    rounds(file, &only_hunk(file))
}

fn of(file: &FileText, kind: Kind) -> Vec<String> {
    let mutants = all(file).into_iter().flatten();
    let mutants = mutants.filter(|mutant| mutant.kind == kind);
    mutants
        .map(|mutant| String::from_utf8(mutant.files[0].1.clone().unwrap()).unwrap())
        .collect()
}

/// Every mutant as `line kind what`, rounds apart.
fn told(file: &FileText) -> String {
    let mut text = String::new();
    for round in all(file) {
        for mutant in round {
            let (start, end) = (mutant.start_line, mutant.end_line);
            let lines = if start == end {
                start.to_string()
            } else {
                format!("{start}-{end}")
            };
            writeln!(text, "{lines} {} {}", mutant.kind.word(), mutant.what).unwrap();
        }
        text.push('\n');
    }
    text
}

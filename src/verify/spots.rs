//! What is to be tried: the critical changed places, as the gate finds them, each with its rounds of
//! mutants.
//!
//! The gate's own function finds them (`domain::gate::hunks`), so nothing the gate will ask for is
//! forgotten here. What cannot be mutated is a place all the same, with the reason: it ends as "skipped",
//! never as nothing.

use std::collections::BTreeSet;

use super::diff::Change;
use super::git::Git;
use super::journal;
use crate::domain::facts::{Comparison, FileChange, Listing};
use crate::domain::gate::hunks::{Hunk, critical};
use crate::domain::gate::mutation_check::{ONLY_COMMENTS, ONLY_TESTS};
use crate::domain::mutants::{self, FileText, Kind, Mutant};
use crate::domain::policy::MutationCheck;

/// One critical place.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// For people: `src/start.rs:40`.
    pub place: String,
    /// The mutants, from the plainest round to the finest.
    pub rounds: Vec<Vec<Mutant>>,
    /// Stands in the report where no mutant was run; holds no content.
    pub stand_in: Mutant,
    /// Why there is nothing to try.
    pub barred: Option<String>,
    /// No test could ever see this change, so that none is asked for; the word for that in evidence.
    pub exempt: Option<&'static str>,
    /// Names of mutants that are no text of their language: no test need run to know that.
    pub broken: BTreeSet<String>,
    /// Its file's content, for showing what a mutant changed.
    pub head: Option<Vec<u8>>,
    /// Paths that are to be executable when a mutant brings them back.
    pub executable: BTreeSet<String>,
}

/// Finds the critical places of a change.
pub(super) async fn find(
    git: &Git,
    change: &Change,
    check: &MutationCheck,
) -> Result<Vec<Spot>, String> {
    let mut spots = Vec::new();
    for file in &change.comparison.files.items {
        // One by one, or one that has no lines would hide the others.
        let alone = Comparison {
            files: Listing::whole(vec![file.clone()]),
            ..change.comparison.clone()
        };
        match critical(&alone, check) {
            Ok(hunks) if hunks.is_empty() => {}
            Ok(hunks) => match change.odd(file) {
                Some(why) => spots.extend(hunks.iter().map(|hunk| barred(file, Some(hunk), why))),
                None => {
                    let text = change.text(git, file).await?;
                    spots.extend(hunks.iter().map(|hunk| spot(change, &text, hunk)));
                }
            },
            Err(_) => {
                let why = "it is binary, so no line of it can be undone";
                spots.push(barred(file, None, change.odd(file).unwrap_or(why)));
            }
        }
    }
    Ok(spots)
}

/// Critical files whose change has no line that could be undone: a new name or mode, an empty file that
/// came or went. The gate asks for no mutant there, so people are told.
pub(super) fn lineless(comparison: &Comparison, check: &MutationCheck) -> Vec<String> {
    let is = |path: &str| check.critical.matches(path) && !check.except.matches(path);
    let files = comparison.files.items.iter().filter(|file| {
        let old = file.old_path.as_deref();
        let empty = file.hunks.as_ref().is_some_and(Vec::is_empty);
        empty && (is(&file.path) || old.is_some_and(is))
    });
    files.map(|file| file.path.clone()).collect()
}

fn spot(change: &Change, text: &FileText, hunk: &Hunk<'_>) -> Spot {
    let mut spot = barred(&text.change, Some(hunk), "there is nothing in it to break");
    let unseen = if mutants::only_comments(text, hunk.lines) {
        Some((
            ONLY_COMMENTS,
            "only comments changed, which no test can see",
        ))
    } else if mutants::only_tests(text, hunk.lines) {
        Some((
            ONLY_TESTS,
            "only tests changed, which no other test can see",
        ))
    } else {
        None
    };
    if let Some((word, why)) = unseen {
        spot.barred = Some(why.to_owned());
        spot.exempt = Some(word);
        return spot;
    }
    let rounds = mutants::rounds(text, hunk.lines).into_iter().map(|round| {
        let real = round.into_iter().filter(|mutant| changes(text, mutant));
        real.collect::<Vec<_>>()
    });
    spot.rounds = rounds.filter(|round| !round.is_empty()).collect();
    if !spot.rounds.is_empty() {
        spot.barred = None;
    }
    let paths = spot
        .rounds
        .iter()
        .flatten()
        .flat_map(|mutant| &mutant.files);
    spot.executable = paths
        .filter(|(path, _)| change.was_executable(path))
        .map(|(path, _)| path.clone())
        .collect();
    let all = spot.rounds.iter().flatten();
    let broken = all.filter(|mutant| mutants::breaks_syntax(text, mutant));
    spot.broken = broken.map(journal::name).collect();
    spot.head.clone_from(&text.new);
    spot
}

/// Whether a mutant differs from the head at all: one that does not would "survive" everything.
fn changes(text: &FileText, mutant: &Mutant) -> bool {
    let head = |path: &String| match *path == text.change.path {
        true => text.new.as_ref(),
        false => None,
    };
    mutant
        .files
        .iter()
        .any(|(path, content)| content.as_ref() != head(path))
}

fn barred(file: &FileChange, hunk: Option<&Hunk<'_>>, why: &str) -> Spot {
    let (start, lines) = hunk.map_or((1, 1), |hunk| (hunk.lines.new_start, hunk.lines.new_lines));
    let start = start.max(1);
    Spot {
        place: hunk.map_or_else(|| file.path.clone(), Hunk::place),
        rounds: Vec::new(),
        stand_in: Mutant {
            path: file.path.clone(),
            start_line: start,
            end_line: (start + lines).saturating_sub(1).max(start),
            kind: Kind::RevertHunk,
            what: "the change undone".to_owned(),
            files: Vec::new(),
        },
        barred: Some(why.to_owned()),
        exempt: None,
        broken: BTreeSet::new(),
        head: None,
        executable: BTreeSet::new(),
    }
}

//! The control of the experiment: a change that changes nothing must pass.
//!
//! A test that compares the sources themselves (a digest of the tree, `git status`, a formatter) fails on any
//! change. It would kill every mutant, and say of each line that it is tested. So, before the first mutant, all
//! critical files together get one more line end ([`with_a_blank_line`]), and the tests are run once. Where they
//! fail, and pass again without it, no kill would show anything: nothing is tried, and the answer is
//! inconclusive with what to do.
//!
//! Left out: files in which a line end may mean something have no control, which is said; a test that fails on
//! changed lines and not on added ones is not found by this.

use super::Said;
use super::hunt::Hunt;
use super::reading::Fate;
use super::spots::Spot;
use super::workshop::Workshop;
use crate::domain::evidence::MutantStatus;
use crate::domain::mutants::{Kind, Mutant, with_a_blank_line};

/// The most files that are named.
const NAMED: usize = 3;

impl Hunt<'_> {
    /// Runs the control; why kills would show nothing, where they would not.
    pub(super) async fn control_change(
        &self,
        workshop: &mut Workshop,
        spots: &[Spot],
    ) -> Result<Option<String>, String> {
        let tried = || spots.iter().filter(|spot| spot.barred.is_none());
        let Some(spot) = tried().next() else {
            return Ok(None);
        };
        let Some(change) = blank(tried()) else {
            let why = "no change is known that surely means nothing in these files, so tests that fail on any \
                       change would not be noticed";
            self.watch.said(Said::Note(why.to_owned()));
            return Ok(None);
        };
        let names = named(&change);
        self.watch.said(Said::Step(format!(
            "control: a blank line more in {names}, which no test may notice"
        )));
        let fate = self.run(workshop, spot, &change, self.bounds).await?;
        if fate.status != MutantStatus::Killed {
            self.told_of(&fate, &names);
            return Ok(None);
        }
        // Tests that fail now and then, or on what a run left, are another matter, and told as that.
        let why = self.changed(workshop).await?;
        workshop.mend(self.yard).await?;
        workshop.tidy().await?;
        let why = why.unwrap_or_else(|| {
            let by = fate.killed_by.first().map_or("", String::as_str);
            format!(
                "the tests fail on any change: also with nothing but a blank line more at the end of {names} ({by}), \
                 so no kill would show anything; something compares the files themselves (a digest, a clean tree, a \
                 formatter): keep that out of --test, then verify again"
            )
        });
        self.watch.said(Said::Note(why.clone()));
        Ok(Some(why))
    }

    fn told_of(&self, fate: &Fate, names: &str) {
        if fate.status == MutantStatus::Survived {
            return;
        }
        let note = fate.note.as_deref().unwrap_or_default();
        self.watch.said(Said::Note(format!(
            "control: with a blank line more in {names} the tests neither passed nor failed ({note})"
        )));
    }
}

/// All files that can have it, as one change.
fn blank<'a>(spots: impl Iterator<Item = &'a Spot>) -> Option<Mutant> {
    let mut files: Vec<(String, Option<Vec<u8>>)> = Vec::new();
    for spot in spots {
        let path = &spot.stand_in.path;
        if files.iter().any(|(known, _)| known == path) {
            continue;
        }
        let head = spot.head.as_deref();
        if let Some(more) = head.and_then(|head| with_a_blank_line(path, head)) {
            files.push((path.clone(), Some(more)));
        }
    }
    let path = files.first()?.0.clone();
    Some(Mutant {
        path,
        start_line: 1,
        end_line: 1,
        kind: Kind::RevertHunk,
        what: "a blank line more".to_owned(),
        files,
    })
}

fn named(change: &Mutant) -> String {
    let paths = change.files.iter().map(|(path, _)| path.as_str());
    let named: Vec<_> = paths.take(NAMED).collect();
    match change.files.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

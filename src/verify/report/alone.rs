//! Lines that were not tried alone: a test that fails without a whole change need not look at each of its lines.
//!
//! A place is done with once a mutant there was killed, and a coarse one comes first. What that leaves open is
//! named line by line, since whoever relies on the evidence may ask for more of the lines that matter. A line
//! was tried alone when a mutant of it and no other line was killed or survived; one that did not build, or that
//! the budget left out, was not. Lines of comments, blanks and brackets have nothing to try, and where lines were
//! only removed, none is left.

use crate::domain::evidence::{Mutant, MutantStatus, lines};
use crate::domain::mutants::speaking_lines;
use crate::verify::spots::Spot;

/// The most places that the summary names.
const NAMED: usize = 5;

/// The lines of one place that were not tried alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Together {
    pub path: String,
    /// First and last line of each run of them.
    runs: Vec<(u64, u64)>,
}

impl Together {
    /// What is left of a place where a mutant was killed; `None` where each line was tried.
    pub fn of(spot: &Spot, tried: &[Mutant]) -> Option<Self> {
        let (first, last) = (spot.stand_in.start_line, spot.stand_in.end_line);
        let decides = |mutant: &&Mutant| {
            matches!(mutant.status, MutantStatus::Killed | MutantStatus::Survived)
        };
        let alone = |line: u64| {
            let mut decided = tried.iter().filter(decides);
            decided.any(|mutant| (mutant.start_line, mutant.end_line) == (line, line))
        };
        if spot.exempt.is_some() || first == last {
            return None;
        }
        let speaking = speaking_lines(
            &spot.stand_in.path,
            spot.head.as_deref().unwrap_or_default(),
        );
        let speaks = |line: u64| {
            let at = usize::try_from(line)
                .ok()
                .and_then(|line| line.checked_sub(1));
            at.and_then(|at| speaking.get(at)).copied().unwrap_or(true)
        };
        // One line that speaks was alone in whatever was tried.
        if (first..=last).filter(|line| speaks(*line)).count() < 2 {
            return None;
        }
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for line in (first..=last).filter(|line| speaks(*line) && !alone(*line)) {
            match runs.last_mut().filter(|run| run.1 + 1 == line) {
                Some(run) => run.1 = line,
                None => runs.push((line, line)),
            }
        }
        let path = spot.stand_in.path.clone();
        (!runs.is_empty()).then_some(Self { path, runs })
    }

    /// The first of them.
    pub fn line(&self) -> u64 {
        self.runs.first().map_or(1, |run| run.0)
    }

    fn count(&self) -> u64 {
        self.runs.iter().map(|(first, last)| last - first + 1).sum()
    }

    fn places(&self) -> String {
        let told = self.runs.iter().map(|(first, last)| lines(*first, *last));
        format!("{}:{}", self.path, told.collect::<Vec<_>>().join(","))
    }

    /// The finding.
    pub fn told(&self) -> String {
        let (places, were) = (self.places(), were(self.count()));
        format!(
            "{places}: {were} not tried alone, only together with others or not at all; some may still be untested"
        )
    }
}

fn were(count: u64) -> String {
    match count {
        1 => "one changed line was".to_owned(),
        count => format!("{count} changed lines were"),
    }
}

/// All of them, for the summary: how many, and the first places.
pub(super) fn summary(all: &[Together]) -> Option<String> {
    let count = all.iter().map(Together::count).sum::<u64>();
    let named: Vec<_> = all.iter().take(NAMED).map(Together::places).collect();
    let more = match all.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more places"),
    };
    let (were, named) = (were(count), named.join(", "));
    (count > 0).then(|| format!("{were} not tried alone ({named}{more})"))
}

//! Collecting everything that is wrong with a policy, each with its place.

use super::Problem;
use super::tree::Place;

/// How many problems are told of one file: more would not be read, and a hostile file could hold
/// as many as it has bytes.
const MOST: usize = 50;

/// The longest line that is shown whole, in characters.
const LONGEST_EXCERPT: usize = 200;

/// The problems found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<(Place, String, Option<String>)>,
    full: bool,
}

impl Problems {
    /// Notes one problem.
    pub fn add(&mut self, place: Place, message: impl Into<String>, hint: Option<String>) {
        if self.found.len() < MOST {
            self.found.push((place, message.into(), hint));
        } else {
            self.full = true;
        }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether more would not be shown: whoever looks for problems may stop.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// What was found, in the order of the file, with the lines of the text.
    pub fn told(mut self, text: &str) -> Vec<Problem> {
        self.found.sort_by_key(|(place, ..)| *place);
        let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
        let mut told: Vec<Problem> = self
            .found
            .into_iter()
            .map(|(place, message, hint)| Problem {
                line: place.line,
                column: place.column,
                message,
                hint,
                excerpt: excerpt(&lines, place),
            })
            .collect();
        if self.full {
            told.push(Problem {
                line: 0,
                column: 0,
                message: "there are more problems than are shown".to_owned(),
                hint: Some("mend these first".to_owned()),
                excerpt: None,
            });
        }
        told
    }
}

pub(super) fn excerpt(lines: &[&str], place: Place) -> Option<String> {
    let index = usize::try_from(place.line).ok()?.checked_sub(1)?;
    let line = lines.get(index)?;
    Some(line.chars().take(LONGEST_EXCERPT).collect())
}

/// A text of the file between back-ticks, shortened, so that no file can flood a message.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .map(|c| {
            if c.is_control() || c == '`' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('\u{2026}');
    }
    format!("`{shown}`")
}

//! Where a key of a policy stands in its text.

use super::Step;
use crate::domain::policy::problems::excerpt;
use crate::domain::policy::tree::{self, Node, Place};

/// A text that can be asked where its keys stand.
pub struct Spots<'a> {
    root: Option<Node>,
    lines: Vec<&'a str>,
}

/// One place.
#[derive(Default)]
pub struct Spot {
    pub(super) place: Place,
    pub(super) excerpt: Option<String>,
}

impl<'a> Spots<'a> {
    pub fn of(text: &'a str) -> Self {
        Self {
            root: tree::parse(text).ok(),
            lines: text.trim_start_matches('\u{feff}').lines().collect(),
        }
    }

    /// The place of a key's value; nowhere for a key that the text does not write.
    pub fn find(&self, way: &[Step<'_>]) -> Spot {
        if way.is_empty() {
            return Spot::default();
        }
        let mut node = self.root.as_ref();
        for step in way {
            node = node.and_then(|node| match step {
                Step::Key(key) => node.get(key),
                Step::Item(index) => node.list().get(*index),
            });
        }
        let place = node.map(|node| node.place).unwrap_or_default();
        Spot {
            excerpt: excerpt(&self.lines, place),
            place,
        }
    }
}

/// A key as people write it: `gates.checks.required[0]`.
pub fn key(way: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in way {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            Step::Item(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

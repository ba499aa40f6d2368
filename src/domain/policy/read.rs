//! From a policy's text to what it means, or to everything that is wrong with it.

use super::problems::Problems;
use super::shape::Shape;
use super::tree::{self, Node, Value};
use super::{Policy, Problem, decode, keys};

/// Reads a policy.
///
/// # Errors
/// Every problem at once, each with its place, in the order of the file. Where the text is not YAML,
/// that is the only one: nothing behind it can be trusted.
pub fn read(text: &str) -> Result<Policy, Vec<Problem>> {
    let mut problems = Problems::default();
    let policy = match tree::parse(text) {
        Ok(root) => meaning(&root, &mut problems),
        Err(tree::NotYaml {
            place,
            message,
            hint,
        }) => {
            problems.add(place, message, hint);
            None
        }
    };
    match policy {
        Some(policy) if problems.is_empty() => Ok(policy),
        _ => Err(problems.told(text)),
    }
}

fn meaning(root: &Node, problems: &mut Problems) -> Option<Policy> {
    match root.value {
        Value::Map(_) => {
            Shape::Object(&keys::POLICY).judge("", root, problems);
            Some(decode::policy(root, problems))
        }
        Value::Null => {
            let hint = "a policy begins with `version: 1` and names its gates".to_owned();
            problems.add(root.place, "the file is empty", Some(hint));
            None
        }
        _ => {
            let hint = "a policy begins with `version: 1` and names its gates".to_owned();
            problems.add(
                root.place,
                "a policy is a mapping of keys to values",
                Some(hint),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests;

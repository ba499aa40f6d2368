//! What a policy file may hold, as data, and the judge that holds a file against it.
//!
//! One table ([`keys`](super::keys)) drives three things that must never drift apart: which keys are
//! accepted, what is said about a wrong one, and the JSON Schema that editors use.

use super::nearest::nearest;
use super::problems::{Problems, quoted};
use super::scalars::Refusal;
use super::tree::{Entry, Node, Place, Value};

/// A sort of text.
#[derive(Debug)]
pub(super) struct Kind {
    /// What it is, with its article: "a duration".
    pub what: &'static str,
    /// How it looks, for editors: a regular expression (ECMA 262) that refuses nothing the check
    /// accepts. The check may be finer.
    pub pattern: &'static str,
    /// The judge.
    pub check: fn(&str) -> Result<(), Refusal>,
}

/// One key of an object.
#[derive(Debug)]
pub(super) struct Key {
    pub name: &'static str,
    /// What it does, for editors.
    pub doc: &'static str,
    pub shape: Shape,
    pub required: bool,
}

/// A mapping with fixed keys.
#[derive(Debug)]
pub(super) struct Object {
    pub keys: &'static [Key],
    /// Exactly one of these keys must be there; empty where there is no such rule.
    pub one_of: &'static [&'static str],
}

/// What may stand in one place.
#[derive(Debug)]
pub(super) enum Shape {
    /// A text of a certain sort.
    Text(&'static Kind),
    /// A whole number within bounds.
    Whole { least: u32, most: u32 },
    /// `true` or `false`.
    Flag,
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// A list.
    List { of: &'static Shape, least: usize },
    /// A mapping whose keys the author chooses.
    Named {
        by: &'static Kind,
        each: &'static Shape,
    },
    /// A mapping with fixed keys.
    Object(&'static Object),
    /// The first of these that is written this way.
    Either(&'static [Shape]),
}

/// The most elements of a list or of a mapping with chosen keys. What lies beyond is not looked at:
/// a file that goes beyond is wrong already.
pub(super) const LONGEST_LIST: usize = 200;

impl Shape {
    /// What is expected, as the end of "must be ...".
    fn expected(&self) -> String {
        match self {
            Self::Text(kind) => kind.what.to_owned(),
            Self::Whole { least, most } if least == most => least.to_string(),
            Self::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Word(words) => either(words.iter().map(|(word, _)| format!("`{word}`"))),
            Self::List { .. } => "a list".to_owned(),
            Self::Named { by, .. } => format!("a mapping, each key of it {}", by.what),
            Self::Object(object) => {
                let keys = object.keys.iter().map(|key| format!("`{}`", key.name));
                format!("a mapping with {}", either(keys))
            }
            Self::Either(shapes) => either(shapes.iter().map(Self::expected)),
        }
    }

    /// Whether a value is written this way at all; it may still be wrong in detail.
    fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Text(_) | Self::Word(_) => matches!(value, Value::Text(_)),
            Self::Whole { .. } => matches!(value, Value::Whole(_)),
            Self::Flag => matches!(value, Value::Flag(_)),
            Self::List { .. } => matches!(value, Value::List(_)),
            Self::Named { .. } | Self::Object(_) => matches!(value, Value::Map(_)),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.accepts(value)),
        }
    }

    /// Holds a value against the shape. `path` names it in messages.
    pub fn judge(&self, path: &str, node: &Node, problems: &mut Problems) {
        if !self.accepts(&node.value) {
            return self.refuse(path, node, problems);
        }
        match (self, &node.value) {
            (Self::Text(kind), Value::Text(text)) => {
                if let Err(Refusal { is, hint }) = (kind.check)(text) {
                    problems.add(node.place, format!("`{path}`: {} {is}", quoted(text)), hint);
                }
            }
            (Self::Word(words), Value::Text(text))
                if !words.iter().any(|(word, _)| word == text) =>
            {
                self.unknown_word(path, text, words, node.place, problems);
            }
            (Self::Whole { least, most }, Value::Whole(number))
                if !(i128::from(*least)..=i128::from(*most)).contains(number) =>
            {
                let message = format!("`{path}` must be {}, not {number}", self.expected());
                problems.add(node.place, message, None);
            }
            (Self::List { of, least }, Value::List(items)) => {
                count(path, items.len(), *least, node.place, problems);
                for (index, item) in items.iter().enumerate().take(LONGEST_LIST) {
                    of.judge(&format!("{path}[{index}]"), item, problems);
                }
            }
            (Self::Named { by, each }, Value::Map(entries)) => {
                count(path, entries.len(), 0, node.place, problems);
                repeated(path, entries, problems);
                for entry in entries.iter().take(LONGEST_LIST) {
                    if let Err(Refusal { is, hint }) = (by.check)(&entry.key) {
                        let message = format!("`{path}`: {} {is}", quoted(&entry.key));
                        problems.add(entry.place, message, hint);
                    }
                    each.judge(&join(path, &entry.key), &entry.node, problems);
                }
            }
            (Self::Object(object), Value::Map(entries)) => {
                object.judge(path, node.place, entries, problems);
            }
            (Self::Either(shapes), value) => {
                if let Some(shape) = shapes.iter().find(|shape| shape.accepts(value)) {
                    shape.judge(path, node, problems);
                }
            }
            _ => {}
        }
    }

    fn refuse(&self, path: &str, node: &Node, problems: &mut Problems) {
        let (message, hint) = match &node.value {
            Value::Null => (
                format!("`{path}` is empty"),
                Some(format!("write {}, or remove the key", self.expected())),
            ),
            value => (
                format!(
                    "`{path}` must be {}; here is {}",
                    self.expected(),
                    said(value)
                ),
                self.mend(value),
            ),
        };
        problems.add(node.place, message, hint);
    }

    /// How a value of the wrong type is likely to be mended.
    fn mend(&self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::List { of, .. }, value) if of.accepts(value) => {
                Some("put it in brackets: `[...]`".to_owned())
            }
            (Self::Flag, Value::Text(_)) => {
                Some("write `true` or `false`, without quotes".to_owned())
            }
            (Self::Whole { .. }, Value::Text(_)) => {
                Some("write the number alone, without quotes or units".to_owned())
            }
            (Self::Text(kind), Value::Whole(number)) => match (kind.check)(&number.to_string()) {
                Ok(()) => Some(format!("put it in quotes: \"{number}\"")),
                Err(refusal) => refusal.hint,
            },
            (Self::Text(_), Value::Flag(_) | Value::Fraction(_)) => {
                Some("put it in quotes".to_owned())
            }
            _ => None,
        }
    }

    fn unknown_word(
        &self,
        path: &str,
        text: &str,
        words: &[(&'static str, &'static str)],
        place: Place,
        problems: &mut Problems,
    ) {
        let hint = match nearest(text, words.iter().map(|(word, _)| *word)) {
            Some(word) => format!("did you mean `{word}`?"),
            None => format!("write {}", self.expected()),
        };
        let message = format!("`{path}`: {} is not a word it knows", quoted(text));
        problems.add(place, message, Some(hint));
    }
}

impl Object {
    fn judge(&self, path: &str, place: Place, entries: &[Entry], problems: &mut Problems) {
        repeated(path, entries, problems);
        for entry in entries {
            if problems.is_full() {
                break;
            }
            match self.keys.iter().find(|key| key.name == entry.key) {
                Some(key) => key
                    .shape
                    .judge(&join(path, key.name), &entry.node, problems),
                None => self.unknown_key(path, entry, problems),
            }
        }
        let has = |name: &str| entries.iter().any(|entry| entry.key == name);
        for key in self.keys.iter().filter(|key| key.required) {
            if !has(key.name) {
                let hint = format!("write {}", key.shape.expected());
                let message = format!("{} needs `{}`", owner(path), key.name);
                problems.add(place, message, Some(hint));
            }
        }
        let present: Vec<&str> = self
            .one_of
            .iter()
            .copied()
            .filter(|name| has(name))
            .collect();
        // A slip in the one key is told as that, with what was meant.
        let meant = |entry: &Entry| {
            nearest(&entry.key, self.keys.iter().map(|key| key.name))
                .is_some_and(|near| self.one_of.contains(&near) && entry.key != near)
        };
        let is_told = present.is_empty() && entries.iter().any(meant);
        if !self.one_of.is_empty() && present.len() != 1 && !is_told {
            let names = either(self.one_of.iter().map(|name| format!("`{name}`")));
            let message = match present.as_slice() {
                [] => format!("{} needs one of {names}", owner(path)),
                many => {
                    let many = many
                        .iter()
                        .map(|name| format!("`{name}`"))
                        .collect::<Vec<_>>();
                    format!(
                        "{} has {}; it may have only one of {names}",
                        owner(path),
                        many.join(" and ")
                    )
                }
            };
            problems.add(place, message, None);
        }
    }

    fn unknown_key(&self, path: &str, entry: &Entry, problems: &mut Problems) {
        let names = self.keys.iter().map(|key| key.name);
        let hint = match nearest(&entry.key, names.clone()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                let known: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                format!("it knows {}", known.join(", "))
            }
        };
        let message = format!("{} is not a key of {}", quoted(&entry.key), owner(path));
        problems.add(entry.place, message, Some(hint));
    }
}

/// The name of a mapping in messages.
fn owner(path: &str) -> String {
    if path.is_empty() {
        "a policy".to_owned()
    } else {
        format!("`{path}`")
    }
}

fn join(path: &str, key: &str) -> String {
    let key: String = key.chars().take(60).collect();
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

fn count(path: &str, length: usize, least: usize, place: Place, problems: &mut Problems) {
    if length < least {
        let hint = "list at least one, or remove what asks for it".to_owned();
        problems.add(place, format!("`{path}` lists nothing"), Some(hint));
    } else if length > LONGEST_LIST {
        let message = format!("`{path}` has {length} entries; at most {LONGEST_LIST} are read");
        problems.add(place, message, None);
    }
}

fn repeated(path: &str, entries: &[Entry], problems: &mut Problems) {
    let mut first = std::collections::BTreeMap::new();
    for entry in entries {
        if let Some(line) = first.get(entry.key.as_str()) {
            let name = quoted(&join(path, &entry.key));
            let hint = format!("it stands on line {line} already; keep one");
            problems.add(entry.place, format!("{name} is written twice"), Some(hint));
        } else {
            first.insert(entry.key.as_str(), entry.place.line);
        }
    }
}

fn said(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Flag(_) => "a `true` or `false`",
        Value::Whole(_) => "a number",
        Value::Fraction(_) => "a number with a fraction",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "a mapping",
    }
}

/// `a`, `b` or `c`.
fn either(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    match items.pop() {
        None => String::new(),
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} or {last}", items.join(", ")),
    }
}

//! A YAML text as a tree that remembers where everything stands.
//!
//! Deserialising straight into structs stops at the first wrong key. A person who mends a policy
//! wants all that is wrong at once, with places, so the text is first read into this tree (where only
//! YAML itself can be wrong) and then judged key by key.
//!
//! What is refused here, before any meaning: a text too long to be a policy, several documents,
//! nesting no policy needs, alias bombs, merge keys (`<<` hides which value stands), tags. Repeated
//! keys are kept, so that each can be named.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{
    DuplicateKeyPolicy, Error, Location, MergeKeyPolicy, MessageFormatter, NonFiniteFloatPolicy,
    Options, Spanned, UserMessageFormatter,
};

/// The longest text that is read as a policy, in bytes.
pub(super) const LONGEST: usize = 256 * 1024;

/// Where something stands: line and column in characters, from 1; 0 where YAML could not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Place {
    pub line: u64,
    pub column: u64,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self {
            line: location.line(),
            column: location.column(),
        }
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub place: Place,
    pub value: Value,
}

/// A value by YAML's own types (the core schema: `yes` and `on` are texts).
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Flag(bool),
    Whole(i128),
    Fraction(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a mapping, and what it holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

impl Node {
    /// A mapping that says nothing, nowhere.
    pub fn empty() -> Self {
        Self {
            place: Place::default(),
            value: Value::Map(Vec::new()),
        }
    }

    /// Whether nothing is written here: nothing at all, or a list or mapping with nothing in it.
    pub fn is_bare(&self) -> bool {
        matches!(self.value, Value::Null)
            || matches!(&self.value, Value::List(items) if items.is_empty())
            || matches!(&self.value, Value::Map(entries) if entries.is_empty())
    }

    /// The value under a key: the first, where the key is (wrongly) repeated.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// A key with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The entries of a mapping; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a list; none for anything else.
    pub fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Yes or no, if it is one.
    pub fn flag(&self) -> Option<bool> {
        match self.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// The whole number, if it is one and fits.
    pub fn whole<N: TryFrom<i128>>(&self) -> Option<N> {
        match self.value {
            Value::Whole(number) => N::try_from(number).ok(),
            _ => None,
        }
    }
}

/// Why a text is not YAML that could be a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotYaml {
    pub place: Place,
    pub message: String,
    pub hint: Option<String>,
}

/// Reads a text into a tree.
pub(super) fn parse(text: &str) -> Result<Node, NotYaml> {
    if text.len() > LONGEST {
        return Err(NotYaml {
            place: Place::default(),
            message: format!(
                "the file has {} bytes; a policy has at most {LONGEST}",
                text.len()
            ),
            hint: None,
        });
    }
    serde_saphyr::from_str_with_options::<Spanned<Value>>(text, options())
        .map(Node::from)
        .map_err(|error| explain(&error))
}

/// Every limit is far above what a policy needs and far below what could hurt.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 16,
            flow_nesting_limit: 16,
            max_nodes: 50_000,
            max_events: 200_000,
            max_aliases: 200,
            max_anchors: 200,
            max_documents: 2,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    }
}

fn explain(error: &Error) -> NotYaml {
    let place = error.location().map(Place::from).unwrap_or_default();
    let error = error.without_snippet();
    let (message, hint) = match error {
        Error::MultipleDocuments { .. } => (
            "the file holds more than one YAML document".to_owned(),
            Some("keep one, and remove the `---` lines between them".to_owned()),
        ),
        Error::MergeKeyNotAllowed { .. } => (
            "merge keys (`<<`) are not allowed in a policy".to_owned(),
            Some("write the keys out, so that a reader sees what stands".to_owned()),
        ),
        Error::Budget { .. } => (
            "the file is nested deeper, or repeats itself more, than a policy can".to_owned(),
            None,
        ),
        other => {
            let text = UserMessageFormatter.format_message(other);
            (format!("this is not YAML: {}", one_line(&text)), None)
        }
    };
    NotYaml {
        place,
        message,
        hint,
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(300).collect()
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self {
            place: spanned.referenced.into(),
            value: spanned.value,
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Value, E> {
        // Beyond every bound of a policy either way, so the nearest number says the same.
        Ok(Value::Whole(i128::try_from(number).unwrap_or(i128::MAX)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Fraction(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<Value>>()? {
            items.push(Node::from(item));
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = map.next_entry::<Spanned<String>, Spanned<Value>>()? {
            entries.push(Entry {
                key: key.value,
                place: key.referenced.into(),
                node: Node::from(node),
            });
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u64, column: u64) -> Place {
        Place { line, column }
    }

    #[test]
    fn keys_and_values_know_their_places() {
        let tree = parse("version: 1\ngates:\n  size: { max: 20 }\n  list:\n    - a\n").unwrap();
        let gates = tree.entry("gates").unwrap();
        assert_eq!(gates.place, place(2, 1));
        let size = gates.node.entry("size").unwrap();
        assert_eq!(size.place, place(3, 3));
        assert_eq!(size.node.entry("max").unwrap().node.place, place(3, 16));
        let list = gates.node.get("list").unwrap();
        assert_eq!(list.list()[0].place, place(5, 7));
    }

    #[test]
    fn only_true_and_false_are_flags() {
        let tree = parse("a: yes\nb: true\nc: 'true'\nd:\ne: 20%\nf: .nan\n").unwrap();
        assert_eq!(tree.get("a").unwrap().text(), Some("yes"));
        assert_eq!(tree.get("b").unwrap().flag(), Some(true));
        assert_eq!(tree.get("c").unwrap().text(), Some("true"));
        assert_eq!(tree.get("d").unwrap().value, Value::Null);
        assert_eq!(tree.get("e").unwrap().text(), Some("20%"));
        assert!(matches!(tree.get("f").unwrap().value, Value::Fraction(_)));
    }

    #[test]
    fn repeated_keys_are_kept_with_their_places() {
        let tree = parse("a: 1\na: 2\n").unwrap();
        assert_eq!(tree.entries().len(), 2);
        assert_eq!(tree.entries()[1].place, place(2, 1));
    }

    #[test]
    fn a_byte_order_mark_and_windows_line_ends_move_no_place() {
        let tree = parse("\u{feff}version: 1\r\nmode: observe\r\n").unwrap();
        assert_eq!(tree.entry("mode").unwrap().place, place(2, 1));
        assert_eq!(tree.get("mode").unwrap().text(), Some("observe"));
    }

    #[test]
    fn what_is_not_one_plain_document_is_refused_with_its_place() {
        for (text, line, words) in [
            ("a: 1\n---\nb: 2\n", 3, "more than one YAML document"),
            ("a: &x {b: 1}\nc:\n  <<: *x\n", 3, "merge keys"),
            ("a: !secret x\n", 1, "tag"),
            ("a: [1, 2\nb: 3\n", 2, "not YAML"),
            ("a: *nowhere\n", 1, "not YAML"),
        ] {
            let refused = parse(text).unwrap_err();
            assert!(refused.message.contains(words), "{text:?}: {refused:?}");
            assert_eq!(refused.place.line, line, "{text:?}: {refused:?}");
        }
    }

    #[test]
    fn an_alias_bomb_is_refused() {
        let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
        for (from, to) in ["ab", "bc", "cd", "de", "ef", "fg"].map(|p| p.split_at(1)) {
            let refs = vec![format!("*{from}"); 9].join(", ");
            text.push_str(&format!("{to}: &{to} [{refs}]\n"));
        }
        assert!(parse(&text).is_err());
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(parse(&"[".repeat(60_000)).is_err());
        assert!(parse(&"{a: ".repeat(15_000)).is_err());
        assert!(parse(&"- ".repeat(30_000)).is_err());
        let block: String = (0..300).map(|n| " ".repeat(n) + "a:\n").collect();
        assert!(parse(&block).is_err());
    }

    #[test]
    fn a_text_too_long_is_refused_unread() {
        let text = "# ".repeat(LONGEST / 2 + 1);
        assert!(parse(&text).unwrap_err().message.contains("at most 262144"));
    }
}

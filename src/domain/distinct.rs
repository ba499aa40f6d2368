//! JSON in which a key stands twice is refused.
//!
//! Which of the two counts is nobody's to say: readers take the first or the last, and a person who reads
//! the text sees both. `"result": "rejected"` before `"result": "approved"`, or a second entry for a file
//! whose mutants survived, would hide a "no". Keys are compared as they are meant, with escapes resolved.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Reads JSON into a type, if no object in it holds a key twice, wherever it stands.
///
/// # Errors
/// What is wrong with it, and where.
pub fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str::<Distinct>(text)?;
    serde_json::from_str(text)
}

/// Any value of which nothing is kept.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self, A::Error> {
        let mut keys: HashSet<String> = HashSet::new();
        while let Some(key) = object.next_key::<String>()? {
            if let Some(twice) = keys.replace(key) {
                let short: String = twice.chars().take(40).collect();
                let why = format!(
                    "the key `{}` stands twice in one object",
                    short.escape_debug()
                );
                return Err(A::Error::custom(why));
            }
            object.next_value::<Self>()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_key_that_stands_twice_is_refused_however_it_is_written_and_wherever_it_stands() {
        for twice in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"[{"b":{"a":1,"c":[],"a":2}}]"#,
            r#"{"files":{"js/a.js":{},"js/a.js":{}}}"#,
        ] {
            let told = read::<Value>(twice).unwrap_err().to_string();
            assert!(
                told.contains("stands twice in one object at line 1"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_document_that_says_two_things_says_neither() {
        let sound = include_str!("../../tests/evidence/sound.json");
        let read = crate::domain::evidence::parse::document;
        assert!(read(sound).is_ok());
        let torn = sound.replacen("\"result\"", "\"result\": \"rejected\", \"result\"", 1);
        let faults = read(&torn).unwrap_err();
        assert!(
            faults[0]
                .message
                .starts_with("the key `result` stands twice"),
            "{faults:?}"
        );
    }

    #[test]
    fn other_json_is_read_as_it_is() {
        let text = r#"[{"a":{"a":-1}},{"a":[1.5,18446744073709551615,true,null,"x"]},{}]"#;
        let plain: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read::<Value>(text).unwrap(), plain);
        assert!(read::<Value>("{\"a\":").unwrap_err().is_eof());
        assert!(read::<Value>("{} {}").is_err());
    }
}

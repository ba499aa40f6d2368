//! The JSON Schema of the policy, for editors (draft 2020-12).
//!
//! It is made from the very table the reader judges by, so the two know the same keys, words and
//! bounds. What no schema can say (a name that points to no verifier, a gate that can never pass)
//! only the reader says.

use serde_json::{Map, Value, json};

use super::keys;
use super::shape::{Key, LONGEST_LIST, Object, Shape};

/// The schema, as pretty JSON with a final newline.
pub fn json_schema() -> String {
    let mut schema = object(&keys::POLICY);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Countersign policy",
        "description": "What must hold before Countersign merges a pull request of this repository. \
                        It stands in .github/countersign.yml and is read at the base branch's tip.",
    });
    if let (Value::Object(schema), Value::Object(head)) = (&mut schema, head) {
        schema.extend(head);
    }
    format!("{schema:#}\n")
}

fn object(object: &Object) -> Value {
    let properties: Map<String, Value> = object
        .keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let required: Vec<&str> = object
        .keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if !object.one_of.is_empty() {
        let one_of = object
            .one_of
            .iter()
            .map(|name| json!({ "required": [name] }));
        schema["oneOf"] = one_of.collect();
    }
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = shape(&key.shape);
    schema["description"] = json!(key.doc);
    schema
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Text(kind) => json!({ "type": "string", "pattern": kind.pattern }),
        Shape::Whole { least, most } if least == most => json!({ "const": least }),
        Shape::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Word(words) => {
            let words = words
                .iter()
                .map(|(word, doc)| json!({ "const": word, "description": doc }));
            json!({ "oneOf": words.collect::<Vec<_>>() })
        }
        Shape::List { of, least } => {
            let mut schema =
                json!({ "type": "array", "items": shape(of), "maxItems": LONGEST_LIST });
            if *least > 0 {
                schema["minItems"] = json!(least);
            }
            schema
        }
        Shape::Named { by, each } => json!({
            "type": "object",
            "propertyNames": { "pattern": by.pattern },
            "additionalProperties": shape(each),
            "maxProperties": LONGEST_LIST,
        }),
        Shape::Object(keys) => object(keys),
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(shape).collect::<Vec<_>>() })
        }
    }
}

#[cfg(test)]
mod tests;

//! The JSON Schema of the policy, for editors.

/// The schema, as pretty JSON with a final newline.
pub fn json_schema() -> String {
    unimplemented!("the policy room")
}

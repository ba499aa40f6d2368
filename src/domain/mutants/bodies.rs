//! Larger operators: a statement dropped, a function that returns at once with a default.

use std::ops::Range;

use tree_sitter::Node;

use super::Kind;
use super::operators::{Edit, Rank, brief};
use super::syntax::{Language, Syntax, Visit, is_string};

/// A statement that can go without the names that others need going with it.
pub(super) fn dropped(syntax: &Syntax<'_>, visit: &Visit<'_, '_>) -> Option<Edit> {
    let node = visit.node;
    let parent = visit.parent()?.kind();
    // A statement can also stand in the head of a loop, where dropping it makes the loop endless.
    let in_body =
        BODIES.contains(&parent) || parent.ends_with("_case") || parent.ends_with("_clause");
    let in_head = matches!(visit.field, Some("update" | "initializer" | "increment"));
    if in_head || parent == "for_clause" {
        return None;
    }
    let first = node.named_child(0);
    let words_alone = node.named_child_count() == 1 && first.is_some_and(|it| is_string(it.kind()));
    let (droppable, with) = match (syntax.language, node.kind()) {
        (Language::Rust, "expression_statement") => (in_body, ""),
        (Language::Python, "expression_statement") => (!words_alone && acts(first?), "pass"),
        (Language::Python, "raise_statement" | "delete_statement" | "assert_statement") => {
            (true, "pass")
        }
        (Language::Go, kind) => (in_body && GO.contains(&kind), ""),
        (Language::Rust | Language::Python, _) => return None,
        (_, "expression_statement") => (!words_alone && node.named_child_count() > 0, ";"),
        (_, "throw_statement") => (true, ";"),
        _ => return None,
    };
    droppable.then(|| Edit {
        bytes: node.byte_range(),
        with: with.as_bytes().to_vec(),
        kind: Kind::DropStatement,
        what: format!("`{}` dropped", brief(&syntax.text[node.byte_range()])),
        rank: Rank::Statement,
    })
}

/// Whether a Python expression does something besides giving a name its first value: without that,
/// anything after it would crash, which any test notices.
fn acts(expression: Node<'_>) -> bool {
    match expression.kind() {
        "assignment" => expression
            .child_by_field_name("left")
            .is_some_and(|left| matches!(left.kind(), "attribute" | "subscript")),
        _ => true,
    }
}

/// The function returns before it does anything. Its body stays, so that nothing in it becomes unused.
pub(super) fn returned(syntax: &Syntax<'_>, node: Node<'_>) -> Vec<Edit> {
    let Some(body) = node.child_by_field_name("body") else {
        return Vec::new();
    };
    let function = matches!(
        node.kind(),
        "function_item"
            | "function_definition"
            | "function_declaration"
            | "function_expression"
            | "generator_function_declaration"
            | "arrow_function"
            | "method_definition"
            | "method_declaration"
            | "func_literal"
    );
    if !function || body.named_child_count() == 0 {
        return Vec::new();
    }
    let text =
        |node: Node<'_>| String::from_utf8_lossy(&syntax.text[node.byte_range()]).into_owned();
    let field = |name: &str| node.child_by_field_name(name).map(text);
    let values: Vec<String> = match syntax.language {
        Language::Rust => {
            let head = &syntax.text[node.start_byte()..body.start_byte()];
            // What is computed while compiling has no defaults.
            if head.windows(9).any(|words| words == b"const fn ") {
                return Vec::new();
            }
            rust(field("return_type").as_deref())
        }
        Language::Python => return python(syntax, body).into_iter().collect(),
        Language::Go => go(node.child_by_field_name("result"), &text),
        Language::Java => java(field("type").as_deref()),
        Language::C | Language::Cpp => c(syntax, node, field("type").as_deref()),
        Language::JavaScript => vec![String::new()],
        Language::TypeScript | Language::Tsx => typescript(field("return_type").as_deref()),
    };
    if !text(body).starts_with('{') || field("name").as_deref() == Some("constructor") {
        return Vec::new();
    }
    let said = text(body);
    let said = said.trim_matches(['{', '}', ' ', '\n', '\r', '\t', ';']);
    let said = said.strip_prefix("return").unwrap_or(said).trim();
    let values = values.into_iter().filter(|value| value != said);
    let at = body.start_byte() + 1;
    values
        .map(|value| early(syntax.language, at..at, &value))
        .collect()
}

fn early(language: Language, bytes: Range<usize>, value: &str) -> Edit {
    let statement = format!("return {value}");
    let statement = statement.trim_end();
    // Where code that cannot be reached is refused or warned of, a condition hides that it cannot.
    let with = match language {
        Language::Rust => format!(" if true {{ {statement}; }}"),
        Language::Java => format!(" if (true) {statement};"),
        _ => format!(" {statement};"),
    };
    Edit {
        bytes,
        with: with.into_bytes(),
        kind: Kind::ReturnEarly,
        what: match value {
            "" => "returns at once".to_owned(),
            value => format!("returns `{value}` at once"),
        },
        rank: Rank::Body,
    }
}

fn list(values: &[&str]) -> Vec<String> {
    values.iter().map(|&value| value.to_owned()).collect()
}

/// Both answers of a question are tried: one of them is often what it answers anyhow.
fn rust(kind: Option<&str>) -> Vec<String> {
    let Some(kind) = kind.map(str::trim) else {
        return list(&[""]);
    };
    let (outer, inner) = kind.split_once('<').unwrap_or((kind, ""));
    let name = outer.rsplit("::").next().unwrap_or(outer);
    match name {
        "bool" => list(&["false", "true"]),
        "f32" | "f64" => list(&["0.0"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128"
        | "isize" => list(&["0"]),
        "Option" => list(&["None"]),
        "Result" => {
            let inner = first_argument(inner);
            let value = if inner.is_empty() { "()" } else { inner };
            rust(Some(value))
                .iter()
                .map(|value| format!("Ok({value})"))
                .collect()
        }
        "()" => list(&["()"]),
        _ if kind == "&str" || kind == "&'static str" => list(&["\"\""]),
        _ if kind.starts_with(['&', '!', '*', '[']) => Vec::new(),
        _ if kind.starts_with("impl ") || kind.starts_with("Box<dyn") => Vec::new(),
        _ => list(&["Default::default()"]),
    }
}

/// The first of the arguments between angle brackets, of which the opening one is gone.
fn first_argument(arguments: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in arguments.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            ',' | '>' if depth == 0 => return arguments[..at].trim(),
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    arguments.trim()
}

fn go(result: Option<Node<'_>>, text: &dyn Fn(Node<'_>) -> String) -> Vec<String> {
    let Some(result) = result else {
        return list(&[""]);
    };
    let value = |kind: Node<'_>| match (kind.kind(), text(kind).as_str()) {
        (_, "bool") => "false".to_owned(),
        (_, "string") => "\"\"".to_owned(),
        (_, "error" | "any") => "nil".to_owned(),
        ("pointer_type" | "slice_type" | "map_type" | "channel_type" | "function_type", _)
        | ("interface_type", _) => "nil".to_owned(),
        (
            _,
            "int" | "int8" | "int16" | "int32" | "int64" | "byte" | "rune" | "float32" | "float64",
        )
        | (_, "uint" | "uint8" | "uint16" | "uint32" | "uint64") => "0".to_owned(),
        (_, other) => format!("*new({other})"),
    };
    if result.kind() != "parameter_list" {
        let value = value(result);
        return match value.as_str() {
            "false" => list(&["false", "true"]),
            _ => vec![value],
        };
    }
    let mut cursor = result.walk();
    let results: Vec<_> = result.named_children(&mut cursor).collect();
    // Named results have their defaults already.
    if results
        .iter()
        .any(|one| one.child_by_field_name("name").is_some())
    {
        return list(&[""]);
    }
    let kinds = results
        .iter()
        .map(|one| one.child_by_field_name("type").unwrap_or(*one));
    vec![kinds.map(value).collect::<Vec<_>>().join(", ")]
}

fn java(kind: Option<&str>) -> Vec<String> {
    match kind {
        Some("void") => list(&[""]),
        Some("boolean") => list(&["false", "true"]),
        Some("int" | "long" | "short" | "byte" | "char" | "float" | "double") => list(&["0"]),
        Some(_) => list(&["null"]),
        None => Vec::new(),
    }
}

fn c(syntax: &Syntax<'_>, node: Node<'_>, kind: Option<&str>) -> Vec<String> {
    let declarator = node.child_by_field_name("declarator").map(|it| it.kind());
    match (declarator, kind) {
        // Without a type it is a constructor or a macro.
        (_, None) => Vec::new(),
        (Some("pointer_declarator"), _) => list(&["0"]),
        (Some("reference_declarator"), _) => Vec::new(),
        (_, Some("void")) => list(&[""]),
        (_, Some("bool")) => list(&["false", "true"]),
        (_, Some(kind)) if C_NUMBERS.contains(&kind) => list(&["0"]),
        _ if syntax.language == Language::Cpp => list(&["{}"]),
        _ => Vec::new(),
    }
}

fn typescript(kind: Option<&str>) -> Vec<String> {
    let kind = kind.unwrap_or("void").trim_start_matches(':').trim();
    let promised = kind
        .strip_prefix("Promise<")
        .and_then(|it| it.strip_suffix('>'));
    match promised.unwrap_or(kind) {
        "void" | "undefined" => list(&[""]),
        "boolean" => list(&["false", "true"]),
        "number" => list(&["0"]),
        "string" => list(&["\"\""]),
        "never" => Vec::new(),
        _ => list(&["undefined as any"]),
    }
}

/// Behind the words that describe the function, before the first statement.
fn python(syntax: &Syntax<'_>, body: Node<'_>) -> Option<Edit> {
    let mut cursor = body.walk();
    let first = body.named_children(&mut cursor).find(|node| {
        let words = node.kind() == "expression_statement"
            && node.named_child_count() == 1
            && node.named_child(0).is_some_and(|it| is_string(it.kind()));
        !words && !node.is_extra()
    })?;
    let said = syntax.text[first.byte_range()].trim_ascii();
    if matches!(said, b"pass" | b"return" | b"return None" | b"...") {
        return None;
    }
    let at = first.start_byte();
    let line = syntax.text[..at].iter().rposition(|byte| *byte == b'\n');
    let indent = &syntax.text[line.map_or(0, |at| at + 1)..at];
    let with = if indent.trim_ascii().is_empty() {
        let returns = line.is_some_and(|end| end > 0 && syntax.text[end - 1] == b'\r');
        let end: &[u8] = if returns { b"\r\n" } else { b"\n" };
        [b"return None", end, indent].concat()
    } else {
        b"return None; ".to_vec()
    };
    Some(Edit {
        bytes: at..at,
        with,
        kind: Kind::ReturnEarly,
        what: "returns `None` at once".to_owned(),
        rank: Rank::Body,
    })
}

const BODIES: &[&str] = &[
    "block",
    "statement_list",
    "source_file",
    "expression_case",
    "default_case",
    "communication_case",
];

const GO: &[&str] = &[
    "expression_statement",
    "assignment_statement",
    "inc_statement",
    "dec_statement",
    "go_statement",
    "defer_statement",
    "send_statement",
];

const C_NUMBERS: &[&str] = &[
    "int",
    "char",
    "short",
    "long",
    "float",
    "double",
    "unsigned",
    "signed",
    "unsigned int",
    "long long",
    "unsigned long",
    "unsigned char",
    "size_t",
    "ssize_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
];

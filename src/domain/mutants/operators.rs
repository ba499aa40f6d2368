//! Small mutants on the added lines: one token or one statement changed, told from strings and comments
//! by a parser.
//!
//! Only nodes that lie wholly in the added lines are touched, and never the words of strings, comments,
//! types, attributes, imports or the compiler's directives: what would not build, or would change
//! nothing a test can see, costs a build and tells nothing.
//!
//! They are tried in the order in which they tend to survive, for a survivor is what the reader came
//! for and the time may run out. Boundaries first: most tests take values well inside a range, so `<`
//! for `<=` passes them all. Then other comparisons and whole conditions, of which each has a branch
//! that may be untested. Then numbers, which are often only checked for being there, then booleans.
//! Dropped statements and early returns come last: they break much, so that nearly any test notices.

use std::ops::Range;

use tree_sitter::Node;

use super::Kind;
use super::bodies;
use super::syntax::{Language, Syntax, Visit, is_comment, is_string};

/// One change to the head's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) bytes: Range<usize>,
    pub(super) with: Vec<u8>,
    pub(super) kind: Kind,
    pub(super) what: String,
    pub(super) rank: Rank,
}

/// The place in the order that the header argues for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Boundary,
    Condition,
    Number,
    Boolean,
    Statement,
    Body,
}

/// Each comparison with what it is swapped for.
const SWAPS: &[(&str, &str)] = &[
    ("<", "<="),
    ("<=", "<"),
    (">", ">="),
    (">=", ">"),
    ("==", "!="),
    ("!=", "=="),
    ("===", "!=="),
    ("!==", "==="),
    ("is", "is not"),
    ("is not", "is"),
    ("in", "not in"),
    ("not in", "in"),
];

/// What a comparison is swapped for, and where that stands in the order.
pub(super) fn swapped(operator: &str) -> Option<(&'static str, Rank)> {
    let (_, swap) = SWAPS.iter().find(|(from, _)| *from == operator)?;
    let boundary = operator.starts_with(['<', '>']);
    Some((
        swap,
        if boundary {
            Rank::Boundary
        } else {
            Rank::Condition
        },
    ))
}

/// Every small mutant of these bytes, in the order of the text.
pub(super) fn edits(syntax: &Syntax<'_>, within: &Range<usize>) -> Vec<Edit> {
    let mut found = Finder {
        syntax,
        edits: Vec::new(),
    };
    syntax.walk(within, &mut |visit| {
        if found.is_closed(visit) {
            return false;
        }
        let bytes = visit.node.byte_range();
        if within.start <= bytes.start && bytes.end <= within.end && !visit.node.has_error() {
            found.look(visit);
        }
        true
    });
    found.edits
}

struct Finder<'a, 't> {
    syntax: &'a Syntax<'t>,
    edits: Vec<Edit>,
}

impl Finder<'_, '_> {
    fn text(&self, node: Node<'_>) -> &[u8] {
        &self.syntax.text[node.byte_range()]
    }

    /// What is not looked into.
    fn is_closed(&self, visit: &Visit<'_, '_>) -> bool {
        let kind = visit.node.kind();
        let directive = kind.starts_with("preproc_")
            && !matches!(
                kind,
                "preproc_if"
                    | "preproc_ifdef"
                    | "preproc_else"
                    | "preproc_elif"
                    | "preproc_elifdef"
            );
        let asked_of_the_compiler = visit.field == Some("condition")
            && visit
                .parent()
                .is_some_and(|parent| parent.kind().starts_with("preproc_"));
        let interface = kind == "interface_declaration" && self.syntax.language.is_script();
        is_comment(kind)
            || is_string(kind)
            || directive
            || asked_of_the_compiler
            || interface
            || self.syntax.is_test(&visit.node.byte_range())
            || CLOSED.contains(&kind)
    }

    fn look(&mut self, visit: &Visit<'_, '_>) {
        let node = visit.node;
        match node.kind() {
            "binary_expression" | "boolean_operator" => self.binary(node),
            "comparison_operator" => {
                let mut cursor = node.walk();
                let operators: Vec<_> = node
                    .children_by_field_name("operators", &mut cursor)
                    .collect();
                for operator in operators {
                    self.swap(operator);
                }
            }
            "boolean_literal" | "true" | "false" if node.is_named() => self.flip(node),
            kind if NUMBERS.contains(&kind) => self.number(visit),
            _ if visit.parent().is_some_and(|it| it.kind() == "token_tree") => self.token(node),
            _ => {}
        }
        if let Some(condition) = self.condition(node) {
            self.negate(condition);
        }
        let syntax = self.syntax;
        self.edits.extend(bodies::dropped(syntax, visit));
        self.edits.extend(bodies::returned(syntax, node));
    }

    fn push(&mut self, node: Node<'_>, with: &str, kind: Kind, rank: Rank) {
        let what = format!(
            "`{}` for `{}`",
            brief(with.as_bytes()),
            brief(self.text(node))
        );
        self.edits.push(Edit {
            bytes: node.byte_range(),
            with: with.as_bytes().to_vec(),
            kind,
            what,
            rank,
        });
    }

    fn binary(&mut self, node: Node<'_>) {
        let Some(operator) = node.child_by_field_name("operator") else {
            return;
        };
        if matches!(self.text(operator), b"&&" | b"||" | b"and" | b"or") {
            for side in ["left", "right"] {
                if let Some(operand) = node.child_by_field_name(side) {
                    self.negate(operand);
                }
            }
        } else {
            self.swap(operator);
        }
    }

    fn swap(&mut self, operator: Node<'_>) {
        let text = String::from_utf8_lossy(self.text(operator)).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        if let Some((swap, rank)) = swapped(&words.join(" ")) {
            self.push(operator, swap, Kind::SwapComparison, rank);
        }
    }

    /// What stands in a macro of Rust is known word by word only. Angle brackets without blanks around
    /// them can belong to a type.
    fn token(&mut self, node: Node<'_>) {
        let blank = |at: Option<usize>| {
            let byte = at.and_then(|at| self.syntax.text.get(at));
            byte.is_some_and(u8::is_ascii_whitespace)
        };
        let apart = blank(node.start_byte().checked_sub(1)) && blank(Some(node.end_byte()));
        match node.kind() {
            "==" | "!=" | "<=" | ">=" => self.swap(node),
            "<" | ">" if apart => self.swap(node),
            _ => {}
        }
    }

    fn flip(&mut self, node: Node<'_>) {
        let flipped = match self.text(node) {
            b"true" => "false",
            b"false" => "true",
            b"True" => "False",
            b"False" => "True",
            _ => return,
        };
        self.push(node, flipped, Kind::FlipBoolean, Rank::Boolean);
    }

    /// An index goes down where it can: that stays within bounds, so the wrong element is read instead
    /// of a crash that any test would notice.
    fn number(&mut self, visit: &Visit<'_, '_>) {
        let parent = visit.parent().map_or("", |parent| parent.kind());
        // The field of a tuple has a number for a name.
        let before = &self.syntax.text[..visit.node.start_byte()];
        let field = before.ends_with(b".") && !before.ends_with(b"..");
        if parent == "field_expression" || parent == "token_tree" && field {
            return;
        }
        let index = parent.starts_with("subscript")
            || matches!(parent, "index_expression" | "array_access");
        let text = String::from_utf8_lossy(self.text(visit.node)).into_owned();
        if let Some(changed) = changed_by_one(&text, index) {
            self.push(visit.node, &changed, Kind::ChangeNumber, Rank::Number);
        }
    }

    /// What decides in this node whether something is done.
    fn condition<'t>(&self, node: Node<'t>) -> Option<Node<'t>> {
        match node.kind() {
            // `a if condition else b`, and the filter of a comprehension.
            "conditional_expression" if self.syntax.language == Language::Python => {
                node.named_child(1)
            }
            "if_clause" => node.named_child(0),
            "for_statement" if self.syntax.language == Language::Go => {
                let only = node.named_child(0)?;
                let plain = !matches!(only.kind(), "for_clause" | "range_clause" | "block");
                plain.then_some(only)
            }
            kind if kind.starts_with("switch_") || kind.starts_with("preproc_") => None,
            _ => node.child_by_field_name("condition"),
        }
    }

    fn negate(&mut self, condition: Node<'_>) {
        let condition = bare(condition);
        let kind = condition.kind();
        let language = self.syntax.language;
        let open = kind.starts_with("let_") || kind == "declaration" || !condition.is_named();
        if open || is_comment(kind) || kind == "empty_statement" || CLOSED.contains(&kind) {
            return;
        }
        let text = String::from_utf8_lossy(self.text(condition)).into_owned();
        let negated = match kind {
            "true" | "false" | "boolean_literal" => return,
            // The other comparison says the same as the negation; an inequality has a third side.
            "binary_expression" | "comparison_operator" if self.is_equality(condition) => return,
            "not_operator" => text.trim_start_matches("not").trim_start().to_owned(),
            "unary_expression" if text.starts_with('!') => text[1..].trim_start().to_owned(),
            _ if language == Language::Python => format!("not ({text})"),
            kind if ATOMS.contains(&kind) => format!("!{text}"),
            _ => format!("!({text})"),
        };
        self.push(condition, &negated, Kind::NegateCondition, Rank::Condition);
    }

    fn is_equality(&self, node: Node<'_>) -> bool {
        let mut cursor = node.walk();
        let (mut operators, mut equal) = (0, 0);
        for field in ["operator", "operators"] {
            for operator in node.children_by_field_name(field, &mut cursor) {
                let text = String::from_utf8_lossy(self.text(operator));
                operators += 1;
                equal += usize::from(swapped(&text).is_some_and(|(_, at)| at == Rank::Condition));
            }
        }
        operators == 1 && equal == 1
    }
}

/// A condition without the parentheses that its statement asks for.
fn bare(node: Node<'_>) -> Node<'_> {
    match node.kind() {
        "parenthesized_expression" => {
            let mut cursor = node.walk();
            let inner = node
                .named_children(&mut cursor)
                .find(|inner| !is_comment(inner.kind()));
            inner.unwrap_or(node)
        }
        "condition_clause" => node.child_by_field_name("value").unwrap_or(node),
        _ => node,
    }
}

/// A whole number, or the whole part of another, one more or one less. `None` for what is not written
/// in a way that is known here.
pub(super) fn changed_by_one(text: &str, down: bool) -> Option<String> {
    let (radix, start) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, 2),
        Some("0b") => (2, 2),
        Some("0o") => (8, 2),
        _ => (10, 0),
    };
    let digits = text.get(start..)?;
    let mark = |c: char| matches!(c, '_' | '\'');
    let end = digits
        .find(|c: char| !(c.is_digit(radix) || mark(c)))
        .unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let bare: String = digits.chars().filter(|c| !mark(*c)).collect();
    // A leading zero may mean another base, which the languages do not agree on.
    if radix == 10 && bare.len() > 1 && bare.starts_with('0') {
        return None;
    }
    let value = u128::from_str_radix(&bare, radix).ok()?;
    let value = match value.checked_sub(1).filter(|_| down) {
        Some(less) => less,
        None => value.checked_add(1)?,
    };
    // The mark before a suffix (`10_usize`) was taken for one between digits.
    let mark = if digits.ends_with('_') { "_" } else { "" };
    let digits = match radix {
        16 => format!("{value:x}"),
        2 => format!("{value:b}"),
        8 => format!("{value:o}"),
        _ => value.to_string(),
    };
    Some(format!("{}{digits}{mark}{rest}", &text[..start]))
}

/// A short line of code for people.
pub(super) fn brief(code: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(code).replace('`', "'");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

const NUMBERS: &[&str] = &[
    "integer_literal",
    "float_literal",
    "integer",
    "float",
    "number",
    "int_literal",
    "decimal_integer_literal",
    "hex_integer_literal",
    "binary_integer_literal",
    "octal_integer_literal",
    "decimal_floating_point_literal",
    "number_literal",
];

/// What `!` binds to without parentheses.
const ATOMS: &[&str] = &[
    "identifier",
    "call_expression",
    "method_invocation",
    "member_expression",
    "field_expression",
    "field_access",
    "selector_expression",
    "macro_invocation",
    "parenthesized_expression",
    "subscript_expression",
    "index_expression",
];

/// Types, attributes, imports: a change there does not build, or is not seen by a test.
const CLOSED: &[&str] = &[
    "attribute_item",
    "inner_attribute_item",
    "use_declaration",
    "extern_crate_declaration",
    "macro_definition",
    "type_item",
    "type_arguments",
    "type_parameters",
    "array_type",
    "import_statement",
    "import_from_statement",
    "future_import_statement",
    "import_declaration",
    "type",
    "type_annotation",
    "type_alias_declaration",
    "type_declaration",
    "literal_type",
    "annotation",
    "marker_annotation",
    "annotation_type_declaration",
    "template_argument_list",
    "template_parameter_list",
    "bitfield_clause",
    "static_assert_declaration",
    "ERROR",
];

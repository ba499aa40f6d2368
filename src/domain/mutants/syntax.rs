//! What a parser knows of a file: where comments and strings are, and what stands in the added lines.
//!
//! The grammars are tree-sitter's. They read any text and mark what they do not understand as an error,
//! so "parses" means here: no error in the outermost items that the lines belong to. An error elsewhere
//! in the file says nothing about these lines.

use std::ops::Range;

use tree_sitter::{InputEdit, Node, Parser, Point, Tree};

use super::attributes::{makes_a_test, makes_all_tests};
use super::comments;
use super::lines::split;

/// Larger files are not parsed: the tree takes many times their size.
const LARGEST: usize = 4 * 1024 * 1024;

/// The languages with a parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    Tsx,
    Go,
    Java,
    C,
    Cpp,
}

impl Language {
    /// By the ending of a path. A header can be C or C++; the grammar of C++ reads both.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "rs" => Self::Rust,
            "py" | "pyi" | "pyw" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "java" => Self::Java,
            "c" => Self::C,
            "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "ipp" | "inl" => Self::Cpp,
            _ => return None,
        })
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        }
    }

    pub(super) fn is_script(self) -> bool {
        matches!(self, Self::JavaScript | Self::TypeScript | Self::Tsx)
    }
}

/// A node, with what stands around it.
pub(super) struct Visit<'t, 'v> {
    pub(super) node: Node<'t>,
    /// The field of its parent that it is.
    pub(super) field: Option<&'v str>,
    /// From the root down to its parent.
    pub(super) parents: &'v [Node<'t>],
}

impl<'t> Visit<'t, '_> {
    pub(super) fn parent(&self) -> Option<&Node<'t>> {
        self.parents.last()
    }
}

/// A parsed file.
pub(super) struct Syntax<'a> {
    pub(super) language: Language,
    pub(super) text: &'a [u8],
    tree: Tree,
    parser: Parser,
    /// Comments and strings, in order, none within another.
    comments: Vec<Range<usize>>,
    strings: Vec<Range<usize>>,
    /// Of each comment, whether it is more than words.
    steering: Vec<bool>,
    /// Tests among the code they test, in order.
    tests: Vec<Range<usize>>,
}

impl<'a> Syntax<'a> {
    /// Parses a file; `None` for a language without a parser, and for files that are too large for one.
    pub(super) fn of(path: &str, text: &'a [u8]) -> Option<Self> {
        let language = Language::of(path).filter(|_| text.len() <= LARGEST)?;
        let mut parser = Parser::new();
        parser.set_language(&language.grammar()).ok()?;
        let tree = parser.parse(text, None)?;
        let mut syntax = Self {
            language,
            text,
            tree,
            parser,
            comments: Vec::new(),
            strings: Vec::new(),
            steering: Vec::new(),
            tests: Vec::new(),
        };
        let (mut comments, mut strings) = (Vec::new(), Vec::new());
        let mut tests = Tests::default();
        syntax.walk(&(0..text.len()), &mut |visit| {
            let kind = visit.node.kind();
            tests.look(text, visit);
            if is_comment(kind) {
                comments.push(visit.node.byte_range());
            } else if is_string(kind) {
                strings.push(visit.node.byte_range());
            }
            !is_comment(kind) && !is_string(kind)
        });
        let all = comments::all_steer(language, text);
        let steers = |comment: &Range<usize>| {
            let next = text.get(comment.end).copied();
            all || comments::steers(language, &text[comment.clone()], next)
        };
        syntax.steering = comments.iter().map(steers).collect();
        (syntax.comments, syntax.strings) = (comments, strings);
        syntax.tests = tests.found;
        Some(syntax)
    }

    /// Visits the nodes that touch these bytes, parents first. What the visitor answers `false` for is
    /// not entered. Keeps its own stack: trees can be deeper than the thread's.
    pub(super) fn walk<'t>(
        &'t self,
        within: &Range<usize>,
        visitor: &mut dyn FnMut(&Visit<'t, '_>) -> bool,
    ) {
        let mut cursor = self.tree.walk();
        let mut parents: Vec<Node<'t>> = Vec::new();
        loop {
            let node = cursor.node();
            let touches = node.start_byte() < within.end && within.start < node.end_byte();
            let enter = touches
                && visitor(&Visit {
                    node,
                    field: cursor.field_name(),
                    parents: &parents,
                });
            if enter && cursor.goto_first_child() {
                parents.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                parents.pop();
            }
        }
    }

    /// Whether the outermost items that these bytes belong to were understood.
    pub(super) fn understands(&self, bytes: &Range<usize>) -> bool {
        let root = self.tree.root_node();
        let mut understood = !root.is_error();
        self.walk(bytes, &mut |visit| {
            let outermost = visit.parents.len() == 1;
            understood &= !(outermost && visit.node.has_error());
            !outermost
        });
        understood
    }

    /// Whether the whole file was understood.
    pub(super) fn is_sound(&self) -> bool {
        !self.tree.root_node().has_error()
    }

    /// Whether these bytes are blanks and mere comments alone.
    pub(super) fn is_idle(&self, bytes: Range<usize>) -> bool {
        let text = &self.text[bytes.clone()];
        let blank = |at: usize| text[at].is_ascii_whitespace();
        let (mut at, mut comment) = (0, first_after(&self.comments, bytes.start));
        while at < text.len() {
            if blank(at) {
                at += 1;
                continue;
            }
            let here = bytes.start + at;
            while self.comments.get(comment).is_some_and(|c| c.end <= here) {
                comment += 1;
            }
            match self.comments.get(comment) {
                Some(around) if around.start <= here && !self.steering[comment] => {
                    at = around.end - bytes.start;
                }
                _ => return false,
            }
        }
        !self.in_string(bytes.start)
    }

    /// Whether these bytes are part of a test that stands among the code.
    pub(super) fn is_test(&self, bytes: &Range<usize>) -> bool {
        let test = self.tests.get(first_after(&self.tests, bytes.start));
        test.is_some_and(|test| test.start <= bytes.start && bytes.end <= test.end)
    }

    /// Whether some lines belong to tests, but for blanks and mere comments between them.
    pub(super) fn tests_alone(&self, bytes: Range<usize>) -> bool {
        let mut lines = self.lines(bytes);
        lines.all(|line| self.is_idle(line.clone()) || self.is_test_line(line))
    }

    /// Whether a line that says something belongs to a test.
    pub(super) fn holds_a_test(&self, bytes: Range<usize>) -> bool {
        let mut lines = self.lines(bytes);
        lines.any(|line| !self.is_idle(line.clone()) && self.is_test_line(line))
    }

    fn is_test_line(&self, line: Range<usize>) -> bool {
        let text = &self.text[line.clone()];
        // The end of the last line of a test lies behind it.
        let end = line.start + text.trim_ascii_end().len();
        self.is_test(&((line.start + indent(text)).min(end)..end))
    }

    /// The lines that these bytes hold, each with its end.
    fn lines(&self, bytes: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = bytes.start;
        split(&self.text[bytes]).into_iter().map(move |line| {
            at += line.len();
            at - line.len()..at
        })
    }

    /// Whether a byte stands within a string, not at its beginning.
    fn in_string(&self, byte: usize) -> bool {
        let string = self.strings.get(first_after(&self.strings, byte));
        string.is_some_and(|string| string.start < byte)
    }

    /// Whether a comment in these bytes is more than words. Blank lines speak to the comments beside them:
    /// they part a comment from what it is about.
    pub(super) fn is_steered(&self, bytes: &Range<usize>) -> bool {
        let mut lines = self.lines(bytes.clone());
        let blank = bytes.is_empty() || lines.any(|line| self.text[line].trim_ascii().is_empty());
        // A line end before, and one behind, of two bytes at most.
        let (start, end) = match blank {
            true => (bytes.start.saturating_sub(3), bytes.end + 1),
            false => (bytes.start, bytes.end),
        };
        let from = first_after(&self.comments, start);
        let all = self.comments.iter().zip(&self.steering).skip(from);
        let mut touched = all.take_while(|(comment, _)| comment.start < end);
        touched.any(|(_, steers)| *steers)
    }

    /// For each line, whether anything but comments, blanks and brackets stands in it.
    pub(super) fn speaking(&self) -> Vec<bool> {
        let lines = self.lines(0..self.text.len());
        let speaks = |line: Range<usize>| match self.in_string(line.start) {
            true => true,
            false => super::blank::has_words(&self.words(line)),
        };
        lines.map(speaks).collect()
    }

    /// What the file says, line by line, without comments and blanks at their ends; lines of which nothing
    /// is left are left out. Where a text goes over the end of a line, or a `\` joins it to the next, the
    /// line stands as it is: blanks and marks of comments may mean something there.
    pub(super) fn said(&self, tests: bool) -> Vec<Vec<u8>> {
        let mut said = Vec::new();
        let mut joined = false;
        for line in self.lines(0..self.text.len()) {
            if !tests && self.is_test_line(line.clone()) {
                continue;
            }
            let text = &self.text[line.clone()];
            let joins = text.trim_ascii_end().ends_with(b"\\");
            let within = self.in_string(line.start) || self.in_string(line.end);
            let follows = std::mem::replace(&mut joined, joins);
            if within || joins || follows {
                said.push(text.to_vec());
                continue;
            }
            let words = self.words(line);
            if !words.is_empty() {
                said.push(words);
            }
        }
        said
    }

    /// A line without its comments, each of which parts words as a blank does.
    fn words(&self, line: Range<usize>) -> Vec<u8> {
        let mut words = Vec::new();
        let mut from = line.start;
        let comments = &self.comments[first_after(&self.comments, line.start)..];
        for around in comments.iter().take_while(|c| c.start < line.end) {
            words.extend_from_slice(&self.text[from..around.start.max(from)]);
            words.push(b' ');
            from = around.end.clamp(from, line.end);
        }
        words.extend_from_slice(&self.text[from..line.end]);
        words.truncate(words.trim_ascii_end().len());
        words
    }

    /// The encoding that a Python file names for itself.
    pub(super) fn encoding(&self) -> Option<String> {
        let python = self.language == Language::Python;
        python.then(|| comments::encoding(self.text)).flatten()
    }

    /// Whether a changed content is still understood. Answers `true` where the file itself is not: the
    /// parser has no say there.
    pub(super) fn still_parses(&mut self, content: &[u8]) -> bool {
        if !self.is_sound() {
            return true;
        }
        let common =
            |pairs: &mut dyn Iterator<Item = (&u8, &u8)>| pairs.take_while(|(a, b)| a == b).count();
        let front = common(&mut self.text.iter().zip(content));
        let most = self.text.len().min(content.len()) - front;
        let back = common(&mut self.text.iter().rev().zip(content.iter().rev())).min(most);
        let (old_end, new_end) = (self.text.len() - back, content.len() - back);
        let mut tree = self.tree.clone();
        tree.edit(&InputEdit {
            start_byte: front,
            old_end_byte: old_end,
            new_end_byte: new_end,
            start_position: point(self.text, front),
            old_end_position: point(self.text, old_end),
            new_end_position: point(content, new_end),
        });
        let Some(tree) = self.parser.parse(content, Some(&tree)) else {
            return true;
        };
        let root = tree.root_node();
        let python = self.language == Language::Python;
        !(root.has_error() || python && broken_block(&tree, content, front))
    }
}

/// Finds Rust's tests by the attributes before them.
#[derive(Default)]
struct Tests {
    /// At each depth, where the attributes before the next item begin, and whether they make it a test.
    before: Vec<Option<(usize, bool)>>,
    found: Vec<Range<usize>>,
}

impl Tests {
    fn look(&mut self, text: &[u8], visit: &Visit<'_, '_>) {
        let (kind, bytes) = (visit.node.kind(), visit.node.byte_range());
        let depth = visit.parents.len();
        self.before.resize(depth + 1, None);
        let before = &mut self.before[depth];
        if is_comment(kind) {
            return;
        }
        let said = || String::from_utf8_lossy(&text[bytes.clone()]).into_owned();
        if kind == "attribute_item" {
            let (start, test) = before.unwrap_or((bytes.start, false));
            *before = Some((start, test || makes_a_test(&said())));
        } else if kind == "inner_attribute_item" && depth == 1 && makes_all_tests(&said()) {
            self.found.clear();
            self.found.push(0..text.len());
        } else if let Some((start, true)) = before.take() {
            let known = self.found.last().is_some_and(|last| start < last.end);
            if !known {
                self.found.push(start..bytes.end);
            }
        }
    }
}

fn indent(line: &[u8]) -> usize {
    line.len() - line.trim_ascii_start().len()
}

/// Python's grammar takes a colon with nothing behind it, and statements of one block that do not stand
/// under each other. Looks from the last line with code before the
/// change to the change.
fn broken_block(tree: &Tree, content: &[u8], changed: usize) -> bool {
    let lines = split(&content[..changed]);
    let mut from = changed;
    for line in lines.iter().rev() {
        from -= line.len();
        let code = line.trim_ascii_start();
        if from + line.len() < changed && !code.is_empty() && !code.starts_with(b"#") {
            break;
        }
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let touches = from <= node.end_byte() && node.start_byte() <= changed;
        if touches && matches!(node.kind(), "block" | "module") {
            let mut inner = node.walk();
            let statements = node.named_children(&mut inner);
            let places = statements.filter(|child| !child.is_extra());
            let places: Vec<_> = places
                .map(|child| (child.start_position(), child.end_position().row))
                .collect();
            // A byte order mark moves the first statement of a file.
            let first = places.first().map_or(0, |(start, _)| start.column);
            let column = if node.kind() == "module" { 0 } else { first };
            let uneven = places.windows(2).any(|pair| {
                let next = pair[1].0;
                next.row > pair[0].1 && next.column != column
            });
            if uneven || places.is_empty() && node.kind() == "block" {
                return true;
            }
        }
        if touches && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

fn point(text: &[u8], byte: usize) -> Point {
    let before = &text[..byte];
    let row = before.iter().filter(|byte| **byte == b'\n').count();
    let line = before.iter().rposition(|byte| *byte == b'\n');
    Point::new(row, byte - line.map_or(0, |at| at + 1))
}

/// The first of the ranges, which are in order, that ends behind a byte.
fn first_after(ranges: &[Range<usize>], byte: usize) -> usize {
    ranges.partition_point(|range| range.end <= byte)
}

pub(super) fn is_comment(kind: &str) -> bool {
    matches!(
        kind,
        "comment" | "line_comment" | "block_comment" | "html_comment"
    )
}

/// Text that the program holds: literals, characters, patterns, the words between tags.
pub(super) fn is_string(kind: &str) -> bool {
    matches!(
        kind,
        "string"
            | "string_literal"
            | "raw_string_literal"
            | "concatenated_string"
            | "interpreted_string_literal"
            | "template_string"
            | "char_literal"
            | "character_literal"
            | "rune_literal"
            | "system_lib_string"
            | "user_defined_literal"
            | "regex"
            | "jsx_text"
    )
}

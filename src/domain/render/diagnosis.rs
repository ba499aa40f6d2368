//! The doctor's lines and the lint's findings, for a terminal.
//!
//! One thing, one line, with its mend below: `grep problem` gives what is to be done.

use super::terminal::{BOLD, CYAN, DIM, GREEN, MAGENTA, Paint, RED, YELLOW};
use super::text;
use crate::domain::doctor::{Check, Diagnosis, State};
use crate::domain::policy::lint::{Finding, Severity};

/// Everything the doctor looked at, with ANSI colour where `colour` says so.
pub fn diagnosis(diagnosis: &Diagnosis, colour: bool) -> String {
    let paint = Paint(colour);
    let mut lines = Vec::new();
    for section in &diagnosis.sections {
        lines.push(paint.with(BOLD, &text::line(&section.title)));
        let names = section
            .checks
            .iter()
            .map(|check| check.name.chars().count());
        let width = names.max().unwrap_or(0);
        for check in &section.checks {
            write_check(&mut lines, check, width, paint);
        }
        lines.push(String::new());
    }
    let counted = [
        (State::Problem, "problem", "problems"),
        (State::Warning, "warning", "warnings"),
        (State::Unknown, "thing unknown", "things unknown"),
    ];
    lines.push(summary(
        counted.map(|(state, one, many)| (diagnosis.count(state), one, many)),
    ));
    lines.join("\n") + "\n"
}

fn write_check(lines: &mut Vec<String>, check: &Check, width: usize, paint: Paint) {
    let colour = match check.state {
        State::Ok => GREEN,
        State::Note => CYAN,
        State::Warning => YELLOW,
        State::Problem => RED,
        State::Unknown => MAGENTA,
    };
    let word = paint.with(colour, &format!("{:7}", check.state.word()));
    let name = text::line(&check.name);
    lines.push(format!(
        "  {word}  {name:width$}  {}",
        text::line(&check.seen)
    ));
    if let Some(mend) = &check.mend {
        lines.push(paint.with(DIM, &format!("           mend: {}", text::line(mend))));
    }
}

/// Every finding with its place in `file`, then how many there are.
pub fn findings(file: &str, findings: &[Finding], colour: bool) -> String {
    let paint = Paint(colour);
    let mut lines = Vec::new();
    for finding in findings {
        let (word, colour) = match finding.severity {
            Severity::Error => ("error", RED),
            Severity::Warning => ("warning", YELLOW),
            Severity::Blind => ("unknown", MAGENTA),
        };
        let place = match (finding.line, finding.key.as_str()) {
            (0, "") => text::line(file),
            (0, key) => format!("{}: {}", text::line(file), text::line(key)),
            (line, _) => format!("{}:{line}:{}", text::line(file), finding.column),
        };
        let word = paint.with(colour, word);
        lines.push(format!("{place}: {word}: {}", text::line(&finding.what)));
        lines.extend(excerpt(finding));
        if let Some(mend) = &finding.mend {
            lines.push(paint.with(DIM, &format!("  mend: {}", text::line(mend))));
        }
    }
    let count = |severity| {
        findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    lines.push(summary([
        (count(Severity::Error), "error", "errors"),
        (count(Severity::Warning), "warning", "warnings"),
        (count(Severity::Blind), "thing unknown", "things unknown"),
    ]));
    lines.join("\n") + "\n"
}

/// The line of the file with a caret below the place.
fn excerpt(finding: &Finding) -> Vec<String> {
    let Some(excerpt) = finding.excerpt.as_deref().filter(|_| finding.line > 0) else {
        return Vec::new();
    };
    // A tab or a wide character is one column to YAML and shifts the caret: kept as they came.
    let shown: String = excerpt
        .chars()
        .map(|c| {
            if c.is_control() && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    let number = finding.line.to_string();
    let before = usize::try_from(finding.column.saturating_sub(1)).unwrap_or(0);
    let blank = " ".repeat(number.len() + before.min(shown.chars().count()));
    vec![format!("  {number} | {shown}"), format!("  {blank}   ^")]
}

fn summary(counts: [(usize, &str, &str); 3]) -> String {
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    if told.is_empty() {
        "Nothing is wrong.".to_owned()
    } else {
        format!("{}.", told.join(", "))
    }
}

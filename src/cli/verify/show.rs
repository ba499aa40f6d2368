//! What people see: progress while it runs, a table when it is done.

use std::io::IsTerminal;

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use crate::domain::evidence::{Finding, MutantStatus, Outcome, TestRun};
use crate::verify::{Report, Said, Survivor, Watch};

/// Progress on standard error: one moving line on a terminal, plain lines elsewhere.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Looks where standard error goes.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let plain = std::env::var_os("NO_COLOR").is_some();
            let line = match plain {
                true => "{spinner} {wide_msg} {elapsed}",
                false => "{spinner:.cyan} {wide_msg} {elapsed:.dim}",
            };
            if let Ok(style) = ProgressStyle::with_template(line) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(std::time::Duration::from_millis(120));
            bar
        });
        Self { bar }
    }

    /// Takes the moving line away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }
}

impl Watch for Progress {
    fn said(&self, said: Said) {
        match said {
            Said::Note(note) => self.line(&format!("note: {}", visible(&note))),
            Said::Step(step) => match &self.bar {
                Some(bar) => bar.set_message(visible(&step)),
                None => eprintln!("{}", visible(&step)),
            },
            Said::Places(count) => self.line(&match count {
                0 => "no critical line changed".to_owned(),
                1 => "one critical change".to_owned(),
                count => format!("{count} critical changes"),
            }),
            Said::Tried {
                place,
                what,
                status,
                by,
            } => {
                let by = by.map_or_else(String::new, |by| format!(" ({})", visible(&by)));
                let (word, place) = (word(status), visible(&place));
                self.line(&format!("{word:9} {place}: {}{by}", visible(&what)));
            }
        }
    }
}

/// Names and outputs are the project's: none of them moves the cursor, ends the line, or turns the order
/// of the letters round.
pub fn visible(text: &str) -> String {
    let moves = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let shown = |c: char| if moves(c) { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

fn word(status: MutantStatus) -> &'static str {
    match status {
        MutantStatus::Killed => "killed",
        MutantStatus::Survived => "survived",
        MutantStatus::Timeout => "timeout",
        MutantStatus::Unviable => "unviable",
        MutantStatus::Skipped => "skipped",
    }
}

/// The end of a verification, for people.
pub fn table(report: &Report, colour: bool) -> String {
    let statement = &report.statement;
    let (code, result) = match statement.result {
        Outcome::Approved => (GREEN, "approved"),
        Outcome::Rejected => (RED, "rejected"),
        Outcome::Inconclusive => (YELLOW, "inconclusive"),
    };
    let mut lines: Vec<String> = statement.tests.iter().map(tests).collect();
    lines.extend(mutants(report));
    for survivor in &report.survivors {
        lines.push(String::new());
        lines.extend(survived(survivor, colour));
    }
    // What is said of a survivor was shown with it; what it comes to stands last.
    let told = |finding: &&Finding| {
        let last = finding.message == report.summary;
        let by = report.survivors.iter();
        let mut by = by.map(|survivor| format!("`{}` ", survivor.id));
        !last && !by.any(|id| finding.message.starts_with(&id))
    };
    let others: Vec<_> = statement.findings.iter().filter(told).collect();
    let shown = others.iter().take(MOST_FINDINGS);
    lines.extend(shown.map(|finding| format!("- {}", visible(&finding.message))));
    if let Some(more) = others
        .len()
        .checked_sub(MOST_FINDINGS)
        .filter(|more| *more > 0)
    {
        lines.push(format!("- {more} more are in the evidence (--out, --json)"));
    }
    let result = paint(colour, code, result);
    lines.push(format!("{result}: {}", visible(&report.summary)));
    lines.join("\n") + "\n"
}

/// The most findings that are shown on a screen.
const MOST_FINDINGS: usize = 30;
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const DIM: &str = "2";

fn paint(colour: bool, code: &str, text: &str) -> String {
    match colour {
        true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        false => text.to_owned(),
    }
}

fn tests(tests: &TestRun) -> String {
    format!(
        "tests: {} executed, {} passed, {} failed, {} skipped, exit code {}: {}",
        tests.executed,
        tests.passed,
        tests.failed,
        tests.skipped,
        tests.exit_code,
        visible(&tests.command)
    )
}

/// The table of mutants, where there are any.
fn mutants(report: &Report) -> Option<String> {
    let mutants = &report.statement.mutation.as_ref()?.mutants;
    if mutants.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["mutant", "place", "kind", "status", "by"]);
    for (mutant, note) in mutants.iter().zip(&report.notes) {
        let by = mutant.killed_by.first().or(note.as_ref());
        let place = mutant.place();
        let by = by.map_or("", String::as_str);
        let cells = [&mutant.id, &place, &mutant.kind, word(mutant.status), by];
        table.add_row(cells.map(visible));
    }
    let lines = table.to_string();
    let trimmed: Vec<_> = lines.lines().map(str::trim_end).collect();
    Some(trimmed.join("\n"))
}

fn survived(survivor: &Survivor, colour: bool) -> Vec<String> {
    let (id, place, what) = (
        &survivor.id,
        visible(&survivor.place),
        visible(&survivor.what),
    );
    let mut lines = vec![format!("{id} survived at {place}: {what}")];
    lines.extend(survivor.diff.lines().map(|change| {
        let code = match change.as_bytes().first() {
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            _ => DIM,
        };
        let line = format!("    {}", visible(change));
        paint(colour, code, line.trim_end())
    }));
    lines
}

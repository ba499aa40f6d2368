//! What people see: progress while it runs, a table when it is done.

use std::io::IsTerminal;

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use crate::domain::evidence::{MutantStatus, Outcome};
use crate::verify::{Report, Said, Watch};

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

/// Names and outputs are the project's: none of them moves the cursor.
fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
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
    let paint = |code: &str, text: &str| match colour {
        true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        false => text.to_owned(),
    };
    let statement = &report.statement;
    let (code, result) = match statement.result {
        Outcome::Approved => ("32", "approved"),
        Outcome::Rejected => ("31", "rejected"),
        Outcome::Inconclusive => ("33", "inconclusive"),
    };
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    for tests in &statement.tests {
        line(&format!(
            "tests: {} executed, {} passed, {} failed, {} skipped, exit code {}  {}",
            tests.executed,
            tests.passed,
            tests.failed,
            tests.skipped,
            tests.exit_code,
            visible(&tests.command)
        ));
    }
    let mutants = statement
        .mutation
        .as_ref()
        .map_or(&[][..], |mutation| &mutation.mutants);
    if !mutants.is_empty() {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(["mutant", "place", "kind", "status", "by"]);
        for (mutant, note) in mutants.iter().zip(&report.notes) {
            let by = mutant
                .killed_by
                .first()
                .or(note.as_ref())
                .map_or("", String::as_str);
            let place = match mutant.start_line == mutant.end_line {
                true => format!("{}:{}", mutant.path, mutant.start_line),
                false => format!("{}:{}-{}", mutant.path, mutant.start_line, mutant.end_line),
            };
            let cells = [&mutant.id, &place, &mutant.kind, word(mutant.status), by];
            table.add_row(cells.map(visible));
        }
        line(&table.to_string());
    }
    for survivor in &report.survivors {
        let (id, place, what) = (
            &survivor.id,
            visible(&survivor.place),
            visible(&survivor.what),
        );
        line(&format!("\n{id} survived at {place}: {what}"));
        for change in survivor.diff.lines() {
            let code = match change.as_bytes().first() {
                Some(b'+') => "32",
                Some(b'-') => "31",
                _ => "2",
            };
            line(&format!("    {}", paint(code, &visible(change))));
        }
    }
    let survivors = !report.survivors.is_empty();
    let others = statement
        .findings
        .iter()
        .filter(|finding| !survivors || finding.message.starts_with("whether"));
    for finding in others {
        line(&format!("- {}", visible(&finding.message)));
    }
    line(&format!(
        "{}: {}",
        paint(code, result),
        visible(&report.summary)
    ));
    text
}

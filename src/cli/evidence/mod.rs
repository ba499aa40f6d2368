//! `countersign evidence check` and `evidence import`.
//!
//! `check` says what a document would prove by itself; given a folder, it judges every case in it and
//! compares with what stands beside the case, so that anybody can see what counts and what does not.

mod checkout;
mod files;
mod import;
mod submit;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::policy::{parse_repo, text_of};
use super::verify::visible;
use super::{Complaint, Ended, Exit};
use crate::domain::evidence::{MutantStatus, Outcome, Statement};
use crate::domain::gate::appraise::{Appraisal, Binding, appraise};
use crate::domain::model::{BaseRef, HeadSha, Oid, RepoName};

pub use import::{ImportArgs, import};
pub use submit::{KeygenArgs, Post, SubmitArgs, keygen, run as submit};

/// What to check, and what it must be about.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// JSON documents, or Markdown texts that hold one in a fenced `countersign` block; `-` reads
    /// standard input. A folder is a corpus: every file with its expected answer in `NAME.expected`,
    /// all about what `corpus.json` says.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// It must be about this repository.
    #[arg(long, value_name = "OWNER/REPO", value_parser = parse_repo)]
    repo: Option<RepoName>,
    /// It must be about this head.
    #[arg(long, value_name = "SHA", value_parser = HeadSha::parse)]
    head: Option<HeadSha>,
    /// Its mutants must have left this tree (`git rev-parse HEAD^{tree}`).
    #[arg(long, value_name = "OID", value_parser = Oid::parse)]
    tree: Option<Oid>,
    /// It must have been made against this branch.
    #[arg(long, value_name = "BRANCH", value_parser = BaseRef::parse)]
    base: Option<BaseRef>,
}

/// Checks evidence files, or a folder of cases.
pub fn check(args: &CheckArgs) -> Ended {
    let binding = Binding {
        repo: args.repo.as_ref().map(RepoName::to_string),
        head: args.head.clone(),
        tree: args.tree.clone(),
        base: args.base.clone(),
    };
    let mut exit = Exit::Done;
    for file in &args.files {
        let good = if file.is_dir() {
            let (told, good) = corpus(file)?;
            print!("{told}");
            good
        } else {
            let appraisal = appraise(&files::document(file)?, &binding);
            print!(
                "{}",
                told(&file.display().to_string(), &appraisal, &binding)
            );
            appraisal.proves()
        };
        if !good {
            exit = Exit::No;
        }
    }
    Ok(exit)
}

/// The answer to one case, as its `.expected` holds it.
fn answer(appraisal: &Appraisal) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if let Err(faults) = &appraisal.document {
        for fault in faults {
            let _ = writeln!(
                text,
                "fault: {}",
                visible(format!("{} {}", fault.path, fault.message).trim())
            );
        }
    } else {
        for (what, says) in [("mutants", &appraisal.mutants), ("tests", &appraisal.tests)] {
            let _ = match says {
                Ok(proved) => writeln!(text, "{what}: {}", visible(proved)),
                Err(why) => writeln!(text, "{what}: nothing, because {}", visible(why)),
            };
        }
    }
    let _ = writeln!(text, "{}", visible(&appraisal.verdict()));
    let _ = writeln!(
        text,
        "good evidence: {}",
        if appraisal.proves() { "yes" } else { "no" }
    );
    text
}

/// What a person reads of one file.
fn told(file: &str, appraisal: &Appraisal, binding: &Binding) -> String {
    let mut text = match &appraisal.document {
        Ok(statement) => summary(file, statement),
        Err(_) => format!("{file}: would not count\n"),
    };
    for line in answer(appraisal).lines() {
        let _ = writeln!(text, "  {line}");
    }
    if appraisal.mutants.is_ok() && binding.tree.is_none() {
        let _ = writeln!(
            text,
            "  not compared: the tree it left with the head's (--tree)"
        );
    }
    if appraisal.document.is_ok() {
        let _ = writeln!(
            text,
            "  who reported it is not in the document: GitHub says it of whoever posts it"
        );
    }
    text
}

fn summary(file: &str, statement: &Statement) -> String {
    let result = match statement.result {
        Outcome::Approved => "approved",
        Outcome::Rejected => "rejected",
        Outcome::Inconclusive => "inconclusive",
    };
    let mut text = format!(
        "{file}: {result} {} of {}\n",
        statement.head,
        visible(&statement.subject_name)
    );
    if let Some(base) = &statement.base {
        let _ = writeln!(text, "  against {} at {}", base.name, base.sha);
    }
    if let Some(mutation) = &statement.mutation {
        let tool = visible(&mutation.tool);
        let _ = writeln!(text, "  {tool}: {}", counts(statement));
    }
    text
}

/// How many mutants ended how.
fn counts(statement: &Statement) -> String {
    let mutants = statement
        .mutation
        .iter()
        .flat_map(|mutation| &mutation.mutants);
    let statuses: Vec<_> = mutants.map(|mutant| mutant.status).collect();
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    format!(
        "{} killed, {} survived, {} timed out, {} unviable, {} skipped",
        count(MutantStatus::Killed),
        count(MutantStatus::Survived),
        count(MutantStatus::Timeout),
        count(MutantStatus::Unviable),
        count(MutantStatus::Skipped),
    )
}

/// Judges every case of a folder and compares with what is expected.
fn corpus(folder: &Path) -> Result<(String, bool), Complaint> {
    let wrong = |file: &Path, error: &dyn std::fmt::Display| {
        Complaint::new(Exit::Usage, format!("{}: {error}", file.display()))
    };
    let about = folder.join("corpus.json");
    let binding: Binding =
        serde_json::from_str(&text_of(&about)?).map_err(|error| wrong(&about, &error))?;
    let mut cases: BTreeMap<String, (Option<PathBuf>, Option<PathBuf>)> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(folder, &error))? {
        let path = entry.map_err(|error| wrong(folder, &error))?.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path == about || !path.is_file() {
            continue;
        }
        let case = cases.entry(name).or_default();
        let expected = path.extension().is_some_and(|ending| ending == "expected");
        let place = if expected { &mut case.1 } else { &mut case.0 };
        if place.is_some() {
            return Err(wrong(&path, &"another case bears the same name"));
        }
        *place = Some(path);
    }
    let mut text = String::new();
    let mut failed = 0;
    for (name, case) in &cases {
        let (Some(file), Some(expected)) = case else {
            let _ = writeln!(
                text,
                "{name}: a case is a file and its `.expected`; one is missing"
            );
            failed += 1;
            continue;
        };
        let answer = answer(&appraise(&text_of(file)?, &binding));
        let expected = text_of(expected)?.replace('\r', "");
        if answer == expected {
            let verdict = answer.lines().nth_back(1).unwrap_or_default();
            let _ = writeln!(text, "{name}: as expected, {verdict}");
        } else {
            let _ = writeln!(
                text,
                "{name}: NOT as expected\n--- expected\n{expected}--- answered\n{answer}---"
            );
            failed += 1;
        }
    }
    let _ = writeln!(text, "{} cases, {failed} not as expected", cases.len());
    Ok((text, failed == 0 && !cases.is_empty()))
}

#[cfg(test)]
mod tests;

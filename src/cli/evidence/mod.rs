//! `countersign evidence check` and `evidence import`.
//!
//! `check` says whether a document may be believed, and what it says; given a folder, it judges every case in it and
//! compares with what stands beside the case, so that anybody can see what counts and what does not.

mod checkout;
mod files;
mod import;
mod said;
mod submit;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::policy::{parse_repo, text_of};
use super::{Complaint, Ended, Exit};
use crate::domain::gate::appraise::{Binding, HeadStart, appraise};
use crate::domain::model::{BaseRef, Oid, RepoName};

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
    /// It must be about this head: its id, or the first 7 digits of it or more.
    #[arg(long, value_name = "SHA", value_parser = HeadStart::parse)]
    head: Option<HeadStart>,
    /// Its mutants must have left this tree (`git rev-parse HEAD^{tree}`).
    #[arg(long, value_name = "OID", value_parser = Oid::parse)]
    tree: Option<Oid>,
    /// It must have been made against this branch.
    #[arg(long, value_name = "BRANCH", value_parser = BaseRef::parse)]
    base: Option<BaseRef>,
    /// Print the answer as JSON: a list, one entry a file.
    #[arg(long)]
    json: bool,
}

/// Checks evidence files, or a folder of cases.
pub fn check(args: &CheckArgs) -> Ended {
    let binding = Binding {
        repo: args.repo.as_ref().map(RepoName::to_string),
        head: args.head.clone(),
        tree: args.tree.clone(),
        base: args.base.clone(),
    };
    if args.json && args.files.iter().any(|file| file.is_dir()) {
        let text = "--json answers for documents; a folder of cases is compared without it";
        return Err(Complaint::new(Exit::Usage, text));
    }
    let mut exit = Exit::Done;
    let mut list = Vec::new();
    for file in &args.files {
        let good = if file.is_dir() {
            let (told, good) = corpus(file)?;
            print!("{told}");
            good
        } else {
            let appraisal = appraise(&files::document(file)?, &binding);
            let shown = file.display().to_string();
            match args.json {
                true => list.push(said::as_json(&shown, &appraisal)),
                false => print!("{}", said::told(&shown, &appraisal, &binding)),
            }
            appraisal.proves()
        };
        if !good {
            exit = Exit::No;
        }
    }
    if args.json {
        println!("{:#}", serde_json::Value::Array(list));
    }
    Ok(exit)
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
        let answer = said::answer(&appraise(&text_of(file)?, &binding));
        let expected = text_of(expected)?.replace('\r', "");
        if answer == expected {
            let verdict = answer.lines().next_back().unwrap_or_default();
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

//! `countersign evidence import`: the report of another mutation tester, as evidence.
//!
//! This reads files and the checkout; what they mean is `domain::import`'s. Within a git checkout the
//! evidence is about exactly its commit; without one, all that binds it has to be said.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use comfy_table::{Table, presets};
use sha2::{Digest, Sha256};

use super::super::policy::parse_repo;
use super::super::verify::{CriticalArgs, is_a_place, visible};
use super::super::{Complaint, Ended, Exit};
use super::checkout::Checkout;
use super::files::{bytes_of, text_of, unreadable, within};
use crate::domain::evidence::{EvidenceBase, Outcome, Statement, write};
use crate::domain::gate::appraise::{Appraisal, Binding, appraise, by_status};
use crate::domain::gate::coverage;
use crate::domain::import::{
    Found, Given, Refused, cargo_mutants, conclude, cosmic_ray, mutmut, pit, stryker,
};
use crate::domain::model::{BaseRef, HeadSha, Oid, RepoName};

/// Whose report it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// The folder `mutants.out`.
    CargoMutants,
    /// A report in the mutation testing report schema (StrykerJS, Stryker.NET, Stryker4s).
    Stryker,
    /// The folder `mutants` of mutmut 3.
    Mutmut,
    /// What `cosmic-ray dump` printed.
    CosmicRay,
    /// PIT's `mutations.xml`.
    Pit,
}

/// What to import, and what the report does not know.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Whose report it is.
    #[arg(long, value_name = "TOOL")]
    from: Tool,
    /// The report: a file or a folder, as the tool wrote it.
    path: PathBuf,
    /// The repository.
    #[arg(long, value_name = "OWNER/REPO", value_parser = parse_repo)]
    repo: RepoName,
    /// The head that was mutated [default: the commit of the checkout in the working directory].
    #[arg(long, value_name = "SHA", value_parser = HeadSha::parse)]
    head: Option<HeadSha>,
    /// The branch that it wants to enter.
    #[arg(long, value_name = "BRANCH", value_parser = BaseRef::parse)]
    base_ref: BaseRef,
    /// That branch's commit [default: as the checkout knows it].
    #[arg(long, value_name = "SHA", value_parser = Oid::parse)]
    base: Option<Oid>,
    /// The head's tree [default: the checkout's, which must be clean].
    #[arg(long, value_name = "OID", value_parser = Oid::parse)]
    tree: Option<Oid>,
    /// The run's context: of two reports of one context the later counts [default: from the report].
    #[arg(long)]
    context: Option<String>,
    /// What you are: shown, never believed.
    #[arg(long)]
    vendor: Option<String>,
    /// What you are: shown, never believed.
    #[arg(long)]
    model: Option<String>,
    /// How many tests ran without any mutant, where the report does not tell.
    #[arg(long, value_name = "N")]
    baseline_executed: Option<u64>,
    /// How that run exited, where the report does not tell.
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    baseline_exit_code: Option<i64>,
    /// The command that runs the tests, for the record of tests.
    #[arg(long, value_name = "COMMAND")]
    test_command: Option<String>,
    /// The folder that the tool ran in, from the repository's root [default: the working directory].
    #[arg(long, value_name = "FOLDER")]
    root: Option<String>,
    /// The root of the sources below that folder, for PIT.
    #[arg(long, value_name = "FOLDER")]
    source_root: Option<String>,
    #[command(flatten)]
    critical: CriticalArgs,
    /// Write the evidence there [default: print it].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the evidence, also where `--out` writes it; what people read goes to standard error then.
    #[arg(long)]
    json: bool,
}

/// Imports a report.
pub fn import(args: &ImportArgs) -> Ended {
    if let Some(out) = &args.out {
        is_a_place(out)?;
    }
    let check = args.critical.check()?;
    let here = Checkout::at(Path::new("."))?;
    let files = here.as_ref().map(|checkout| &checkout.files);
    let prefix = here
        .as_ref()
        .map_or("", |checkout| checkout.prefix.as_str());
    let root = args.root.as_deref().unwrap_or(prefix);
    let mut digest = Sha256::new();
    let found = found(args, root, files, &mut digest)?;
    if let Some(checkout) = &here {
        same_sources(&found, checkout)?;
        same_lines(&found, checkout)?;
    }
    let digest = hex::encode(digest.finalize());
    let given = given(args, here.as_ref(), &digest)?;
    let mut statement = conclude(&found, &given).map_err(refuse)?;
    if statement.result == Outcome::Approved {
        let changed = here
            .as_ref()
            .and_then(|checkout| checkout.changed(&given.base.sha));
        let open = coverage::not_shown(&found.mutants, changed.as_deref(), &check);
        statement.findings.extend(open);
    }
    let document = write::document(&statement, None);
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))?;
    counts_for_what_it_says(&statement, &appraise(&text, &Binding::default()))?;
    let told = told(&found, &statement);
    if let Some(file) = &args.out {
        std::fs::write(file, format!("{text}\n")).map_err(|error| unreadable(file, &error))?;
    }
    match args.out.is_some() && !args.json {
        true => print!("{told}"),
        false => {
            println!("{text}");
            eprint!("{told}");
        }
    }
    Ok(match statement.result {
        Outcome::Approved => Exit::Done,
        Outcome::Rejected | Outcome::Inconclusive => Exit::No,
    })
}

fn refuse(why: Refused) -> Complaint {
    Complaint::new(Exit::No, visible(&why.0))
}

/// What `evidence check` would say of the document: nothing is called approved here that proves nothing.
pub fn counts_for_what_it_says(
    statement: &Statement,
    appraisal: &Appraisal,
) -> Result<(), Complaint> {
    let why = match &appraisal.document {
        Err(faults) => {
            let first = faults.first();
            let first = first.map_or(String::new(), |f| format!("{} {}", f.path, f.message));
            format!(
                "the report makes no document that would count ({}): let the tool mutate the changed lines alone",
                first.trim()
            )
        }
        Ok(_) if statement.result == Outcome::Approved && !appraisal.proves() => format!(
            "the report makes a document that would not count ({}): run the tool again, so that each kill names a test that failed",
            appraisal.why_not().unwrap_or_default()
        ),
        Ok(_) => return Ok(()),
    };
    Err(Complaint::new(Exit::No, visible(&why)))
}

fn found(
    args: &ImportArgs,
    root: &str,
    files: Option<&BTreeSet<String>>,
    digest: &mut Sha256,
) -> Result<Found, Complaint> {
    let mut text_of = |file: &Path| {
        let text = text_of(file)?;
        digest.update(text.as_bytes());
        Ok(text)
    };
    let read = match args.from {
        Tool::CargoMutants => return cargo(&args.path, root, &mut text_of),
        Tool::Mutmut => return python(&args.path, root, &mut text_of),
        Tool::Stryker => stryker::read(&text_of(&args.path)?, root),
        Tool::CosmicRay => cosmic_ray::read(&text_of(&args.path)?, root),
        Tool::Pit => {
            let sources = pit::Sources {
                root,
                below: args.source_root.as_deref(),
                files,
            };
            pit::read(&text_of(&args.path)?, sources)
        }
    };
    read.map_err(refuse)
}

type Texts<'a> = &'a mut dyn FnMut(&Path) -> Result<String, Complaint>;

fn cargo(path: &Path, root: &str, text_of: Texts<'_>) -> Result<Found, Complaint> {
    let folder = match path {
        path if path.join("mutants.out").is_dir() => path.join("mutants.out"),
        path if path.is_file() => path.parent().unwrap_or(Path::new(".")).to_owned(),
        path => path.to_owned(),
    };
    let mut own = |name: &str| {
        let file = folder.join(name);
        within(&folder, &file)?;
        text_of(&file)
    };
    let (outcomes, planned) = (own("outcomes.json")?, own("mutants.json")?);
    // A log says which test failed; bytes that are no text do not matter there.
    let log = |name: &str| {
        let file = folder.join(name);
        within(&folder, &file).ok()?;
        let bytes = bytes_of(&file).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    cargo_mutants::read(&outcomes, &planned, &log, root).map_err(refuse)
}

fn python(path: &Path, root: &str, text_of: Texts<'_>) -> Result<Found, Complaint> {
    let folder = match path.join("mutants") {
        below if below.is_dir() => below,
        _ => path.to_owned(),
    };
    let project = folder.join("..");
    let mut metas = Vec::new();
    collect(&folder, &mut metas)?;
    metas.sort();
    let mut modules = Vec::new();
    for meta in metas {
        let below = meta
            .strip_prefix(&folder)
            .unwrap_or(&meta)
            .with_extension("");
        let (mutated, original) = (folder.join(&below), project.join(&below));
        within(&folder, &meta)?;
        within(&folder, &mutated)?;
        within(&project, &original)?;
        modules.push(mutmut::Module {
            path: below.to_string_lossy().into_owned(),
            meta: text_of(&meta)?,
            mutated: text_of(&mutated)?,
            original: text_of(&original)?,
        });
    }
    let stats = folder.join("mutmut-stats.json");
    let stats = match stats.exists() {
        true => {
            within(&folder, &stats)?;
            Some(text_of(&stats)?)
        }
        false => None,
    };
    mutmut::read(&modules, stats.as_deref(), root).map_err(refuse)
}

/// Every `.meta` below a folder.
fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), Complaint> {
    for entry in std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        let kind = entry
            .file_type()
            .map_err(|error| unreadable(folder, &error))?;
        let path = entry.path();
        if kind.is_dir() {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|ending| ending == "meta") {
            into.push(path);
        }
    }
    Ok(())
}

/// Lines mean something only in the file that they were counted in.
fn same_sources(found: &Found, checkout: &Checkout) -> Result<(), Complaint> {
    for (path, source) in &found.sources {
        if !checkout.files.contains(path) {
            continue; // A mutant in it is refused by name; without one it does not matter.
        }
        let bytes = bytes_of(&checkout.top.join(path))?;
        let ours = String::from_utf8_lossy(&bytes).replace('\r', "");
        if ours != source.replace('\r', "") {
            let why = format!(
                "the report was made of another `{path}` than the head's: run the tool again at this head"
            );
            return Err(Complaint::new(Exit::No, why));
        }
    }
    Ok(())
}

/// A mutant lies on lines that its file has; a tool may name the one behind the last.
fn same_lines(found: &Found, checkout: &Checkout) -> Result<(), Complaint> {
    let mut lengths: BTreeMap<&str, u64> = BTreeMap::new();
    for mutant in &found.mutants {
        let path = mutant.path.as_str();
        if !checkout.files.contains(path) {
            continue;
        }
        let known = match lengths.get(path) {
            Some(length) => *length,
            None => {
                let bytes = bytes_of(&checkout.top.join(path))?;
                bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
            }
        };
        lengths.insert(path, known);
        if mutant.start_line > known || mutant.end_line > known {
            let why = format!(
                "the report mutates line {} of `{path}`, which has {known}: run the tool again at this head",
                mutant.end_line
            );
            return Err(Complaint::new(Exit::No, visible(&why)));
        }
    }
    Ok(())
}

fn given(args: &ImportArgs, here: Option<&Checkout>, digest: &str) -> Result<Given, Complaint> {
    let missing = |what: &str| {
        let why = format!("the working directory is no git checkout that says it: name {what}");
        Complaint::new(Exit::Usage, why)
    };
    let differs = |what: &str| {
        let why = format!(
            "--{what} is not what the checkout in the working directory stands at: check out the head that was mutated"
        );
        Complaint::new(Exit::No, why)
    };
    let head = match (&args.head, here.map(|checkout| &checkout.head)) {
        (Some(said), Some(is)) if said != is => return Err(differs("head")),
        (Some(head), _) | (None, Some(head)) => head.clone(),
        (None, None) => return Err(missing("--head")),
    };
    let tree = match (&args.tree, here.map(|checkout| &checkout.tree)) {
        (Some(said), Some(is)) if said != is => return Err(differs("tree")),
        (Some(tree), _) | (None, Some(tree)) => tree.clone(),
        (None, None) => return Err(missing("--tree")),
    };
    let known = || here.and_then(|checkout| checkout.tip(&args.base_ref));
    let base = args
        .base
        .clone()
        .or_else(known)
        .ok_or_else(|| missing("--base"))?;
    let from = args.from.to_possible_value();
    let from = from.map_or(String::new(), |value| value.get_name().to_owned());
    let context = format!("import-{from}-{}", digest.get(..12).unwrap_or(digest));
    Ok(Given {
        repo: args.repo.clone(),
        head,
        base: EvidenceBase {
            name: args.base_ref.clone(),
            sha: base,
        },
        tree,
        context: args.context.clone().unwrap_or(context),
        vendor: args.vendor.clone(),
        model: args.model.clone(),
        baseline: (args.baseline_executed, args.baseline_exit_code),
        test_command: args.test_command.clone(),
        files: here.map(|checkout| checkout.files.clone()),
    })
}

/// What a person reads: the mutants by file, what they come to, and what the tool cannot tell.
pub fn told(found: &Found, statement: &Statement) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["place", "kind", "status", "killed by"]);
    const SHOWN: usize = 30;
    for mutant in found.mutants.iter().take(SHOWN) {
        let status = serde_json::to_value(mutant.status).unwrap_or_default();
        table.add_row([
            visible(&format!("{}:{}", mutant.path, mutant.start_line)),
            visible(&mutant.kind),
            status.as_str().unwrap_or_default().to_owned(),
            visible(&mutant.killed_by.join(", ")),
        ]);
    }
    let mut text = String::new();
    // Writing to a String cannot fail.
    for line in table.lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if let Some(more) = found
        .mutants
        .len()
        .checked_sub(SHOWN)
        .filter(|more| *more > 0)
    {
        let _ = writeln!(text, " and {more} more");
    }
    let result = serde_json::to_value(statement.result).unwrap_or_default();
    let result = result.as_str().unwrap_or_default();
    let _ = writeln!(
        text,
        "\n{}: {}",
        visible(&found.tool),
        by_status(&found.mutants)
    );
    let _ = writeln!(text, "result: {result}");
    for finding in statement
        .findings
        .iter()
        .filter(|finding| finding.path.is_none())
    {
        let _ = writeln!(text, "  {}", visible(&finding.message));
    }
    if statement.tests.is_empty() {
        let _ = writeln!(
            text,
            "  No run of tests is in it: say the command with --test-command, or it does not count for a second verifier."
        );
    }
    if statement.result == Outcome::Rejected {
        let _ = writeln!(
            text,
            "  Every survivor rejects, wherever it lies: let the tool mutate the changed lines alone."
        );
    }
    let _ = writeln!(text, "what this report cannot tell:");
    for line in &found.cannot_tell {
        let _ = writeln!(text, "  {line}");
    }
    text
}

//! `countersign verify`: runs the tests and the mutation check of a head, writes evidence.
//!
//! Progress and complaints go to standard error; standard output holds the one answer that was asked for:
//! the table for people, the document (`--json`), or the block for a review (`--review`).
//!
//! `--submit` posts the document as well, after it was written and printed, whatever it concludes: a "no" is
//! evidence too; a post that is refused exits 3, since 1 says "not tested". Who posts is found before the first command runs. What identity the run has is kept from
//! the commands (`verify::sandbox`); a key in a file is not, wherever they are not shut in, so changes of
//! strangers are better posted from elsewhere, by `countersign evidence submit`.

mod critical;
mod patterns;
mod show;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::evidence::Post;
use super::stops::Stops;
use super::{Complaint, Ended, Exit};
use crate::clock::Clock;
use crate::domain::evidence::{FENCE, InconclusiveReason, Mutant, MutantStatus, Outcome};
use crate::domain::policy;
use crate::verify::{self, Budget, Choice, Commands, Fault, Limits, Report, Request, Said, Watch};
pub(super) use critical::CriticalArgs;
pub(super) use show::visible;

/// What to verify, and how.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The branch (or commit) the change wants to enter
    #[arg(long, value_name = "REF")]
    base: String,
    /// The commit to verify
    #[arg(long, value_name = "SHA", default_value = "HEAD")]
    head: String,
    /// The command that runs the tests, for `sh`
    #[arg(long, value_name = "CMD")]
    test: String,
    /// The command that builds; give it wherever there is one, or a change that does not compile cannot
    /// be told from one that fails
    #[arg(long, value_name = "CMD")]
    build: Option<String>,
    #[command(flatten)]
    critical: CriticalArgs,
    /// Where the tests write JUnit reports: paths or patterns from the top of the tree
    #[arg(long, value_name = "PATH")]
    junit: Vec<String>,
    /// Take the exit code of `--test` for one test, where no known runner and no JUnit report counts tests: for
    /// a script of your own that does nothing but test
    #[arg(long)]
    by_exit_code: bool,
    /// What the tests run against for real, such as `postgres:15`
    #[arg(long, value_name = "NAME")]
    against: Vec<String>,
    /// Hand this variable on to the commands, though it looks like a secret
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// How long any one command may take, such as `90s` or `10m` [default: by the head's own times]
    #[arg(long, value_name = "D", value_parser = duration)]
    timeout: Option<Duration>,
    /// How many mutants are tried at a time, each in a folder of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Try mutants for at most this time (`20m`) or at most so many (`50`); what is left out makes the
    /// answer inconclusive
    #[arg(long, value_name = "D|N", value_parser = budget)]
    budget: Option<Budget>,
    /// How often the head's own tests are run first; 2 finds tests that fail now and then
    #[arg(long, value_name = "1|2", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    baseline_runs: u8,
    /// Shut commands in with bubblewrap
    #[arg(long, value_enum, default_value_t = SandboxWord::Auto)]
    sandbox: SandboxWord,
    /// The repository, for the evidence [default: from the remote `origin`]
    #[arg(long, value_name = "OWNER/NAME", value_parser = super::policy::parse_repo)]
    repo: Option<crate::domain::model::RepoName>,
    /// The name of this run's context; two reports of one context count as one [default: made up]
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// The vendor of who verifies
    #[arg(long)]
    vendor: Option<String>,
    /// The model of who verifies
    #[arg(long)]
    model: Option<String>,
    /// Write the evidence there (as well)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the evidence, in place of what people read
    #[arg(long)]
    json: bool,
    /// Print the evidence as the fenced block that a review or comment carries
    #[arg(long, conflicts_with = "json")]
    review: bool,
    /// Post the evidence to the server at this public address, as the GitHub Actions run that this is, or
    /// signed with `--key`
    #[arg(long, value_name = "URL")]
    submit: Option<String>,
    /// Sign what is posted with this ed25519 key (PKCS#8 PEM)
    #[arg(long, value_name = "FILE", requires = "submit")]
    key: Option<PathBuf>,
    /// The server's COUNTERSIGN_PUBLIC_URL, where it is reached by another address than that
    #[arg(long, value_name = "URL", requires = "submit")]
    audience: Option<String>,
    /// Go on with a verification that was cut off; without this, everything is run again
    #[arg(long)]
    resume: bool,
    /// The checkout to read [default: the one around the working directory]
    #[arg(long, value_name = "FOLDER", default_value = ".", hide = true)]
    checkout: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SandboxWord {
    /// Where it works
    Auto,
    /// Not at all
    Off,
    /// Or run nothing
    Require,
}

/// The longest time that a run may be given, in seconds: a week.
const LONGEST: i64 = 604_800;

fn duration(text: &str) -> Result<Duration, String> {
    let how = "write a whole number and a unit: `90s`, `10m`, `2h` or `1d`";
    let length = policy::span(text).ok_or(how)?;
    match length.num_seconds() {
        1..=LONGEST => length.to_std().map_err(|error| error.to_string()),
        _ => Err("between `1s` and a week".to_owned()),
    }
}

fn budget(text: &str) -> Result<Budget, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(count) => Ok(Budget::Mutants(count)),
        Err(_) => duration(text).map(Budget::Time),
    }
}

/// Runs it: 0 approved (and posted, if that was asked for), 1 rejected or inconclusive, 3 not posted.
pub async fn run(args: VerifyArgs) -> Ended {
    let post = match &args.submit {
        Some(url) => {
            let (key, audience) = (args.key.as_deref(), args.audience.as_deref());
            Some(Post::prepare(url, key, audience)?)
        }
        None => None,
    };
    let outputs = Outputs {
        out: args.out.clone(),
        json: args.json,
        review: args.review,
        post: how_posted(&args),
        usual: args.critical.nobody_chose(),
    };
    if let Some(out) = &outputs.out {
        is_a_place(out)?;
    }
    let watch = show::Progress::new();
    if !outputs.keeps() {
        let note =
            "nothing of this run is kept for a gate: --out FILE, --review or --submit URL does";
        watch.said(Said::Note(note.to_owned()));
    }
    let request = request(args, &watch).await?;
    let mut stops = Stops::listen();
    let report = tokio::select! {
        report = verify::verify(&request, &Clock::System, &watch) => report,
        // Dropping the other branch ends what it started.
        () = stops.next() => {
            watch.end();
            let text = "interrupted; `--resume` goes on from here";
            return Err(Complaint::new(Exit::No, text));
        }
    };
    watch.end();
    let report = report.map_err(|fault| match fault {
        Fault::Use(text) => Complaint::new(Exit::Usage, text),
        Fault::Internal(text) => Complaint::new(Exit::Internal, text),
    })?;
    let document = outputs.give(&report)?;
    if let Some(post) = post {
        let sent = post.send(&document).await;
        sent.map_err(|complaint| outputs.keep(&document, &request.journal, complaint))?;
    }
    Ok(match report.statement.result {
        // Without a base no gate takes it, and `evidence check` says so.
        Outcome::Approved if report.statement.base.is_none() => Exit::No,
        Outcome::Approved => Exit::Done,
        Outcome::Rejected | Outcome::Inconclusive => Exit::No,
    })
}

/// The flags that post the document as this run does.
fn how_posted(args: &VerifyArgs) -> Vec<(&'static str, String)> {
    let key = args
        .key
        .as_ref()
        .map(|key| key.to_string_lossy().into_owned());
    let flags = [
        ("--url", args.submit.clone()),
        ("--key", key),
        ("--audience", args.audience.clone()),
    ];
    flags
        .into_iter()
        .filter_map(|(flag, value)| Some((flag, value?)))
        .collect()
}

async fn request(args: VerifyArgs, watch: &dyn Watch) -> Result<Request, Complaint> {
    for (flag, command) in [
        ("--test", Some(&args.test)),
        ("--build", args.build.as_ref()),
    ] {
        if command.is_some_and(|command| command.trim().is_empty()) {
            return Err(Complaint::new(Exit::Usage, format!("{flag} is empty")));
        }
    }
    let check = args.critical.check()?;
    if let Some(note) = args.critical.note(&args.checkout) {
        watch.said(Said::Note(note));
    }
    if let Some(typed) = args.critical.typed() {
        patterns::each_matches(&args.checkout, &[&args.base, &args.head], typed).await?;
    }
    let repository = match &args.repo {
        Some(repo) => repo.to_string(),
        None => verify::named_by_origin(&args.checkout)
            .await
            .ok_or_else(|| {
                let text = format!(
                    "the folder `{}` is no git checkout whose remote `origin` names a repository: run this in the checkout, \
                     or say which repository it is: --repo OWNER/NAME",
                    args.checkout.display()
                );
                Complaint::new(Exit::Usage, text)
            })?,
    };
    let context = args.context.filter(|context| !context.trim().is_empty());
    let context = context.unwrap_or_else(|| format!("countersign-{}", uuid::Uuid::now_v7()));
    let journal = journal(
        args.out.as_deref(),
        &args.checkout,
        &args.base,
        &args.head,
        &args.test,
    );
    Ok(Request {
        checkout: args.checkout,
        base: args.base,
        head: args.head,
        repository,
        commands: Commands {
            build: args.build,
            test: args.test,
            junit: args.junit,
            against: args.against,
            env: args.env,
            by_exit_code: args.by_exit_code,
        },
        check,
        limits: Limits {
            timeout: args.timeout,
            budget: args.budget,
            jobs: args.jobs.into(),
            baseline_runs: args.baseline_runs.into(),
        },
        sandbox: match args.sandbox {
            SandboxWord::Auto => Choice::Auto,
            SandboxWord::Off => Choice::Off,
            SandboxWord::Require => Choice::Require,
        },
        journal,
        resume: args.resume,
        context,
        vendor: args.vendor,
        model: args.model,
    })
}

/// Where the journal lies: beside the evidence, else in the cache of whoever runs this.
fn journal(out: Option<&Path>, checkout: &Path, base: &str, head: &str, test: &str) -> PathBuf {
    if let Some(out) = out {
        let mut name = out.as_os_str().to_owned();
        name.push(".journal");
        return name.into();
    }
    let checkout = checkout
        .canonicalize()
        .unwrap_or_else(|_| checkout.to_owned());
    let name = verify::digest([&checkout.to_string_lossy(), base, head, test]);
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| {
            let home = std::env::var_os("HOME")?;
            Some(PathBuf::from(home).join(".cache"))
        });
    let folder = cache.unwrap_or_else(std::env::temp_dir);
    folder
        .join("countersign")
        .join("verify")
        .join(format!("{name:.24}.journal"))
}

/// Where the answer goes.
struct Outputs {
    out: Option<PathBuf>,
    json: bool,
    review: bool,
    /// How it is posted: flags and their values, empty where it is not.
    post: Vec<(&'static str, String)>,
    /// Nobody said what is critical.
    usual: bool,
}

impl Outputs {
    /// Whether anything of the evidence lasts.
    fn keeps(&self) -> bool {
        self.out.is_some() || self.json || self.review || !self.post.is_empty()
    }

    /// Tells the answer; gives the document.
    fn give(&self, report: &Report) -> Result<String, Complaint> {
        let document = serde_json::to_string_pretty(&report.document())
            .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))?;
        if let Some(out) = &self.out {
            std::fs::write(out, format!("{document}\n")).map_err(|error| {
                // What it took so long to make is not thrown away for that.
                println!("{document}");
                let text = format!(
                    "--out {} cannot be written: {error}; the evidence went to standard output",
                    out.display()
                );
                Complaint::new(Exit::Usage, text)
            })?;
        }
        if self.json {
            println!("{document}");
        } else if self.review {
            print!("{}", block(&document));
        } else {
            let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            print!("{}", show::table(report, colour));
            print!("{}", next_step(report, self).unwrap_or_default());
        }
        Ok(document)
    }

    /// A document that could not be posted is not lost for that: it is in its file, or in one beside where
    /// the journal was.
    fn keep(&self, document: &str, journal: &Path, complaint: Complaint) -> Complaint {
        let file = match &self.out {
            Some(out) => out.clone(),
            None => journal.with_extension("json"),
        };
        let kept = match &self.out {
            Some(_) => Ok(()),
            None => std::fs::write(&file, document),
        };
        let shown = file.display();
        let text = match kept {
            Ok(()) => format!(
                "{}\nThe document is in {shown}; this posts it: {}",
                complaint.text,
                self.repost(&file)
            ),
            Err(error) => format!(
                "{}\nThe document could not be kept either ({shown}: {error}); give --out FILE",
                complaint.text
            ),
        };
        Complaint { text, ..complaint }
    }

    /// The command that posts the document again, as a shell takes it.
    fn repost(&self, file: &Path) -> String {
        let mut words = vec![
            "countersign evidence submit".to_owned(),
            quoted(&file.to_string_lossy()),
        ];
        for (flag, value) in &self.post {
            words.push(format!("{flag} {}", quoted(value)));
        }
        words.join(" ")
    }
}

/// A word for a shell, in quotes where it needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A place where nothing can be written is found out before an hour of work, not after it.
pub(super) fn is_a_place(out: &Path) -> Result<(), Complaint> {
    let folder = match out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let why = if out.is_dir() {
        "it is a folder; name a file in it".to_owned()
    } else if out.exists() && !out.is_file() {
        // A pipe would take the look for the end of what comes.
        return Ok(());
    } else if out.is_file() {
        // What is in it stays until there is something better.
        match std::fs::OpenOptions::new().append(true).open(out) {
            Ok(_) => return Ok(()),
            Err(error) => format!("it cannot be written: {error}"),
        }
    } else if !folder.is_dir() {
        format!("there is no folder {}; make it first", folder.display())
    } else {
        match tempfile::tempfile_in(folder) {
            Ok(_) => return Ok(()),
            Err(error) => format!("nothing can be written in {}: {error}", folder.display()),
        }
    };
    let text = format!("--out {}: {why}", out.display());
    Err(Complaint::new(Exit::Usage, text))
}

/// What whoever ran this may do now.
fn next_step(report: &Report, given: &Outputs) -> Option<String> {
    let what = match report.statement.result {
        Outcome::Approved => None,
        Outcome::Rejected if report.survivors.is_empty() => {
            Some("mend what fails, commit, and verify the new head")
        }
        Outcome::Rejected => Some(
            "write a test that fails with the change shown, or take the lines out, commit, and verify the new head",
        ),
        Outcome::Inconclusive if left_out(report) => {
            Some("give it more with --budget, and --resume to keep what is known by now")
        }
        Outcome::Inconclusive => Some("mend what kept it from an answer, and run it again"),
    };
    let baseless = report
        .statement
        .base
        .is_none()
        .then_some("give --base as a branch: evidence that names no base counts for nothing");
    let leave_out = (given.usual && !report.survivors.is_empty()).then_some(
        "where no test can see such a line, leave its file out with --except GLOB, as the policy does",
    );
    let keep = (!given.keeps()).then_some(
        "the evidence was not kept: --out FILE writes it, --review prints it for a review",
    );
    let advice = [what, leave_out, baseless, keep];
    let mut steps: Vec<_> = advice.into_iter().flatten().map(str::to_owned).collect();
    if let Some(out) = given.out.as_deref().filter(|_| given.post.is_empty()) {
        let out = quoted(&out.to_string_lossy());
        steps.push(format!(
            "the evidence is in {out}: `countersign evidence submit {out} --url URL` posts it"
        ));
    }
    (!steps.is_empty()).then(|| format!("next: {}\n", steps.join("; ")))
}

/// Whether it was the budget that kept it from an answer.
fn left_out(report: &Report) -> bool {
    let mutants = report.statement.mutation.as_ref();
    let skipped = |mutant: &Mutant| mutant.status == MutantStatus::Skipped;
    report.statement.reason == Some(InconclusiveReason::Timeout)
        && mutants.is_some_and(|found| found.mutants.iter().any(skipped))
}

/// The block for a review; its fence is longer than any in the document.
fn block(document: &str) -> String {
    let longest = document
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{FENCE}\n{document}\n{fence}\n")
}

#[cfg(test)]
mod tests;

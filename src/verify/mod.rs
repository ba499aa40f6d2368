//! The mutation runner: proves, by running, that the head's tests pass and that they would notice if its
//! critical changes were not there.
//!
//! Purpose: one call, [`verify`], from a checkout and two commits to a [`Report`] that holds an evidence
//! document. The head's tests must be green first; then, at every critical place, the change is undone (or
//! broken in smaller ways where that does not build), the tests are run, and the head is put back.
//!
//! Properties:
//! - The caller's checkout is read, never written: not its files, index, refs, stashes, nor anything in its
//!   `.git`, also when this process is killed in the middle (`ends`).
//! - What is verified is exactly the head's tree, proved from the files' content before the first command
//!   and after the last (`workshop`).
//! - Tests that fail on a change that changes nothing show nothing (`control`).
//! - A kill is a test that failed after a build that succeeded, told by its name where tests have names
//!   (`reading`), while the head still passes in the same folder afterwards (`hunt`). Time-outs, failed
//!   builds and runs without tests are never kills.
//! - Nothing is written, read or removed outside of a work folder by way of what a test left in it
//!   (`beneath`).
//! - Approval needs everything: green tests, a kill at each critical place, no survivor, the tree restored.
//!   What was left out is in the report as skipped (`report`).
//! - Nothing that a project's command starts outlives it (`run`), and it gets no variable that looks like a
//!   secret; files with keys in a home are hidden from it within walls, and only there (`sandbox`).
//!
//! Known races: tests that fail now and then look like kills; `--baseline-runs 2` and the controls between
//! mutants find some of them, only sound tests mend it. Parallel jobs share the machine (`hunt`). Killed by SIGKILL, this process leaves
//! its temporary folder until the next verification (`remains`), and without bubblewrap also the command that was
//! running.
//!
//! Left out: a change without lines (a new mode or name, an empty file) is named and not mutated; content of
//! submodules is not mutated; line endings that a checkout converts are those of the
//! repository in a mutant's file; other operating systems than Unix.

mod beneath;
mod control;
mod diff;
mod ends;
mod git;
mod hunt;
mod journal;
mod modules;
mod reading;
mod remains;
mod report;
mod run;
mod sandbox;
mod spots;
mod workshop;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ends::repository_of;
pub use git::Git;
pub use report::{Report, Survivor};
pub use sandbox::Choice;

use crate::clock::Clock;
use crate::domain::evidence::MutantStatus;
use crate::domain::policy::MutationCheck;
use diff::Change;
use ends::{Ends, Origin};
use hunt::{Bounds, Hunt};
use journal::Journal;
use reading::{Health, Reports, Tests};
use report::{Baseline, Found};
use run::{End, Ran};
use workshop::{Workshop, Yard};

/// How long an unmutated build or run of the tests may take when nobody says.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// A mutant's run may take so many times as long as the head's,
const FACTOR: u32 = 3;
/// but this long at least: small times vary most.
const SHORTEST: Duration = Duration::from_secs(30);

/// What is to be verified, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// The checkout whose objects are read.
    pub checkout: PathBuf,
    /// The base, as git understands it.
    pub base: String,
    /// The head, as git understands it.
    pub head: String,
    /// `OWNER/NAME`, for the evidence.
    pub repository: String,
    /// What is run.
    pub commands: Commands,
    /// What is critical, and what must be shown of it.
    pub check: MutationCheck,
    /// Bounds that the caller sets.
    pub limits: Limits,
    /// Walls around commands.
    pub sandbox: Choice,
    /// Where progress is kept.
    pub journal: PathBuf,
    /// Go on from what is kept there.
    pub resume: bool,
    /// The name of this run, for the evidence.
    pub context: String,
    /// What it says of its vendor.
    pub vendor: Option<String>,
    /// What it says of its model.
    pub model: Option<String>,
}

/// The project's commands, for `sh`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// Builds; without it, testing is all there is.
    pub build: Option<String>,
    /// Runs the tests.
    pub test: String,
    /// Where JUnit reports lie after the tests: paths or patterns from the top of the tree.
    pub junit: Vec<String>,
    /// What the tests run against, as the caller knows it.
    pub against: Vec<String>,
    /// Variables that are handed on though they look like secrets.
    pub env: Vec<String>,
    /// The caller says that the command tests, though nothing it prints or writes counts tests.
    pub by_exit_code: bool,
}

/// Bounds.
#[derive(Debug, Clone)]
pub struct Limits {
    /// For each command; by the head's own times where nothing is said.
    pub timeout: Option<Duration>,
    /// For everything after the head's own run.
    pub budget: Option<Budget>,
    /// How many work folders, at least 1.
    pub jobs: usize,
    /// How often the head's tests are run before they are believed: 1 or 2.
    pub baseline_runs: usize,
}

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// No mutant is begun after this time.
    Time(Duration),
    /// At most so many.
    Mutants(usize),
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The request cannot be followed; the text says what to do.
    #[error("{0}")]
    Use(String),
    /// Something broke here.
    #[error("{0}")]
    Internal(String),
}

/// Hears what happens.
pub trait Watch {
    /// Something happened.
    fn said(&self, said: Said);
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Something to know.
    Note(String),
    /// A step begins.
    Step(String),
    /// So many places are critical.
    Places(usize),
    /// A mutant was dealt with.
    Tried {
        /// Its place.
        place: String,
        /// What it changed.
        what: String,
        /// What became of it.
        status: MutantStatus,
        /// The first test that killed it, or why nothing did.
        by: Option<String>,
    },
}

/// `OWNER/NAME` of the repository that a checkout was cloned from.
pub async fn named_by_origin(checkout: &Path) -> Option<String> {
    let git = git::Git::reading(checkout);
    let address = git
        .text(&["config", "--get", "remote.origin.url"])
        .await
        .ok()?;
    repository_of(&address)
}

/// A digest of texts, in hex; no two lists give the same.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    journal::digest(texts.into_iter().map(str::as_bytes))
}

/// Verifies a head.
///
/// # Errors
/// [`Fault`] when the request cannot be followed or something breaks; a head that does not hold is a
/// report.
pub async fn verify(request: &Request, clock: &Clock, watch: &dyn Watch) -> Result<Report, Fault> {
    let started = clock.now();
    let reports = Reports::new(&request.commands.junit).map_err(Fault::Use)?;
    let folder = remains::folder();
    let (folder, _held) =
        folder.map_err(|error| Fault::Internal(format!("no temporary folder: {error}")))?;
    sandbox::may_be_handed_on(&request.commands.env).map_err(Fault::Use)?;
    let yard = yard(request, folder, watch).await?;
    let change = Change::read(&yard.git, &yard.ends)
        .await
        .map_err(Fault::Use)?;
    if change.comparison.files.items.is_empty() {
        let base = &request.base;
        let head = &yard.ends.head;
        return Err(Fault::Use(format!(
            "nothing changed between {base} and {head}: there is nothing to verify; is the base the right one?"
        )));
    }
    let spots = spots::find(&yard.git, &change, &request.check).await;
    let spots = spots.map_err(Fault::Use)?;
    watch.said(Said::Places(spots.len()));
    watch.said(Said::Step(format!(
        "laying out {:.12}",
        yard.ends.head.as_str()
    )));
    let mut workshop = yard.workshop(0).await.map_err(Fault::Use)?;
    let baseline = baseline(request, &yard, &mut workshop, &reports, watch).await?;
    let mut report = Report::begin(request, &yard, started, &baseline);
    if let Baseline::Green(build, tests) = &baseline {
        let mut journal = open_journal(request, &yard, watch)?;
        let hunt = Hunt {
            yard: &yard,
            commands: &request.commands,
            reports: &reports,
            baseline: tests,
            bounds: bounds(&request.limits, build.as_ref(), &tests.ran),
            budget: request.limits.budget,
            watch,
            since: Instant::now(),
        };
        let jobs = request.limits.jobs;
        let hunted = hunt.go(&spots, workshop, jobs, &mut journal).await;
        let bag = hunted.map_err(Fault::Internal)?;
        watch.said(Said::Step("comparing the tree with the head's".to_owned()));
        let tree = restored(&yard, &bag.workshops)
            .await
            .map_err(Fault::Internal)?;
        report.mutants(Found {
            check: &request.check,
            comparison: &change.comparison,
            spots: &spots,
            tried: bag.tried,
            tree,
            doubt: bag.doubt,
            named: tests.log.is_some(),
            lineless: spots::lineless(&change.comparison, &request.check),
        });
        if report.is_final() {
            journal.done();
        }
    }
    report.finish(clock.now());
    Ok(report)
}

async fn yard(
    request: &Request,
    folder: tempfile::TempDir,
    watch: &dyn Watch,
) -> Result<Yard, Fault> {
    let origin = Origin::of(&request.checkout).await?;
    let ends = Ends::find(&request.checkout, &request.base, &request.head).await?;
    let note = |text: String| watch.said(Said::Note(text));
    if git::Git::reading(&request.checkout).is_dirty().await {
        note("the checkout has changes that are not committed: they are not verified".to_owned());
    }
    if ends.base.is_none() {
        let base = &request.base;
        note(format!(
            "{base} is no branch: the evidence names no base, and no gate takes it so; give --base as a branch"
        ));
    }
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").map_err(|error| Fault::Internal(error.to_string()))?;
    let mut shown = vec![origin.objects.clone()];
    let build = request.commands.build.as_deref().unwrap_or_default();
    shown.extend(sandbox::named_below_tmp(&[build, &request.commands.test]));
    let walls = sandbox::Walls::find(request.sandbox, &origin.git_dir, shown, empty).await;
    let walls = walls.map_err(Fault::Use)?;
    match &walls {
        sandbox::Walls::None(why) => note(format!("commands run without a sandbox: {why}")),
        sandbox::Walls::Bubblewrap { .. } => note("commands run in bubblewrap".to_owned()),
    }
    let through = request.commands.env.clone();
    let withheld = sandbox::withheld(std::env::vars_os(), &through);
    if !withheld.is_empty() {
        let names = withheld.join(", ");
        note(format!(
            "these look like secrets and are kept from the commands: {names}; --env NAME hands one on"
        ));
    }
    Yard::open(folder, origin, ends, walls, through)
        .await
        .map_err(Fault::Use)
}

/// Builds and tests the head as it is.
async fn baseline(
    request: &Request,
    yard: &Yard,
    workshop: &mut Workshop,
    reports: &Reports,
    watch: &dyn Watch,
) -> Result<Baseline, Fault> {
    let limit = request.limits.timeout.unwrap_or(LONGEST);
    let commands = &request.commands;
    let mut build = None;
    if let Some(line) = &commands.build {
        watch.said(Said::Step(format!("building the head: {line}")));
        let ran = workshop.run(line, limit).await.map_err(Fault::Internal)?;
        if ran.end != End::Code(0) {
            return Ok(Baseline::NotBuilt(line.clone(), ran));
        }
        build = Some(ran);
    }
    workshop.keep().await.map_err(Fault::Internal)?;
    let mut first: Option<Tests> = None;
    for _ in 0..request.limits.baseline_runs.max(1) {
        watch.said(Said::Step(format!("testing the head: {}", commands.test)));
        let work = workshop.room.work.clone();
        reports.clear(&work);
        let ran = workshop
            .run(&commands.test, limit)
            .await
            .map_err(Fault::Internal)?;
        let tests = Tests::read(ran, reports, &work);
        match first.take() {
            Some(before) if !alike(&before, &tests) => return Ok(Baseline::Flaky(before, tests)),
            Some(before) => {
                // The slower of both bounds what mutants may take.
                let slower = before.ran.took >= tests.ran.took;
                first = Some(if slower { before } else { tests });
            }
            None => first = Some(tests),
        }
    }
    let Some(tests) = first else {
        return Err(Fault::Internal("the tests were not run".to_owned()));
    };
    workshop.mend(yard).await.map_err(Fault::Internal)?;
    workshop.tidy().await.map_err(Fault::Internal)?;
    Ok(match reading::health(&tests) {
        Health::Green if tests.log.is_none() && !commands.by_exit_code => {
            Baseline::Unclear(tests, reading::UNCOUNTED.to_owned())
        }
        Health::Green => Baseline::Green(build, tests),
        Health::Red(names) => Baseline::Red(tests, names),
        Health::Unclear(why) => Baseline::Unclear(tests, why),
        Health::TimedOut => Baseline::TimedOut(tests),
    })
}

/// Whether two runs of the same tests said the same.
fn alike(one: &Tests, other: &Tests) -> bool {
    let said = |tests: &Tests| {
        let log = tests.counted();
        (tests.ran.end, log.executed, log.skipped, log.failures)
    };
    said(one) == said(other)
}

fn bounds(limits: &Limits, build: Option<&Ran>, tests: &Ran) -> Bounds {
    let by = |took: Duration| (took * FACTOR).max(SHORTEST);
    match limits.timeout {
        Some(limit) => Bounds {
            build: limit,
            test: limit,
            fixed: true,
        },
        None => Bounds {
            // Undoing a change may have everything built anew.
            build: build.map_or(LONGEST, |ran| by(ran.took)),
            test: by(tests.took),
            fixed: false,
        },
    }
}

fn open_journal(request: &Request, yard: &Yard, watch: &dyn Watch) -> Result<Journal, Fault> {
    let commands = &request.commands;
    let mut texts = vec![
        env!("CARGO_PKG_VERSION"),
        yard.ends.tree.as_str(),
        yard.ends.head.as_str(),
        yard.ends.merge_base.as_str(),
        &commands.test,
        commands.build.as_deref().unwrap_or_default(),
    ];
    texts.extend(commands.junit.iter().map(String::as_str));
    let verification = journal::digest(texts.into_iter().map(str::as_bytes));
    let journal = Journal::open(&request.journal, &verification, request.resume);
    let journal = journal.map_err(Fault::Use)?;
    if request.resume {
        let count = journal.knows();
        let told = match count {
            0 => "no mutant is known from before: a run that came to its end keeps none".to_owned(),
            1 => "one mutant is known from before".to_owned(),
            _ => format!("{count} mutants are known from before"),
        };
        watch.said(Said::Note(told));
    }
    Ok(journal)
}

/// The tree of the work folders after the last mutant; any that differs stands for all.
async fn restored(
    yard: &Yard,
    workshops: &[Workshop],
) -> Result<crate::domain::model::Oid, String> {
    let mut tree = yard.ends.tree.clone();
    for workshop in workshops {
        let found = workshop.tree(yard).await?;
        if found != yard.ends.tree {
            tree = found;
        }
    }
    Ok(tree)
}

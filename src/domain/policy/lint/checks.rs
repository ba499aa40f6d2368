//! Required checks: does anybody report them, under that very name, from there?

use std::collections::BTreeSet;

use super::{Facts, Findings, Producer, Report, Severity, Step, Subject};
use crate::domain::facts::{Fetched, PlatformRule};
use crate::domain::model::AppId;
use crate::domain::policy::check_name::matches;
use crate::domain::policy::nearest::{nearest, within};
use crate::domain::policy::{Policy, RequiredCheck};

/// How many names are told as those that were reported.
const MOST_NAMES: usize = 8;

/// Judges every required check, and those that GitHub itself requires.
pub(super) fn judge(policy: &Policy, facts: &Facts, findings: &mut Findings<'_>) {
    let required = policy.gates.checks.as_ref();
    let required = required.map(|checks| checks.required.as_slice());
    let required = required.unwrap_or_default();
    for (index, check) in required.iter().enumerate() {
        one(index, check, facts, findings);
    }
    doubles(required, facts, findings);
    unpinned(required, facts, findings);
    platform(facts, findings);
}

fn at(index: usize) -> [Step<'static>; 4] {
    [
        Step::Key("gates"),
        Step::Key("checks"),
        Step::Key("required"),
        Step::Item(index),
    ]
}

fn one(index: usize, check: &RequiredCheck, facts: &Facts, findings: &mut Findings<'_>) {
    let name = &check.name;
    let named: Vec<&Report> = facts
        .reports()
        .filter(|report| matches(name, &report.name))
        .collect();
    if named.is_empty() {
        let (severity, what, mend) = never(name, facts);
        findings.add(severity, Subject::Check, &at(index), what, Some(mend));
        return;
    }
    let Some(app) = check.app.as_deref() else {
        return from_workflow(index, check, &named, facts, findings);
    };
    let by_app: Vec<&Report> = named
        .iter()
        .copied()
        .filter(|report| is_by(app, report))
        .collect();
    if !by_app.is_empty() {
        return from_workflow(index, check, &by_app, facts, findings);
    }
    let seen = list(named.iter().map(|report| producer(&report.by)));
    let what = format!("`{name}` was never reported by the App `{app}`, but by {seen}");
    let unnamed = named.iter().any(|report| report.by == Producer::Unnamed);
    let severity = sure(facts.whole() && !unnamed);
    let mend = match &named[0].by {
        Producer::App(seen) => format!("did you mean `app: {}`?", seen.slug),
        _ => "pin the App that reports it, or leave `app` out".to_owned(),
    };
    findings.add(severity, Subject::Check, &at(index), what, Some(mend));
}

/// Of reports by the right App, at least one must come from the pinned workflow.
fn from_workflow(
    index: usize,
    check: &RequiredCheck,
    reports: &[&Report],
    facts: &Facts,
    findings: &mut Findings<'_>,
) {
    let Some(wanted) = check.workflow.as_deref() else {
        return;
    };
    let from: BTreeSet<&str> = reports
        .iter()
        .filter_map(|report| report.workflow.as_deref())
        .collect();
    if from.contains(wanted) {
        return;
    }
    let name = &check.name;
    let (what, severity) = if from.is_empty() {
        let what = format!("`{name}` was reported, but by no workflow run that GitHub tells of");
        (what, Severity::Warning)
    } else {
        let seen = list(from.iter().map(|path| format!("`{path}`")));
        let what = format!("`{name}` was never reported from `{wanted}`, but from {seen}");
        (what, sure(facts.whole()))
    };
    let mend = match nearest(wanted, from.iter().copied()).or(from.first().copied()) {
        Some(path) => format!("did you mean `workflow: {path}`?"),
        None => "leave `workflow` out, or name the file whose job it is".to_owned(),
    };
    findings.add(severity, Subject::Check, &at(index), what, Some(mend));
}

fn sure(certain: bool) -> Severity {
    if certain {
        Severity::Error
    } else {
        Severity::Warning
    }
}

/// Nobody reported a name. How sure that is hangs on what was seen instead: where a head of a pull
/// request was reported on and this name was not among it, that pull request would wait for ever.
fn never(name: &str, facts: &Facts) -> (Severity, String, String) {
    let mut names: BTreeSet<&str> = facts.reports().map(|report| report.name.as_str()).collect();
    names.remove(OWN);
    let same = same(name, &names);
    let near = same.or_else(|| near(name, &names));
    let pulls_spoke = facts
        .heads
        .iter()
        .any(|head| head.of_pull && facts.reports_on(head).next().is_some());
    let looked = facts.looked_at();
    let what = if names.is_empty() {
        format!("nobody reported `{name}` or any other check: looked at {looked}")
    } else {
        format!("nobody ever reported `{name}`: looked at {looked}")
    };
    let mend = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => {
            "run the checks once on a pull request, then look again".to_owned()
        }
        None => {
            let shown = list(
                names
                    .iter()
                    .take(MOST_NAMES)
                    .map(|name| format!("`{name}`")),
            );
            let more = names.len().saturating_sub(MOST_NAMES);
            let more = match more {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            format!("write a name that is reported ({shown}{more}), or make a job of that name")
        }
    };
    let certain = facts.whole() && (pulls_spoke || same.is_some());
    (sure(certain), what, mend)
}

const OWN: &str = super::OWN_CHECK;

/// The reported name that has the same letters and digits, whatever stands between them.
fn same<'n>(name: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let letters = |text: &str| -> String {
        let kept = text.chars().filter(|c| c.is_alphanumeric());
        kept.flat_map(char::to_lowercase).collect()
    };
    let wanted = letters(name);
    names.iter().copied().find(|one| letters(one) == wanted)
}

/// The reported name that was most likely meant: a slip of the fingers away, or one that says more
/// ("Unit tests" for "unit") or less. Short names are all near one another (`lint`, `unit`), so they may
/// differ by one slip alone.
fn near<'n>(name: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let slips = match name.chars().count() {
        0..=7 => 1,
        _ => 2,
    };
    let words = |text: &str| -> BTreeSet<String> {
        let split = text.split(|c: char| !c.is_alphanumeric());
        let words = split.filter(|word| word.len() > 1);
        words.map(str::to_lowercase).collect()
    };
    let wanted = words(name);
    let more = || {
        let fits = |one: &&&str| {
            let has = words(one);
            let (few, both) = (wanted.len().min(has.len()), wanted.intersection(&has));
            few > 0 && both.count() == few
        };
        names.iter().find(fits).copied()
    };
    within(name, names.iter().copied(), slips).or_else(more)
}

/// Whether a report is by the App that is pinned by slug or number. A status is by an App where the
/// App's bot user set it.
pub(super) fn is_by(app: &str, report: &Report) -> bool {
    let number = app.bytes().all(|byte| byte.is_ascii_digit());
    match &report.by {
        Producer::App(seen) if number => seen.id.to_string() == app,
        Producer::App(seen) => seen.slug.eq_ignore_ascii_case(app),
        Producer::Status(Some(login)) if !number => {
            login.as_str().eq_ignore_ascii_case(&format!("{app}[bot]"))
        }
        Producer::Status(_) | Producer::Unnamed => false,
    }
}

fn producer(by: &Producer) -> String {
    match by {
        Producer::App(app) => format!("the App `{}`", app.slug),
        Producer::Unnamed => "an App that GitHub does not name".to_owned(),
        Producer::Status(Some(login)) => format!("a commit status of {login}"),
        Producer::Status(None) => "a commit status".to_owned(),
    }
}

/// Each once, in order.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: BTreeSet<String> = items.collect();
    items.into_iter().collect::<Vec<_>>().join(", ")
}

/// One check pinned twice to one App, once by its slug and once by its number. (Two equal entries are
/// an error of the file itself.)
fn doubles(required: &[RequiredCheck], facts: &Facts, findings: &mut Findings<'_>) {
    let ids = |app: &str| -> BTreeSet<u64> {
        let seen = facts.reports().filter(|report| is_by(app, report));
        seen.filter_map(|report| match &report.by {
            Producer::App(app) => Some(app.id.get()),
            _ => None,
        })
        .collect()
    };
    for (index, check) in required.iter().enumerate() {
        let Some(app) = &check.app else { continue };
        let twin = required[..index].iter().find(|other| {
            (&other.name, &other.workflow) == (&check.name, &check.workflow)
                && other
                    .app
                    .as_ref()
                    .is_some_and(|other| ids(other).iter().any(|id| ids(app).contains(id)))
        });
        if twin.is_some() {
            let what = format!("`{}` is required twice from one App", check.name);
            findings.warning(Subject::Dead, &at(index), what, "keep one");
        }
    }
}

/// Checks that one App reports and that are pinned to none: whoever may write to the repository can
/// report them by a commit status.
fn unpinned(required: &[RequiredCheck], facts: &Facts, findings: &mut Findings<'_>) {
    let mut loose = Vec::new();
    let mut first = None;
    for (index, check) in required.iter().enumerate() {
        if check.app.is_some() || check.workflow.is_some() {
            continue;
        }
        let reports: Vec<&Report> = facts
            .reports()
            .filter(|report| matches(&check.name, &report.name))
            .collect();
        let apps: BTreeSet<&str> = reports
            .iter()
            .filter_map(|report| match &report.by {
                Producer::App(app) => Some(app.slug.as_str()),
                _ => None,
            })
            .collect();
        let by_apps = reports
            .iter()
            .all(|report| matches!(report.by, Producer::App(_)));
        let files: BTreeSet<_> = reports.iter().map(|report| &report.workflow).collect();
        let (Some(app), 1, true) = (apps.first(), apps.len(), by_apps) else {
            continue;
        };
        let file = match (files.len(), files.first()) {
            (1, Some(Some(file))) => format!(", workflow: {file}"),
            _ => String::new(),
        };
        first.get_or_insert((
            index,
            format!("{{ name: {}, app: {app}{file} }}", check.name),
        ));
        loose.push(format!("`{}`", check.name));
    }
    let Some((index, pinned)) = first else { return };
    let (names, are) = (
        loose.join(", "),
        if loose.len() == 1 { "is" } else { "are" },
    );
    let what = format!(
        "{names} {are} pinned to no App: whoever may write to the repository can report it as well"
    );
    let mend = format!("pin each to what reports it, such as `{pinned}`");
    findings.warning(Subject::Check, &at(index), what, &mend);
}

/// Checks that GitHub requires on a base and nobody reports: GitHub would refuse every merge.
fn platform(facts: &Facts, findings: &mut Findings<'_>) {
    for (base, rules) in &facts.bases {
        let Fetched::Known(Some(rules)) = rules else {
            continue;
        };
        for rule in rules {
            let PlatformRule::RequiredCheck { context, app, .. } = rule else {
                continue;
            };
            // Whose App a status of a bot user is, a pin's number does not tell: it may be the one.
            let bots = |report: &Report| match &report.by {
                Producer::Status(Some(login)) => login.as_str().ends_with("[bot]"),
                _ => false,
            };
            let reported = facts.reports().any(|report| {
                let from = |app: AppId| is_by(&app.to_string(), report) || bots(report);
                report.name == *context && app.is_none_or(from)
            });
            if context == OWN || reported {
                continue;
            }
            let (severity, what, mend) = never(context, facts);
            let by = app.map_or_else(String::new, |app| format!(" from App {app}"));
            let what = format!("GitHub requires `{context}`{by} on `{base}`, and {what}");
            findings.add(
                severity,
                Subject::Base,
                &super::bases::KEY,
                what,
                Some(mend),
            );
        }
    }
}

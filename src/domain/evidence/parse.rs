//! Reading an evidence document.
//!
//! Every fault is told at once, each with the path of its field, so that whoever writes a verifier
//! mends them in one go. Fields that are not known are ignored; words of an enumeration that are not
//! known are refused, since they might mean "no".

use serde_json::{Map, Value};

use super::{
    Baseline, EvidenceBase, Fault, Finding, InconclusiveReason, Mutant, MutantStatus, Mutation,
    Outcome, PREDICATE_TYPE, STATEMENT_TYPE, Sandbox, Severity, Statement, TestRun, shows_nothing,
};
use crate::domain::distinct;
use crate::domain::model::{BaseRef, HeadSha, Oid};

/// The largest document that is read, in bytes.
pub const LARGEST: usize = 1024 * 1024;
/// The most mutants (and tests, and findings) of one document.
const MOST: usize = 10_000;
/// The last line that a file may have: git shows no larger ones line by line.
const MOST_LINES: u64 = 1_000_000_000;

/// Reads a document, or tells everything that is wrong with it.
///
/// # Errors
/// Every fault, each with the field's path.
pub fn document(text: &str) -> Result<Statement, Vec<Fault>> {
    if text.len() > LARGEST {
        let message = format!("it is larger than {LARGEST} bytes");
        return Err(vec![fault("", message)]);
    }
    let value: Value = distinct::read(text).map_err(|error| match error.is_data() {
        true => vec![fault("", error.to_string())],
        false => vec![fault("", format!("it is not JSON: {error}"))],
    })?;
    let mut faults = Faults::default();
    let statement = statement(&value, &mut faults);
    match statement {
        Some(statement) if faults.0.is_empty() => Ok(statement),
        _ => Err(faults.0),
    }
}

/// The head that a document names, whatever else is wrong with it.
pub fn named_head(text: &str) -> Option<HeadSha> {
    let value: Value = serde_json::from_str(text).ok()?;
    let commit = value.pointer("/subject/0/digest/gitCommit")?.as_str()?;
    HeadSha::parse(commit).ok()
}

fn fault(path: &str, message: impl Into<String>) -> Fault {
    Fault {
        path: path.to_owned(),
        message: message.into(),
    }
}

#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn note<T>(&mut self, path: &str, message: impl Into<String>) -> Option<T> {
        self.0.push(fault(path, message));
        None
    }
}

/// An object, the path to it, and the faults found so far.
struct Reader<'a> {
    fields: &'a Map<String, Value>,
    path: String,
}

impl<'a> Reader<'a> {
    fn open(value: &'a Value, path: &str, faults: &mut Faults) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Self {
                fields,
                path: path.to_owned(),
            }),
            _ => faults.note(path, "must be an object"),
        }
    }

    fn at(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    /// A field; null counts as absent.
    fn field(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn need(&self, name: &str, faults: &mut Faults) -> Option<&'a Value> {
        self.field(name)
            .or_else(|| faults.note(&self.at(name), "is missing"))
    }

    fn text(&self, name: &str, faults: &mut Faults) -> Option<&'a str> {
        let value = self.need(name, faults)?;
        value
            .as_str()
            .filter(|text| !shows_nothing(text))
            .or_else(|| faults.note(&self.at(name), "must be a text that is not empty"))
    }

    fn maybe_text(&self, name: &str, faults: &mut Faults) -> Option<String> {
        self.field(name)?;
        self.text(name, faults).map(str::to_owned)
    }

    fn parsed<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, crate::domain::model::Malformed>,
        faults: &mut Faults,
    ) -> Option<T> {
        match read(self.text(name, faults)?) {
            Ok(value) => Some(value),
            Err(error) => faults.note(&self.at(name), error.to_string()),
        }
    }

    fn word<T: Copy>(&self, name: &str, words: &[(&str, T)], faults: &mut Faults) -> Option<T> {
        let text = self.text(name, faults)?;
        let known = words.iter().find(|(word, _)| *word == text);
        known.map(|(_, value)| *value).or_else(|| {
            let allowed: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let message = format!("is `{}`; allowed are {}", short(text), allowed.join(", "));
            faults.note(&self.at(name), message)
        })
    }

    fn count(&self, name: &str, faults: &mut Faults) -> Option<u64> {
        let value = self.need(name, faults)?;
        value
            .as_u64()
            .or_else(|| faults.note(&self.at(name), "must be a whole number, 0 or more"))
    }

    fn line(&self, name: &str, faults: &mut Faults) -> Option<u64> {
        match self.count(name, faults)? {
            0 => faults.note(&self.at(name), "lines count from 1"),
            line if line > MOST_LINES => {
                let message = format!("is {line}, and no file has so many lines");
                faults.note(&self.at(name), message)
            }
            line => Some(line),
        }
    }

    fn exit_code(&self, faults: &mut Faults) -> Option<i64> {
        let value = self.need("exit_code", faults)?;
        value
            .as_i64()
            .or_else(|| faults.note(&self.at("exit_code"), "must be a whole number"))
    }

    fn flag(&self, name: &str, faults: &mut Faults) -> Option<bool> {
        let value = self.need(name, faults)?;
        value
            .as_bool()
            .or_else(|| faults.note(&self.at(name), "must be true or false"))
    }

    fn amount(&self, name: &str, faults: &mut Faults) -> Option<f64> {
        let value = self.field(name)?;
        value
            .as_f64()
            .filter(|amount| amount.is_finite() && *amount >= 0.0)
            .or_else(|| faults.note(&self.at(name), "must be a number, 0 or more"))
    }

    fn object(&self, name: &str, faults: &mut Faults) -> Option<Reader<'a>> {
        let value = self.need(name, faults)?;
        Reader::open(value, &self.at(name), faults)
    }

    /// The entries of a list that may be absent.
    fn each<T>(
        &self,
        name: &str,
        faults: &mut Faults,
        read: impl Fn(&Reader<'a>, &mut Faults) -> Option<T>,
    ) -> Vec<T> {
        let Some(value) = self.field(name) else {
            return Vec::new();
        };
        let path = self.at(name);
        let Some(items) = value.as_array() else {
            faults.note::<()>(&path, "must be a list");
            return Vec::new();
        };
        if items.len() > MOST {
            faults.note::<()>(&path, format!("has more than {MOST} entries"));
            return Vec::new();
        }
        let mut read_items = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let item = Reader::open(item, &path, faults);
            read_items.extend(item.and_then(|item| read(&item, faults)));
        }
        read_items
    }

    /// A list of texts that may be absent.
    fn texts(&self, name: &str, faults: &mut Faults) -> Vec<String> {
        let Some(value) = self.field(name) else {
            return Vec::new();
        };
        let texts: Option<Vec<String>> = value.as_array().and_then(|items| {
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect()
        });
        texts.unwrap_or_else(|| {
            faults.note::<()>(&self.at(name), "must be a list of texts");
            Vec::new()
        })
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn statement(value: &Value, faults: &mut Faults) -> Option<Statement> {
    let root = Reader::open(value, "", faults)?;
    for (name, expected) in [("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)] {
        if let Some(text) = root.text(name, faults)
            && text != expected
        {
            faults.note::<()>(
                name,
                format!("is `{}`; `{expected}` is read here", short(text)),
            );
        }
    }
    let subject = subject(&root, faults);
    let predicate = root.object("predicate", faults)?;
    let result = predicate.word("result", &OUTCOMES, faults);
    let reason = match predicate.field("reason") {
        Some(_) => predicate.word("reason", &REASONS, faults),
        None => None,
    };
    if result == Some(Outcome::Inconclusive) && predicate.field("reason").is_none() {
        faults.note::<()>("predicate.reason", "is missing: say why it is inconclusive");
    }
    let base = predicate.field("base").and_then(|_| {
        let base = predicate.object("base", faults)?;
        let name = base.parsed("ref", BaseRef::parse, faults);
        let sha = base.parsed("sha", Oid::parse, faults);
        Some(EvidenceBase {
            name: name?,
            sha: sha?,
        })
    });
    let sandbox = predicate.field("sandbox").and_then(|_| {
        let sandbox = predicate.object("sandbox", faults)?;
        let executes = sandbox.flag("executes", faults);
        let writes = sandbox.flag("writes", faults);
        Some(Sandbox {
            executes: executes?,
            writes: writes?,
        })
    });
    let context = predicate.text("context", faults).map(str::to_owned);
    let vendor = predicate.maybe_text("vendor", faults);
    let model = predicate.maybe_text("model", faults);
    let tests = predicate.each("tests", faults, test_run);
    let mutation = predicate
        .field("mutation")
        .and_then(|_| mutation(&predicate.object("mutation", faults)?, faults));
    let findings = predicate.each("findings", faults, finding);
    let cost_usd = predicate.amount("cost_usd", faults);
    let (subject_name, head) = subject?;
    Some(Statement {
        subject_name,
        head,
        result: result?,
        reason,
        base,
        context: context?,
        vendor,
        model,
        sandbox,
        tests,
        mutation,
        findings,
        cost_usd,
    })
}

const OUTCOMES: [(&str, Outcome); 3] = [
    ("approved", Outcome::Approved),
    ("rejected", Outcome::Rejected),
    ("inconclusive", Outcome::Inconclusive),
];

const REASONS: [(&str, InconclusiveReason); 6] = [
    ("capacity", InconclusiveReason::Capacity),
    ("quota", InconclusiveReason::Quota),
    ("timeout", InconclusiveReason::Timeout),
    ("read_only", InconclusiveReason::ReadOnly),
    ("conflict", InconclusiveReason::Conflict),
    ("other", InconclusiveReason::Other),
];

const STATUSES: [(&str, MutantStatus); 5] = [
    ("killed", MutantStatus::Killed),
    ("survived", MutantStatus::Survived),
    ("timeout", MutantStatus::Timeout),
    ("unviable", MutantStatus::Unviable),
    ("skipped", MutantStatus::Skipped),
];

const SEVERITIES: [(&str, Severity); 3] = [
    ("blocking", Severity::Blocking),
    ("warning", Severity::Warning),
    ("note", Severity::Note),
];

/// Exactly one subject: a document about two commits is about neither.
fn subject(root: &Reader<'_>, faults: &mut Faults) -> Option<(String, HeadSha)> {
    let found = root.each("subject", faults, |subject, faults| {
        let name = subject.text("name", faults).map(str::to_owned);
        let digest = subject.object("digest", faults);
        let head = digest.and_then(|d| d.parsed("gitCommit", HeadSha::parse, faults));
        Some((name?, head?))
    });
    let listed = root.field("subject").and_then(Value::as_array);
    match listed.map(Vec::len) {
        Some(1) => found.into_iter().next(),
        Some(count) => faults.note("subject", format!("has {count} entries; one is read here")),
        None if root.field("subject").is_some() => None,
        None => faults.note("subject", "is missing"),
    }
}

fn test_run(run: &Reader<'_>, faults: &mut Faults) -> Option<TestRun> {
    let command = run.text("command", faults).map(str::to_owned);
    let executed = run.count("executed", faults);
    let passed = run.count("passed", faults);
    let failed = run.count("failed", faults);
    if let (Some(executed), Some(passed), Some(failed)) = (executed, passed, failed)
        && passed.checked_add(failed).is_none_or(|sum| sum > executed)
    {
        faults.note::<()>(
            &run.path,
            "counts more passed and failed tests than executed ones",
        );
    }
    let skipped = match run.field("skipped") {
        Some(_) => run.count("skipped", faults)?,
        None => 0,
    };
    let exit_code = run.exit_code(faults);
    let against = run.texts("against", faults);
    let duration_s = run.amount("duration_s", faults);
    Some(TestRun {
        command: command?,
        executed: executed?,
        passed: passed?,
        failed: failed?,
        skipped,
        exit_code: exit_code?,
        against,
        duration_s,
    })
}

fn mutation(mutation: &Reader<'_>, faults: &mut Faults) -> Option<Mutation> {
    let tool = mutation.text("tool", faults).map(str::to_owned);
    let baseline = mutation.object("baseline", faults).and_then(|baseline| {
        let executed = baseline.count("executed", faults);
        let exit_code = baseline.exit_code(faults);
        Some(Baseline {
            executed: executed?,
            exit_code: exit_code?,
        })
    });
    if mutation.field("mutants").is_none() {
        faults.note::<()>(&mutation.at("mutants"), "is missing");
    }
    let mutants = mutation.each("mutants", faults, mutant);
    let mut ids: Vec<&str> = mutants.iter().map(|mutant| mutant.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("names the mutant `{}` twice", short(twice[0]));
        faults.note::<()>(&mutation.at("mutants"), message);
    }
    let restored_tree = mutation.parsed("restored_tree", Oid::parse, faults);
    Some(Mutation {
        tool: tool?,
        baseline: baseline?,
        restored_tree: restored_tree?,
        mutants,
    })
}

fn mutant(mutant: &Reader<'_>, faults: &mut Faults) -> Option<Mutant> {
    let id = mutant.text("id", faults).map(str::to_owned);
    let path = mutant.text("path", faults).map(str::to_owned);
    let start_line = mutant.line("start_line", faults);
    let end_line = mutant.line("end_line", faults);
    if let (Some(start), Some(end)) = (start_line, end_line)
        && end < start
    {
        faults.note::<()>(&mutant.at("end_line"), "lies before start_line");
    }
    let kind = mutant.text("kind", faults).map(str::to_owned);
    let status = mutant.word("status", &STATUSES, faults);
    let killed_by = mutant.texts("killed_by", faults);
    let duration_s = mutant.amount("duration_s", faults);
    Some(Mutant {
        id: id?,
        path: path?,
        start_line: start_line?,
        end_line: end_line?,
        kind: kind?,
        status: status?,
        killed_by,
        duration_s,
    })
}

fn finding(finding: &Reader<'_>, faults: &mut Faults) -> Option<Finding> {
    let severity = finding.word("severity", &SEVERITIES, faults);
    let path = finding.maybe_text("path", faults);
    let line = match finding.field("line") {
        Some(_) => finding.line("line", faults),
        None => None,
    };
    let message = finding.text("message", faults).map(str::to_owned);
    Some(Finding {
        severity: severity?,
        path,
        line,
        message: message?,
    })
}

//! What a merge rested on, told in the words of others: in-toto statements.
//!
//! For each merge that was made by the App and read back, a SLSA verification summary about the landed
//! commit: which policy it was judged by, which evidence was there, that it passed. Where a verifier only
//! ran tests, its report is given as a test result as well. Both are made from the ledger alone, so they
//! can be made again at any time, and each names the entry (by hash) that it was made from.
//!
//! A merge past the gate has no statement: nothing was verified. A landed commit that was not what was
//! judged has one that says `FAILED`.
//!
//! Left out: signatures. The ledger's chain is what these rest on; who needs a signature signs the lines.
//!
//! The forms: in-toto Statement v1, predicates `https://slsa.dev/verification_summary/v1` and
//! `https://in-toto.io/attestation/test-result/v0.1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::evidence::collect::reports;
use super::evidence::{Content, MutantStatus, Outcome, STATEMENT_TYPE, Statement, TestRun, write};
use super::facts::{PolicyFact, PolicyOrigin, Snapshot};
use super::ledger::{Entry, Kind};
use super::model::{HeadSha, PullNumber, RepoName, Timestamp, VerifierName};
use super::policy::PATH;

/// The predicate of a verification summary.
pub const SUMMARY: &str = "https://slsa.dev/verification_summary/v1";
/// The predicate of a test result.
pub const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// The level a summary reports: our own, since SLSA's levels are about builds.
const LEVEL: &str = "COUNTERSIGNED";

/// A report that was there when a merge was ordered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relied {
    /// Whose.
    pub verifier: VerifierName,
    /// What the policy says of its vendor.
    pub vendor: Option<String>,
    /// What it concluded.
    pub result: Outcome,
    /// The name it gave its run.
    pub context: String,
    /// Where it stands.
    pub url: Option<String>,
    /// When it was brought.
    pub at: Option<Timestamp>,
    /// SHA-256 of the document as this program writes it, in hex.
    pub sha256: String,
    /// The tests it ran.
    pub tests: Vec<TestRun>,
    /// How many mutants were killed and how many were tried, if any were.
    pub mutants: Option<(u64, u64)>,
}

/// The verifiers' reports about the snapshot's head, oldest first.
pub fn relied_on(snapshot: &Snapshot, head: &HeadSha) -> Vec<Relied> {
    let PolicyFact::Valid { policy, .. } = &snapshot.policy else {
        return Vec::new();
    };
    let mut relied = Vec::new();
    for report in reports(policy, snapshot) {
        let (Some(name), Content::Valid(statement)) = (&report.verifier, &report.content) else {
            continue;
        };
        if statement.head != *head {
            continue;
        }
        let verifier = policy.verifiers.get(name);
        relied.push(Relied {
            verifier: name.clone(),
            vendor: verifier.and_then(|verifier| verifier.vendor.clone()),
            result: statement.result,
            context: statement.context.clone(),
            url: report.url.clone(),
            at: report.at,
            sha256: digest(statement),
            tests: statement.tests.clone(),
            mutants: mutants(statement),
        });
    }
    relied
}

fn digest(statement: &Statement) -> String {
    hex::encode(Sha256::digest(write::document(statement, None).to_string()))
}

fn mutants(statement: &Statement) -> Option<(u64, u64)> {
    let mutants = &statement.mutation.as_ref()?.mutants;
    let killed = mutants
        .iter()
        .filter(|mutant| mutant.status == MutantStatus::Killed);
    Some((killed.count() as u64, mutants.len() as u64))
}

/// Where a ledger's things are.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The repository's name now.
    pub repo: &'a RepoName,
    /// The address at which people see it, such as `https://github.com`.
    pub github: &'a str,
    /// The address of the server that verified, if it has a public one.
    pub server: Option<&'a str>,
}

/// Makes statements from the entries of one repository, taken in the ledger's order.
#[derive(Debug, Default)]
pub struct Attestor {
    /// The last verdict and the last order to merge of each head.
    ready: BTreeMap<(PullNumber, HeadSha), Value>,
    ordered: BTreeMap<(PullNumber, HeadSha), Value>,
}

impl Attestor {
    /// Takes the next entry; the statements that it completes.
    pub fn take(&mut self, entry: &Entry, origin: Origin<'_>) -> Vec<Value> {
        let (Some(number), Some(head)) = (entry.number, entry.head.clone()) else {
            return Vec::new();
        };
        let key = (number, head);
        match entry.kind {
            Kind::Verdict => {
                self.ready.insert(key, entry.body.clone());
                Vec::new()
            }
            Kind::Intent if entry.body["effect"] == "merge" => {
                self.ordered.insert(key, entry.body.clone());
                Vec::new()
            }
            Kind::Landed => {
                let verdict = self.ready.remove(&key).unwrap_or_default();
                let order = self.ordered.remove(&key).unwrap_or_default();
                let merge = Merge {
                    entry,
                    number,
                    head: key.1,
                    verdict,
                    order,
                };
                merge.statements(origin)
            }
            _ => Vec::new(),
        }
    }
}

struct Merge<'a> {
    entry: &'a Entry,
    number: PullNumber,
    head: HeadSha,
    verdict: Value,
    order: Value,
}

impl Merge<'_> {
    fn statements(&self, origin: Origin<'_>) -> Vec<Value> {
        // Orders of before this was recorded name no evidence: then none is named here.
        let relied: Vec<Relied> = self
            .order
            .get("evidence")
            .and_then(|list| Vec::deserialize(list).ok())
            .unwrap_or_default();
        let mut statements = vec![self.summary(origin, &relied)];
        let tests_only = |one: &&Relied| one.mutants.is_none() && !one.tests.is_empty();
        let results = relied.iter().filter(tests_only);
        statements.extend(results.map(|one| self.test_result(one, origin)));
        statements
    }

    fn summary(&self, origin: Origin<'_>, relied: &[Relied]) -> Value {
        let Origin { repo, github, .. } = origin;
        let clearance = &self.order["clearance"];
        let base = clearance["base"].as_str().unwrap_or_default();
        let judged = self.entry.body["judged"].as_str();
        let passed = matches!(judged, Some("as_judged" | "consistent"));
        let mut inputs = vec![json!({
            "name": format!("ledger entry {}", self.entry.seq),
            "digest": { "sha256": self.entry.hash },
        })];
        inputs.extend(relied.iter().map(|one| {
            json!({
                "name": format!("{} by {}", word(one.result), one.verifier),
                "uri": one.url,
                "digest": { "sha256": one.sha256 },
            })
        }));
        json!({
            "_type": STATEMENT_TYPE,
            "subject": [{
                "name": repo.to_string(),
                "digest": { "gitCommit": self.entry.body["commit"] },
                "annotations": { "head": self.head, "pull_request": self.number },
            }],
            "predicateType": SUMMARY,
            "predicate": {
                "verifier": { "id": origin.server.unwrap_or("urn:countersign") },
                "timeVerified": self.entry.at,
                "resourceUri": format!("git+{github}/{repo}@refs/heads/{base}"),
                "policy": {
                    "uri": self.policy_page(origin),
                    "digest": { "gitBlob": clearance["policy"] },
                },
                "inputAttestations": inputs,
                "verificationResult": if passed { "PASSED" } else { "FAILED" },
                "verifiedLevels": if passed { json!([LEVEL]) } else { json!([]) },
                "gates": self.verdict["gates"],
            },
        })
    }

    /// A page about the policy: in the repository itself, or where its organisation's default stands.
    fn policy_page(&self, origin: Origin<'_>) -> String {
        let Origin { repo, github, .. } = origin;
        let from = PolicyOrigin::deserialize(&self.order["policy_from"]);
        if let Ok(PolicyOrigin::Organisation { repo, tip }) = from {
            return format!("{github}/{repo}/blob/{tip}/{PATH}");
        }
        let tip = self.order["clearance"]["base_tip"].as_str();
        format!("{github}/{repo}/blob/{}/{PATH}", tip.unwrap_or("HEAD"))
    }

    fn test_result(&self, one: &Relied, origin: Origin<'_>) -> Value {
        let passed = one.tests.iter().all(TestRun::passed);
        let configuration: Vec<_> = one
            .tests
            .iter()
            .map(|run| {
                json!({
                    "name": run.command,
                    "annotations": {
                        "executed": run.executed, "passed": run.passed, "failed": run.failed,
                        "skipped": run.skipped, "exit_code": run.exit_code, "against": run.against,
                    },
                })
            })
            .collect();
        json!({
            "_type": STATEMENT_TYPE,
            "subject": [{
                "name": origin.repo.to_string(),
                "digest": { "gitCommit": self.head },
            }],
            "predicateType": TEST_RESULT,
            "predicate": {
                "result": if passed { "PASSED" } else { "FAILED" },
                "configuration": configuration,
                "url": one.url,
            },
        })
    }
}

fn word(result: Outcome) -> &'static str {
    match result {
        Outcome::Approved => "approved",
        Outcome::Rejected => "rejected",
        Outcome::Inconclusive => "inconclusive",
    }
}

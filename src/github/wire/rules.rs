//! What GitHub itself demands of a branch: rulesets, and what the branch endpoint tells of classic
//! protection.

use serde::Deserialize;
use serde_json::Value;

use super::{Numbered, need};
use crate::domain::facts::PlatformRule;
use crate::domain::model::AppId;
use crate::github::{Answer, Branch};

#[derive(Debug, Deserialize)]
struct WireRule {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    parameters: Value,
}

#[derive(Debug, Deserialize)]
struct WireChecks {
    required_status_checks: Vec<WireCheck>,
    #[serde(default)]
    strict_required_status_checks_policy: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct WireCheck {
    context: String,
    #[serde(default, alias = "integration_id")]
    app_id: Option<i64>,
}

impl WireCheck {
    /// Classic protection writes "any App" as null or -1.
    fn app(&self) -> Option<AppId> {
        AppId::new(u64::try_from(self.app_id?).ok()?)
    }
}

#[derive(Debug, Deserialize)]
struct WireReviews {
    #[serde(default)]
    required_approving_review_count: Option<u64>,
    #[serde(default)]
    require_code_owner_review: Option<bool>,
    #[serde(default)]
    required_review_thread_resolution: Option<bool>,
    #[serde(default)]
    allowed_merge_methods: Option<Vec<String>>,
}

/// One rule of `rules/branches`; a required set of checks is one rule for each check.
pub(in crate::github) fn rules(value: Value) -> Answer<Vec<PlatformRule>> {
    const WHAT: &str = "a branch's rule";
    let wire: WireRule = super::read(WHAT, value)?;
    let kind = need(WHAT, "type", wire.kind)?;
    Ok(match kind.as_str() {
        "required_status_checks" => {
            let checks: WireChecks = super::read(WHAT, wire.parameters)?;
            let strict = checks
                .strict_required_status_checks_policy
                .unwrap_or_default();
            checks
                .required_status_checks
                .into_iter()
                .map(|check| PlatformRule::RequiredCheck {
                    app: check.app(),
                    context: check.context,
                    strict,
                })
                .collect()
        }
        "pull_request" => {
            let reviews: WireReviews = super::read(WHAT, wire.parameters)?;
            vec![PlatformRule::Reviews {
                approvals: reviews.required_approving_review_count.unwrap_or_default(),
                code_owners: reviews.require_code_owner_review.unwrap_or_default(),
                conversations: reviews
                    .required_review_thread_resolution
                    .unwrap_or_default(),
                methods: reviews.allowed_merge_methods.unwrap_or_default(),
            }]
        }
        "merge_queue" => vec![PlatformRule::MergeQueue],
        "required_linear_history" => vec![PlatformRule::LinearHistory],
        "required_signatures" => vec![PlatformRule::SignedCommits],
        "update" => vec![PlatformRule::UpdatesRestricted],
        _ => vec![PlatformRule::Other(kind)],
    })
}

#[derive(Debug, Deserialize)]
struct WireBranch {
    commit: WireTip,
    #[serde(default)]
    protected: bool,
    #[serde(default)]
    protection: Option<WireProtection>,
}

#[derive(Debug, Deserialize)]
struct WireTip {
    #[serde(default)]
    sha: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireProtection {
    #[serde(default)]
    required_status_checks: Option<WireClassic>,
}

#[derive(Debug, Deserialize)]
struct WireClassic {
    #[serde(default)]
    enforcement_level: Option<String>,
    #[serde(default)]
    contexts: Option<Vec<String>>,
    #[serde(default)]
    checks: Option<Vec<WireCheck>>,
}

/// A branch. Whether classic checks are strict is not told here (only an administrator may ask), so
/// they are taken as not strict.
pub(in crate::github) fn branch(value: Value) -> Answer<Branch> {
    const WHAT: &str = "a branch";
    let wire: WireBranch = super::read(WHAT, value)?;
    let classic = wire
        .protection
        .and_then(|protection| protection.required_status_checks)
        .filter(|checks| checks.enforcement_level.as_deref() != Some("off"));
    Ok(Branch {
        tip: super::oid(WHAT, wire.commit.sha.as_deref())?,
        protected: wire.protected,
        classic: classic.map(classic_rules).unwrap_or_default(),
    })
}

/// `checks` pins Apps; `contexts` is the older list of the same names, and on older servers the only
/// one.
fn classic_rules(classic: WireClassic) -> Vec<PlatformRule> {
    let rule = |context: String, app| PlatformRule::RequiredCheck {
        context,
        app,
        strict: false,
    };
    let checks = classic.checks.unwrap_or_default();
    let unpinned: Vec<String> = classic
        .contexts
        .into_iter()
        .flatten()
        .filter(|context| checks.iter().all(|check| check.context != *context))
        .collect();
    let pinned = checks.into_iter().map(|check| {
        let app = check.app();
        rule(check.context, app)
    });
    pinned
        .chain(unpinned.into_iter().map(|context| rule(context, None)))
        .collect()
}

#[derive(Debug, Deserialize)]
struct WirePermission {
    #[serde(default)]
    permission: Option<String>,
    #[serde(default)]
    user: Option<Numbered>,
}

/// Whether an account may write. `id` is the account that was meant: a login that was freed and
/// registered again is another account, and grants nothing.
pub(in crate::github) fn may_write(value: Value, id: u64) -> Answer<bool> {
    const WHAT: &str = "a permission";
    let wire: WirePermission = super::read(WHAT, value)?;
    match need(WHAT, "permission", wire.permission)?.as_str() {
        "none" | "read" | "triage" => Ok(false),
        "write" | "maintain" | "admin" => match wire.user.and_then(|user| user.id) {
            Some(told) if told == id => Ok(true),
            Some(_) => Err(super::unreadable(
                WHAT,
                "it is that of another account, which has the login now",
            )),
            None => Err(super::unreadable(WHAT, "it does not say whose it is")),
        },
        other => Err(super::unreadable(
            WHAT,
            format_args!("an unknown word {other:?}"),
        )),
    }
}

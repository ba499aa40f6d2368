//! Branch protection and rulesets.

use serde_json::{Value, json};

use super::{api, node_id, time};
use crate::simulator::world::{
    Bypass, MergeMethod, Repo, RequiredCheck, RequiredReviews, Rule, Ruleset, World,
};

pub(super) fn classic_check(check: &RequiredCheck) -> Value {
    json!({ "context": check.context, "app_id": check.app })
}

/// `GET /branches/{branch}/protection`; null when it has none ("Branch not protected", 404).
pub fn protection(world: &World, repo: &Repo, branch: &str) -> Value {
    let Some(classic) = world.protection_of(repo, branch) else {
        return Value::Null;
    };
    let url = format!("{}/branches/{branch}/protection", api(world, repo));
    let enabled = |on: bool| json!({ "enabled": on });
    let mut value = json!({
        "url": url,
        "enforce_admins": {
            "url": format!("{url}/enforce_admins"),
            "enabled": classic.enforce_admins,
        },
        "required_linear_history": enabled(classic.linear_history),
        "required_signatures": {
            "url": format!("{url}/required_signatures"),
            "enabled": classic.signatures,
        },
        "required_conversation_resolution": enabled(classic.conversations),
        "lock_branch": enabled(classic.locked),
        "allow_force_pushes": enabled(false),
        "allow_deletions": enabled(false),
        "block_creations": enabled(false),
        "allow_fork_syncing": enabled(false),
    });
    if !classic.checks.is_empty() || classic.strict {
        let contexts: Vec<&String> = classic.checks.iter().map(|check| &check.context).collect();
        value["required_status_checks"] = json!({
            "url": format!("{url}/required_status_checks"),
            "strict": classic.strict,
            "contexts": contexts,
            "contexts_url": format!("{url}/required_status_checks/contexts"),
            "checks": classic.checks.iter().map(classic_check).collect::<Vec<_>>(),
        });
    }
    if let Some(reviews) = &classic.reviews {
        value["required_pull_request_reviews"] = json!({
            "url": format!("{url}/required_pull_request_reviews"),
            "dismiss_stale_reviews": reviews.dismiss_stale,
            "require_code_owner_reviews": reviews.code_owners,
            "require_last_push_approval": reviews.last_push,
            "required_approving_review_count": reviews.approvals,
        });
    }
    value
}

fn rule(rule: &Rule) -> Value {
    let typed = |name: &str| json!({ "type": name });
    match rule {
        Rule::RequiredStatusChecks { checks, strict } => {
            let checks: Vec<Value> = checks.iter().map(ruled_check).collect();
            json!({
                "type": "required_status_checks",
                "parameters": {
                    "strict_required_status_checks_policy": strict,
                    "do_not_enforce_on_create": false,
                    "required_status_checks": checks,
                },
            })
        }
        Rule::PullRequest(reviews) => json!({
            "type": "pull_request",
            "parameters": review_parameters(reviews),
        }),
        Rule::MergeQueue(method) => json!({
            "type": "merge_queue",
            "parameters": {
                "check_response_timeout_minutes": 60,
                "grouping_strategy": "ALLGREEN",
                "max_entries_to_build": 5,
                "max_entries_to_merge": 5,
                "merge_method": method.word().to_uppercase(),
                "min_entries_to_merge": 1,
                "min_entries_to_merge_wait_minutes": 5,
            },
        }),
        Rule::LinearHistory => typed("required_linear_history"),
        Rule::Signatures => typed("required_signatures"),
        Rule::Update => typed("update"),
        Rule::NonFastForward => typed("non_fast_forward"),
        Rule::Deletion => typed("deletion"),
        Rule::Other(name) => typed(name),
    }
}

fn ruled_check(check: &RequiredCheck) -> Value {
    let mut value = json!({ "context": check.context });
    if let Some(app) = check.app {
        value["integration_id"] = json!(app);
    }
    value
}

fn review_parameters(reviews: &RequiredReviews) -> Value {
    let all = [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase];
    let methods = if reviews.methods.is_empty() {
        all.as_slice()
    } else {
        reviews.methods.as_slice()
    };
    json!({
        "required_approving_review_count": reviews.approvals,
        "dismiss_stale_reviews_on_push": reviews.dismiss_stale,
        "require_code_owner_review": reviews.code_owners,
        "require_last_push_approval": reviews.last_push,
        "required_review_thread_resolution": reviews.threads_resolved,
        "allowed_merge_methods": methods.iter().map(|method| method.word()).collect::<Vec<_>>(),
    })
}

/// `GET /rules/branches/{branch}`: the active rules that cover it, each with its ruleset.
pub fn branch_rules(world: &World, repo: &Repo, branch: &str) -> Vec<Value> {
    let source = world.full_name(repo);
    let mut rules = Vec::new();
    for ruleset in world.rulesets_of(repo, branch) {
        for one in &ruleset.rules {
            let mut value = rule(one);
            value["ruleset_source_type"] = json!("Repository");
            value["ruleset_source"] = json!(source);
            value["ruleset_id"] = json!(ruleset.id);
            rules.push(value);
        }
    }
    rules
}

/// A ruleset.
pub fn ruleset(world: &World, repo: &Repo, ruleset: &Ruleset) -> Value {
    let include: Vec<String> = ruleset
        .branches
        .iter()
        .map(|branch| match branch.starts_with('~') {
            true => branch.clone(),
            false => format!("refs/heads/{branch}"),
        })
        .collect();
    let bypass: Vec<Value> = ruleset
        .bypass
        .iter()
        .map(|bypass| {
            let (id, kind) = match bypass {
                Bypass::App(app) => (*app, "Integration"),
                // Repository role 5 is the administrators'.
                Bypass::Admins => (5, "RepositoryRole"),
                Bypass::Account(account) => (*account, "User"),
            };
            json!({ "actor_id": id, "actor_type": kind, "bypass_mode": "always" })
        })
        .collect();
    json!({
        "id": ruleset.id,
        "node_id": node_id("RRS", ruleset.id),
        "name": ruleset.name,
        "target": "branch",
        "source_type": "Repository",
        "source": world.full_name(repo),
        "enforcement": ruleset.enforcement.word(),
        "conditions": { "ref_name": { "include": include, "exclude": [] } },
        "bypass_actors": bypass,
        "rules": ruleset.rules.iter().map(rule).collect::<Vec<_>>(),
        "created_at": time(ruleset.created_at),
        "updated_at": time(ruleset.created_at),
    })
}

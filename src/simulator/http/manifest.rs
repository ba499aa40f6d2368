//! What GitHub makes of a manifest, and what it finds wrong with one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The permissions an App can ask for, as GitHub's description of its API names them (enterprises'
/// left out).
const PERMISSIONS: &[&str] = &[
    "actions",
    "administration",
    "artifact_metadata",
    "attestations",
    "checks",
    "code_quality",
    "codespaces",
    "contents",
    "dependabot_secrets",
    "deployments",
    "discussions",
    "email_addresses",
    "environments",
    "followers",
    "git_ssh_keys",
    "gpg_keys",
    "interaction_limits",
    "issues",
    "members",
    "merge_queues",
    "metadata",
    "organization_administration",
    "organization_announcement_banners",
    "organization_custom_properties",
    "organization_custom_roles",
    "organization_events",
    "organization_hooks",
    "organization_packages",
    "organization_personal_access_token_requests",
    "organization_personal_access_tokens",
    "organization_plan",
    "organization_projects",
    "organization_secrets",
    "organization_self_hosted_runners",
    "organization_user_blocking",
    "packages",
    "pages",
    "profile",
    "pull_requests",
    "repository_custom_properties",
    "repository_hooks",
    "repository_projects",
    "secret_scanning_alerts",
    "secrets",
    "security_events",
    "single_file",
    "starring",
    "statuses",
    "vulnerability_alerts",
    "workflows",
];

/// The events an App can subscribe to, each with the permissions of which it must have one, as the
/// documentation of each event says. Those about installations come unasked and are refused here.
const EVENTS: &[(&str, &[&str])] = &[
    ("check_run", &["checks"]),
    ("check_suite", &["checks"]),
    ("commit_comment", &["contents"]),
    ("create", &["contents"]),
    ("delete", &["contents"]),
    ("deployment", &["deployments"]),
    ("deployment_status", &["deployments"]),
    ("discussion", &["discussions"]),
    ("discussion_comment", &["discussions"]),
    ("fork", &["contents"]),
    ("gollum", &["contents"]),
    ("issue_comment", &["issues", "pull_requests"]),
    ("issues", &["issues"]),
    ("label", &["metadata"]),
    ("member", &["members"]),
    ("membership", &["members"]),
    ("merge_group", &["merge_queues"]),
    ("milestone", &["issues", "pull_requests"]),
    ("organization", &["members"]),
    ("public", &["metadata"]),
    ("pull_request", &["pull_requests"]),
    ("pull_request_review", &["pull_requests"]),
    ("pull_request_review_comment", &["pull_requests"]),
    ("pull_request_review_thread", &["pull_requests"]),
    ("push", &["contents"]),
    ("release", &["contents"]),
    ("repository", &["metadata"]),
    ("repository_dispatch", &["contents"]),
    ("star", &["metadata"]),
    ("status", &["statuses"]),
    ("team", &["members"]),
    ("watch", &["metadata"]),
    ("workflow_dispatch", &["contents"]),
    ("workflow_job", &["actions"]),
    ("workflow_run", &["actions"]),
];

/// A manifest that GitHub accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The name it proposes; the person may choose another.
    pub name: String,
    /// Where the person is sent afterwards.
    pub redirect_url: Option<String>,
    /// Where deliveries go, unless the webhook is off.
    pub webhook: Option<String>,
    /// What the App asks for.
    pub permissions: BTreeMap<String, String>,
    /// What it subscribes to.
    pub events: BTreeSet<String>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// Everything that is wrong with it, in GitHub's words where they are known.
    pub fn read(text: &str) -> Result<Self, Vec<String>> {
        match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_object() => Self::of(&value),
            _ => Err(vec!["Error: the manifest is not a JSON object".to_owned()]),
        }
    }

    fn of(value: &Value) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // The words do not say whose `url`: neither do GitHub's.
        if !is_address(&value["url"]) {
            faults.push("Error: \"url\" wasn't supplied.".to_owned());
        }
        let hook = &value["hook_attributes"];
        if !hook.is_null() {
            faults.extend(fault_of_hook(&hook["url"]));
        }
        let permissions = permissions(&value["default_permissions"], &mut faults);
        let events = events(&value["default_events"], &permissions, &mut faults);
        if !events.is_empty() && hook.is_null() {
            faults.push("Hook url cannot be blank".to_owned());
        }
        let on = hook["active"].as_bool().unwrap_or(true);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Self {
            name: text(&value["name"]).unwrap_or_default(),
            redirect_url: text(&value["redirect_url"]),
            webhook: text(&hook["url"]).filter(|_| on),
            permissions,
            events,
        })
    }
}

fn is_address(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.starts_with("https://") || text.starts_with("http://")
}

fn fault_of_hook(url: &Value) -> Option<String> {
    if !is_address(url) {
        return Some("Error: \"url\" wasn't supplied.".to_owned());
    }
    let uri: http::Uri = url.as_str()?.parse().ok()?;
    let host = uri.host().unwrap_or_default();
    let near = host == "localhost" || host.starts_with("127.") || host == "[::1]";
    near.then(|| {
        format!(
            "Hook url is not supported because it isn't reachable over the public Internet ({host})"
        )
    })
}

fn permissions(value: &Value, faults: &mut Vec<String>) -> BTreeMap<String, String> {
    let mut read = BTreeMap::new();
    for (name, level) in value.as_object().into_iter().flatten() {
        let level = level.as_str().unwrap_or_default();
        if !PERMISSIONS.contains(&name.as_str()) {
            faults.push(format!(
                "Default permission records resource is not included in the list ({name})"
            ));
        } else if !["read", "write", "admin"].contains(&level) {
            faults.push(format!(
                "Default permission records action is not included in the list ({name}: {level})"
            ));
        }
        read.insert(name.clone(), level.to_owned());
    }
    read
}

fn events(
    value: &Value,
    permissions: &BTreeMap<String, String>,
    faults: &mut Vec<String>,
) -> BTreeSet<String> {
    let listed = value.as_array().into_iter().flatten();
    let events: BTreeSet<String> = listed
        .map(|event| event.as_str().unwrap_or_default().to_owned())
        .collect();
    let mut unknown = Vec::new();
    let mut bare = Vec::new();
    for event in &events {
        match EVENTS.iter().find(|(known, _)| known == event) {
            None => unknown.push(event.as_str()),
            // Every App may read metadata.
            Some((_, any)) if any.contains(&"metadata") => {}
            Some((_, any)) if any.iter().any(|name| permissions.contains_key(*name)) => {}
            Some(_) => bare.push(event.as_str()),
        }
    }
    if !unknown.is_empty() {
        faults.push(format!(
            "Default events unsupported: {}",
            unknown.join(", ")
        ));
    }
    if !bare.is_empty() {
        faults.push(format!(
            "Default events are not supported by permissions: {}",
            bare.join(", ")
        ));
    }
    events
}

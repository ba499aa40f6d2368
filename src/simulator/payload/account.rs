//! Accounts, Apps, installations, teams, permissions.

use serde_json::{Value, json};

use super::{node_id, time};
use crate::simulator::world::{
    AccountId, AccountKind, AppId, Installation, Permission, Repo, RepoSelection, Team, World,
};

/// `simple-user`; null for nobody and for deleted accounts.
pub fn account(world: &World, account: Option<AccountId>) -> Value {
    let known = account.and_then(|id| world.accounts.get(&id));
    let Some(account) = known.filter(|account| !account.deleted) else {
        return Value::Null;
    };
    let login = &account.login;
    if !world.behaviour.addresses {
        return json!({ "login": login, "id": account.id, "type": account.kind.word() });
    }
    // The brackets of `slug[bot]` are escaped in addresses.
    let address = login.replace('[', "%5B").replace(']', "%5D");
    let url = format!("{}/users/{address}", world.origin);
    json!({
        "login": login,
        "id": account.id,
        "node_id": node_id("U", account.id),
        "avatar_url": format!("{}/avatars/u/{}", world.origin, account.id),
        "gravatar_id": "",
        "url": url,
        "html_url": format!("{}/{address}", world.origin),
        "followers_url": format!("{url}/followers"),
        "following_url": format!("{url}/following{{/other_user}}"),
        "gists_url": format!("{url}/gists{{/gist_id}}"),
        "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{url}/subscriptions"),
        "organizations_url": format!("{url}/orgs"),
        "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events{{/privacy}}"),
        "received_events_url": format!("{url}/received_events"),
        "type": account.kind.word(),
        "site_admin": false,
    })
}

/// The `organization` field of deliveries; `None` when the account is no organisation.
pub fn organization(world: &World, account: AccountId) -> Option<Value> {
    let account = world.accounts.get(&account)?;
    if account.kind != AccountKind::Organization {
        return None;
    }
    let url = format!("{}/orgs/{}", world.origin, account.login);
    Some(json!({
        "login": account.login,
        "id": account.id,
        "node_id": node_id("O", account.id),
        "url": url,
        "repos_url": format!("{url}/repos"),
        "events_url": format!("{url}/events"),
        "hooks_url": format!("{url}/hooks"),
        "issues_url": format!("{url}/issues"),
        "members_url": format!("{url}/members{{/member}}"),
        "public_members_url": format!("{url}/public_members{{/member}}"),
        "avatar_url": format!("{}/avatars/u/{}", world.origin, account.id),
        "description": "",
    }))
}

/// The `pusher` of a push.
pub fn pusher(world: &World, by: AccountId) -> Value {
    let account = world.accounts.get(&by).filter(|account| !account.deleted);
    json!({
        "name": account.map_or("ghost", |account| account.login.as_str()),
        "email": account.map(crate::simulator::world::Account::email),
    })
}

/// An `integration`, as in `check_run.app`; null for an App that is gone.
pub fn app(world: &World, app: AppId) -> Value {
    let Some(app) = world.apps.get(&app) else {
        return Value::Null;
    };
    json!({
        "id": app.id,
        "slug": app.slug,
        "node_id": node_id("A", app.id),
        "owner": account(world, Some(app.owner)),
        "name": app.name,
        "description": "",
        "external_url": format!("{}/apps/{}", world.origin, app.slug),
        "html_url": format!("{}/apps/{}", world.origin, app.slug),
        "created_at": time(app.created_at),
        "updated_at": time(app.created_at),
        "permissions": app.permissions,
        "events": app.events,
    })
}

/// `all` or `selected`.
pub fn selection(installation: &Installation) -> &'static str {
    match installation.selection {
        RepoSelection::All => "all",
        RepoSelection::Selected(_) => "selected",
    }
}

/// A whole installation.
pub fn installation(world: &World, installation: &Installation) -> Value {
    let id = installation.id;
    let kind = world
        .accounts
        .get(&installation.account)
        .map(|owner| owner.kind);
    let (suspended_at, suspended_by) = match installation.suspended {
        Some((at, by)) => (Some(time(at)), account(world, by)),
        None => (None, Value::Null),
    };
    let slug = world
        .apps
        .get(&installation.app)
        .map(|app| app.slug.as_str());
    json!({
        "id": id,
        "account": account(world, Some(installation.account)),
        "repository_selection": selection(installation),
        "access_tokens_url": format!("{}/app/installations/{id}/access_tokens", world.origin),
        "repositories_url": format!("{}/installation/repositories", world.origin),
        "html_url": format!("{}/settings/installations/{id}", world.origin),
        "app_id": installation.app,
        "app_slug": slug,
        "target_id": installation.account,
        "target_type": kind.map_or("User", AccountKind::word),
        "permissions": installation.permissions,
        "events": installation.events,
        "created_at": time(installation.created_at),
        "updated_at": time(installation.updated_at),
        "single_file_name": null,
        "has_multiple_single_files": false,
        "single_file_paths": [],
        "suspended_by": suspended_by,
        "suspended_at": suspended_at,
    })
}

/// The `installation` field of every other delivery.
pub fn installation_lite(id: u64) -> Value {
    json!({ "id": id, "node_id": node_id("MDIzOk", id) })
}

/// A team.
pub fn team(world: &World, team: &Team) -> Value {
    let org = world.login(team.org);
    let url = format!("{}/orgs/{org}/teams/{}", world.origin, team.slug);
    json!({
        "id": team.id,
        "node_id": node_id("T", team.id),
        "name": team.name,
        "slug": team.slug,
        "description": "",
        "privacy": "closed",
        "url": url,
        "html_url": url,
        "members_url": format!("{url}/members{{/member}}"),
        "repositories_url": format!("{url}/repos"),
        "permission": "pull",
        "parent": null,
    })
}

/// `GET /collaborators/{login}/permission`.
pub fn permission(world: &World, repo: &Repo, of: AccountId) -> Value {
    let has = world.permission_of(repo.id, of);
    let mut user = account(world, Some(of));
    if user.is_object() {
        user["role_name"] = json!(has.role());
        user["permissions"] = json!({
            "admin": has >= Permission::Admin,
            "maintain": has >= Permission::Maintain,
            "push": has >= Permission::Write,
            "triage": has >= Permission::Triage,
            "pull": has >= Permission::Read,
        });
    }
    json!({ "permission": has.legacy(), "role_name": has.role(), "user": user })
}

/// The body of a `ping` to our App.
pub fn ping(world: &World) -> Value {
    let now = time(world.now());
    let app = world.apps.get(&world.our_app);
    let hook = format!("{}/app/hook", world.origin);
    json!({
        "zen": "Keep it logically awesome.",
        "hook_id": 1,
        "hook": {
            "type": "App",
            "id": 1,
            "name": "web",
            "active": true,
            "app_id": world.our_app,
            "events": app.map(|app| &app.events),
            "config": {
                "content_type": "json",
                "insecure_ssl": "0",
                "secret": "********",
                "url": hook,
            },
            "updated_at": now,
            "created_at": now,
            "url": hook,
            "ping_url": format!("{hook}/pings"),
            "deliveries_url": format!("{hook}/deliveries"),
        },
    })
}

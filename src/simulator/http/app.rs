//! The App itself: who it is, where it is installed, its tokens, its deliveries.

use serde_json::{Value, json};

use super::asked::{Asked, Scene};
use super::reply::Reply;
use crate::simulator::auth::{self, Caller};
use crate::simulator::payload;
use crate::simulator::world::{Done, Refusal, Team, World};

/// `GET /meta`.
pub fn meta(_: &mut Scene<'_>, _: &Asked) -> Done<Reply> {
    Ok(Reply::ok(json!({
        "verifiable_password_authentication": false,
        "hooks": ["127.0.0.1/32"],
        "web": ["127.0.0.1/32"],
        "api": ["127.0.0.1/32"],
        "git": ["127.0.0.1/32"],
        "actions": [],
    })))
}

/// `GET /rate_limit`: asking is free.
pub fn rate_limit(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let now = scene.world.now();
    let listed = scene.face.desk().quotas.listed(&asked.caller, now);
    Ok(Reply::ok(listed))
}

/// `GET /app`.
pub fn app(scene: &mut Scene<'_>, _: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let mut value = payload::app(world, world.our_app);
    let ours = |app| app == world.our_app;
    let installed = world.installations.values().filter(|one| ours(one.app));
    value["installations_count"] = json!(installed.count());
    Ok(Reply::ok(value))
}

/// `GET /app/installations`: suspended ones too.
pub fn installations(scene: &mut Scene<'_>, _: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let ours = world.installations.values();
    let ours = ours.filter(|one| one.app == world.our_app);
    let listed = ours.map(|one| payload::installation(world, one)).collect();
    Ok(Reply::list(listed))
}

/// `GET /app/installations/{id}`.
pub fn installation(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let found = world.installations.get(&asked.number("id")?);
    let found = found.filter(|one| one.app == world.our_app);
    let found = found.ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(payload::installation(world, found)))
}

/// `POST /app/installations/{id}/access_tokens`.
pub fn access_token(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let token = auth::token_for(world, asked.number("id")?, &asked.body)?;
    let there = world.installations.get(&token.installation);
    let there = there.ok_or_else(Refusal::not_found)?;
    let mut body = json!({
        "expires_at": payload::time(token.expires_at),
        "permissions": token.permissions.as_ref().unwrap_or(&there.permissions),
        "repository_selection": payload::selection(there),
    });
    if let Some(repos) = &token.repos {
        let named = repos.iter().filter_map(|id| world.repos.get(id));
        body["repositories"] = named.map(|repo| payload::repository(world, repo)).collect();
        body["repository_selection"] = json!("selected");
    }
    body["token"] = json!(scene.face.desk().tokens.issue(world.seed(), token));
    Ok(Reply::of(201, body))
}

/// `GET /installation/repositories`.
pub fn repositories(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let Caller::Installation(token) = &asked.caller else {
        return Err(Refusal::new(401, "Requires authentication"));
    };
    let there = world.installations.get(&token.installation);
    let there = there.ok_or_else(Refusal::not_found)?;
    let only = token.repos.as_ref();
    let covered = world.covered(there).into_iter();
    let covered = covered.filter(|repo| only.is_none_or(|only| only.contains(&repo.id)));
    let repos: Vec<Value> = covered
        .map(|repo| payload::repository(world, repo))
        .collect();
    let body = json!({
        "total_count": repos.len(),
        "repository_selection": payload::selection(there),
        "repositories": repos,
    });
    Ok(Reply::with_list("repositories", body))
}

/// `GET /apps/{slug}`: a private App is nobody's to see but its own.
pub fn app_named(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let slug = asked.param("slug");
    let mut apps = world.apps.values();
    let found = apps.find(|app| app.slug.eq_ignore_ascii_case(slug));
    let found = found.filter(|app| app.public || app.id == world.our_app);
    let found = found.ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(payload::app(world, found.id)))
}

/// `GET /users/{login}`: people, organisations and bot users.
pub fn user(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let account = world.account_named(asked.param("login"));
    let account = account.filter(|known| !known.deleted);
    let id = account.ok_or_else(Refusal::not_found)?.id;
    Ok(Reply::ok(payload::account(world, Some(id))))
}

/// `GET /orgs/{org}/teams/{slug}`.
pub fn team(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let team = team_of(scene.world, asked)?;
    Ok(Reply::ok(payload::team(scene.world, team)))
}

/// `GET /orgs/{org}/teams/{slug}/members`.
pub fn team_members(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let members = &team_of(world, asked)?.members;
    let listed = members.iter().map(|id| payload::account(world, Some(*id)));
    // A deleted account is in no team.
    Ok(Reply::list(listed.filter(|one| !one.is_null()).collect()))
}

/// A team, for an installation on its organisation: nobody else is told that there is one.
fn team_of<'w>(world: &'w World, asked: &Asked) -> Done<&'w Team> {
    let org = world.account_named(asked.param("org"));
    let org = org.ok_or_else(Refusal::not_found)?.id;
    let of_org = |id| {
        world
            .installations
            .get(id)
            .is_some_and(|there| there.account == org)
    };
    if let Caller::Installation(token) = &asked.caller
        && !of_org(&token.installation)
    {
        return Err(Refusal::not_found());
    }
    let slug = asked.param("slug");
    let mut teams = world.teams.iter();
    let team = teams.find(|team| team.org == org && team.slug.eq_ignore_ascii_case(slug));
    team.ok_or_else(Refusal::not_found)
}

/// `GET /app/hook/config`.
pub fn hook_config(scene: &mut Scene<'_>, _: &Asked) -> Done<Reply> {
    let hook = &scene.world.behaviour.hook;
    let mut value = json!({
        "content_type": hook.content_type,
        "insecure_ssl": hook.insecure_ssl,
        "url": scene.face.post().webhook(),
    });
    if hook.secret {
        value["secret"] = json!("********");
    }
    Ok(Reply::ok(value))
}

/// `GET /app/hook/deliveries`: newest first; the way to older ones is the cursor in `Link` alone.
pub fn deliveries(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let size = asked.query("per_page").and_then(|text| text.parse().ok());
    let size = size.filter(|size| *size > 0).unwrap_or(30).min(100);
    let cursor = match asked.query("cursor") {
        None => None,
        Some(text) => {
            let number = text.strip_prefix("v1_").and_then(|text| text.parse().ok());
            Some(number.ok_or_else(|| Refusal::new(422, "Invalid cursor"))?)
        }
    };
    let world = &*scene.world;
    let (listed, next) = scene.face.post().page(world, cursor, size);
    let reply = Reply::ok(Value::Array(listed));
    let Some(next) = next else {
        return Ok(reply);
    };
    let (origin, path) = (&world.origin, &asked.path);
    let link = format!("<{origin}{path}?per_page={size}&cursor=v1_{next}>; rel=\"next\"");
    Ok(reply.with("link", link))
}

/// `GET /app/hook/deliveries/{id}`: with what was sent and answered.
pub fn delivery(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let found = scene.face.post().whole(scene.world, asked.number("id")?);
    found.map(Reply::ok).ok_or_else(Refusal::not_found)
}

/// `POST /app/hook/deliveries/{id}/attempts`: it is queued again, under its GUID.
pub fn redeliver(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let id = asked.number("id")?;
    scene.face.post().queue_again(scene.world, id)?;
    Ok(Reply::of(202, json!({})))
}

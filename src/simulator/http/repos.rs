//! A repository: itself, its branches and what protects them, who may do what.

use super::asked::{Asked, Scene};
use super::reply::Reply;
use crate::simulator::payload;
use crate::simulator::world::{Done, Refusal};

/// `GET /repos/{}` and `GET /repositories/{id}`.
pub fn repository(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    Ok(Reply::ok(payload::repository(scene.world, repo)))
}

/// `GET /installation` of a repository, for the App.
pub fn installation(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let world = &*scene.world;
    let there = world.installation_for(world.our_app, asked.repo);
    let there = there.ok_or_else(Refusal::not_found)?;
    Ok(Reply::ok(payload::installation(world, there)))
}

/// `GET /branches/{branch}`.
pub fn branch(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let value = payload::branch(scene.world, repo, asked.param("branch"));
    if value.is_null() {
        return Err(Refusal::new(404, "Branch not found"));
    }
    Ok(Reply::ok(value))
}

/// `GET /branches/{branch}/protection`.
pub fn protection(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (repo, name) = (scene.repo(asked)?, asked.param("branch"));
    if !repo.branches.contains_key(name) {
        return Err(Refusal::new(404, "Branch not found"));
    }
    let value = payload::protection(scene.world, repo, name);
    if value.is_null() {
        return Err(Refusal::new(404, "Branch not protected"));
    }
    Ok(Reply::ok(value))
}

/// `GET /rules/branches/{branch}`: also for a branch that does not exist yet.
pub fn rules(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let rules = payload::branch_rules(scene.world, repo, asked.param("branch"));
    Ok(Reply::list(rules))
}

/// `GET /collaborators/{login}/permission`: "none" for a stranger, 404 for a login nobody has.
pub fn permission(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (world, login) = (&*scene.world, asked.param("login"));
    let account = world.account_named(login).filter(|known| !known.deleted);
    let unknown = || Refusal::new(404, format!("{login} is not a user"));
    let account = account.ok_or_else(unknown)?.id;
    let repo = scene.repo(asked)?;
    Ok(Reply::ok(payload::permission(world, repo, account)))
}

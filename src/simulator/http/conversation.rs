//! Comments on issues and pull requests, and reactions to them.

use super::asked::{Asked, Scene, impossible};
use super::reply::Reply;
use crate::simulator::payload;
use crate::simulator::world::{Done, Refusal};

const LONGEST: usize = 65_536;
const REACTIONS: [&str; 8] = [
    "+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes",
];

/// `GET /issues/{number}/comments`, oldest first.
pub fn list(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (repo, number) = (scene.repo(asked)?, asked.number("number")?);
    if !repo.issues.contains_key(&number) && !repo.pulls.contains_key(&number) {
        return Err(Refusal::not_found());
    }
    let comments = repo.comments.values().filter(|one| one.number == number);
    let print = |comment| payload::comment(scene.world, repo, comment);
    Ok(Reply::list(comments.map(print).collect()))
}

/// `GET /issues/comments/{id}`.
pub fn comment(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    printed(scene, asked, asked.number("id")?, 200)
}

fn printed(scene: &Scene<'_>, asked: &Asked, id: u64, status: u16) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let comment = repo.comments.get(&id).ok_or_else(Refusal::not_found)?;
    let body = payload::comment(scene.world, repo, comment);
    Ok(Reply::of(status, body))
}

fn words(asked: &Asked) -> Done<String> {
    let words = asked.needed("body")?;
    if words.chars().count() > LONGEST {
        let text = format!("Body is too long (maximum is {LONGEST} characters)");
        return Err(Refusal::invalid("IssueComment", "body", &text));
    }
    Ok(words)
}

/// `POST /issues/{number}/comments`.
pub fn create(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (words, number) = (words(asked)?, asked.number("number")?);
    let by = asked.principal(scene.world);
    let id = scene.world.comment(asked.repo, number, by, &words)?;
    printed(scene, asked, id, 201)
}

/// `PATCH /issues/comments/{id}`.
pub fn edit(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (words, id) = (words(asked)?, asked.number("id")?);
    let by = asked.principal(scene.world);
    scene.world.edit_comment(asked.repo, id, by, &words)?;
    printed(scene, asked, id, 200)
}

/// `DELETE /issues/comments/{id}`.
pub fn delete(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let by = asked.principal(scene.world);
    scene
        .world
        .delete_comment(asked.repo, asked.number("id")?, by)?;
    Ok(Reply::nothing())
}

/// `POST /issues/comments/{id}/reactions`: 200 where it was there already.
pub fn react(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (id, content) = (asked.number("id")?, asked.needed("content")?);
    if !REACTIONS.contains(&content.as_str()) {
        return Err(impossible(&content, &REACTIONS));
    }
    let by = asked.principal(scene.world);
    let count = |scene: &Scene<'_>| -> Done<usize> {
        let comment = scene.repo(asked)?.comments.get(&id);
        Ok(comment.ok_or_else(Refusal::not_found)?.reactions.len())
    };
    let before = count(scene)?;
    let reaction = scene.world.react(asked.repo, id, by, &content)?;
    let status = if count(scene)? > before { 201 } else { 200 };
    let given = (reaction, scene.world.actor(by), content);
    let now = scene.world.now();
    let body = payload::reaction(scene.world, &given, now);
    Ok(Reply::of(status, body))
}

//! Issues (pull requests are issues too), and labels.

use serde_json::Value;

use super::asked::{Asked, Scene, missing};
use super::reply::Reply;
use crate::simulator::payload;
use crate::simulator::world::{Done, Refusal, Repo};

/// `GET /issues`: open ones unless asked, newest first, pull requests among them.
pub fn list(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let state = asked.query("state").unwrap_or("open");
    let wanted = asked.query("labels").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    let labelled = |labels: &[String]| {
        let has = |name: &&&str| labels.iter().any(|label| label.eq_ignore_ascii_case(name));
        wanted.iter().filter(has).count() == wanted.len()
    };
    let issues = repo.issues.values();
    let issues = issues.map(|issue| (issue.number, issue.open, &issue.labels));
    let pulls = repo.pulls.values();
    let pulls = pulls.map(|pull| (pull.number, pull.open, &pull.labels));
    let mut numbers: Vec<u64> = issues
        .chain(pulls)
        .filter(|(_, open, _)| state == "all" || *open == (state == "open"))
        .filter(|(_, _, labels)| labelled(labels))
        .map(|(number, _, _)| number)
        .collect();
    numbers.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
    let print = |number| payload::numbered(scene.world, repo, number);
    Ok(Reply::list(numbers.into_iter().map(print).collect()))
}

/// `GET /issues/{number}`.
pub fn issue(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    match payload::numbered(scene.world, repo, asked.number("number")?) {
        Value::Null => Err(Refusal::not_found()),
        issue => Ok(Reply::ok(issue)),
    }
}

/// `GET /labels`.
pub fn labels_of_repo(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let labels = repo.labels.values();
    let print = |label| payload::label(scene.world, repo, label);
    Ok(Reply::list(labels.map(print).collect()))
}

/// The names of the labels of an issue or pull request.
fn names(repo: &Repo, number: u64) -> Done<&[String]> {
    let of_issue = repo.issues.get(&number).map(|issue| &issue.labels);
    let of_pull = repo.pulls.get(&number).map(|pull| &pull.labels);
    let names = of_issue.or(of_pull).ok_or_else(Refusal::not_found)?;
    Ok(names)
}

/// `GET /issues/{number}/labels`.
pub fn labels(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let names = names(repo, asked.number("number")?)?;
    let known = names
        .iter()
        .filter_map(|name| repo.labels.get(&name.to_lowercase()));
    let print = |label| payload::label(scene.world, repo, label);
    Ok(Reply::list(known.map(print).collect()))
}

/// `POST /issues/{number}/labels`: a list of names, bare or under `labels`.
pub fn add_labels(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let said = asked.body.as_array();
    let said = said.or_else(|| asked.body["labels"].as_array());
    let said = said.ok_or_else(|| missing("labels"))?;
    let names: Vec<&str> = said
        .iter()
        .filter_map(|label| label.as_str().or_else(|| label["name"].as_str()))
        .collect();
    let (number, by) = (asked.number("number")?, asked.principal(scene.world));
    scene.world.add_labels(asked.repo, number, by, &names)?;
    labels(scene, asked)
}

/// `DELETE /issues/{number}/labels/{name}`: answers those that stay.
pub fn remove_label(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (number, name) = (asked.number("number")?, asked.param("name"));
    let there = names(scene.repo(asked)?, number)?;
    if !there.iter().any(|label| label.eq_ignore_ascii_case(name)) {
        return Err(Refusal::new(404, "Label does not exist"));
    }
    let by = asked.principal(scene.world);
    scene.world.remove_label(asked.repo, number, by, name)?;
    labels(scene, asked)
}

//! A call as handlers see it: routed, authenticated, its words read.

use serde_json::Value;

use super::Face;
use crate::simulator::Credentials;
use crate::simulator::auth::Caller;
use crate::simulator::world::{AppId, Done, Principal, Pull, Refusal, Repo, RepoId, World};

/// What a handler acts on.
pub struct Scene<'a> {
    /// The world.
    pub world: &'a mut World,
    /// The rest of GitHub.
    pub face: &'a Face,
    /// What our App proves itself with.
    pub credentials: &'a Credentials,
}

/// A call.
#[derive(Debug)]
pub struct Asked {
    /// Who asks.
    pub caller: Caller,
    /// The repository it is about, for routes below one; 0, which no repository has, for others.
    pub repo: RepoId,
    /// The body; null without one.
    pub body: Value,
    /// Where it stands, as links to other pages have it.
    pub path: String,
    /// The parts of the path that the pattern names, decoded.
    pub params: Vec<(&'static str, String)>,
    /// The query, decoded, in order.
    pub query: Vec<(String, String)>,
}

impl Asked {
    /// A part of the path.
    pub fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    /// A number in the path.
    ///
    /// # Errors
    /// 404 when it is none.
    pub fn number(&self, name: &str) -> Done<u64> {
        self.param(name).parse().map_err(|_| Refusal::not_found())
    }

    /// A word of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A text in the body.
    pub fn text(&self, name: &str) -> Option<String> {
        text(&self.body, name)
    }

    /// A text in the body that must be there.
    ///
    /// # Errors
    /// 422 in GitHub's words.
    pub fn needed(&self, name: &str) -> Done<String> {
        self.text(name).ok_or_else(|| missing(name))
    }

    /// Path and query of another page.
    pub fn at_page(&self, page: usize) -> String {
        let encode = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
                .to_string()
        };
        let others = self.query.iter().filter(|(name, _)| name != "page");
        let mut query: Vec<String> = others
            .map(|(name, value)| format!("{name}={}", encode(value)))
            .collect();
        query.push(format!("page={page}"));
        format!("{}?{}", self.path, query.join("&"))
    }

    /// As whom the world sees the caller act. Only our App has credentials here.
    pub fn principal(&self, world: &World) -> Principal {
        Principal::App(self.app(world))
    }

    /// The App behind the caller.
    pub fn app(&self, world: &World) -> AppId {
        world.our_app
    }
}

impl Scene<'_> {
    /// The repository a call is about.
    ///
    /// # Errors
    /// 404.
    pub fn repo(&self, asked: &Asked) -> Done<&Repo> {
        self.world.repo(asked.repo)
    }

    /// The pull request a call is about.
    ///
    /// # Errors
    /// 404.
    pub fn pull(&self, asked: &Asked) -> Done<&Pull> {
        self.world.pull(asked.repo, asked.number("number")?)
    }

    /// The commit that a name stands for in a repository: a branch, a full ref or a full id.
    ///
    /// # Errors
    /// 422 "No commit found for SHA".
    pub fn commit_named(&self, repo: &Repo, name: &str) -> Done<String> {
        let branch = name
            .strip_prefix("refs/heads/")
            .or_else(|| name.strip_prefix("heads/"))
            .unwrap_or(name);
        if let Some(tip) = repo.branches.get(branch) {
            return Ok(tip.clone());
        }
        Ok(self.world.pool.commit(name)?.sha.clone())
    }
}

/// A text in an object; null and other types are no text.
pub fn text(value: &Value, name: &str) -> Option<String> {
    value[name].as_str().map(str::to_owned)
}

/// 422 for a field that must be said.
pub fn missing(name: &str) -> Refusal {
    Refusal::new(
        422,
        format!("Invalid request.\n\n\"{name}\" wasn't supplied."),
    )
}

/// 422 for a word that is not among the possible ones.
pub fn impossible(word: &str, possible: &[&str]) -> Refusal {
    let possible = possible.join(", ");
    let text = format!(
        "Invalid request.\n\n{word} is not a possible value. Must be one of the following: {possible}."
    );
    Refusal::new(422, text)
}

/// 422 for a list that is too long.
pub fn too_many(limit: usize, supplied: usize) -> Refusal {
    let text = format!(
        "Invalid request.\n\nNo more than {limit} items are allowed; {supplied} were supplied."
    );
    Refusal::new(422, text)
}

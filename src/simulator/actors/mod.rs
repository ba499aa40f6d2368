//! The people and Apps of a story, and the things they hold.
//!
//! Every method is one act: it locks the world, does it, and lets go. Refusals come back as GitHub
//! words them. People are assumed to be allowed what the story has them do, except where GitHub's
//! refusal is itself the point: merging asks for write access and the platform's own gates.

mod contributing;
mod credentials;
mod reporting;
mod settings;
mod speaking;
#[cfg(test)]
mod tests;

pub use credentials::Credentials;
pub(in crate::simulator) use credentials::new_key;

use super::Simulator;
use super::world::{
    ACTIONS_APP, AccountId, AccountKind, AppId, Change, Done, Number, Principal, Pull, Repo,
    RepoId, Sha,
};

/// Somebody who acts: a person, or an App as its bot user.
#[derive(Debug, Clone)]
pub struct Actor {
    github: Simulator,
    /// The account that acts.
    pub id: AccountId,
    /// Its login.
    pub login: String,
    /// The App, when it is one.
    pub app: Option<AppId>,
}

/// A repository of a story.
#[derive(Debug, Clone)]
pub struct RepoHandle {
    github: Simulator,
    /// Identity.
    pub id: RepoId,
}

/// A pull request of a story.
#[derive(Debug, Clone)]
pub struct PullHandle {
    /// Its repository.
    pub repo: RepoHandle,
    /// Its number.
    pub number: Number,
}

/// Changes to files in one commit.
#[derive(Debug, Clone, Default)]
pub struct Edits(Vec<Change>);

impl Edits {
    /// No change yet.
    pub fn none() -> Self {
        Self::default()
    }

    /// A file with this content.
    pub fn write(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self::none().and_write(path, content)
    }

    /// A file removed.
    pub fn remove(path: &str) -> Self {
        Self::none().and_remove(path)
    }

    /// A file moved.
    pub fn rename(from: &str, to: &str) -> Self {
        Self::none().and_rename(from, to)
    }

    /// And a file with this content.
    #[must_use]
    pub fn and_write(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.0.push(Change::Write {
            path: path.to_owned(),
            content: content.into(),
        });
        self
    }

    /// And a file removed.
    #[must_use]
    pub fn and_remove(mut self, path: &str) -> Self {
        self.0.push(Change::Remove {
            path: path.to_owned(),
        });
        self
    }

    /// And a file moved.
    #[must_use]
    pub fn and_rename(mut self, from: &str, to: &str) -> Self {
        self.0.push(Change::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        self
    }
}

impl Simulator {
    /// A person, registered when first named.
    pub fn user(&self, login: &str) -> Actor {
        let id = self.lock().account(login, AccountKind::User);
        Actor {
            github: self.clone(),
            id,
            login: login.to_owned(),
            app: None,
        }
    }

    /// Somebody whose account is deleted: whatever they did shows null.
    pub fn deleted_account(&self) -> Actor {
        let gone = self.user("somebody-who-left");
        self.lock().delete_account(gone.id);
        gone
    }

    /// Another App than ours, with its bot user; registered when first named.
    pub fn other_app(&self, slug: &str) -> Actor {
        let id = self.lock().add_app(slug);
        self.as_app(id)
    }

    /// GitHub Actions, as which every workflow's jobs report.
    pub fn actions(&self) -> Actor {
        self.as_app(ACTIONS_APP)
    }

    /// Our own App, for what a story does by its hand.
    pub fn our_app(&self) -> Actor {
        let id = self.lock().our_app;
        self.as_app(id)
    }

    fn as_app(&self, app: AppId) -> Actor {
        let world = self.lock();
        let id = world.actor(Principal::App(app));
        Actor {
            github: self.clone(),
            id,
            login: world.login(id).to_owned(),
            app: Some(app),
        }
    }

    /// A new repository with these files on `main`.
    ///
    /// # Errors
    /// 422 for a name that is taken or not `OWNER/REPO`.
    pub fn repo(&self, full_name: &str, files: &[(&str, &str)]) -> Done<RepoHandle> {
        let id = self.lock().make_repo(full_name, files)?;
        Ok(RepoHandle {
            github: self.clone(),
            id,
        })
    }

    /// A team with these members; named again, it has these instead.
    pub fn team(&self, org: &str, slug: &str, members: &[&Actor]) -> u64 {
        let members: Vec<AccountId> = members.iter().map(|member| member.id).collect();
        self.lock().set_team(org, slug, &members)
    }
}

impl Actor {
    /// How the world knows who acts.
    pub fn principal(&self) -> Principal {
        match self.app {
            Some(app) => Principal::App(app),
            None => Principal::Account(self.id),
        }
    }
}

impl RepoHandle {
    /// Looks at the repository as it is.
    ///
    /// # Errors
    /// 404 once it is deleted.
    pub fn look<T>(&self, at: impl FnOnce(&Repo) -> T) -> Done<T> {
        self.github.lock().repo(self.id).map(at)
    }

    /// `OWNER/REPO` as it is now.
    ///
    /// # Errors
    /// 404 once it is deleted.
    pub fn full_name(&self) -> Done<String> {
        let world = self.github.lock();
        world.repo(self.id).map(|repo| world.full_name(repo))
    }

    /// A branch's tip.
    ///
    /// # Errors
    /// 404.
    pub fn tip(&self, branch: &str) -> Done<Sha> {
        self.github.lock().tip(self.id, branch)
    }

    /// Where the bare repository lies: `git clone PATH` works.
    ///
    /// # Errors
    /// 404 once it is deleted.
    pub fn path(&self) -> Done<std::path::PathBuf> {
        self.look(|repo| repo.git.path().map(std::path::Path::to_path_buf))?
            .map_err(Into::into)
    }

    /// A pull request of this repository.
    pub fn pull(&self, number: Number) -> PullHandle {
        PullHandle {
            repo: self.clone(),
            number,
        }
    }
}

impl PullHandle {
    /// Looks at the pull request as it is.
    ///
    /// # Errors
    /// 404.
    pub fn look<T>(&self, at: impl FnOnce(&Pull) -> T) -> Done<T> {
        self.repo
            .github
            .lock()
            .pull(self.repo.id, self.number)
            .map(at)
    }

    /// Its head commit.
    ///
    /// # Errors
    /// 404.
    pub fn head(&self) -> Done<Sha> {
        self.look(|pull| pull.head.sha.clone())
    }

    /// The JSON of `GET /pulls/{number}`, which counts as a read.
    ///
    /// # Errors
    /// 404.
    pub fn read(&self) -> Done<serde_json::Value> {
        let mut world = self.repo.github.lock();
        world.read_pull(self.repo.id, self.number)?;
        let repo = world.repo(self.repo.id)?;
        let pull = world.pull(self.repo.id, self.number)?;
        Ok(super::payload::pull(&world, repo, pull))
    }
}

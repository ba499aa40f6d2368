//! A bare repository: refs in memory until somebody wants the files.
//!
//! Most worlds are never looked at by another program, and making a dozen files for each would cost
//! more than everything else. So a repository is laid out on disk when its path is first asked for,
//! and follows every ref from then on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Failure, Pool};

/// A bare repository. Any git program can read and clone it at its [`path`](Bare::path); its folder
/// goes with it.
#[derive(Debug)]
pub struct Bare {
    pool: Arc<Pool>,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    refs: BTreeMap<String, String>,
    default_branch: String,
    on_disk: bool,
}

pub(super) fn lay_out(path: &Path, alternates: Option<&Path>) -> Result<(), Failure> {
    fs::create_dir_all(path.join("objects/info"))?;
    fs::create_dir_all(path.join("refs/heads"))?;
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(
        path.join("config"),
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
    )?;
    if let Some(objects) = alternates {
        let line = format!("{}\n", objects.display());
        fs::write(path.join("objects/info/alternates"), line)?;
    }
    Ok(())
}

impl Bare {
    /// Makes one, on `main`, with no ref yet.
    pub fn create(pool: &Arc<Pool>) -> Self {
        Self {
            path: pool.path().join(format!("{}.git", pool.next())),
            pool: Arc::clone(pool),
            state: Mutex::new(State {
                refs: BTreeMap::new(),
                default_branch: "main".to_owned(),
                on_disk: false,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it is: `git clone PATH` works from now on.
    ///
    /// # Errors
    /// [`Failure::Files`].
    pub fn path(&self) -> Result<&Path, Failure> {
        let mut state = self.state();
        if !state.on_disk {
            lay_out(&self.path, Some(&self.pool.objects()))?;
            for (name, sha) in &state.refs {
                self.write_ref(name, sha)?;
            }
            self.write_head(&state.default_branch)?;
            state.on_disk = true;
        }
        Ok(&self.path)
    }

    /// Points a ref (`refs/heads/main`) at a commit.
    ///
    /// # Errors
    /// [`Failure::Ref`] when `a` and `a/b` would both be refs; [`Failure::Files`].
    pub fn set(&self, name: &str, sha: &str) -> Result<(), Failure> {
        let mut state = self.state();
        let below = |outer: &str, inner: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(other) = state
            .refs
            .keys()
            .find(|other| below(other, name) || below(name, other))
        {
            return Err(Failure::Ref {
                name: name.to_owned(),
                other: other.clone(),
            });
        }
        if state.on_disk {
            self.write_ref(name, sha)?;
        }
        state.refs.insert(name.to_owned(), sha.to_owned());
        Ok(())
    }

    /// Removes a ref, if it is there.
    ///
    /// # Errors
    /// [`Failure::Files`].
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let mut state = self.state();
        if state.refs.remove(name).is_some() && state.on_disk {
            self.remove_ref(name)?;
        }
        Ok(())
    }

    /// Says which branch is the default one.
    ///
    /// # Errors
    /// [`Failure::Files`].
    pub fn set_head(&self, branch: &str) -> Result<(), Failure> {
        let mut state = self.state();
        if state.on_disk {
            self.write_head(branch)?;
        }
        branch.clone_into(&mut state.default_branch);
        Ok(())
    }

    fn write_ref(&self, name: &str, sha: &str) -> Result<(), Failure> {
        self.pool.put_on_disk(&[sha])?;
        let file = self.path.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(file, format!("{sha}\n"))?)
    }

    /// The folders that are empty without the ref go too, so that a ref may take their name.
    fn remove_ref(&self, name: &str) -> Result<(), Failure> {
        let file = self.path.join(name);
        fs::remove_file(&file)?;
        let heads = self.path.join("refs/heads");
        let mut folder = file.parent();
        while let Some(empty) = folder.filter(|folder| *folder != heads) {
            if fs::remove_dir(empty).is_err() {
                break;
            }
            folder = empty.parent();
        }
        Ok(())
    }

    fn write_head(&self, branch: &str) -> Result<(), Failure> {
        let text = format!("ref: refs/heads/{branch}\n");
        Ok(fs::write(self.path.join("HEAD"), text)?)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if self.state().on_disk {
            // Nothing is lost if this fails: the pool's folder goes later.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

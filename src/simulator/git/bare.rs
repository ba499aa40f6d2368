//! A bare repository: a few files whose objects are the pool's.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Failure, Pool};

/// A bare repository on disk. Any git program can read and clone it; its folder goes with it.
#[derive(Debug)]
pub struct Bare {
    path: PathBuf,
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
    /// Makes one.
    ///
    /// # Errors
    /// [`Failure::Files`].
    pub fn create(pool: &Arc<Pool>) -> Result<Self, Failure> {
        let path = pool.path().join(format!("{}.git", pool.next()));
        lay_out(&path, Some(&pool.objects()))?;
        Ok(Self { path })
    }

    /// Where it is: `git clone PATH` works.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Points a ref (`refs/heads/main`) at a commit.
    ///
    /// # Errors
    /// [`Failure::Files`], also when `a` and `a/b` would both be refs.
    pub fn set(&self, name: &str, sha: &str) -> Result<(), Failure> {
        let file = self.path.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(file, format!("{sha}\n"))?)
    }

    /// Removes a ref, and the folders that are empty without it.
    ///
    /// # Errors
    /// [`Failure::Files`].
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
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

    /// Says which branch is the default one.
    ///
    /// # Errors
    /// [`Failure::Files`].
    pub fn set_head(&self, branch: &str) -> Result<(), Failure> {
        Ok(fs::write(
            self.path.join("HEAD"),
            format!("ref: refs/heads/{branch}\n"),
        )?)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // Nothing is lost if this fails: the pool's folder goes later.
        let _ = fs::remove_dir_all(&self.path);
    }
}

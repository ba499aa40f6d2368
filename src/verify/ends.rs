//! What is to be verified: a head, the base it wants to enter, and where both part; and a git directory of
//! our own that sees the caller's objects.
//!
//! Nothing is written where the caller works. `git worktree add` would leave a folder in the caller's
//! `.git` when this program is killed, and `git clone --shared` copies refs and refuses shallow
//! repositories. A bare repository with one line in `objects/info/alternates` does neither: it sees every
//! object the caller has, reachable or not, and all that is written goes to it.

use std::path::{Path, PathBuf};

use super::Fault;
use super::git::Git;
use crate::domain::model::{BaseRef, HeadSha, Oid};

/// A repository whose objects are there.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// Its common git directory.
    pub git_dir: PathBuf,
    /// Its objects.
    pub objects: PathBuf,
    /// Where it was cloned from, without a password.
    pub address: Option<String>,
}

/// The commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The head.
    pub head: HeadSha,
    /// Its tree.
    pub tree: Oid,
    /// The base branch's name, where it was given by name.
    pub base: Option<BaseRef>,
    /// The base's commit.
    pub base_sha: Oid,
    /// Where both part.
    pub merge_base: Oid,
}

impl Origin {
    /// Finds the repository of a checkout.
    pub async fn of(checkout: &Path) -> Result<Self, Fault> {
        let git = Git::reading(checkout);
        let path = async |words: &[&str]| git.text(words).await.map(PathBuf::from);
        let git_dir = path(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let git_dir = git_dir.await.map_err(|why| {
            let place = checkout.display();
            Fault::Use(format!("{place} is no checkout that git can read: {why}"))
        })?;
        let words = [
            "rev-parse",
            "--path-format=absolute",
            "--git-path",
            "objects",
        ];
        let objects = path(&words).await.map_err(Fault::Use)?;
        let format = git.text(&["rev-parse", "--show-object-format"]).await;
        if format.as_deref() == Ok("sha256") {
            let why = "this repository names its objects by SHA-256, which GitHub does not take";
            return Err(Fault::Use(why.to_owned()));
        }
        let address = git.text(&["config", "--get", "remote.origin.url"]).await;
        let address = address.ok().map(|address| without_password(&address));
        Ok(Self {
            git_dir,
            objects,
            address,
        })
    }

    /// A bare repository at `place` that sees these objects.
    pub async fn seen_from(&self, place: &Path) -> Result<Git, String> {
        let init = Git::own(place).plain();
        init.bytes(&[
            "init",
            "-q",
            "--bare",
            "--template=",
            "--object-format=sha1",
        ])
        .await?;
        see(place, &self.objects)?;
        let shallow = self.git_dir.join("shallow");
        if shallow.exists() {
            std::fs::copy(&shallow, place.join("shallow"))
                .map_err(|error| format!("{}: {error}", shallow.display()))?;
        }
        Ok(Git::own(place))
    }
}

/// Lets the repository at `git_dir` see further objects.
pub(super) fn see(git_dir: &Path, objects: &Path) -> Result<(), String> {
    use std::os::unix::ffi::OsStrExt;
    let info = git_dir.join("objects").join("info");
    let mut line = objects.as_os_str().as_bytes().to_vec();
    if line.contains(&b'\n') || line.first() == Some(&b'"') {
        return Err(format!(
            "git cannot share objects of a folder called {objects:?}"
        ));
    }
    line.push(b'\n');
    std::fs::create_dir_all(&info)
        .and_then(|()| std::fs::write(info.join("alternates"), line))
        .map_err(|error| format!("{}: {error}", info.display()))
}

/// `https://user:password@host/` without what stands before the `@`.
pub(super) fn without_password(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) if scheme.starts_with("http") => {
            let host = rest.find('/').unwrap_or(rest.len());
            let from = rest[..host].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[from..])
        }
        _ => address.to_owned(),
    }
}

/// `OWNER/NAME` of an address on a Git host.
pub fn repository_of(address: &str) -> Option<String> {
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => address.split_once(':')?.1,
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut parts = path.rsplit('/');
    let (name, owner) = (parts.next()?, parts.next()?);
    (!name.is_empty() && !owner.is_empty()).then(|| format!("{owner}/{name}"))
}

impl Ends {
    /// Finds the commits, or says what to fetch.
    pub async fn find(checkout: &Path, base: &str, head: &str) -> Result<Self, Fault> {
        let git = Git::reading(checkout);
        let head_sha = commit(&git, head)
            .await
            .ok_or_else(|| Fault::Use(absent("head", head)))?;
        let typed = base;
        let remote = format!("origin/{base}");
        // A fresh checkout on a build machine has the base only as its remote's branch.
        let (base, base_sha) = match (commit(&git, base).await, commit(&git, &remote).await) {
            (Some(sha), _) => (base, sha),
            (None, Some(sha)) => (remote.as_str(), sha),
            (None, None) => {
                return Err(Fault::Use(absent("base", base)));
            }
        };
        let words = ["merge-base", base_sha.as_str(), head_sha.as_str()];
        let merge_base = match git.text(&words).await {
            Ok(sha) => sha,
            Err(_) => return Err(Fault::Use(apart(&git, typed, &head_sha).await)),
        };
        let tree = format!("{head_sha}^{{tree}}");
        let tree = git.text(&["rev-parse", "--verify", &tree]).await;
        let broken = |error: crate::domain::model::Malformed| Fault::Internal(error.to_string());
        Ok(Self {
            base: branch(&git, base).await,
            head: HeadSha::parse(&head_sha).map_err(broken)?,
            tree: Oid::parse(&tree.map_err(Fault::Use)?).map_err(broken)?,
            base_sha: Oid::parse(&base_sha).map_err(broken)?,
            merge_base: Oid::parse(&merge_base).map_err(broken)?,
        })
    }
}

/// What to do about a commit that is not there. A checkout of one branch fetches no other without being told
/// where it goes.
fn absent(end: &str, name: &str) -> String {
    let prefixes = ["refs/heads/", "refs/remotes/origin/", "origin/"];
    let branch = prefixes.iter().find_map(|one| name.strip_prefix(one));
    let (branch, remote) = (branch.unwrap_or(name), branch.is_some() || end == "base");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+#@".contains(c);
    let is_name = BaseRef::parse(branch).is_ok() && branch.chars().all(plain);
    if !is_name || branch.starts_with('-') || branch.contains("..") {
        return format!(
            "the {end} `{name}` is no commit of this checkout: give a branch or a commit"
        );
    }
    let is_sha = branch.len() >= 7 && branch.bytes().all(|byte| byte.is_ascii_hexdigit());
    let what = match (is_sha, remote) {
        (true, _) => name.to_owned(),
        (false, true) => format!("{branch}:refs/remotes/origin/{branch}"),
        (false, false) => format!("{branch}:{branch}"),
    };
    format!("the {end} `{name}` is not in this checkout; fetch it: git fetch origin {what}")
}

async fn commit(git: &Git, name: &str) -> Option<String> {
    let name = format!("{name}^{{commit}}");
    let words = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &name,
    ];
    let answer = git.text(&words).await.ok()?;
    answer.lines().next_back().map(str::to_owned)
}

/// Why there is no merge base, and the command that mends it.
async fn apart(git: &Git, base: &str, head: &str) -> String {
    let shallow = git.text(&["rev-parse", "--is-shallow-repository"]).await;
    let head = &head[..head.len().min(12)];
    if shallow.as_deref() == Ok("true") {
        format!(
            "where {base} and {head} part is not in this shallow checkout; run: git fetch --unshallow origin \
             (in a workflow: actions/checkout with fetch-depth: 0)"
        )
    } else {
        format!("{base} and {head} have no commit in common: is the base the right one?")
    }
}

/// The branch that a name stands for, as the host calls it. For a commit: the one branch of the remote
/// whose tip it is; `None` where there is none, or several.
async fn branch(git: &Git, name: &str) -> Option<BaseRef> {
    if let Some(named) = named_branch(git, name).await {
        return Some(named);
    }
    let points = format!("--points-at={name}");
    let words = [
        "for-each-ref",
        "--format=%(refname:lstrip=3)",
        &points,
        "refs/remotes/origin",
    ];
    let tips = git.text(&words).await.ok()?;
    let mut tips = tips.lines().filter(|tip| *tip != "HEAD");
    match (tips.next(), tips.next()) {
        (Some(only), None) => BaseRef::parse(only).ok(),
        _ => None,
    }
}

async fn named_branch(git: &Git, name: &str) -> Option<BaseRef> {
    let words = [
        "rev-parse",
        "--symbolic-full-name",
        "--end-of-options",
        name,
    ];
    let full = git.text(&words).await.ok()?;
    let full = full.lines().next_back()?;
    let short = match full.strip_prefix("refs/heads/") {
        Some(short) => short,
        None => full.strip_prefix("refs/remotes/")?.split_once('/')?.1,
    };
    BaseRef::parse(short).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_by_the_end_of_its_address() {
        for address in [
            "https://github.com/acme/shop",
            "https://token@github.com/acme/shop.git",
            "git@github.com:acme/shop.git",
            "ssh://git@github.com:22/acme/shop.git/",
        ] {
            assert_eq!(
                repository_of(address).as_deref(),
                Some("acme/shop"),
                "{address}"
            );
        }
        for address in ["shop", "https://github.com/shop", "git@host:shop"] {
            assert_eq!(repository_of(address), None, "{address}");
        }
    }

    #[test]
    fn what_is_not_there_is_told_with_the_command_that_fetches_it_or_with_none() {
        let fetched = |end, name| {
            let told = absent(end, name);
            told.split_once("git fetch origin ")
                .map(|(_, what)| what.to_owned())
        };
        let main = Some("main:refs/remotes/origin/main".to_owned());
        for base in ["main", "origin/main", "refs/heads/main"] {
            assert_eq!(fetched("base", base), main, "{base}");
        }
        assert_eq!(fetched("head", "agent"), Some("agent:agent".to_owned()));
        assert_eq!(fetched("head", "0123abc"), Some("0123abc".to_owned()));
        for odd in ["", "--output=x", "HEAD^{tree}", "main..agent", "HEAD:src/a"] {
            assert_eq!(fetched("base", odd), None, "{odd}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_left_out() {
        let with = "https://x-access-token:ghs_secret@github.com/acme/shop.git";
        assert_eq!(without_password(with), "https://github.com/acme/shop.git");
        let plain = "https://github.com/acme/shop@2.git";
        assert_eq!(without_password(plain), plain);
        assert_eq!(without_password("git@github.com:a/b"), "git@github.com:a/b");
    }
}

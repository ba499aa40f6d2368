//! Submodules of the head, laid out in a work folder.
//!
//! `git submodule update` wants a working tree that it owns and writes into its git directory, so it
//! cannot serve several work folders at a time. What it does is done here: the commit that the tree names
//! is taken from the caller's own copy of the submodule where that has it, else fetched from the address
//! in `.gitmodules`, under the restrictions that git puts on such addresses.

use std::path::{Path, PathBuf};

use super::ends::{Origin, without_password};
use super::git::Git;

/// How deep submodules of submodules are followed.
const DEEPEST: usize = 8;

/// Lays out all submodules of a commit below `work`; their objects go to folders in `place`.
pub(super) async fn lay(
    git: &Git,
    origin: &Origin,
    commit: &str,
    work: &Path,
    place: &Path,
) -> Result<(), String> {
    let mut waiting = vec![(
        git.clone(),
        origin.clone(),
        commit.to_owned(),
        work.to_owned(),
        0,
    )];
    let mut count = 0;
    while let Some((git, origin, commit, work, depth)) = waiting.pop() {
        for link in links(&git, &commit).await? {
            if depth == DEEPEST {
                return Err(format!(
                    "submodules lie more than {DEEPEST} deep at {}",
                    link.path
                ));
            }
            count += 1;
            std::fs::create_dir_all(place)
                .map_err(|error| format!("{}: {error}", place.display()))?;
            let own = place.join(count.to_string());
            let (inner, source) = fetched(&origin, &link, &own).await.map_err(|why| {
                format!(
                    "the submodule {} at {:.12} cannot be had: {why}; run: git submodule update --init --recursive",
                    link.path, link.commit
                )
            })?;
            let folder = super::workshop::inside(&work, &link.path)?;
            std::fs::create_dir_all(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
            let index = place.join(format!("{count}.{}", uuid::Uuid::new_v4()));
            let tree = inner.with_tree(&folder, &index);
            tree.bytes(&["read-tree", "--reset", "-u", &link.commit])
                .await?;
            let _ = std::fs::remove_file(&index);
            waiting.push((inner, source, link.commit, folder, depth + 1));
        }
    }
    Ok(())
}

struct Link {
    path: String,
    commit: String,
    name: String,
    address: Option<String>,
}

/// The submodules that a commit's tree names.
async fn links(git: &Git, commit: &str) -> Result<Vec<Link>, String> {
    let listed = git.bytes(&["ls-tree", "-r", "-z", commit]).await?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let links: Vec<_> = listed
        .split('\0')
        .filter_map(|entry| entry.strip_prefix("160000 commit ")?.split_once('\t'))
        .collect();
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let blob = format!("{commit}:.gitmodules");
    let words = [
        "config",
        "--blob",
        &blob,
        "-z",
        "--get-regexp",
        r"^submodule\..*\.(path|url)$",
    ];
    let told = git.plain().bytes(&words).await.unwrap_or_default();
    let told = String::from_utf8_lossy(&told).into_owned();
    let settings: Vec<(&str, &str)> = told
        .split('\0')
        .filter_map(|one| one.split_once('\n'))
        .collect();
    let named = |path: &str| {
        settings.iter().find_map(|(key, value)| {
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            (*value == path).then_some(name)
        })
    };
    let links = links.into_iter().filter_map(|(commit, path)| {
        // One without an entry is not initialised by git either.
        let name = named(path)?;
        let key = format!("submodule.{name}.url");
        let address = settings.iter().find(|(known, _)| *known == key);
        Some(Link {
            path: path.to_owned(),
            commit: commit.to_owned(),
            name: name.to_owned(),
            address: address.map(|(_, value)| (*value).to_owned()),
        })
    });
    Ok(links.collect())
}

/// A git directory of ours that has the submodule's commit.
async fn fetched(origin: &Origin, link: &Link, own: &Path) -> Result<(Git, Origin), String> {
    let plain = |name: &str| {
        !name.is_empty() && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
    };
    if !plain(&link.name) {
        return Err(format!("its name {:?} is none git takes", link.name));
    }
    let address = link
        .address
        .as_deref()
        .map(|address| resolved(origin.address.as_deref(), address));
    let copy: PathBuf = origin.git_dir.join("modules").join(&link.name);
    let source = Origin {
        objects: copy.join("objects"),
        git_dir: copy.clone(),
        address: address.clone(),
    };
    let wanted = format!("{}^{{commit}}", link.commit);
    if source.objects.is_dir() {
        let git = match own.exists() {
            true => Git::own(own),
            false => source.seen_from(own).await?,
        };
        if git.bytes(&["cat-file", "-e", &wanted]).await.is_ok() {
            return Ok((git, source));
        }
    }
    let address = address.ok_or(".gitmodules gives no address")?;
    if address.starts_with('-') {
        return Err(format!("its address {address:?} is none"));
    }
    let git = Git::own(own);
    if !own.exists() {
        git.plain()
            .bytes(&["init", "-q", "--bare", "--template="])
            .await?;
    }
    if git.bytes(&["cat-file", "-e", &wanted]).await.is_err() {
        let words = [
            "fetch",
            "-q",
            "--no-tags",
            "--depth=1",
            &address,
            &link.commit,
        ];
        let got = git.distrusting().bytes(&words).await;
        got.map_err(|why| format!("{} ({why})", without_password(&address)))?;
    }
    let fetched = Origin {
        git_dir: own.to_owned(),
        objects: own.join("objects"),
        address: Some(address),
    };
    Ok((git, fetched))
}

/// An address that begins with `./` or `../` is meant from where the repository itself came from.
fn resolved(from: Option<&str>, address: &str) -> String {
    let Some(from) = from.filter(|_| address.starts_with("./") || address.starts_with("../"))
    else {
        return address.to_owned();
    };
    let mut base = from.trim_end_matches('/');
    let mut rest = address;
    loop {
        if let Some(up) = rest.strip_prefix("../") {
            rest = up;
            base = base.rfind(['/', ':']).map_or(base, |at| &base[..at]);
        } else if let Some(here) = rest.strip_prefix("./") {
            rest = here;
        } else {
            return format!("{base}/{rest}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::resolved;

    #[test]
    fn a_relative_address_is_meant_from_the_repositorys_own() {
        let from = Some("https://github.com/acme/shop.git");
        assert_eq!(
            resolved(from, "../lib.git"),
            "https://github.com/acme/lib.git"
        );
        assert_eq!(
            resolved(from, "../../other/lib"),
            "https://github.com/other/lib"
        );
        assert_eq!(resolved(from, "https://x/y"), "https://x/y");
        assert_eq!(resolved(None, "../lib"), "../lib");
    }
}

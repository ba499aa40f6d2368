//! Blobs, trees and commits, written byte for byte as git writes them.

use std::fs;

use chrono::{DateTime, Utc};

use super::{Entry, Failure, Pool};

/// Who, and when: an author or committer line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The e-mail address, by which GitHub finds the account.
    pub email: String,
    /// When; git keeps whole seconds.
    pub at: DateTime<Utc>,
}

impl Signature {
    fn text(&self) -> String {
        format!(
            "{} <{}> {} +0000",
            self.name,
            self.email,
            self.at.timestamp()
        )
    }
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id; filled in when it is written.
    pub sha: String,
    /// Its tree.
    pub tree: String,
    /// Its parents.
    pub parents: Vec<String>,
    /// Who wrote it.
    pub author: Signature,
    /// Who committed it.
    pub committer: Signature,
    /// Its message.
    pub message: String,
}

impl Commit {
    pub(super) fn text(&self) -> String {
        let parents: String = self
            .parents
            .iter()
            .map(|parent| format!("parent {parent}\n"))
            .collect();
        format!(
            "tree {}\n{parents}author {}\ncommitter {}\n\n{}\n",
            self.tree,
            self.author.text(),
            self.committer.text(),
            self.message.trim_end(),
        )
    }
}

impl Pool {
    pub(super) fn write_object(&self, kind: &str, body: &[u8]) -> Result<String, Failure> {
        let mut whole = format!("{kind} {}\0", body.len()).into_bytes();
        whole.extend_from_slice(body);
        let digest = aws_lc_rs::digest::digest(
            &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY,
            whole.as_slice(),
        );
        let id = hex::encode(digest.as_ref());
        let (folder, name) = id.split_at(2);
        let folder = self.objects().join(folder);
        let file = folder.join(name);
        if !file.exists() {
            fs::create_dir_all(&folder)?;
            // Worlds of several threads write into one pool: a half-written object must never show.
            let draft = folder.join(format!("draft-{}", self.next()));
            fs::write(&draft, zlib_stored(&whole))?;
            fs::rename(&draft, &file)?;
        }
        Ok(id)
    }

    /// Writes the tree of one folder; `files` are its files in order, paths relative to it.
    pub(super) fn write_folder(&self, files: &[(&str, &Entry)]) -> Result<String, Failure> {
        let mut entries: Vec<(String, String, String)> = Vec::new();
        let mut rest = files;
        while let Some((path, entry)) = rest.first() {
            let Some((folder, _)) = path.split_once('/') else {
                entries.push(((*path).to_owned(), entry.mode.clone(), entry.id.clone()));
                rest = &rest[1..];
                continue;
            };
            let prefix = format!("{folder}/");
            let inside: Vec<(&str, &Entry)> = rest
                .iter()
                .map_while(|(path, entry)| path.strip_prefix(&prefix).map(|inner| (inner, *entry)))
                .collect();
            rest = &rest[inside.len()..];
            let id = self.write_folder(&inside)?;
            entries.push((folder.to_owned(), "40000".to_owned(), id));
        }
        // Git sorts a folder as if its name ended in a slash.
        entries.sort_by_key(|(name, mode, _)| {
            let slash = if mode == "40000" { "/" } else { "" };
            format!("{name}{slash}").into_bytes()
        });
        let mut body = Vec::new();
        for (name, mode, id) in &entries {
            body.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            body.extend(hex::decode(id).map_err(|_| Failure::Unreadable(id.clone()))?);
        }
        self.write_object("tree", &body)
    }
}

/// A zlib stream of stored blocks.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

fn adler32(data: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (mut low, mut high) = (1_u32, 0_u32);
    // 5,552 bytes are the most that cannot overflow 32 bits between two reductions.
    for block in data.chunks(5_552) {
        for byte in block {
            low += u32::from(*byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    (high << 16) | low
}

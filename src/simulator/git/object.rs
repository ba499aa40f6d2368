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
    /// Takes an object into memory under its id; it reaches the disk when a program needs it.
    pub(super) fn take_object(&self, kind: &str, body: &[u8]) -> String {
        let mut whole = format!("{kind} {}\0", body.len()).into_bytes();
        whole.extend_from_slice(body);
        let digest = aws_lc_rs::digest::digest(
            &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY,
            whole.as_slice(),
        );
        let id = hex::encode(digest.as_ref());
        let memory = &mut *self.memory();
        if memory.known.insert(id.clone()) {
            memory.unwritten.insert(id.clone(), whole);
        }
        id
    }

    /// Writes these objects and everything they rest on, as far as it is not on disk yet.
    ///
    /// # Errors
    /// [`Failure::Files`].
    pub(super) fn put_on_disk(&self, ids: &[&str]) -> Result<(), Failure> {
        let mut open: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        let mut taken = Vec::new();
        let mut memory = self.memory();
        while let Some(id) = open.pop() {
            if let Some(whole) = memory.unwritten.remove(&id) {
                open.extend(rests_on(&whole));
                taken.push((id, whole));
            }
        }
        // The lock is kept: whoever asks for the same objects must find them written.
        for (id, whole) in taken {
            let (folder, name) = id.split_at(2);
            let folder = self.objects().join(folder);
            let file = folder.join(name);
            // Git may have made the same object meanwhile, and its files are read-only.
            if !file.exists() {
                fs::create_dir_all(&folder)?;
                fs::write(file, zlib_stored(&whole))?;
            }
        }
        Ok(())
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
        Ok(self.take_object("tree", &body))
    }
}

/// The objects an object names: a commit's tree and parents, a folder's entries.
fn rests_on(whole: &[u8]) -> Vec<String> {
    let Some(end) = whole.iter().position(|byte| *byte == 0) else {
        return Vec::new();
    };
    let body = &whole[end + 1..];
    if whole.starts_with(b"commit ") {
        let text = String::from_utf8_lossy(body);
        return text
            .lines()
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.strip_prefix("tree ").or(line.strip_prefix("parent ")))
            .map(str::to_owned)
            .collect();
    }
    let mut named = Vec::new();
    let mut rest = if whole.starts_with(b"tree ") {
        body
    } else {
        &[]
    };
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        let Some(id) = rest.get(end + 1..end + 21) else {
            break;
        };
        named.push(hex::encode(id));
        rest = &rest[end + 21..];
    }
    named
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

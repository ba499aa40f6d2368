//! A `.env` file, and how settings are added to it without harming what others wrote there.
//!
//! In such a file the *first* line that sets a variable counts, so an older line of ours would silently
//! win over what is appended: it becomes a comment, which loses nobody anything. Lines are found by a
//! small reader of our own; whether it understood the file is not assumed but tried: the new text is read
//! back with the very library that will read it later, and must say what it should, no more and no less.

use std::io::Cursor;

/// The text of a `.env` file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dotenv(pub String);

/// Why nothing can be added to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    /// It is no `.env` file. What stands there may be secret and is not repeated.
    #[error("it cannot be read as NAME=VALUE lines")]
    Malformed,
    /// What was added would not be read back.
    #[error("its quotation marks are too involved to add lines safely")]
    Involved,
}

type Pairs = Vec<(String, String)>;

impl Dotenv {
    fn pairs(text: &str) -> Result<Pairs, Unclear> {
        dotenvy::Iter::new(Cursor::new(text))
            .collect::<Result<_, _>>()
            .map_err(|_| Unclear::Malformed)
    }

    /// What a variable is set to, as far as it says anything.
    ///
    /// # Errors
    /// [`Unclear::Malformed`].
    pub fn value(&self, name: &str) -> Result<Option<String>, Unclear> {
        let pairs = Self::pairs(&self.0)?.into_iter();
        let mut set = pairs.filter(|(known, value)| known == name && !value.trim().is_empty());
        Ok(set.next().map(|(_, value)| value))
    }

    /// The text with these settings at its end, and every earlier line that sets one of `silenced` made a
    /// comment.
    ///
    /// # Errors
    /// [`Unclear`], before anything is written.
    pub fn with(&self, ours: &[(&str, String)], silenced: &[&str]) -> Result<Self, Unclear> {
        let mut text = String::new();
        for (name, lines) in entries(&self.0) {
            let silent = name.is_some_and(|name| silenced.contains(&name));
            for line in lines {
                text.push_str(if silent { "# " } else { "" });
                text.push_str(line);
                text.push('\n');
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("# Written by `countersign setup`.\n");
        for (name, value) in ours {
            text.push_str(&format!("{name}={}\n", quoted(value)));
        }
        let mut expected = Self::pairs(&self.0)?;
        expected.retain(|(name, _)| !silenced.contains(&name.as_str()));
        let added = ours
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        expected.extend(added);
        match Self::pairs(&text) {
            Ok(read) if read == expected => Ok(Self(text)),
            _ => Err(Unclear::Involved),
        }
    }
}

/// The lines of a text, those of one setting together, with the variable it sets.
fn entries(text: &str) -> Vec<(Option<&str>, Vec<&str>)> {
    let mut entries: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    let mut open = None;
    for line in text.lines() {
        if let (Some(quote), Some((_, lines))) = (open, entries.last_mut()) {
            lines.push(line);
            open = left_open(line, Some(quote));
            continue;
        }
        let bare = line.trim_start();
        let bare = bare.strip_prefix("export ").unwrap_or(bare);
        let set = match bare.split_once('=') {
            Some((name, value)) if !bare.starts_with('#') => Some((name.trim(), value)),
            _ => None,
        };
        open = set.and_then(|(_, value)| left_open(value, None));
        entries.push((set.map(|(name, _)| name), vec![line]));
    }
    entries
}

/// The quotation mark that is still open at the end of a line.
fn left_open(line: &str, mut open: Option<char>) -> Option<char> {
    let mut before = ' ';
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (open, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => open = None,
            (Some('"') | None, '\\') => {
                letters.next();
            }
            (None, '\'' | '"') => open = Some(letter),
            (None, '#') if before.is_whitespace() => return None,
            _ => {}
        }
        before = letter;
    }
    open
}

/// A value as such files have it: bare where that is safe, because not every reader takes the marks off.
fn quoted(value: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || "_-./:@+,=".contains(c);
    if !value.is_empty() && value.chars().all(bare) {
        return value.to_owned();
    }
    let mut text = String::from("\"");
    for letter in value.chars() {
        match letter {
            '"' | '\\' | '$' => text.extend(['\\', letter]),
            '\n' => text.push_str("\\n"),
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, value: &str) -> Result<String, Unclear> {
        let ours = [("OURS", value.to_owned())];
        let dotenv = Dotenv(text.to_owned());
        dotenv.with(&ours, &["OURS", "OLD"]).map(|dotenv| dotenv.0)
    }

    #[test]
    fn settings_are_added_at_the_end_and_the_others_stay_as_they_are() {
        let text = "# mine\nA=1\nexport B='two words' # why\nC=\"x\ny = z\"";
        insta::assert_snapshot!(added(text, "new").unwrap(), @r#"
        # mine
        A=1
        export B='two words' # why
        C="x
        y = z"

        # Written by `countersign setup`.
        OURS=new
        "#);
        insta::assert_snapshot!(added("", "new").unwrap(), @r"
        # Written by `countersign setup`.
        OURS=new
        ");
    }

    #[test]
    fn an_older_line_becomes_a_comment_however_it_is_written() {
        let text = "OURS=\n export OURS = old\nOLD=\"-----BEGIN\nA=b\n-----END\"\nOTHERS=OURS=1\n";
        insta::assert_snapshot!(added(text, "new").unwrap(), @r#"
        # OURS=
        #  export OURS = old
        # OLD="-----BEGIN
        # A=b
        # -----END"
        OTHERS=OURS=1

        # Written by `countersign setup`.
        OURS=new
        "#);
    }

    #[test]
    fn a_mark_in_a_comment_opens_nothing() {
        let text = added("A=1 # it's\nOLD=1\nB=x#y\n", "new").unwrap();
        assert!(text.starts_with("A=1 # it's\n# OLD=1\nB=x#y\n"), "{text}");
    }

    #[test]
    fn whatever_the_value_it_is_read_back() {
        for value in [
            "plain",
            "two words",
            "it's",
            "a \"b\" c",
            "$HOME",
            "back\\slash",
            "a#b",
            "x # y",
            "lines\nof\ntext",
            "",
            "ends=",
            "ümläut",
            "`id`",
            "!",
        ] {
            let text = added("A=1\n", value).unwrap();
            let read = Dotenv(text).value("OURS").unwrap();
            assert_eq!(read.unwrap_or_default(), value);
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        assert_eq!(added("what is this\n", "new"), Err(Unclear::Malformed));
        assert_eq!(added("A=\"never closed\n", "new"), Err(Unclear::Malformed));
        // Silencing the first changes what the second means.
        assert_eq!(added("OLD=1\nB=x$OLD\n", "new"), Err(Unclear::Involved));
    }

    #[test]
    fn an_empty_setting_says_nothing() {
        let dotenv = Dotenv("A=\nB=' '\nC=1\nC=2\n".to_owned());
        assert_eq!(dotenv.value("A"), Ok(None));
        assert_eq!(dotenv.value("B"), Ok(None));
        assert_eq!(dotenv.value("C"), Ok(Some("1".to_owned())));
    }
}

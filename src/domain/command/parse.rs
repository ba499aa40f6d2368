//! From plain lines to commands.

use super::{Category, Command, MOST_CHARS, MOST_COMMANDS, Misuse, Priority, Said, Word, plain};
use crate::domain::model::PullNumber;
use crate::domain::policy::nearest::nearest;

/// The commands of a newly written comment, in order.
pub fn parse(text: &str) -> Vec<Said> {
    // Most comments hold no stroke at the beginning of any line, and need not be read as Markdown.
    if !text.contains('/') {
        return Vec::new();
    }
    plain::lines(text)
        .iter()
        .filter_map(|line| said(line))
        .take(MOST_COMMANDS)
        .collect()
}

fn said(line: &str) -> Option<Said> {
    let rest = line.strip_prefix('/')?;
    let (word, arguments) = first_word(rest);
    if word.eq_ignore_ascii_case("countersign") {
        let (word, arguments) = first_word(arguments);
        let what = match known(word) {
            Some(word) => read(word, arguments),
            None if word.is_empty() => Ok(Command::Help),
            None => Err(unknown(word)),
        };
        return Some(Said { short: false, what });
    }
    let word = known(word)?;
    Some(Said {
        short: true,
        what: read(word, arguments),
    })
}

fn known(word: &str) -> Option<Word> {
    let same = |known: &Word| known.text().eq_ignore_ascii_case(word);
    Word::ALL.into_iter().find(same)
}

fn unknown(typed: &str) -> Misuse {
    let meant = nearest(typed, Word::ALL.map(Word::text));
    Misuse::Unknown {
        typed: kept(typed),
        meant: meant.and_then(known),
    }
}

/// The first word, and what follows it without the blanks around.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

/// As much of a text as is kept.
fn kept(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

fn read(word: Word, arguments: &str) -> Result<Command, Misuse> {
    let form = |wrong: &str| {
        Err(Misuse::Form {
            word,
            wrong: wrong.to_owned(),
        })
    };
    let alone = |command: Command| match arguments {
        "" => Ok(command),
        _ => form("it takes nothing after it, so it was not carried out"),
    };
    match word {
        Word::Merge => alone(Command::Merge),
        Word::Unmerge => alone(Command::Unmerge),
        Word::Unhold => alone(Command::Unhold),
        Word::Recheck => alone(Command::Recheck),
        Word::Status => alone(Command::Status),
        Word::Help => Ok(Command::Help),
        Word::Hold => Ok(Command::Hold {
            reason: kept(arguments),
        }),
        Word::Verify => match first_word(arguments) {
            ("", _) => Ok(Command::Verify { verifier: None }),
            (name, "") => Ok(Command::Verify {
                verifier: Some(kept(name)),
            }),
            _ => form("it takes the name of one verifier"),
        },
        Word::Override => waiver(arguments).or_else(|wrong| form(&wrong)),
        Word::Freeze => match first_word(arguments) {
            ("", _) | (_, "") => form("it needs a branch and a reason"),
            (branch, reason) => Ok(Command::Freeze {
                branch: kept(branch),
                reason: kept(reason),
            }),
        },
        Word::Thaw => match first_word(arguments) {
            ("", _) => form("it needs a branch"),
            (branch, "") => Ok(Command::Thaw {
                branch: kept(branch),
            }),
            _ => form("it takes one branch"),
        },
        Word::Priority => match arguments.to_ascii_lowercase().as_str() {
            "high" => Ok(Command::Priority(Priority::High)),
            "normal" => Ok(Command::Priority(Priority::Normal)),
            "low" => Ok(Command::Priority(Priority::Low)),
            _ => form("it is one of high, normal, low"),
        },
        Word::Ask => match arguments.split_once('|') {
            Some((question, default))
                if !question.trim().is_empty() && !default.trim().is_empty() =>
            {
                Ok(Command::Ask {
                    question: kept(question.trim()),
                    default: kept(default.trim()),
                })
            }
            _ => form("it needs a question, a `|`, and the default that is taken meanwhile"),
        },
        Word::Escaped => match escaped_through(arguments) {
            Some(through) => Ok(Command::Escaped { through }),
            None => form("it needs the number of the merged pull request, as in #12"),
        },
    }
}

fn waiver(arguments: &str) -> Result<Command, String> {
    let (gate, rest) = first_word(arguments);
    let (category, reason) = first_word(rest);
    let names = Category::ALL.map(Category::text);
    if gate.is_empty() {
        return Err(format!(
            "it needs a gate, a category ({}) and a reason",
            names.join(", ")
        ));
    }
    let typed = category.trim_end_matches([':', ',']);
    let same = |known: &Category| known.text().eq_ignore_ascii_case(typed);
    let Some(category) = Category::ALL.into_iter().find(same) else {
        let meant = nearest(typed, names).map(|name| format!("; did you mean {name}?"));
        return Err(format!(
            "after the gate it needs a category, one of {}{}",
            names.join(", "),
            meant.unwrap_or_default()
        ));
    };
    if reason.is_empty() {
        return Err("it needs a reason after the category".to_owned());
    }
    Ok(Command::Override {
        gate: kept(gate),
        category,
        reason: kept(reason),
    })
}

fn escaped_through(arguments: &str) -> Option<PullNumber> {
    let number = match first_word(arguments) {
        (from, number) if from.eq_ignore_ascii_case("from") => number,
        (number, "") => number,
        _ => return None,
    };
    let digits = number.strip_prefix('#')?;
    PullNumber::new(digits.parse().ok()?)
}

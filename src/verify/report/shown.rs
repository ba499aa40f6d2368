//! A survivor's change as people are shown it: short, from the head to the mutant.

use crate::verify::spots::Spot;

/// The most lines of a survivor's change that are shown.
const MOST_LINES: usize = 24;
const CONTEXT: usize = 2;

/// A mutant's change, from the head to it, as a few lines of a unified diff.
pub(super) fn shown(spot: &Spot, mutant: &crate::domain::mutants::Mutant) -> String {
    let mut lines = Vec::new();
    for (path, content) in &mutant.files {
        let head = match *path == mutant.path {
            true => spot.head.as_deref(),
            false => None,
        };
        let text =
            |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let (old, new) = (text(head), text(content.as_deref()));
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
        let before = old.iter().zip(&new).take_while(same).count();
        let most = old.len().min(new.len()) - before;
        let after = old
            .iter()
            .rev()
            .zip(new.iter().rev())
            .take(most)
            .take_while(same)
            .count();
        let from = before.saturating_sub(CONTEXT);
        let to = (old.len() - after + CONTEXT).min(old.len());
        lines.push(format!("{path}:{}", before + 1));
        lines.extend(old[from..before].iter().map(|line| format!("  {line}")));
        lines.extend(
            old[before..old.len() - after]
                .iter()
                .map(|line| format!("- {line}")),
        );
        lines.extend(
            new[before..new.len() - after]
                .iter()
                .map(|line| format!("+ {line}")),
        );
        lines.extend(
            old[old.len() - after..to]
                .iter()
                .map(|line| format!("  {line}")),
        );
    }
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        lines.truncate(MOST_LINES);
        lines.push(format!("({more} more lines)"));
    }
    lines.join("\n")
}

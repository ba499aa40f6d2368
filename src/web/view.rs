//! What templates show: sentences, moments, records, gates. Words and signs come from
//! `domain::render`, as on every other face.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::domain::model::Timestamp;
use crate::domain::render::json::ToldGate;
use crate::domain::render::text::{self, Piece};
use crate::domain::render::words;
use crate::domain::verdict::{Basis, Move};

/// A sentence; what it quotes in back-ticks is shown as code.
#[derive(Template)]
#[template(path = "prose.html")]
pub(super) struct Prose {
    pieces: Vec<Piece>,
}

/// Its template escapes.
impl HtmlSafe for Prose {}

impl Prose {
    pub(super) fn new(sentence: &str) -> Self {
        Self {
            pieces: text::pieces(&text::line(sentence)),
        }
    }
}

/// A moment: for programs, in full, and how long ago.
#[derive(Template)]
#[template(
    source = r#"<time datetime="{{ iso }}" title="{{ full }}">{{ ago }}</time>"#,
    ext = "html"
)]
pub(super) struct When {
    iso: String,
    full: String,
    ago: String,
}

impl HtmlSafe for When {}

impl When {
    pub(super) fn new(at: Timestamp, now: Timestamp) -> Self {
        Self {
            iso: at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            full: at.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
            ago: ago(now - at),
        }
    }

    /// How long it has lasted instead of how long ago it began.
    pub(super) fn lasting(since: Timestamp, now: Timestamp) -> Self {
        Self {
            ago: passed(now - since).unwrap_or_else(|| "less than a minute".into()),
            ..Self::new(since, now)
        }
    }

    /// The moment itself instead of how long ago it was.
    pub(super) fn dated(mut self) -> Self {
        self.ago.clone_from(&self.full);
        self
    }
}

fn ago(time: chrono::Duration) -> String {
    passed(time).map_or_else(|| "just now".into(), |passed| format!("{passed} ago"))
}

/// A length of time, roughly; `None` below a minute (and where clocks disagree).
fn passed(time: chrono::Duration) -> Option<String> {
    match time.num_seconds() {
        ..60 => None,
        60..3_600 => Some(format!("{} min", time.num_minutes())),
        3_600..172_800 => Some(format!("{} h", time.num_hours())),
        _ => Some(format!("{} days", time.num_days())),
    }
}

/// A record a gate rests on.
pub(super) struct Record {
    pub what: Prose,
    /// Only where it can be followed.
    pub url: Option<String>,
}

impl Record {
    fn new(basis: &Basis) -> Self {
        Self {
            what: Prose::new(&basis.what),
            url: basis.url.as_deref().and_then(text::followable),
        }
    }
}

/// A gate, or a part of one, with its parts.
#[derive(Template)]
#[template(path = "gate.html")]
pub(super) struct Gate {
    name: String,
    state: String,
    glyph: &'static str,
    reason: Prose,
    whose_move: Option<String>,
    lasting: Option<When>,
    next: Option<Prose>,
    records: Vec<Record>,
    parts: Vec<Gate>,
    /// The parts of what is open are shown unfolded.
    open: bool,
}

impl HtmlSafe for Gate {}

impl Gate {
    pub(super) fn new(told: &ToldGate, now: Timestamp) -> Self {
        Self {
            name: words::gate_name(&told.name),
            lasting: told.since.map(|since| When::lasting(since, now)),
            ..Self::part(told, &Move::Nobody)
        }
    }

    /// A part says whose move it is only where that is not the move of the whole.
    fn part(told: &ToldGate, whole: &Move) -> Self {
        let on = &told.whose_move;
        Self {
            name: text::line(&told.name),
            state: told.state.clone(),
            glyph: words::glyph(&told.state),
            reason: Prose::new(&told.reason),
            whose_move: (on != whole && *on != Move::Nobody).then(|| words::whose_move(on)),
            lasting: None,
            next: told.next.as_deref().map(Prose::new),
            records: told.rests_on.iter().map(Record::new).collect(),
            parts: told
                .details
                .iter()
                .map(|part| Self::part(part, on))
                .collect(),
            open: told.is_open(),
        }
    }

    fn folded_label(&self) -> String {
        let open = self.parts.iter().filter(|part| part.open).count();
        match (self.parts.len(), open) {
            (1, 0) => "1 part".into(),
            (all, 0) => format!("{all} parts"),
            (all, open) => format!("{open} of {all} parts open"),
        }
    }
}

/// An outcome as a coloured word with its sign.
#[derive(Template)]
#[template(
    source = r#"<span class="state {{ class }}"><span aria-hidden="true">{{ glyph }}</span> {{ word }}</span>"#,
    ext = "html"
)]
pub(super) struct Badge {
    class: &'static str,
    glyph: &'static str,
    word: &'static str,
}

impl HtmlSafe for Badge {}

impl Badge {
    /// For an outcome; `None` where no pass has judged yet.
    pub(super) fn new(outcome: Option<crate::domain::verdict::Outcome>) -> Self {
        use crate::domain::verdict::Outcome;
        let (class, glyph, word) = match outcome {
            Some(Outcome::Merged) => ("satisfied", "✓", "merged"),
            Some(Outcome::Ready) => ("satisfied", "✓", "ready"),
            Some(Outcome::Waiting) => ("waiting", "…", "waiting"),
            Some(Outcome::Held) => ("waiting", "‖", "held"),
            Some(Outcome::Blocked) => ("failed", "✗", "blocked"),
            Some(Outcome::Undetermined) => ("undetermined", "?", "undetermined"),
            Some(Outcome::Ignored) => ("skipped", "–", "ignored"),
            None => ("skipped", "–", "not judged yet"),
        };
        Self { class, glyph, word }
    }

    pub(super) fn word(&self) -> &'static str {
        self.word
    }
}

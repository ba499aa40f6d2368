//! The command corpus: every way in which a comment may hold a command, in both line endings, written,
//! edited and deleted, by those who may ask and by those who may not. Asserted for each: whether it is
//! done, which reactions the comment has, and how many answers there are.

use countersign::domain::command::parse;
use countersign::domain::ledger::Kind;
use countersign::simulator::world::PullDraft;
use countersign::simulator::{Actor, Edits, Permission, PullHandle, ReviewState};

use crate::stage::Stage;

const MAIL: &str = "Fine by me.\n\nOn Tue, 1 Dec 2026 at 10:00, Bob <bob@example.com> wrote:\n\n";

/// The bodies, and whether each one asks for a hold.
fn bodies() -> Vec<(&'static str, String, bool)> {
    let body = |name, text: &str, asks| (name, text.to_owned(), asks);
    vec![
        body("a line alone", "/hold", true),
        body(
            "a line among others",
            "Not yet.\n/hold\nThe release is near.\n",
            true,
        ),
        body("no-break spaces", "\u{a0}/hold wait\u{a0}\n", true),
        body("zero width characters", "\u{200b}/hold\u{200b}\n", true),
        body("a byte order mark", "\u{feff}/hold\n", true),
        body(
            "above what a mail quotes",
            &format!("/hold\n\n{MAIL}> /merge\n"),
            true,
        ),
        body(
            "in backticks",
            "Say `/hold` to stop it.\n\n`/hold`\n",
            false,
        ),
        body("in a fence", "```\n/hold\n```\n", false),
        body("in a fence that is never closed", "~~~\n/hold\n", false),
        body("in a quote", "> Bob said:\n> /hold\n", false),
        body("in a list", "- /hold\n- /merge\n", false),
        body("in an HTML comment", "<!--\n/hold\n-->\nNothing.\n", false),
        body("in a quoted reply", "> /hold\n\nthanks", false),
        body("in what a mail quotes", &format!("{MAIL}/hold\n"), false),
        body("in the middle of a line", "Please /hold this.\n", false),
        body("no command", "Nice work.\n", false),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Written,
    /// It said something harmless before.
    EditedInto,
    /// The delivery of its writing never came.
    Deleted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Writer,
    Stranger,
    OurOwnApp,
    AnotherBot,
}

struct Corpus {
    stage: Stage,
    bob: Actor,
    stranger: Actor,
    ours: Actor,
}

impl Corpus {
    async fn new() -> Self {
        let stage = Stage::new().await;
        stage.shop.publish().unwrap();
        let bob = stage.github.user("bob");
        stage.shop.allow(&bob, Permission::Write).unwrap();
        let stranger = stage.github.user("mallory");
        let ours = stage.github.our_app();
        Self {
            stage,
            bob,
            stranger,
            ours,
        }
    }

    fn actor(&self, who: Who) -> &Actor {
        match who {
            Who::Writer => &self.bob,
            Who::Stranger => &self.stranger,
            Who::OurOwnApp => &self.ours,
            Who::AnotherBot => &self.stage.codex,
        }
    }

    /// A pull request of the agent's of a branch of its own.
    async fn open(&self, branch: &str, title: &str) -> PullHandle {
        let stage = &self.stage;
        let edits = Edits::write(&format!("docs/{branch}.md"), "text\n");
        let branch = format!("agent/{branch}");
        stage
            .agent
            .push(&stage.shop, &branch, "Work", edits)
            .unwrap();
        let pull = stage.agent.open_pull(&stage.shop, &branch, "main", title);
        stage.settle().await;
        pull.unwrap()
    }

    /// A comment comes about; answers its id.
    async fn happens(&self, pull: &PullHandle, who: Who, way: Way, text: &str) -> u64 {
        let (stage, actor) = (&self.stage, self.actor(who));
        stage.clock.advance(chrono::Duration::seconds(2));
        let first = if way == Way::EditedInto { "Hm." } else { text };
        let comment = actor.comment(pull, first).unwrap();
        if way == Way::Deleted {
            stage.github.lose_pending();
            actor.delete_comment(&stage.shop, comment).unwrap();
        } else if way == Way::EditedInto {
            stage.settle().await;
            stage.clock.advance(chrono::Duration::seconds(2));
            actor.edit_comment(&stage.shop, comment, text).unwrap();
        }
        stage.settle().await;
        comment
    }

    /// Our answers, without what is written in our name here.
    fn answers(&self, pull: &PullHandle) -> Vec<String> {
        let number = pull.look(|pull| pull.number).unwrap();
        let mut answers = self.stage.answers(number);
        answers.retain(|answer| answer.contains("<!-- countersign:"));
        answers
    }
}

/// One comment, and what must follow from it.
async fn one(corpus: &Corpus, pull: &PullHandle, who: Who, way: Way, text: &str, asks: bool) {
    let stage = &corpus.stage;
    let at = format!("{who:?} {way:?} {text:?}");
    let (before, holds) = (
        corpus.answers(pull).len(),
        stage.ledger(Kind::Hold).await.len(),
    );
    let comment = corpus.happens(pull, who, way, text).await;
    let asked = asks && way == Way::Written;
    let done = asked && who == Who::Writer;
    let refused = asked && who == Who::Stranger;
    let held = stage.outcome(pull).await == "held";
    assert_eq!(held, done, "{at}\n{}", stage.told(pull).await);
    let reactions = match (done, refused) {
        (true, _) => vec!["+1"],
        (_, true) => vec!["-1"],
        _ => vec![],
    };
    assert_eq!(stage.reactions(comment), reactions, "{at}");
    // What is done needs no words; a refusal says why, once.
    let more = corpus.answers(pull).len() - before;
    assert_eq!(more, usize::from(refused), "{at}");
    let recorded = stage.ledger(Kind::Hold).await.len() - holds;
    assert_eq!(recorded, usize::from(done), "{at}");
    if done {
        stage.clock.advance(chrono::Duration::seconds(2));
        stage.says(&corpus.bob, pull, "/unhold").await;
        assert_eq!(stage.outcome(pull).await, "waiting", "{at}");
    }
}

/// What must stay as it is when everything is read again: the hold, and all that was said.
async fn stands(corpus: &Corpus, pulls: &[PullHandle]) {
    let stage = &corpus.stage;
    let said = async || {
        let mut said = Vec::new();
        for pull in pulls {
            said.push((stage.outcome(pull).await, corpus.answers(pull)));
        }
        (said, stage.ledger(Kind::Hold).await.len())
    };
    let before = said().await;
    stage.after(3_700).await;
    stage.sweep().await;
    assert_eq!(said().await, before);
}

#[tokio::test]
async fn only_a_plain_line_that_is_newly_written_by_who_may_ask_is_executed() {
    let corpus = Corpus::new().await;
    let mut pulls = Vec::new();
    for (name, text, asks) in bodies() {
        let pull = corpus.open(&name.replace(' ', "-"), "Work").await;
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            for way in [Way::Written, Way::EditedInto, Way::Deleted] {
                for who in [Who::Writer, Who::Stranger, Who::OurOwnApp, Who::AnotherBot] {
                    one(&corpus, &pull, who, way, &text, asks).await;
                }
            }
        }
        pulls.push(pull);
    }
    stands(&corpus, &pulls).await;
}

#[tokio::test]
async fn a_title_and_a_description_are_no_source_of_commands_whoever_comments_below() {
    let corpus = Corpus::new().await;
    let stage = &corpus.stage;
    let title = "/countersign mrege /hold";
    let pull = corpus.open("titled", title).await;
    assert_eq!(corpus.answers(&pull), [""; 0]);
    stage
        .agent
        .describe(&pull, "/hold\r\n\r\n/countersign mrege")
        .unwrap();
    stage.settle().await;
    // Told once, and never again.
    assert_eq!(corpus.answers(&pull).len(), 1);
    for way in [Way::Written, Way::EditedInto, Way::Deleted] {
        for who in [Who::Writer, Who::Stranger, Who::OurOwnApp, Who::AnotherBot] {
            one(&corpus, &pull, who, way, "Nice work.\r\n", false).await;
        }
    }
    stage.agent.retitle(&pull, "/hold").unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    stands(&corpus, &[pull]).await;
}

#[tokio::test]
async fn a_command_in_the_opening_description_is_hinted_at_once_and_done_never() {
    let corpus = Corpus::new().await;
    let stage = &corpus.stage;
    let edits = Edits::write("docs/a.md", "text\n");
    stage
        .agent
        .push(&stage.shop, "agent/a", "Work", edits)
        .unwrap();
    let draft = PullDraft {
        title: "Work".into(),
        body: Some("Please.\r\n\r\n/hold\r\n".into()),
        head: "agent/a".into(),
        base: "main".into(),
        draft: false,
    };
    let pull = corpus.bob.open(&stage.shop, draft).unwrap();
    stage.settle().await;
    let said = corpus.answers(&pull);
    assert_eq!(said.len(), 1);
    assert!(
        said[0].contains("Commands are read from new"),
        "{}",
        said[0]
    );
    assert_eq!(stage.outcome(&pull).await, "waiting");
    let edits = Edits::write("docs/b.md", "text\n");
    stage
        .agent
        .push(&stage.shop, "agent/a", "More", edits)
        .unwrap();
    stage.settle().await;
    assert_eq!(corpus.answers(&pull), said);
    stands(&corpus, &[pull]).await;
}

#[tokio::test]
async fn what_was_done_once_is_done_again_by_no_edit_and_undone_by_no_deletion() {
    let corpus = Corpus::new().await;
    let (stage, bob) = (&corpus.stage, &corpus.bob);
    let pull = corpus.open("once", "Work").await;
    let comment = stage.says(bob, &pull, "/hold teh release").await;
    stage.clock.advance(chrono::Duration::seconds(2));
    stage.says(bob, &pull, "/unhold").await;
    for editor in [bob, &stage.alice, &corpus.stranger] {
        stage.clock.advance(chrono::Duration::seconds(2));
        let text = "/hold the release";
        editor.edit_comment(&stage.shop, comment, text).unwrap();
        stage.settle().await;
        assert_eq!(stage.outcome(&pull).await, "waiting");
    }
    stage.alice.delete_comment(&stage.shop, comment).unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    // A hold that stands outlives the comment that asked for it: only letting go ends it.
    stage.clock.advance(chrono::Duration::seconds(2));
    let comment = stage.says(bob, &pull, "/hold").await;
    bob.delete_comment(&stage.shop, comment).unwrap();
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert_eq!(corpus.answers(&pull), [""; 0]);
}

#[tokio::test]
async fn a_mistyped_command_is_mended_by_a_new_comment_and_its_author_is_told_so() {
    let corpus = Corpus::new().await;
    let (stage, bob) = (&corpus.stage, &corpus.bob);
    let pull = corpus.open("mistyped", "Work").await;
    let comment = stage.says(bob, &pull, "/countersign hodl").await;
    assert_eq!(stage.reactions(comment), ["confused"]);
    let said = corpus.answers(&pull);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("Did you mean `hold`?"), "{}", said[0]);
    assert!(said[0].contains("Write a new comment"), "{}", said[0]);
    stage.clock.advance(chrono::Duration::seconds(2));
    bob.edit_comment(&stage.shop, comment, "/countersign hold")
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    assert_eq!(stage.reactions(comment), ["confused"]);
    stage.says(bob, &pull, "/countersign hold").await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert_eq!(corpus.answers(&pull), said);
}

#[tokio::test]
async fn a_review_and_a_remark_on_a_line_are_no_source_of_commands() {
    let corpus = Corpus::new().await;
    let (stage, bob) = (&corpus.stage, &corpus.bob);
    let pull = corpus.open("reviewed", "Work").await;
    for state in [ReviewState::Commented, ReviewState::Approved] {
        bob.review(&pull, state, "/hold\r\n/status\r\n").unwrap();
        stage.settle().await;
    }
    let file = "docs/reviewed.md";
    let thread = bob.ask_about(&pull, file, 1, "/hold\r\n/status\r\n");
    stage.settle().await;
    bob.resolve(&stage.shop, thread.unwrap()).unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    assert_eq!(corpus.answers(&pull), [""; 0]);
    // Whoever asks how it is done is told where commands are read.
    stage.says(bob, &pull, "/help").await;
    let help = corpus.answers(&pull).pop().unwrap();
    assert!(help.contains("reviews and edited"), "{help}");
    stands(&corpus, &[pull]).await;
}

#[tokio::test]
async fn no_text_of_ours_holds_a_command_and_deleting_one_does_nothing() {
    let corpus = Corpus::new().await;
    let (stage, bob) = (&corpus.stage, &corpus.bob);
    let pull = corpus.open("texts", "/hold").await;
    stage.agent.describe(&pull, "/hold").unwrap();
    let asked = [
        (bob, "/help"),
        (bob, "/status"),
        (bob, "/merge"),
        (bob, "/countersign hodl\n/hold\n/unhold"),
        (bob, "/ask Keep it?\u{2028}/hold | /hold"),
        (&corpus.stranger, "/hold\n/merge"),
        (bob, "/override checks accepted_risk /hold"),
        (bob, "/freeze\n/verify nobody"),
    ];
    for (who, text) in asked {
        stage.clock.advance(chrono::Duration::seconds(2));
        stage.says(who, &pull, text).await;
    }
    let said = corpus.answers(&pull);
    assert!(said.len() > asked.len() - 2, "{said:#?}");
    for text in &said {
        assert_eq!(parse(text), [], "{text}");
        // Quoted in an answer by mail or by the button, it is none either.
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        assert_eq!(parse(&format!("{quoted}\nthanks")), [], "{quoted}");
    }
    let ours: Vec<u64> = stage
        .shop
        .look(|repo| {
            let comments = repo.comments.values();
            let ours = comments.filter(|comment| said.contains(&comment.body));
            ours.map(|comment| comment.id).collect()
        })
        .unwrap();
    assert_eq!(ours.len(), said.len());
    let outcome = stage.outcome(&pull).await;
    for comment in ours {
        stage.alice.delete_comment(&stage.shop, comment).unwrap();
    }
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, outcome);
    assert_eq!(corpus.answers(&pull), [""; 0]);
}

use std::collections::BTreeMap;

use chrono::{DateTime, Duration};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;

use super::check::{self, CheckPage};
use super::json::Told;
use super::{json, terminal, text};
use crate::domain::facts::{Fetched, Freshness, PolicyFact, Snapshot};
use crate::domain::model::{
    AppId, BaseRef, HeadSha, InstallationId, Oid, PolicyDigest, PullNumber, RepoId, RepoName,
    Repository, Timestamp,
};
use crate::domain::policy::{Mode, Problem};
use crate::domain::preview::{Effects, Preview, Then};
use crate::domain::verdict::{self, Basis, GateResult, Landing, Move, Outcome, Proof, Verdict};

fn at(text: &str) -> Timestamp {
    DateTime::parse_from_rfc3339(text).unwrap().to_utc()
}

fn number(value: u64) -> PullNumber {
    PullNumber::new(value).unwrap()
}

fn name() -> RepoName {
    RepoName::parse("acme/shop").unwrap()
}

/// Nothing is known but the time: a verdict that only says so.
fn blank() -> Verdict {
    let unread = || "nobody looked".to_owned();
    verdict::decide(&Snapshot {
        now: at("2026-03-02T10:00:00Z"),
        repo: Repository {
            id: RepoId::new(7).unwrap(),
            name: name(),
            installation: InstallationId::new(1).unwrap(),
            default_branch: None,
        },
        number: number(41),
        freshness: Freshness::Confirmed,
        own_app: AppId::new(9).unwrap(),
        pull: Fetched::Unavailable(unread()),
        base: Fetched::Unavailable(unread()),
        policy: PolicyFact::Absent,
        runs: Fetched::NotAsked,
        statuses: Fetched::NotAsked,
        workflows: Fetched::NotAsked,
        reviews: Fetched::NotAsked,
        comments: Fetched::NotAsked,
        posted: Vec::new(),
        open_conversations: Fetched::NotAsked,
        teams: BTreeMap::new(),
        comparison: Fetched::NotAsked,
        rules: Fetched::NotAsked,
        hold: None,
        freeze: None,
        merge_requested: None,
        stop_asked: None,
        asked: Vec::new(),
        overrides: Vec::new(),
        refusal: None,
        head_seen_at: None,
        since: BTreeMap::new(),
    })
}

fn judged(outcome: Outcome, gates: Vec<GateResult>) -> Verdict {
    let mut verdict = blank();
    verdict.head = Some(HeadSha::parse(&"4f9d21c0".repeat(5)).unwrap());
    verdict.base = Some(BaseRef::parse("main").unwrap());
    verdict.base_tip = Some(Oid::parse(&"c3b1a290".repeat(5)).unwrap());
    verdict.policy = Some(PolicyDigest::parse(&"8e07d5f1".repeat(5)).unwrap());
    verdict.mode = Some(Mode::Enforce);
    verdict.landing = Landing::Now;
    verdict.by_agent = true;
    verdict.outcome = outcome;
    verdict.reason = "because of its gates".into();
    verdict.gates = gates;
    for (index, gate) in verdict.gates.iter_mut().enumerate() {
        gate.since = Some(at("2026-03-02T08:30:00Z") + Duration::minutes(index as i64));
    }
    verdict
}

fn proof(what: &str, url: Option<&str>) -> Proof {
    Proof::one(Basis::new(what, url.map(str::to_owned)))
}

fn checks_pass() -> GateResult {
    GateResult::satisfied(
        "checks",
        Proof::new(vec![
            Basis::new(
                "check run `unit` by github-actions",
                Some("https://github.com/acme/shop/runs/11".into()),
            ),
            Basis::new(
                "check run `build (linux)` by github-actions",
                Some("https://github.com/acme/shop/runs/12".into()),
            ),
        ])
        .unwrap(),
        "Both required checks passed.",
    )
    .details(vec![
        GateResult::satisfied("unit", proof("run 11", None), "It passed."),
        GateResult::satisfied("build (*)", proof("run 12", None), "All that match passed."),
    ])
}

fn nobody_verified() -> GateResult {
    let verifiers = Move::Verifier(vec!["codex".into(), "gemini".into()]);
    GateResult::waiting(
        "second_verifier",
        verifiers.clone(),
        "No independent verifier has countersigned 4f9d21c yet; 1 must.",
    )
    .next("ask `codex` or `gemini` to verify this head")
    .details(vec![
        GateResult::waiting(
            "codex",
            verifiers.clone(),
            "It has not reported on this head.",
        ),
        GateResult::waiting("gemini", verifiers, "It was out of quota."),
    ])
}

fn verified() -> GateResult {
    let report = proof(
        "report by codex",
        Some("https://github.com/acme/shop/runs/21"),
    );
    GateResult::satisfied(
        "second_verifier",
        report,
        "Countersigned by codex (another vendor).",
    )
}

fn survived() -> GateResult {
    GateResult::failed("mutation_check", Move::Author, "src/start.rs:40 survived.")
        .next("add a test that fails when src/start.rs:40 is undone")
        .details(vec![
            GateResult::failed(
                "src/start.rs:40-41",
                Move::Author,
                "`revert_hunk` survived.",
            ),
            GateResult::satisfied("src/stop.rs:7", proof("mutant m2", None), "Killed."),
        ])
}

fn no_draft() -> GateResult {
    let said = proof("GitHub says it is no draft", None);
    GateResult::satisfied("not_draft", said, "It is no draft.")
}

fn whole(page: &CheckPage) -> String {
    let buttons: Vec<_> = page.buttons.iter().map(|b| b.label).collect();
    format!(
        "{} [{}]\n\n{}\n{}\n{}",
        page.title,
        page.conclusion.unwrap_or("in_progress"),
        page.summary,
        page.text,
        buttons.join(" | ")
    )
}

/// The JSON block, read the way a program would.
fn block(page: &CheckPage) -> Value {
    let blocks: Vec<_> = page.text.split("```").collect();
    assert_eq!(blocks.len(), 3, "one fenced block:\n{}", page.text);
    serde_json::from_str(blocks[1].strip_prefix("json\n").unwrap()).unwrap()
}

#[test]
fn a_page_that_waits_says_for_whom_and_what_to_do() {
    let verdict = judged(
        Outcome::Waiting,
        vec![no_draft(), checks_pass(), nobody_verified()],
    );
    insta::assert_snapshot!("waiting", whole(&check::page(&verdict, &[])));
    insta::assert_snapshot!(
        "waiting_terminal",
        terminal::tree("acme/shop#41", &verdict, false)
    );
    insta::assert_snapshot!(
        "waiting_json",
        format!("{:#}", json::value(&verdict, &name()))
    );
}

#[test]
fn a_blocked_page_names_the_lines_and_the_way_out() {
    let verdict = judged(
        Outcome::Blocked,
        vec![checks_pass(), verified(), survived()],
    );
    insta::assert_snapshot!("blocked", whole(&check::page(&verdict, &[])));
    insta::assert_snapshot!(
        "blocked_terminal",
        terminal::tree("acme/shop#41", &verdict, true)
    );
}

#[test]
fn a_ready_page_is_a_success_and_says_who_merges() {
    let mut verdict = judged(Outcome::Ready, vec![checks_pass(), verified()]);
    insta::assert_snapshot!("ready", whole(&check::page(&verdict, &[])));
    insta::assert_snapshot!(
        "ready_terminal",
        terminal::tree("acme/shop#41", &verdict, false)
    );
    let title = |verdict: &Verdict| check::page(verdict, &[]).title;
    verdict.landing = Landing::WhenRequested;
    assert_eq!(title(&verdict), "Ready to merge once somebody asks for it");
    verdict.landing = Landing::ByPeople;
    assert_eq!(title(&verdict), "Ready to be merged by people");
}

#[test]
fn the_other_outcomes_have_pages_of_their_own() {
    let mut pages = Vec::new();
    let mut show = |verdict: &Verdict| pages.push(whole(&check::page(verdict, &[])));
    show(&judged(Outcome::Merged, vec![checks_pass(), verified()]));
    show(&judged(
        Outcome::Undetermined,
        vec![GateResult::undetermined(
            "checks",
            Move::Countersign,
            "The check runs could not be read: GitHub failed (502).",
        )],
    ));
    show(&judged(
        Outcome::Held,
        vec![
            GateResult::waiting(
                "not_held",
                Move::Maintainer,
                "ada holds it: wait for the release",
            )
            .next("let it go with the button on this check"),
        ],
    ));
    let mut ignored = judged(Outcome::Ignored, Vec::new());
    ignored.reason = "the policy does not merge into `release`".into();
    show(&ignored);
    let mut overridden = judged(Outcome::Ready, vec![checks_pass(), verified()]);
    overridden.gates[1].state = verdict::State::Overridden { by: "ada".into() };
    overridden.gates[1].reason = "ada: the verifier is down".into();
    show(&overridden);
    insta::assert_snapshot!("other_outcomes", pages.join("\n\n=====\n\n"));
}

#[test]
fn observing_is_neutral_and_the_title_says_what_it_would_be() {
    let told = |outcome, gates| {
        let mut verdict = judged(outcome, gates);
        verdict.mode = Some(Mode::Observe);
        verdict.landing = Landing::Observed;
        let page = check::page(&verdict, &[]);
        assert_eq!(page.conclusion, Some("neutral"));
        page.title
    };
    let titles = [
        told(Outcome::Ready, vec![checks_pass()]),
        told(Outcome::Waiting, vec![checks_pass(), nobody_verified()]),
        told(Outcome::Blocked, vec![survived()]),
        told(Outcome::Merged, vec![checks_pass()]),
    ];
    insta::assert_snapshot!(titles.join("\n"), @"
    Observed only, would be: Ready to merge
    Observed only, would be: Waiting for a second verifier (1 of 2 gates open)
    Observed only, would be: Blocked: src/start.rs:40 survived (1 of 1 gate open)
    Merged
    ");
}

#[test]
fn a_head_shared_with_an_unready_pull_request_is_no_success() {
    let verdict = judged(Outcome::Ready, vec![checks_pass(), verified()]);
    let page = check::page(&verdict, &[number(42)]);
    assert_eq!(page.conclusion, None);
    assert_eq!(page.title, "Ready, but #42 with the same head is not");
    assert!(
        page.summary
            .contains("#42 has the same head and is not ready")
    );
    assert_eq!(block(&page)["siblings_not_ready"], serde_json::json!([42]));
}

#[test]
fn a_failure_is_final_only_when_a_push_or_an_owner_must_help() {
    let conclusion = |moves: &[Move]| {
        let gates = moves
            .iter()
            .map(|on| GateResult::failed("checks", on.clone(), "No."));
        check::page(&judged(Outcome::Blocked, gates.collect()), &[]).conclusion
    };
    assert_eq!(
        conclusion(&[Move::Author, Move::Owner, Move::Operator]),
        Some("failure")
    );
    for on in [
        Move::Ci,
        Move::Verifier(vec![]),
        Move::Maintainer,
        Move::GitHub,
        Move::Countersign,
    ] {
        assert_eq!(
            conclusion(&[Move::Author, on]),
            None,
            "somebody else may still move it"
        );
    }
}

#[test]
fn no_outcome_is_a_success_while_a_gate_is_open_or_none_was_judged() {
    for outcome in [Outcome::Ready, Outcome::Merged] {
        let open = judged(outcome, vec![checks_pass(), nobody_verified()]);
        assert_eq!(check::page(&open, &[]).conclusion, None);
        assert_eq!(
            check::page(&judged(outcome, Vec::new()), &[]).conclusion,
            None
        );
        let fine = judged(outcome, vec![checks_pass()]);
        assert_eq!(check::page(&fine, &[]).conclusion, Some("success"));
    }
}

#[test]
fn buttons_fit_and_a_held_pull_request_can_be_let_go() {
    let identifiers = |outcome| {
        let page = check::page(&judged(outcome, vec![nobody_verified()]), &[]);
        assert!(page.buttons.len() <= 3);
        for button in &page.buttons {
            assert!(button.label.chars().count() <= 20);
            assert!(button.description.chars().count() <= 40);
            assert!(button.identifier.len() <= 20);
        }
        page.buttons
            .iter()
            .map(|b| b.identifier)
            .collect::<Vec<_>>()
    };
    assert_eq!(identifiers(Outcome::Waiting), ["recheck", "hold"]);
    assert_eq!(identifiers(Outcome::Held), ["recheck", "unhold"]);
    assert!(identifiers(Outcome::Merged).is_empty());
}

#[test]
fn two_hundred_checks_fit_with_the_failed_one_named() {
    let mut details: Vec<_> = (1..=199)
        .map(|n| {
            let url = format!("https://github.com/acme/shop/actions/runs/{n}/job/{n}");
            let run = proof(&format!("check run `shard {n}`"), Some(&url));
            GateResult::satisfied(format!("shard {n}"), run, "It passed.")
        })
        .collect();
    let failed = GateResult::failed("shard 200", Move::Author, "It concluded `failure`.");
    details.push(failed.next("mend what `shard 200` found"));
    let checks = GateResult::failed(
        "checks",
        Move::Author,
        "`shard 200` failed; 199 of 200 passed.",
    )
    .details(details);
    let records = (1..=200).map(|n| Basis::new(format!("report {n}"), None));
    let many = GateResult::satisfied(
        "exercised",
        Proof::new(records.collect()).unwrap(),
        "All did.",
    );
    let page = check::page(&judged(Outcome::Blocked, vec![checks, many]), &[]);
    insta::assert_snapshot!("two_hundred_checks", whole(&page));
}

#[test]
fn a_page_too_long_for_github_is_cut_with_a_note_and_keeps_its_json() {
    let gates = (0..100)
        .map(|n| {
            let parts = (0..40)
                .map(|p| GateResult::failed(format!("part {p}"), Move::Author, "ö".repeat(900)));
            GateResult::failed(format!("gate_{n}"), Move::Author, "é".repeat(2_000))
                .details(parts.collect())
        })
        .collect();
    let page = check::page(&judged(Outcome::Blocked, gates), &[]);
    assert!(page.summary.len() <= 65_535 && page.text.len() <= 65_535);
    let note = "The rest does not fit here; Countersign's dashboard shows all of it.";
    assert!(page.summary.contains(note) && page.text.contains(note));
    let json = block(&page);
    assert_eq!(json["outcome"], "blocked");
    assert_eq!(
        json["gates"].as_array().unwrap().len(),
        100,
        "shortened, not left out"
    );
    assert_eq!(page.conclusion, Some("failure"));
}

#[test]
fn even_a_flood_of_gates_leaves_a_block_that_says_how_many_are_missing() {
    let name = "n".repeat(300);
    let gates = (0..5_000)
        .map(|_| GateResult::failed(&*name, Move::Author, "no"))
        .collect();
    let json = block(&check::page(&judged(Outcome::Blocked, gates), &[]));
    let told = json["gates"].as_array().unwrap().len() as u64;
    assert_eq!(told + json["gates_omitted"].as_u64().unwrap(), 5_000);
}

#[test]
fn the_passage_of_time_alone_does_not_republish() {
    let verdict = judged(Outcome::Waiting, vec![checks_pass(), nobody_verified()]);
    let digest = |verdict: &Verdict| check::digest(&check::page(verdict, &[]));
    let before = digest(&verdict);
    let mut later = verdict.clone();
    later.at += Duration::hours(5);
    for gate in &mut later.gates {
        gate.since = gate.since.map(|since| since + Duration::hours(5));
    }
    assert_eq!(digest(&later), before);
    let changed = |change: fn(&mut Verdict)| {
        let mut verdict = verdict.clone();
        change(&mut verdict);
        assert_ne!(digest(&verdict), before);
    };
    changed(|verdict| verdict.outcome = Outcome::Held);
    changed(|verdict| verdict.gates[0].reason = "Another sentence.".into());
    changed(|verdict| verdict.gates[1].next = None);
    changed(|verdict| verdict.gates[1].details[1].reason = "It runs.".into());
    changed(|verdict| verdict.head = Some(HeadSha::parse(&"0".repeat(40)).unwrap()));
    changed(|verdict| {
        verdict.gates[0] = GateResult::waiting("checks", Move::Ci, "Both required checks passed.");
    });
    let siblings = check::digest(&check::page(&verdict, &[number(42)]));
    assert_ne!(siblings, before);
}

#[test]
fn what_is_told_is_read_back_the_same_also_without_later_fields() {
    let verdict = judged(Outcome::Waiting, vec![checks_pass(), nobody_verified()]);
    let mut value = json::value(&verdict, &name());
    assert_eq!(Told::read(&value).unwrap(), Told::of(&verdict, &name()));
    let fields = value.as_object_mut().unwrap();
    fields.remove("title");
    fields.remove("since");
    let older = Told::read(&value).unwrap();
    assert_eq!((older.title.as_str(), older.since), ("", None));
}

#[test]
fn the_outcome_stands_beside_the_prose_as_one_of_seven_words_and_an_eighth_is_not_read() {
    let outcomes = [
        (Outcome::Merged, "merged"),
        (Outcome::Ready, "ready"),
        (Outcome::Waiting, "waiting"),
        (Outcome::Blocked, "blocked"),
        (Outcome::Undetermined, "undetermined"),
        (Outcome::Held, "held"),
        (Outcome::Ignored, "ignored"),
    ];
    for (outcome, word) in outcomes {
        // Prose that speaks of merging changes nothing for whoever reads the word.
        let gate = GateResult::failed("checks", Move::Author, "Do not merge this; ready it first.");
        let verdict = judged(outcome, vec![gate]);
        assert_eq!(block(&check::page(&verdict, &[]))["outcome"], word);
        let mut told = json::value(&verdict, &name());
        assert_eq!(told["outcome"], word);
        assert_eq!(Told::read(&told).unwrap().outcome, outcome);
        told["outcome"] = "mergeable".into();
        assert!(Told::read(&told).is_err());
    }
}

#[test]
fn whose_move_is_told_once_over_the_open_gates_and_for_what_is_ready() {
    let waiting = judged(
        Outcome::Blocked,
        vec![survived(), nobody_verified(), survived(), checks_pass()],
    );
    let verifiers = Move::Verifier(vec!["codex".into(), "gemini".into()]);
    assert_eq!(
        Told::of(&waiting, &name()).whose_move,
        [Move::Author, verifiers]
    );
    let only = |verifier: &str| {
        let on = Move::Verifier(vec![verifier.to_owned()]);
        GateResult::waiting("mutation_check", on, "Nobody has reported yet.")
    };
    for (verifier, joined) in [
        ("codex", vec!["codex"]),
        ("other", vec!["codex", "gemini", "other"]),
    ] {
        let waiting = judged(Outcome::Waiting, vec![nobody_verified(), only(verifier)]);
        let joined = joined.into_iter().map(str::to_owned).collect();
        assert_eq!(
            Told::of(&waiting, &name()).whose_move,
            [Move::Verifier(joined)]
        );
    }
    let mut ready = judged(Outcome::Ready, vec![checks_pass()]);
    assert_eq!(Told::of(&ready, &name()).whose_move, [Move::Countersign]);
    ready.landing = Landing::WhenRequested;
    assert_eq!(Told::of(&ready, &name()).whose_move, [Move::Maintainer]);
}

#[test]
fn the_title_names_what_somebody_can_move_before_what_moves_by_itself() {
    let by_itself = GateResult::waiting("conflicts", Move::GitHub, "GitHub has not said yet.");
    let both = judged(Outcome::Waiting, vec![by_itself.clone(), nobody_verified()]);
    let title = |verdict: &Verdict| check::page(verdict, &[]).title;
    assert!(title(&both).starts_with("Waiting for a second verifier"));
    let alone = judged(Outcome::Waiting, vec![by_itself]);
    assert!(!title(&alone).contains("second verifier"));
}

#[test]
fn no_escape_sequence_of_a_check_reaches_the_terminal() {
    let evil = GateResult::failed("checks", Move::Ci, "\u{1b}]0;owned\u{7} \u{202e}gnp.exe")
        .details(vec![GateResult::failed(
            "\u{1b}[2J",
            Move::Ci,
            "\r\nfake ✓ satisfied",
        )]);
    let tree = terminal::tree("acme/shop#41", &judged(Outcome::Blocked, vec![evil]), false);
    assert!(
        !tree.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']),
        "{tree}"
    );
    assert!(
        tree.lines()
            .all(|line| !line.trim_start().starts_with("fake")),
        "{tree}"
    );
}

#[test]
fn only_addresses_that_lead_where_they_seem_to_become_links() {
    let refused = [
        "javascript:alert(1)",
        "data:text/html,x",
        "//elsewhere.example",
        "https://",
        "https://github.com@elsewhere.example/",
        "https://exa mple.org/",
        "file:///etc/passwd",
        "",
        "ht",
    ];
    for url in refused {
        assert_eq!(text::followable(url), None, "{url:?}");
    }
    assert_eq!(
        text::followable("HTTPS://github.com/a/b?q=(x)|`y`@<z>").as_deref(),
        Some("HTTPS://github.com/a/b?q=%28x%29%7C%60y%60%40%3Cz%3E")
    );
}

/// Texts that try: mentions, commands, fences, comments, tables, links, and any noise.
fn hostile() -> impl Strategy<Value = String> {
    let signals = prop_oneof![
        Just("@octocat "),
        Just("@org/team"),
        Just("\n/merge\n"),
        Just("/merge"),
        Just("```"),
        Just("`"),
        Just("``` \n"),
        Just("~~~\n"),
        Just("<!-- marker -->"),
        Just("<script>"),
        Just("| a | b |"),
        Just("|---|"),
        Just("\\"),
        Just("\\|"),
        Just("[x](javascript:y)"),
        Just("![x](https://evil.example/p.png)"),
        Just("\n# heading\n"),
        Just("\u{2028}/merge"),
        Just("&#64;octocat"),
        Just("\n\n    code"),
    ];
    prop::collection::vec(
        prop_oneof![signals.prop_map(str::to_owned), any::<String>()],
        0..12,
    )
    .prop_map(|parts| parts.concat())
}

fn markdown(text: &str) -> Vec<Event<'_>> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).collect()
}

/// What no page may hold, whatever it quotes.
fn assert_harmless(page: &CheckPage) {
    for text in [&page.title, &page.summary, &page.text] {
        assert!(text.len() <= 65_535);
        assert!(!text.contains("<!--"), "an HTML comment in {text}");
        let pings = text
            .split('@')
            .skip(1)
            .any(|after| after.starts_with(char::is_alphanumeric));
        assert!(!pings, "a mention in {text}");
        let commands = text.lines().any(|line| line.trim_start().starts_with('/'));
        assert!(!commands, "a command in {text}");
    }
    assert!(!page.title.contains('\n'));
    assert!(page.title.chars().count() <= 220);
}

proptest! {
    #[test]
    fn whatever_is_quoted_a_page_is_harmless_whole_and_within_its_limits(
        reason in hostile(), next in hostile(), part in hostile(), url in hostile(), long in 1_usize..400,
    ) {
        let reason = reason.repeat(long);
        let record = proof(&part, Some(&format!("https://host.example/{url}")));
        let verdict = judged(Outcome::Blocked, vec![
            GateResult::satisfied("checks", record, &*reason),
            GateResult::failed("mutation_check", Move::Verifier(vec![part.clone()]), &*reason)
                .next(&*next)
                .details(vec![GateResult::failed(&*part, Move::Author, &*reason)]),
        ]);
        let worse = judged(Outcome::Waiting, vec![
            GateResult::waiting(&*part, Move::Ci, &*reason),
        ]);
        let mut effects = Effects::none(BaseRef::parse("main").ok(), Then::Default(part.clone()));
        effects.compare(&verdict, &worse);
        let page = check::page_with(&verdict, &[], Some(&Preview::Effects(effects)));
        assert_harmless(&page);
        let problem = Problem {
            line: 0, column: 0, message: part.clone(), hint: Some(next.clone()), excerpt: None,
        };
        for preview in [Preview::Invalid(vec![problem]), Preview::Unreadable(part.clone())] {
            assert_harmless(&check::page_with(&worse, &[], Some(&preview)));
        }
        let json = block(&page);
        prop_assert_eq!(&json["gates"][0]["name"], "checks");
        if reason.chars().count() <= 250 {
            prop_assert_eq!(json["gates"][0]["reason"].as_str(), Some(reason.as_str()));
        }
        // The table keeps its form: a header and two rows of six cells, and nothing of theirs in it
        // is mark-up.
        let summary = markdown(&page.summary);
        let cells = summary.iter().filter(|e| matches!(e, Event::Start(Tag::TableCell))).count();
        prop_assert_eq!(cells, 18, "{}", page.summary);
        for event in summary.iter().chain(&markdown(&page.text)) {
            match event {
                Event::Html(html) | Event::InlineHtml(html) => prop_assert!(false, "HTML: {html}"),
                Event::Start(Tag::Image { .. }) => prop_assert!(false, "an image"),
                Event::Start(Tag::Link { dest_url, .. }) => {
                    prop_assert!(dest_url.starts_with("https://host.example/"), "{dest_url}");
                }
                _ => {}
            }
        }
    }

    #[test]
    fn a_sentence_taken_apart_at_its_back_ticks_loses_no_word(sentence in "[a-z` ]{0,40}") {
        let together: String = text::pieces(&sentence).iter().map(|p| p.text.as_str()).collect();
        let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
        prop_assert_eq!(letters(&together), letters(&sentence));
    }
}

#[test]
fn evidence_that_only_a_server_has_is_said_to_be_unseen_in_one_line_with_where_to_see_it() {
    let names = ["nightly".to_owned(), "sealed".to_owned()];
    let place = "/api/v1/repos/acme/shop/pulls/41";
    insta::assert_snapshot!(terminal::unseen(&names, place, false), @r"

    not seen here: evidence that nightly or sealed posted to the server; run this with its --database, or ask it: GET /api/v1/repos/acme/shop/pulls/41
    ");
    assert_eq!(terminal::unseen(&[], place, false), "");
}

use super::*;

fn at(minutes: i64) -> Timestamp {
    let start = chrono::DateTime::from_timestamp(1_790_000_000, 0).unwrap();
    start + Duration::minutes(minutes)
}

fn id(text: &str) -> DeliveryId {
    DeliveryId::parse(text).unwrap()
}

fn attempt(number: u64, delivery: &str, minutes: i64, code: u16) -> Attempt {
    Attempt {
        id: number,
        delivery: id(delivery),
        at: at(minutes),
        event: "pull_request".to_owned(),
        action: Some("edited".to_owned()),
        code,
    }
}

fn due(book: &Book, minutes: i64) -> Vec<u64> {
    let due = book.due(at(minutes)).into_iter();
    due.map(|(_, attempt)| attempt).collect()
}

#[test]
fn what_failed_is_asked_for_oldest_first() {
    let mut book = Book::default();
    book.read(&[
        attempt(3, "c", 3, 502),
        attempt(2, "b", 2, 0),
        attempt(1, "a", 1, 200),
    ]);
    assert_eq!(due(&book, 5), [2, 3]);
}

#[test]
fn what_arrived_in_any_attempt_is_not_missing() {
    let mut book = Book::default();
    book.read(&[attempt(2, "a", 2, 202), attempt(1, "a", 1, 0)]);
    assert!(book.missing.is_empty());
    // A copy that failed later, of what came before.
    book.read(&[attempt(2, "a", 2, 0), attempt(1, "a", 1, 202)]);
    assert!(book.missing.is_empty());
    // It failed at one look, and had come at the next.
    book.read(&[attempt(5, "b", 5, 0)]);
    book.read(&[attempt(6, "b", 6, 202)]);
    assert!(book.missing.is_empty());
}

#[test]
fn what_is_in_the_inbox_is_not_missing_whatever_github_thinks() {
    let mut book = Book::default();
    // We stored it and answered too late.
    book.read(&[attempt(1, "a", 1, 0), attempt(2, "b", 1, 0)]);
    assert_eq!(book.settle(&[id("a")], at(2)), 0);
    assert_eq!(due(&book, 2), [2]);
}

#[test]
fn each_further_time_comes_after_twice_the_pause() {
    let mut book = Book::default();
    book.read(&[attempt(1, "a", 0, 503)]);
    book.asked(&id("a"), at(0));
    book.read(&[attempt(2, "a", 1, 503)]);
    assert_eq!(due(&book, 9), Vec::<u64>::new());
    assert_eq!(due(&book, 10), [2], "by its newest attempt");
    book.asked(&id("a"), at(10));
    assert_eq!(due(&book, 29), Vec::<u64>::new());
    assert_eq!(due(&book, 30), [2]);
    for _ in 0..100 {
        book.asked(&id("a"), at(30));
    }
    assert_eq!(
        due(&book, 30 + 6 * 60),
        [2],
        "never rarer than every six hours"
    );
}

#[test]
fn after_three_days_it_is_given_up() {
    let mut book = Book::default();
    book.read(&[attempt(1, "a", 0, 0)]);
    assert_eq!(book.settle(&[], at(3 * 24 * 60 - 1)), 0);
    assert_eq!(book.settle(&[], at(3 * 24 * 60)), 1);
    assert!(book.missing.is_empty());
}

#[test]
fn no_more_than_a_few_are_asked_for_at_once() {
    let mut book = Book::default();
    let many: Vec<_> = (0..200)
        .map(|n| attempt(n, &format!("d{n}"), 200 - n as i64, 0))
        .collect();
    book.read(&many);
    let first = due(&book, 300);
    assert_eq!(first.len(), MOST_AT_ONCE);
    assert_eq!((first[0], first[49]), (199, 150), "the oldest");
}

#[test]
fn a_late_word_about_the_reach_of_the_app_is_not_asked_for() {
    let mut book = Book::default();
    for event in [
        "ping",
        "installation",
        "installation_repositories",
        "repository",
    ] {
        let event = event.to_owned();
        book.read(&[Attempt {
            event,
            ..attempt(1, "a", 0, 0)
        }]);
    }
    assert!(book.missing.is_empty());
}

#[test]
fn a_button_that_was_pressed_long_ago_is_not_pressed_late() {
    let mut book = Book::default();
    let pressed = Attempt {
        event: "check_run".to_owned(),
        action: Some("requested_action".to_owned()),
        ..attempt(1, "a", 0, 0)
    };
    book.read(&[pressed]);
    assert!(book.missing.is_empty());
}

#[test]
fn a_comment_that_may_have_been_taken_back_is_not_asked_for() {
    let mut book = Book::default();
    let said = |number, action: &str| Attempt {
        event: "issue_comment".to_owned(),
        action: Some(action.to_owned()),
        ..attempt(number, &format!("d{number}"), 0, 0)
    };
    book.read(&[said(1, "created"), said(2, "edited"), said(3, "deleted")]);
    assert_eq!(due(&book, 1), [2, 3], "what takes something back is");
}

#[test]
fn a_look_reads_to_where_the_last_one_began_and_a_little_further() {
    let mut book = Book::default();
    assert_eq!(book.floor(at(0)), at(-24 * 60));
    book.looked(at(0), None);
    assert_eq!(book.floor(at(10)), at(-2));
    assert_eq!(
        book.floor(at(10 * 24 * 60)),
        at(7 * 24 * 60),
        "GitHub keeps no more"
    );
}

#[test]
fn what_was_not_read_is_read_at_the_next_look() {
    let mut book = Book::default();
    book.looked(at(0), None);
    book.looked(at(10), Some("v1_9".to_owned()));
    let gap = book.gap.clone().unwrap();
    assert_eq!((gap.cursor.as_str(), gap.until), ("v1_9", at(-2)));
    book.looked(at(20), Some("v1_20".to_owned()));
    let gap = book.gap.clone().unwrap();
    assert_eq!((gap.cursor.as_str(), gap.until), ("v1_20", at(-2)), "both");
}

use std::sync::LazyLock;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::*;

/// A key made for this run of the tests alone.
static DER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let pair = KeyPair::generate(KeySize::Rsa2048).expect("a key");
    let der: Pkcs8V1Der<'_> = pair.as_der().expect("its bytes");
    der.as_ref().to_vec()
});

fn pem_of(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let lines: Vec<String> = body
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    let lines = lines.join("\n");
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
}

/// PKCS#8, as newer tools write it.
pub(in crate::github) fn pem() -> String {
    pem_of("PRIVATE KEY", &DER)
}

/// PKCS#1, as GitHub hands it out: what PKCS#8 wraps, behind 26 bytes that name the algorithm.
fn pem_of_github() -> String {
    pem_of("RSA PRIVATE KEY", &DER[26..])
}

pub(in crate::github) fn key() -> AppKey {
    AppKey::read(&pem()).expect("a key")
}

fn refused(text: &str) -> String {
    AppKey::read(text).expect_err("not a key").to_string()
}

fn at(seconds: i64) -> Timestamp {
    chrono::DateTime::from_timestamp(seconds, 0).expect("a time")
}

#[test]
fn an_assertion_is_said_again_for_a_minute_by_the_same_app_and_never_from_the_future() {
    let (key, app) = (key(), AppId::new(4_711).expect("an id"));
    let said = |app, seconds| {
        let said = key.assertion(app, at(seconds)).expect("signed");
        said.expose_secret().to_owned()
    };
    let first = said(app, 1_750_000_000);
    assert_eq!(said(app, 1_750_000_059), first);
    let later = said(app, 1_750_000_060);
    assert_ne!(later, first);
    // The clock was set back, by one second.
    assert_ne!(said(app, 1_750_000_059), later);
    let ours = said(app, 1_750_000_059);
    let other = AppId::new(4_712).expect("an id");
    assert_ne!(said(other, 1_750_000_059), ours);
}

#[test]
fn a_key_is_read_in_every_form_it_arrives_in() {
    for pem in [pem(), pem_of_github()] {
        let wrapped: Vec<String> = STANDARD
            .encode(&pem)
            .as_bytes()
            .chunks(76)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        let forms = [
            pem.clone(),
            format!("  \n{pem}\n\n"),
            pem.replace('\n', "\r\n"),
            pem.replace('\n', "\\n"),
            pem.replace('\n', "\\r\\n"),
            pem.replace('\n', "\\\n"),
            pem.replace('\n', " "),
            pem.replace('\n', ""),
            pem.replace('\n', "\n    "),
            format!("\"{pem}\""),
            format!("'{}'", pem.replace('\n', "\\n")),
            STANDARD.encode(&pem),
            wrapped.join("\n"),
            URL_SAFE_NO_PAD.encode(&pem),
            STANDARD.encode(pem.replace('\n', "\\n")),
            format!("\"{}\"", STANDARD.encode(&pem)),
        ];
        for form in forms {
            let outcome = AppKey::read(&form).map(|_| ());
            assert_eq!(outcome, Ok(()), "{} ...", &form[..40]);
        }
    }
}

#[test]
fn what_is_no_key_is_refused_with_what_it_seems_to_be() {
    insta::assert_snapshot!(refused(" "), @"the private key is empty");
    insta::assert_snapshot!(
        refused("/etc/countersign/key.pem"),
        @"this is the path of a key file, not a key: give the path as COUNTERSIGN_PRIVATE_KEY_PATH"
    );
    insta::assert_snapshot!(
        refused("hunter2"),
        @"the private key is neither PEM (`-----BEGIN RSA PRIVATE KEY-----`) nor the base64 of such a text"
    );
    insta::assert_snapshot!(
        refused(&pem_of("CERTIFICATE", b"x")),
        @"this is a PEM text, but of a CERTIFICATE, and not the RSA PRIVATE KEY that GitHub lets an App's owner download"
    );
    insta::assert_snapshot!(
        refused(&pem_of("ENCRYPTED PRIVATE KEY", b"x")),
        @"the private key is encrypted; GitHub's keys are not: download a new one"
    );
    let whole = pem_of_github();
    insta::assert_snapshot!(
        refused(&whole[..400]),
        @"the private key is cut off: its `-----END RSA PRIVATE KEY-----` line is missing"
    );
    insta::assert_snapshot!(
        refused(&whole.replacen('M', "*", 1)),
        @"the private key is damaged: what stands between its PEM lines is not base64"
    );
    let shorn = pem_of("RSA PRIVATE KEY", &DER[26..400]);
    assert!(refused(&shorn).starts_with("the private key has the right form, but cannot sign: "));
}

#[test]
fn no_refusal_and_no_debug_repeats_the_key() {
    let whole = pem_of_github();
    let body = &whole[40..100];
    for text in [
        whole[..400].to_owned(),
        whole.replacen('M', "*", 1),
        whole[32..].to_owned(),
        pem_of("RSA PRIVATE KEY", &DER[26..400]),
    ] {
        assert!(!refused(&text).contains(body));
    }
    assert_eq!(format!("{:?}", key()), "AppKey([hidden])");
}

#[test]
fn an_assertion_leaves_room_for_clocks_on_both_sides() {
    let app = AppId::new(4_711).expect("an id");
    let assertion = key().assertion(app, at(1_750_000_000)).expect("signed");
    let parts: Vec<&str> = assertion.expose_secret().split('.').collect();
    let claims = URL_SAFE_NO_PAD.decode(parts[1]).expect("base64");
    let claims: serde_json::Value = serde_json::from_slice(&claims).expect("JSON");
    assert_eq!(
        claims,
        serde_json::json!({ "iat": 1_749_999_940, "exp": 1_750_000_540, "iss": "4711" })
    );
    let header = URL_SAFE_NO_PAD.decode(parts[0]).expect("base64");
    let header: serde_json::Value = serde_json::from_slice(&header).expect("JSON");
    assert_eq!(header["alg"], "RS256");
}

#[test]
fn only_a_difference_worth_mending_is_named() {
    let skew = |ours: i64| {
        let mut headers = HeaderMap::new();
        let date = "Sun, 15 Jun 2025 15:06:40 GMT".parse().expect("a value");
        headers.insert("date", date);
        clock_skew(&headers, at(ours))
    };
    let theirs = 1_750_000_000;
    assert_eq!(skew(theirs), None);
    assert_eq!(skew(theirs + 30), None);
    insta::assert_snapshot!(
        skew(theirs + 31).unwrap_or_default(),
        @"this machine's clock is 31 s ahead of GitHub's: set it right"
    );
    insta::assert_snapshot!(
        skew(theirs - 3_600).unwrap_or_default(),
        @"this machine's clock is 3600 s behind GitHub's: set it right"
    );
    assert_eq!(clock_skew(&HeaderMap::new(), at(theirs)), None);
}

#[test]
fn a_token_is_replaced_five_minutes_before_its_end() {
    assert!(is_fresh(at(3_600), at(3_299)));
    assert!(!is_fresh(at(3_600), at(3_300)));
    assert!(!is_fresh(at(3_600), at(4_000)));
}

#[test]
fn a_key_is_the_same_in_every_form_and_no_other() {
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let other = AppKey::read(&pem_of("PRIVATE KEY", der.as_ref())).unwrap();
    assert!(key().is(&AppKey::read(&pem_of_github()).unwrap()));
    assert!(!key().is(&other));
}

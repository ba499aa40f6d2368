use super::*;

/// The first key of RFC 8032, section 7.1, as OpenSSL writes it.
const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";
const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

#[test]
fn a_key_is_read_as_openssl_writes_it_and_its_public_half_is_what_a_policy_takes() {
    let key = SigningKey::read(PEM).unwrap();
    assert_eq!(key.public(), PUBLIC);
    let around = format!("Bag Attributes\n{}", PEM.replace('\n', "\r\n"));
    assert_eq!(SigningKey::read(&around).unwrap().public(), PUBLIC);
}

#[test]
fn a_new_key_signs_what_its_public_half_verifies_and_is_read_back_from_its_pem() {
    use secrecy::ExposeSecret as _;
    let key = SigningKey::new().unwrap();
    let again = SigningKey::read(key.pem().unwrap().expose_secret()).unwrap();
    assert_eq!(again.public(), key.public());
    let sealed = envelope::seal("{}", "", |bytes| again.sign(bytes));
    let envelope = envelope::Envelope::read(&sealed).unwrap();
    let public = key.public();
    assert_eq!(envelope.signer([public.as_str()]), Some(public.as_str()));
    assert_eq!(envelope.signer([PUBLIC]), None);
    assert_ne!(SigningKey::new().unwrap().public(), public);
}

#[test]
fn what_is_no_key_is_refused_by_its_kind_and_not_repeated() {
    let locked = PEM.replace("PRIVATE", "ENCRYPTED PRIVATE");
    let rsa = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
               -----END PRIVATE KEY-----\n";
    for (text, fault) in [
        ("hunter2", KeyFault::NotPem),
        (&PEM.replace("PRIVATE", "PUBLIC"), KeyFault::NotPem),
        (&locked, KeyFault::Locked),
        (rsa, KeyFault::OtherKind),
    ] {
        assert_eq!(SigningKey::read(text).unwrap_err(), fault);
    }
}

#[test]
fn neither_a_key_nor_what_a_run_asks_with_is_printed() {
    let key = Proof::Key(SigningKey::read(PEM).unwrap());
    assert_eq!(format!("{key:?}"), format!("Key(SigningKey(of {PUBLIC}))"));
    let run = Proof::Run(Run {
        address: "https://pipelines.example/token?api-version=2.0".to_owned(),
        secret: "hunter2".to_owned().into(),
    });
    assert!(!format!("{run:?}").contains("hunter2"));
}

#[test]
fn a_server_is_named_by_its_address_with_or_without_the_route() {
    let at = |text: &str| Server::at(text, None).unwrap();
    let plain = at("https://sign.example");
    assert_eq!(plain.audience, "https://sign.example");
    for text in ["https://sign.example/", " https://sign.example/evidence"] {
        assert_eq!(at(text), plain);
    }
    let other = Server::at("http://10.0.0.1:8137", Some("https://sign.example")).unwrap();
    assert_eq!(other.audience, "https://sign.example");
    for wrong in [
        "",
        "sign.example",
        "https://ann:hunter2@sign.example",
        "https://x/?a",
    ] {
        let failure = Server::at(wrong, None).unwrap_err();
        assert!(!failure.to_string().contains("hunter2"));
    }
}

#[test]
fn a_token_is_sent_in_the_open_to_this_machine_alone() {
    for (address, open) in [
        ("https://sign.example", false),
        ("http://sign.example", true),
        ("http://10.0.0.1:8137", true),
        ("http://127.0.0.1:8137", false),
        ("http://[::1]:8137", false),
        ("http://localhost:8137", false),
        ("http://localhost.example", true),
    ] {
        assert_eq!(
            Server::at(address, None).unwrap().in_the_open(),
            open,
            "{address}"
        );
    }
}

fn heard(status: u16, body: &str) -> Heard {
    Heard {
        status,
        again: None,
        location: (status == 302).then(|| "https://other.example/evidence".to_owned()),
        body: body.to_owned().into(),
    }
}

fn text(setback: Setback) -> String {
    match setback {
        Setback::Final(Failure::No(text)) => format!("no: {text}"),
        Setback::Final(Failure::Use(text)) => format!("use: {text}"),
        Setback::Final(Failure::Remote(text)) => format!("remote: {text}"),
        Setback::Passing { what, advice, .. } => format!("again: {what}\n{advice}"),
    }
}

#[test]
fn every_refusal_is_told_with_the_servers_reason_and_what_to_do() {
    let server = Server::at("https://sign.example", None).unwrap();
    let run = Proof::Run(Run {
        address: String::new(),
        secret: String::new().into(),
    });
    let key = Proof::Key(SigningKey::read(PEM).unwrap());
    let faulty = r#"{ "error": "the document has 2 faults to mend", "faults": [
        { "path": "predicate.result", "message": "is unknown" }, { "path": "", "message": "is odd" }] }"#;
    let mut all = String::new();
    for status in [400, 401, 403, 409, 413, 422, 429, 503] {
        for (name, proof) in [("run", &run), ("key", &key)] {
            if name == "run" || matches!(status, 401 | 403) {
                let body = match status {
                    422 => faulty,
                    _ => r#"{ "error": "the\u001b[31m reason" }"#,
                };
                let told = text(told::setback(
                    &heard(status, body),
                    &server,
                    proof,
                    1_600_000,
                ));
                all.push_str(&format!("[{status}, {name}] {told}\n\n"));
            }
        }
    }
    for status in [200, 302, 404, 413, 502] {
        let told = text(told::setback(&heard(status, "<html>"), &server, &run, 10));
        all.push_str(&format!("[{status}, not ours] {told}\n\n"));
    }
    assert!(!all.contains('\u{1b}'));
    insta::assert_snapshot!(all);
}

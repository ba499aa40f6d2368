//! Signed documents: DSSE envelopes, and ed25519.
//!
//! A signature is made over the pre-authentication encoding of the payload's type and bytes, so a
//! signature for one type is none for another. `keyid` is a hint of the sender's and read by nobody: every
//! signature is tried with the keys that the policy names.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Value, json};

use super::Fault;

/// The media type of an envelope.
pub const MEDIA_TYPE: &str = "application/vnd.dsse.envelope.v1+json";
/// The payload's type: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// The most signatures that are tried.
const MOST: usize = 16;

/// An envelope, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The document.
    pub payload: String,
    signatures: Vec<Vec<u8>>,
}

/// What a signature is made over: `DSSEv1 SP len SP type SP len SP body`.
pub fn pae(kind: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// The envelope around a document. `sign` signs the bytes that it is given; `keyid` tells people whose
/// signature it is.
pub fn seal(document: &str, keyid: &str, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> Value {
    let signature = sign(&pae(PAYLOAD_TYPE, document.as_bytes()));
    json!({
        "payloadType": PAYLOAD_TYPE,
        "payload": STANDARD.encode(document),
        "signatures": [{ "keyid": keyid, "sig": STANDARD.encode(signature) }],
    })
}

/// Whether a JSON value looks like an envelope.
pub fn is_envelope(value: &Value) -> bool {
    ["payloadType", "payload", "signatures"]
        .iter()
        .all(|name| value.get(name).is_some())
}

/// Whether an envelope says one thing: one with a key twice says two, and which of them was signed is for
/// its readers to guess.
///
/// # Errors
/// Which key stands twice.
pub fn is_unambiguous(text: &str) -> Result<(), Fault> {
    let read = crate::domain::distinct::read::<Value>(text);
    read.map(drop).map_err(|error| Fault {
        path: String::new(),
        message: error.to_string(),
    })
}

impl Envelope {
    /// Reads an envelope.
    ///
    /// # Errors
    /// Every fault, each with the field's path.
    pub fn read(value: &Value) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut fault = |path: &str, message: String| {
            faults.push(Fault {
                path: path.to_owned(),
                message,
            });
        };
        match value["payloadType"].as_str() {
            Some(PAYLOAD_TYPE) => {}
            _ => fault("payloadType", format!("must be `{PAYLOAD_TYPE}`")),
        }
        let payload = value["payload"].as_str().and_then(bytes);
        let payload = payload.and_then(|bytes| String::from_utf8(bytes).ok());
        if payload.is_none() {
            fault("payload", "must be a JSON document in base64".to_owned());
        }
        let listed = value["signatures"].as_array().map_or(&[][..], |list| list);
        if listed.is_empty() || listed.len() > MOST {
            fault(
                "signatures",
                format!("must be a list of 1 to {MOST} signatures"),
            );
        }
        let mut signatures = Vec::new();
        for (index, signature) in listed.iter().take(MOST).enumerate() {
            match signature["sig"].as_str().and_then(bytes) {
                Some(signature) => signatures.push(signature),
                None => fault(
                    &format!("signatures[{index}].sig"),
                    "must be a signature in base64".to_owned(),
                ),
            }
        }
        match payload {
            Some(payload) if faults.is_empty() => Ok(Self {
                payload,
                signatures,
            }),
            _ => Err(faults),
        }
    }

    /// The first of these ed25519 keys (64 hex digits each) that signed the document.
    pub fn signer<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let message = pae(PAYLOAD_TYPE, self.payload.as_bytes());
        let signed = |key: &&str| {
            let mut signatures = self.signatures.iter();
            signatures.any(|signature| verifies(key, &message, signature))
        };
        keys.into_iter().find(signed)
    }
}

/// Whether a signature is this key's over these bytes.
fn verifies(key: &str, message: &[u8], signature: &[u8]) -> bool {
    let Ok(key) = hex::decode(key) else {
        return false;
    };
    let key = UnparsedPublicKey::new(&ED25519, key);
    key.verify(message, signature).is_ok()
}

/// Base64, standard or url-safe, padded or not.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = match text.contains(['-', '_']) {
        true => &alphabet::URL_SAFE,
        false => &alphabet::STANDARD,
    };
    GeneralPurpose::new(alphabet, config).decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the DSSE specification ("Test Vectors").
    #[test]
    fn the_encoding_is_the_specifications() {
        let encoded = pae("http://example.com/HelloWorld", b"hello world");
        let expected = "DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        assert_eq!(String::from_utf8(encoded).unwrap(), expected);
    }

    /// RFC 8032, section 7.1, tests 1 to 3.
    #[test]
    fn signatures_are_those_of_rfc_8032() {
        for (key, message, signature) in [
            (
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc6\
                 1e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
                "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e45\
                 8f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
            ),
            (
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae\
                 67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ] {
            let message = hex::decode(message).unwrap();
            let mut signature = hex::decode(signature).unwrap();
            assert!(verifies(key, &message, &signature));
            signature[0] ^= 1;
            assert!(!verifies(key, &message, &signature));
        }
        assert!(!verifies("not hex", b"", b""));
        assert!(!verifies("00", b"", b""));
    }

    #[test]
    fn base64_is_read_in_both_alphabets_with_and_without_padding() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(bytes(text), Some(vec![0xfb, 0xff]), "{text}");
        }
        assert_eq!(bytes("+_8="), None);
    }

    #[test]
    fn an_envelope_with_a_key_twice_says_nothing() {
        let twice = r#"{"payload":"e30=","payload":"e30=","signatures":[]}"#;
        let fault = is_unambiguous(twice).unwrap_err();
        assert!(
            fault.message.contains("`payload` stands twice"),
            "{fault:?}"
        );
        assert!(is_unambiguous(r#"{"payload":"e30=","signatures":[]}"#).is_ok());
    }

    #[test]
    fn an_envelope_with_faults_tells_all_of_them() {
        let told = Envelope::read(&json!({ "payload": "!", "signatures": [{ "sig": 1 }] }));
        let faults = told.unwrap_err();
        let paths: Vec<_> = faults.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(paths, ["payloadType", "payload", "signatures[0].sig"]);
        let none = json!({ "payloadType": PAYLOAD_TYPE, "payload": "e30=", "signatures": [] });
        assert_eq!(Envelope::read(&none).unwrap_err()[0].path, "signatures");
    }
}

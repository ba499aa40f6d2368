//! What the readers of events share: lenient fields, and the envelope every delivery has.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::domain::model::{
    Actor, ActorId, ActorKind, AppId, AppRef, BaseRef, InstallationId, Login, RepoId, RepoName,
    Repository, Timestamp,
};

/// An essential field that cannot be used.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    pub(super) why: String,
}

/// A label, by its name.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Label {
    pub(super) name: Field<String>,
}

/// One field of a delivery. Reading it never fails: whoever needs it asks with [`Field::need`] and
/// learns then what is wrong with it.
#[derive(Debug, Default)]
pub(super) enum Field<T> {
    #[default]
    Missing,
    Null,
    Wrong(String),
    Is(T),
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Field<T> {
    /// Takes the value whole before it is looked at, so that a wrong one does not end the parse of
    /// everything around it. For small values only.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Null => Self::Null,
            value => match T::deserialize(value) {
                Ok(value) => Self::Is(value),
                Err(error) => Self::Wrong(error.to_string()),
            },
        })
    }
}

impl<T> Field<T> {
    /// The value of an essential field.
    pub(super) fn need(self, field: &'static str) -> Result<T, Fault> {
        match self {
            Self::Is(value) => Ok(value),
            other => Err(other.fault(field)),
        }
    }

    /// As [`Field::need`], without taking it.
    pub(super) fn get(&self, field: &'static str) -> Result<&T, Fault> {
        match self {
            Self::Is(value) => Ok(value),
            other => Err(other.fault(field)),
        }
    }

    /// The value of any other field.
    pub(super) fn opt(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Missing | Self::Null | Self::Wrong(_) => None,
        }
    }

    fn fault(&self, field: &'static str) -> Fault {
        let why = match self {
            Self::Wrong(why) => why.clone(),
            Self::Null => "it is null".to_owned(),
            Self::Missing | Self::Is(_) => "it is missing".to_owned(),
        };
        Fault { field, why }
    }
}

/// An essential object.
pub(super) fn need<T>(value: Option<T>, field: &'static str) -> Result<T, Fault> {
    value.ok_or_else(|| Fault {
        field,
        why: "it is missing or null".to_owned(),
    })
}

/// Reads a body as far as `T` asks.
pub(super) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Fault> {
    let fault = |why: String| Fault { field: "body", why };
    // serde would take a list for a struct, field by field.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(fault("it is not a JSON object".to_owned()));
    }
    serde_json::from_slice(body).map_err(|error| fault(error.to_string()))
}

/// A point in time: RFC 3339 nearly everywhere, seconds since 1970 in some objects of `push` and
/// `installation` deliveries.
#[derive(Debug, Clone, Copy)]
pub(super) struct When(pub(super) Timestamp);

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(Timestamp),
            Seconds(i64),
        }
        match Form::deserialize(deserializer) {
            Ok(Form::Text(time)) => Ok(Self(time)),
            Ok(Form::Seconds(seconds)) => chrono::DateTime::from_timestamp(seconds, 0)
                .map(Self)
                .ok_or_else(|| serde::de::Error::custom("the seconds are beyond any date")),
            Err(_) => Err(serde::de::Error::custom(
                "neither a date (RFC 3339) nor seconds since 1970",
            )),
        }
    }
}

/// A user, bot or organisation.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct User {
    id: Field<ActorId>,
    login: Field<String>,
    #[serde(rename = "type")]
    kind: Field<String>,
}

/// The actor, where the account still exists (GitHub sends null for deleted ones).
pub(super) fn actor(user: Option<User>) -> Option<Actor> {
    let user = user?;
    Some(Actor {
        id: user.id.opt()?,
        login: Login::new(user.login.opt()?),
        kind: match user.kind.opt().as_deref() {
            Some("User") => ActorKind::User,
            Some("Bot") => ActorKind::Bot,
            _ => ActorKind::Other,
        },
    })
}

/// A GitHub App.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct App {
    id: Field<AppId>,
    slug: Field<String>,
}

/// The App, where there is one. Old servers leave the slug out; the id is what identifies.
pub(super) fn app(app: Option<App>) -> Option<AppRef> {
    let app = app?;
    Some(AppRef {
        id: app.id.opt()?,
        slug: app.slug.opt().unwrap_or_default(),
    })
}

/// A repository, whole or in the short form of `installation` deliveries.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Repo {
    pub(super) id: Field<RepoId>,
    full_name: Field<RepoName>,
    default_branch: Field<BaseRef>,
}

impl Repo {
    /// The repository, as reached through an installation.
    pub(super) fn through(self, installation: InstallationId) -> Result<Repository, Fault> {
        Ok(Repository {
            id: self.id.need("repository.id")?,
            name: self.full_name.need("repository.full_name")?,
            installation,
            default_branch: self.default_branch.opt(),
        })
    }
}

/// An installation: the full object in `installation*` deliveries, `{id, node_id}` in all others.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Installation {
    pub(super) id: Field<InstallationId>,
}

/// What nearly every delivery has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Envelope {
    pub(super) action: Field<String>,
    installation: Option<Installation>,
    repository: Option<Repo>,
    sender: Option<User>,
}

/// Where something happened, what (in GitHub's word), and who did it.
pub(super) struct Scene {
    pub(super) repo: Repository,
    pub(super) action: String,
    pub(super) sender: Option<Actor>,
}

impl Envelope {
    pub(super) fn of(body: &[u8]) -> Result<Self, Fault> {
        parse(body)
    }

    /// The scene of an event about a repository, or the sentence that says why nothing can follow
    /// from it: without an installation there is no way to act.
    pub(super) fn scene(self, event: &str) -> Result<Result<Scene, String>, Fault> {
        let Some(installation) = self.installation else {
            return Ok(Err(format!(
                "a `{event}` delivery that names no installation (a webhook of the repository \
                 itself?): the App cannot act on it"
            )));
        };
        let installation = installation.id.need("installation.id")?;
        Ok(Ok(Scene {
            repo: need(self.repository, "repository")?.through(installation)?,
            action: self.action.opt().unwrap_or_default(),
            sender: actor(self.sender),
        }))
    }
}

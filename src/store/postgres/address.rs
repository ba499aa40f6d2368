//! Addresses of databases, which may hold a password.
//!
//! Whatever is shown of one is shown by [`shown`]. The driver logs a parameter that it does not know together
//! with what it is set to, and a mistyped `password` is such a one: parameters are looked at here before
//! it sees them, and named without their values.

use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

/// What the driver understands.
const PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// Whether an address is meant for PostgreSQL.
pub fn is_address(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// An address without what may be secret in it.
pub fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "that was named".to_owned();
    };
    let (place, more) = match rest.find(['?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    // The sign between password and host: a password that was not written as an address wants it may
    // hold any other sign before it.
    if more.contains('@') {
        return format!("{scheme}://...");
    }
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    format!("{scheme}://{place}")
}

/// What an address asks for.
pub fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    let refused = |why: String| Err(sqlx::Error::Configuration(why.into()));
    if !is_address(url) {
        return refused("it does not begin with `postgres://`".to_owned());
    }
    let parameters = url.split_once('?').map_or("", |(_, parameters)| parameters);
    let parameters = parameters.split('#').next().unwrap_or_default();
    for parameter in parameters.split('&').filter(|one| !one.is_empty()) {
        let name = parameter.split('=').next().unwrap_or_default();
        let known =
            PARAMETERS.contains(&name) || name.starts_with("options[") && name.ends_with(']');
        if !known {
            // Without an equals sign the whole may be a part of a password.
            let which = if parameter.contains('=') && name.len() < 30 {
                format!(" `{name}`")
            } else {
                String::new()
            };
            return refused(format!(
                "its parameter{which} is not known; a `?` inside the password is written %3F"
            ));
        }
    }
    let options = PgConnectOptions::from_str(url)?;
    Ok(match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("countersign"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_password_is_shown_however_the_address_is_written() {
        for (url, expected) in [
            ("postgres://ann:hunter2@db/x", "postgres://db/x"),
            (
                "postgres://ann:hunter2@db/x?password=hunter2",
                "postgres://db/x",
            ),
            ("postgres://ann:hunt/er2@db:5432/x", "postgres://db:5432/x"),
            ("postgres://ann:hunt@er2@db/x", "postgres://db/x"),
            ("postgres://ann:hunt?er2@db/x", "postgres://..."),
            ("postgres://ann:hunt#er2@db/x", "postgres://..."),
            ("postgres://a@hunt?er2@db/x", "postgres://..."),
            ("hunter2", "that was named"),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
    }

    #[test]
    fn a_mistyped_parameter_is_refused_before_the_driver_could_log_what_it_is_set_to() {
        let refused = options("postgres://db/x?pasword=hunter2")
            .unwrap_err()
            .to_string();
        assert!(refused.contains("`pasword`"), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
        let refused = options("postgres://ann:a?hunter2@db/x")
            .unwrap_err()
            .to_string();
        assert!(!refused.contains("hunter2"), "{refused}");
    }

    #[test]
    fn what_the_driver_understands_is_let_through() {
        let url = "postgresql://ann@db:5433/x?sslmode=require&options[search_path]=mine&user=bob";
        let options = options(url).unwrap();
        assert_eq!(options.get_port(), 5433);
        assert_eq!(options.get_username(), "bob");
    }
}

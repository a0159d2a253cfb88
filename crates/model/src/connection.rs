//! Connection details of an object, found by the names of its attributes.

/// Names of attributes with connection details, in the order of display. With `true`, longer names
/// with this end count too, such as `reader_endpoint`; the others would also name rules and tags.
const NAMES: [(&str, bool); 16] = [
    ("endpoint", true),
    ("url", false),
    ("uri", false),
    ("connection_string", true),
    ("address", false),
    ("host", false),
    ("hostname", true),
    ("dns_name", true),
    ("fqdn", true),
    ("public_ip", false),
    ("private_ip", false),
    ("port", false),
    ("user", false),
    ("username", true),
    ("user_name", false),
    ("password", true),
];

/// Number of names that tell where to connect. A port or a password alone is no connection.
const PLACES: usize = 11;

/// Returns the connection details among the attributes of an object, which are leaves with their
/// paths: those at the top and one level below it, in the order of display. Empty texts are left
/// out.
pub fn connection_details(attributes: &[(String, String)]) -> Vec<&(String, String)> {
    let rank = |(path, text): &(String, String)| match text.as_str() {
        "\"\"" => None,
        _ => rank(path),
    };
    let mut found: Vec<_> = attributes
        .iter()
        .filter_map(|a| Some((rank(a)?, a)))
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    if found.first().is_none_or(|(rank, _)| *rank >= PLACES) {
        return Vec::new();
    }
    found.into_iter().map(|(_, attribute)| attribute).collect()
}

/// Place of an attribute in the order of display; `None` if it is no connection detail.
fn rank(path: &str) -> Option<usize> {
    let mut names = path
        .split('.')
        .map(|step| step.split('[').next().unwrap_or_default());
    // Keys of maps are the operator's words, not names of the type.
    if path.contains("[\"") || names.clone().count() > 2 {
        return None;
    }
    let name = names.next_back()?;
    let is_it = |(known, ends): &(&str, bool)| {
        name == *known || (*ends && name.strip_suffix(known).is_some_and(|n| n.ends_with('_')))
    };
    NAMES.iter().position(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_without_a_place_to_connect_to_is_no_connection() {
        let attributes = ["username", "password", "port"].map(|name| (name.into(), "1".into()));
        assert!(connection_details(&attributes).is_empty());
        assert_eq!(NAMES[PLACES - 1].0, "private_ip");
    }

    #[test]
    fn s1_17_connection_details_are_found_by_name_and_depth() {
        let attributes = [
            ("id", "\"db-1\""),
            ("password", "(sensitive)"),
            ("port", "5432"),
            ("endpoint", "\"db.example:5432\""),
            ("reader_endpoint", "\"ro.example:5432\""),
            ("master_username", "\"root\""),
            ("connection.host", "\"db.example\""),
            ("nodes[0].address", "\"10.0.0.1\""),
            ("url", "\"\""),
            // Not connection details.
            ("ingress[0].from_port", "80"),
            ("mac_address", "\"00:00\""),
            ("a.b.host", "\"too deep\""),
            ("tags[\"host name\"]", "\"x\""),
            ("passwordless", "true"),
            ("endpoint_type", "\"public\""),
        ];
        let attributes = attributes.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let found: Vec<&str> = connection_details(&attributes)
            .into_iter()
            .map(|(path, _)| path.as_str())
            .collect();
        assert_eq!(
            found,
            [
                "endpoint",
                "reader_endpoint",
                "nodes[0].address",
                "connection.host",
                "port",
                "master_username",
                "password"
            ]
        );
    }
}

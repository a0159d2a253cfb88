//! The most telling values of a change in one line, for its row in a list.

use crate::app::doc::identity::{Rank, Varying, note, short_value};
use lang::addr::unquote;
use model::{Action, AttributeChange, ChangeView};
use unicode_width::UnicodeWidthStr;

/// Maximum number of values.
const VALUES: usize = 3;
/// Longest value in cells. Longer ones are left to the detail.
const LONGEST: usize = 32;

/// Returns the first values that a change sets or replaces, without sensitive, unknown and long
/// ones; of a create those first that tell it apart. Of an update without any such value, it
/// returns the names of the attributes.
pub fn changed_values(c: &ChangeView, varying: &Varying) -> Vec<String> {
    let changed = || c.attributes.iter().filter(|a| a.changed);
    let known = || changed().filter(|a| !a.sensitive && !a.unknown);
    match c.action {
        Action::Create => {
            let varying = varying.get(&c.resource_type);
            let values = known().filter_map(|a| {
                let value = a.after.as_deref()?;
                let varies = varying.is_some_and(|names| names.contains(&a.path));
                let rank = Rank::of(&a.path, value, varies);
                Some((rank, a.path.as_str(), short_value(value, LONGEST)?))
            });
            note(values, VALUES)
        }
        Action::Update | Action::Replace | Action::ReplaceCreateFirst => {
            let mut told: Vec<String> = known().map(replaced_value).take(VALUES).collect();
            if told.is_empty() {
                return changed().map(|a| a.path.clone()).collect();
            }
            match changed().filter(|a| !a.unknown).count() - told.len() {
                0 => {}
                n => told.push(format!("+{n} more")),
            }
            told
        }
        _ => Vec::new(),
    }
}

/// Returns a value before and after, or only its name if one of both is long.
pub fn replaced_value(a: &AttributeChange) -> String {
    let side = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or("null");
        let text = unquote(text).unwrap_or_else(|| text.to_owned());
        let short = text.width() <= LONGEST && !text.contains('\n') && !text.is_empty();
        short.then_some(text)
    };
    match (side(&a.before), side(&a.after)) {
        (Some(before), Some(after)) if before != after => format!("{} {before} → {after}", a.path),
        _ => a.path.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(path: &str, before: Option<&str>, after: Option<&str>) -> AttributeChange {
        AttributeChange {
            path: path.to_owned(),
            before_path: None,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            unknown: false,
            sensitive: false,
            forces_replacement: false,
            changed: before != after,
        }
    }

    fn change(action: Action, attributes: Vec<AttributeChange>) -> ChangeView {
        ChangeView {
            address: "lab_server.a".to_owned(),
            previous_address: None,
            resource_type: "lab_server".to_owned(),
            provider: String::new(),
            action,
            action_reason: None,
            why: String::new(),
            attributes,
            needs: Vec::new(),
            drifted: false,
            import: None,
            commands: Vec::new(),
        }
    }

    #[test]
    fn values_of_an_update_are_those_that_change_and_no_secret() {
        let mut secret = attribute("password", Some("\"a\""), Some("\"b\""));
        secret.sensitive = true;
        let all = vec![
            attribute("cpu", Some("\"500m\""), Some("\"750m\"")),
            attribute("same", Some("1"), Some("1")),
            secret.clone(),
            attribute("image", Some("\"v1.4.2\""), Some("\"v1.5.0\"")),
            attribute("policy", Some("\"a\\nb\""), Some("\"c\\nd\"")),
        ];
        let text = changed_values(&change(Action::Update, all), &Varying::new());
        assert_eq!(
            text,
            [
                "cpu 500m → 750m",
                "image v1.4.2 → v1.5.0",
                "policy",
                "+1 more"
            ]
        );
        assert_eq!(
            changed_values(&change(Action::Update, vec![secret]), &Varying::new()),
            ["password"]
        );
    }

    #[test]
    fn values_of_a_create_begin_with_the_name() {
        let mut id = attribute("id", None, None);
        (id.unknown, id.changed) = (true, true);
        let all = vec![
            attribute("backup.days", None, Some("7")),
            attribute("engine", None, Some("\"postgres\"")),
            attribute("fault", None, Some("[]")),
            id,
            attribute("name", None, Some("\"orders\"")),
        ];
        assert_eq!(
            changed_values(&change(Action::Create, all), &Varying::new()),
            ["name = \"orders\"", "engine = \"postgres\""]
        );
    }

    #[test]
    fn values_of_a_create_that_differ_from_others_of_its_type_precede_equal_ones() {
        let of = |region: &str, tier: &str| {
            let all = vec![
                attribute("engine", None, Some("\"postgres\"")),
                attribute("region", None, Some(region)),
                attribute("tier", None, Some(tier)),
            ];
            change(Action::Create, all)
        };
        let all = [of("\"eu\"", "3"), of("\"eu\"", "4")];
        let varying = crate::app::doc::identity::varying(&all);
        assert_eq!(
            changed_values(&all[1], &varying),
            ["tier = 4", "engine = \"postgres\"", "region = \"eu\""]
        );
    }
}

//! Maps keys to commands: defaults from the table of commands, overridden by the settings.

use super::command::{COMMANDS, Command, FORMER_NAMES};
use super::key::Key;
use super::state::Context;
use std::collections::BTreeMap;

/// Keys of each command, by index in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    keys: Vec<Vec<Key>>,
}

impl Default for KeyMap {
    fn default() -> Self {
        let keys = COMMANDS
            .iter()
            .map(|c| {
                c.keys
                    .split_whitespace()
                    .map(|k| k.parse().expect("a test reads every key of the table"))
                    .collect()
            })
            .collect();
        Self { keys }
    }
}

impl KeyMap {
    /// Overrides the defaults with `command name → keys`. Returns one message per invalid entry;
    /// the valid ones apply.
    pub fn remapped(changes: &BTreeMap<String, Vec<String>>) -> (Self, Vec<String>) {
        let mut map = Self::default();
        let mut problems = Vec::new();
        let changes = current(changes);
        for (name, keys) in &changes {
            let Some(i) = COMMANDS.iter().position(|c| c.name == *name) else {
                problems.push(format!(
                    "keys: unknown command {name:?}; `?` lists the commands"
                ));
                continue;
            };
            let parsed: Result<Vec<Key>, _> = keys.iter().map(|k| k.parse()).collect();
            match parsed {
                Ok(keys) => {
                    // The key is removed from other commands of the same contexts, unless their
                    // keys are from the settings, too.
                    for (j, other) in COMMANDS.iter().enumerate() {
                        if j != i
                            && !changes.contains_key(other.name)
                            && overlap(&COMMANDS[i], other)
                        {
                            map.keys[j].retain(|k| !keys.contains(k));
                        }
                    }
                    map.keys[i] = keys;
                }
                Err(e) => problems.push(format!("keys: {name}: {e}")),
            }
        }
        (map, problems)
    }

    /// Returns the command of a key in a context. Commands of this context override those of all
    /// contexts.
    pub fn command(&self, key: Key, context: Context) -> Option<&'static Command> {
        let hit = |special: bool| {
            COMMANDS
                .iter()
                .zip(&self.keys)
                .find(|(c, keys)| {
                    c.is_special() == special && c.is_in(context) && keys.contains(&key)
                })
                .map(|(c, _)| c)
        };
        hit(true).or_else(|| hit(false))
    }

    /// Returns the keys of a command in a context, without keys that run another command there.
    pub fn keys_of(&self, command: &Command, context: Context) -> Vec<Key> {
        let Some(i) = COMMANDS.iter().position(|c| c.name == command.name) else {
            return Vec::new();
        };
        self.keys[i]
            .iter()
            .copied()
            .filter(|k| {
                self.command(*k, context)
                    .is_some_and(|c| c.name == command.name)
            })
            .collect()
    }

    /// Returns the key to show for a command of all contexts: its first key, or its name in the
    /// palette.
    pub fn first(&self, name: &str) -> String {
        let key = COMMANDS
            .iter()
            .position(|c| c.name == name)
            .and_then(|i| self.keys[i].first());
        key.map_or_else(|| format!(":{name}"), ToString::to_string)
    }
}

/// Replaces former names of commands with the current ones. An entry with the current name
/// overrides one with a former name.
fn current(changes: &BTreeMap<String, Vec<String>>) -> BTreeMap<&str, &Vec<String>> {
    let mut all: BTreeMap<&str, &Vec<String>> = BTreeMap::new();
    for (former, name) in FORMER_NAMES {
        // Inserted first, so that the current name overrides it below.
        all.extend(changes.get(*former).map(|keys| (*name, keys)));
    }
    let is_former = |name: &str| FORMER_NAMES.iter().any(|(former, _)| *former == name);
    let rest = changes.iter().filter(|(name, _)| !is_former(name));
    all.extend(rest.map(|(name, keys)| (name.as_str(), keys)));
    all
}

/// Returns true if both commands have the same precedence in a context of both.
fn overlap(a: &Command, b: &Command) -> bool {
    a.is_special() == b.is_special() && Context::ALL.iter().any(|c| a.is_in(*c) && b.is_in(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_keys_are_all_parseable() {
        for c in COMMANDS {
            for k in c.keys.split_whitespace() {
                assert!(k.parse::<Key>().is_ok(), "{}: {k}", c.name);
            }
            assert!(!c.doc.is_empty(), "{}", c.name);
        }
    }

    #[test]
    fn command_names_are_unique_and_keys_do_not_conflict() {
        let special_over_common = ["open"];
        for (i, a) in COMMANDS.iter().enumerate() {
            for b in &COMMANDS[i + 1..] {
                assert_ne!(a.name, b.name);
                if overlap(a, b) && !special_over_common.contains(&b.name) {
                    for k in a.keys.split_whitespace() {
                        assert!(
                            !b.keys.split_whitespace().any(|o| o == k),
                            "{} and {} share {k}",
                            a.name,
                            b.name
                        );
                    }
                }
            }
        }
    }

    /// Renders the table as the file of default keys.
    fn as_file() -> String {
        let mut text = "# Default keys of the console.\n\
            # Copy the lines you want to change to ~/.config/flightdeck/keys.toml.\n"
            .to_owned();
        for c in COMMANDS {
            let keys: Vec<String> = c
                .keys
                .split_whitespace()
                .map(|k| format!("{k:?}"))
                .collect();
            text.push_str(&format!(
                "\n# {}\n{} = [{}]\n",
                c.doc,
                c.name,
                keys.join(", ")
            ));
        }
        text
    }

    #[test]
    fn default_keys_file_matches_the_command_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/keys.toml");
        if std::env::var_os("UPDATE_KEYS").is_some() {
            std::fs::write(path, as_file()).unwrap();
        }
        let file = std::fs::read_to_string(path).unwrap();
        assert_eq!(
            file,
            as_file(),
            "UPDATE_KEYS=1 cargo test -p flightdeck --lib default_keys writes it anew"
        );
        let keys: BTreeMap<String, Vec<String>> = toml::from_str(&file).unwrap();
        let (map, problems) = KeyMap::remapped(&keys);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(map, KeyMap::default());
    }

    #[test]
    fn key_can_be_remapped_to_another_command() {
        let changes = BTreeMap::from([
            ("stage".to_owned(), vec!["ctrl-s".to_owned()]),
            ("nonsense".to_owned(), vec![]),
        ]);
        let (map, problems) = KeyMap::remapped(&changes);
        assert_eq!(
            map.command(Key::ctrl('s'), Context::Stage).map(|c| c.name),
            Some("stage")
        );
        assert!(map.command(Key::char('s'), Context::Stage).is_none());
        assert_eq!(problems.len(), 1);
        let (map, _) =
            KeyMap::remapped(&BTreeMap::from([("why".to_owned(), vec!["a".to_owned()])]));
        assert_eq!(
            map.command(Key::char('a'), Context::Stage).map(|c| c.name),
            Some("why")
        );
    }

    #[test]
    fn former_names_of_commands_are_accepted() {
        for (former, name) in FORMER_NAMES {
            assert!(COMMANDS.iter().all(|c| c.name != *former), "{former}");
            let keys = |key: &str| vec![key.to_owned()];
            let by_former = BTreeMap::from([((*former).to_owned(), keys("f5"))]);
            let (map, problems) = KeyMap::remapped(&by_former);
            assert_eq!(problems, Vec::<String>::new());
            assert_eq!(map.first(name), "f5");
            let mut both = by_former;
            both.insert((*name).to_owned(), keys("f6"));
            assert_eq!(KeyMap::remapped(&both).0.first(name), "f6");
        }
    }
}

//! `--var` and `--var-file`: one list in the order of the command line, since a later flag
//! overrides an earlier one of either kind.

use super::values::variable;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use model::{StageRequest, VariableFlag};
use std::path::PathBuf;

/// Variable flags of a command. `validate` uses only those that module sources depend on.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables {
    pub(super) flags: Vec<VariableFlag>,
}

// The flags as clap declares them: it keeps the values of each apart. No doc comment, because clap
// would show it as the help of every command that the flags are added to.
#[derive(Debug, Args)]
struct Declared {
    /// Value of a variable (repeatable)
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    vars: Vec<(String, String)>,
    /// File with values of variables (repeatable); overrides earlier --var and --var-file
    #[arg(long = "var-file", value_name = "FILE")]
    var_files: Vec<PathBuf>,
}

impl Variables {
    /// Returns a stage request with these variables and no other restriction.
    pub(super) fn request(self) -> StageRequest {
        StageRequest::with_variables(self.flags)
    }
}

impl Args for Variables {
    fn augment_args(command: Command) -> Command {
        Declared::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Declared::augment_args_for_update(command)
    }
}

impl FromArgMatches for Variables {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Declared { vars, var_files } = Declared::from_arg_matches(matches)?;
        // clap groups values by flag, so only their indexes have the common order.
        let positions = |id| matches.indices_of(id).into_iter().flatten();
        let values = vars
            .into_iter()
            .map(|(name, text)| VariableFlag::Value { name, text });
        let files = var_files.into_iter().map(VariableFlag::File);
        let mut all: Vec<(usize, VariableFlag)> = positions("vars")
            .zip(values)
            .chain(positions("var_files").zip(files))
            .collect();
        all.sort_by_key(|(position, _)| *position);
        let flags = all.into_iter().map(|(_, flag)| flag).collect();
        Ok(Self { flags })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        variables: Variables,
    }

    #[test]
    fn variable_flags_keep_the_command_line_order() {
        let words = [
            "flightdeck",
            "--var",
            "a=1",
            "--var-file=x.tfvars",
            "--var=a=2",
            "--var-file",
            "y.tfvars.json",
            "--var",
            "b=--var",
        ];
        let value = |name: &str, text: &str| VariableFlag::Value {
            name: name.into(),
            text: text.into(),
        };
        let program = Program::try_parse_from(words).unwrap();
        assert_eq!(
            program.variables.flags,
            [
                value("a", "1"),
                VariableFlag::File("x.tfvars".into()),
                value("a", "2"),
                VariableFlag::File("y.tfvars.json".into()),
                value("b", "--var"),
            ]
        );
        assert!(
            Program::try_parse_from(["flightdeck"])
                .unwrap()
                .variables
                .flags
                .is_empty()
        );
    }
}

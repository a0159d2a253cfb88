//! Texts of shell commands, split into the fragments that can name files. Quotes and backslashes
//! are removed as a shell removes them; expansions separate fragments.

/// Characters that end a word outside of quotes.
const SEPARATORS: &str = ";|&()<>`\n\r\t {}";

/// Fragments of a shell text that can name a file: each word without its quotes, and the parts of
/// it around expansions such as `$DIR`.
pub(crate) fn fragments(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in words(text) {
        let mut add = |part: &str| {
            let part = part.to_owned();
            if !part.is_empty() && !out.contains(&part) {
                out.push(part);
            }
        };
        add(&word);
        // Inner texts: `sh -c "x './y'"` has a command in a word.
        if word != text && word.contains(|c: char| SEPARATORS.contains(c) || "'\"\\".contains(c)) {
            for inner in fragments(&word) {
                add(&inner);
            }
        }
        for part in without_expansions(&word) {
            add(part);
            add(part.trim_start_matches('/'));
        }
    }
    out
}

/// Programs that execute neither a file nor their input, and evaluate none of their arguments.
const READERS: [&str; 17] = [
    "echo", "grep", "egrep", "fgrep", "cat", "head", "tail", "wc", "cut", "tr", "jq", "ls", "stat",
    "true", "false", "sleep", "exit",
];

/// Programs of a shell text that executes no file of a workspace, because it runs only programs
/// that read. `None` if it can run others. The files that it reads may change from run to run, such
/// as a record of what a deploy changes.
pub(crate) fn programs_that_read(text: &str) -> Option<Vec<String>> {
    // Expansions that are evaluated, commands in quotes, and words that end in another way.
    let unsupported = ["${", "$((", "$[", "\"$(", "<<", "$'", "$\"", "`", "#"];
    let is_plain = |c: char| matches!(c, ' '..='~' | '\n' | '\t');
    if !text.chars().all(is_plain) || unsupported.iter().any(|part| text.contains(part)) {
        return None;
    }
    let (mut programs, mut word) = (Vec::new(), String::new());
    let (mut is_command, mut quote) = (true, None);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), '$') if characters.peek() == Some(&'(') => return None,
            (Some('"') | None, '\\') => word.extend(characters.next()),
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if SEPARATORS.contains(c) => {
                if is_command && !word.is_empty() {
                    READERS.contains(&word.as_str()).then_some(())?;
                    programs.push(std::mem::take(&mut word));
                    is_command = false;
                }
                // The word behind it would be a file, and the next one the program.
                if is_command && "<>".contains(c) {
                    return None;
                }
                word.clear();
                is_command |= ";|&(\n{}".contains(c);
            }
            (None, c) => word.push(c),
        }
    }
    if is_command && !word.is_empty() {
        READERS.contains(&word.as_str()).then_some(())?;
        programs.push(word);
    }
    quote.is_none().then_some(programs)
}

/// Splits a shell text into words without quotes. Unlike a shell it accepts a missing quote.
fn words(text: &str) -> Vec<String> {
    let (mut all, mut word) = (Vec::new(), String::new());
    let mut is_quoted = false;
    // The next word is the file that output goes to, which nothing executes by that.
    let mut is_target = false;
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                is_quoted = true;
            }
            (None | Some('"'), '\\') => match characters.next() {
                // A line that continues.
                Some('\n') | None => {}
                Some(next) => word.push(next),
            },
            (None, c) if SEPARATORS.contains(c) => {
                if !word.is_empty() || is_quoted {
                    let word = std::mem::take(&mut word);
                    if !std::mem::take(&mut is_target) {
                        all.push(word);
                    }
                }
                is_quoted = false;
                // `>(…)` runs a command.
                is_target = c == '>' || (is_target && c != '(');
            }
            (_, c) => word.push(c),
        }
    }
    if !word.is_empty() && !is_target {
        all.push(word);
    }
    all
}

/// Parts of a word around `$NAME`, `${NAME}` and `$(…)`.
fn without_expansions(word: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_alphanumeric() || "_{}()@*#?!-".contains(c);
    let mut parts = Vec::new();
    for part in word.split('$').skip(usize::from(!word.starts_with('$'))) {
        parts.push(part.trim_start_matches(is_name));
    }
    if let Some((first, _)) = word.split_once('$') {
        parts.push(first);
    }
    // Values of assignments and of long options.
    parts.extend(word.split(['=', ':', ',']).skip(1));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_only_read_execute_no_files() {
        let hook =
            r#"echo drain 0 $(grep -o '"kind": *"v[12]"' lab.json | grep -c v2) >> "$HOME/order""#;
        for text in [
            hook,
            "cat ./state.json",
            "grep -q x ready && exit 0; sleep 1",
            "[ \"$(x)\" ]",
            "echo a\\;./b",
            "! grep x f",
        ] {
            let expected = ![r#"[ "$(x)" ]"#, "! grep x f"].contains(&text);
            assert_eq!(programs_that_read(text).is_some(), expected, "{text}");
        }
        for text in [
            "./drain.sh",
            "cat x | sh",
            "echo x;./run",
            "echo x\n./run",
            "echo $(./run)",
            "echo \"a $(./run)\"",
            "echo `./run`",
            "echo '$(./run)'",
            "echo x & ./run",
            "echo x && ./run",
            "cat <(./run)",
            "X=1 cat f",
            "PATH=. cat f",
            "cat() { ./run; }; cat f",
            "echo # '\n./run",
            "cat <<E\n$(./run)\nE",
            "echo $'\\'' ; ./run",
            "e'v'al x",
            "$x f",
            "'./run' f",
            ". ./lib.sh",
            "if test -f x; then ./run; fi",
            "echo 'open",
            "echo ${x:-$(./run)}",
            "echo >&2 x; { ./run; }",
            "cat f |& ./run",
            "test -v $(cat f)",
            ">true ./run",
            ">>cat . ./run",
            "echo a|>cat ./run",
            "true && >cat ./run",
            "2>cat ./run",
            "echo\r./run",
            "echo \"${x%'\"'}\"; ./run; echo \"${x%'\"'}\"",
            "printf \"-\"v \"a[\\$(./run)]\" x",
            "[ -\\v \"a[\\$(./run)]\" ]",
            ": \"${x:=\\$(./run)}\"; echo \"${x@P}\"",
            "echo $((cat))",
            "echo \"${ ./run; }\"",
            "echo x > >(./run)",
        ] {
            assert_eq!(programs_that_read(text), None, "{text}");
        }
    }

    #[test]
    fn fragments_are_the_words_that_a_shell_can_run() {
        for (text, expected) in [
            ("./creds.sh --for me", "./creds.sh"),
            ("./cr''eds.sh", "./creds.sh"),
            (r"./cr\eds.sh", "./creds.sh"),
            ("'./my creds.sh' x", "./my creds.sh"),
            (r"./my\ creds.sh", "./my creds.sh"),
            ("sh -c \"exec './creds'\"", "./creds"),
            ("sh -c \"exec './my creds'\"", "./my creds"),
            ("true&&./creds", "./creds"),
            ("d=./creds; $d", "./creds"),
            ("\"$PWD/creds.sh\"", "creds.sh"),
            ("\"${HOOKS}\"/creds.sh", "creds.sh"),
            ("\"$(pwd)/creds.sh\"", "creds.sh"),
            (". ./lib.sh", "./lib.sh"),
            ("cat <./input", "./input"),
            ("(./creds)", "./creds"),
            ("`./creds`", "./creds"),
            ("A=1 B=2 ./a=b.sh", "./a=b.sh"),
            ("x --file=./f", "./f"),
            ("tee >(./run)", "./run"),
            ("echo x > >(./run)", "./run"),
            ("'./open quote", "./open quote"),
        ] {
            let found = fragments(text);
            assert!(found.iter().any(|f| f == expected), "{text}: {found:?}");
        }
        for text in ["echo x >> ./log", "echo x >./log 2>&1", "a 2> './log'"] {
            let found = fragments(text);
            assert!(!found.iter().any(|f| f == "./log"), "{text}: {found:?}");
        }
        let found = fragments("echo x > ./run; sh ./run");
        assert!(found.iter().any(|f| f == "./run"), "{found:?}");
        assert_eq!(fragments("creds"), ["creds"]);
        assert!(fragments("").is_empty());
    }
}

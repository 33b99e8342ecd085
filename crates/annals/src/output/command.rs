//! Commands that annals prints for people to run.

use std::sync::OnceLock;

/// The options with the config folders that were given to the command that runs now; each begins with a blank.
static ROOTS: OnceLock<String> = OnceLock::new();

/// Sets the config folders that were given to the command that runs now.
pub(crate) fn set_roots(roots: &[String]) {
    let options = roots.iter().map(|root| format!(" --root {}", shell_word(root)));
    // They are set once, before anything is printed.
    let _ = ROOTS.set(options.collect());
}

/// Returns a command that searches the same config folders as the one that prints it: a session may have the same id in others.
pub(crate) fn command(words: &str) -> String {
    format!("{words}{}", ROOTS.get().map_or("", String::as_str))
}

/// Returns a word as a shell takes it.
pub(crate) fn shell_word(word: &str) -> String {
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns whether a character means nothing special to a shell.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./:=@%+,".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_shells_if_they_need_it() {
        let words = ["50d5b30e", "a b", "it's", "", "-n", "天气", "$(x)", "a\"b"].map(shell_word);
        assert_eq!(words, ["50d5b30e", "'a b'", r"'it'\''s'", "''", "'-n'", "天气", "'$(x)'", "'a\"b'"]);
    }
}

//! `annals completions` and `annals man`.

use testkit::command::Home;

use crate::{ANNALS, SESSION, annals, small_home};

/// Returns what bash is offered for the last of some words.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let mut command = home.command(ANNALS);
    command
        .env("_ANNALS_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let output = command.args(["--", "annals"]).args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn ids_and_titles_of_sessions_are_completed() {
    let home = small_home();
    for words in
        [&["show", "3e1"][..], &["resume", ""], &["delete", "3e11a6b4-"], &["record", "--session", "3"]]
    {
        assert_eq!(offered(&home, words).first().map(String::as_str), Some(SESSION), "{words:?}");
    }
    assert_eq!(offered(&home, &["show", "tea"]), ["Tea timer"]);
    assert_eq!(offered(&home, &["show", "zzz"]), [""; 0]);
    assert_eq!(offered(&home, &["rena"]), ["rename"]);
    assert_eq!(offered(&home, &["completions", "po"]), ["powershell"]);
}

#[test]
fn sessions_of_another_root_are_completed() {
    let home = small_home();
    home.write(
        "other/projects/-q/0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55.jsonl",
        "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"message\":{\"content\":\"Hi\"}}\n",
    );
    let other = "0b0b0b0b-93c1-4d41-9f0c-2a6f0f9f7a55";
    for words in [&["--root", "other", "show", ""][..], &["--root=other", "show", "0b"]] {
        assert_eq!(offered(&home, words).first().map(String::as_str), Some(other), "{words:?}");
        assert!(!offered(&home, words).contains(&SESSION.to_owned()), "{words:?}");
    }
}

#[test]
fn every_shell_gets_a_script_that_asks_annals() {
    let home = small_home();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ran = annals(&home, &["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(ran.stdout.contains("_ANNALS_COMPLETE"), "{shell}: {}", ran.stdout);
    }
}

#[test]
fn every_command_has_a_man_page() {
    let home = small_home();
    let one = annals(&home, &["man", "list"]).stdout;
    // The helper spells backslashes as slashes.
    assert!(one.contains("annals/-list"), "{one}");
    assert!(one.contains("annals list /-/-here"), "the examples are in it: {one}");
    assert_eq!(annals(&home, &["man", "--output", "pages"]).code, Some(0));
    let pages = std::fs::read_dir(home.path().join("pages")).unwrap().count();
    assert!(pages > 25, "{pages}");
    assert_eq!(annals(&home, &["man", "no-such"]).code, Some(2));
}

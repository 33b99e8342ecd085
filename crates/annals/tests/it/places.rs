//! Where sessions, subagents and their files are written, and where they are found again.

use std::fs;

use annals_transcript::project::folder_name;
use serde_json::{Value, json};
use testkit::command::Home;
use testkit::transcript::Transcript;

use crate::{ANNALS, SESSION, annals, feed, small_home, transcript};

const PROMPT: &[u8] = b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Hello\"}}\n";

fn json_of(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[cfg(unix)]
#[test]
fn a_session_recorded_in_a_linked_folder_is_one_of_the_real_folder() {
    let home = Home::new();
    let (real, link) = (home.path().join("real"), home.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let draft = home.write("draft.jsonl", PROMPT);
    let run = |folder: &std::path::Path, args: &[&str]| {
        let mut command = home.command(ANNALS);
        command.current_dir(folder).args(args).stdin(fs::File::open(&draft).unwrap());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        json_of(&String::from_utf8(output.stdout).unwrap())
    };
    let recorded = run(&link, &["record"])["path"].clone();
    let folder = folder_name(real.canonicalize().unwrap().to_str().unwrap());
    assert!(recorded.as_str().unwrap().contains(&format!("/{folder}/")), "{recorded}");
    for here in [&link, &real] {
        assert_eq!(run(here, &["list", "--here", "--json"])["path"], recorded, "{here:?}");
    }
}

#[test]
fn a_recorded_line_has_the_branch_that_is_checked_out() {
    let home = Home::new();
    home.write("repo/.git/HEAD", "ref: refs/heads/steep\n");
    home.write("repo/deep/file", "");
    let ran = feed(&home, &["record", "--project", "repo/deep"], PROMPT);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let listed = annals(&home, &["list", "--branch", "steep", "--json"]);
    assert_eq!(json_of(&listed.stdout)["gitBranch"], "steep", "{}", listed.stderr);
}

#[test]
fn an_agent_is_found_in_its_group_and_facts_of_others_stay() {
    let home = small_home();
    let record = |more: &[&str]| {
        let args = ["record", "--session", SESSION, "--project", "tea", "--agent", "a1"];
        let ran = feed(&home, &[&args[..], more].concat(), PROMPT);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    };
    record(&["--group", "workflows/wf_1", "--agent-type", "Explore"]);
    let agents = home.path().join(transcript()).with_extension("").join("subagents");
    let meta = agents.join("workflows/wf_1/agent-a1.meta.json");
    fs::write(&meta, "{\"agentType\":\"Explore\",\"ofTomorrow\":[1.50]}").unwrap();
    record(&["--description", "看 look"]);
    assert!(!agents.join("agent-a1.jsonl").exists());
    let lines = fs::read_to_string(agents.join("workflows/wf_1/agent-a1.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2);
    let kept = "{\"agentType\":\"Explore\",\"ofTomorrow\":[1.50],\"description\":\"看 look\"}";
    assert_eq!(fs::read_to_string(meta).unwrap(), kept);
}

#[cfg(unix)]
#[test]
fn a_session_made_from_a_log_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new();
    let ran = feed(&home, &["hydrate", "-", "--project", "tea", "--session", SESSION, "--json"], PROMPT);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let path = home.path().join(json_of(&ran.stdout)["path"].as_str().unwrap().replace("[home]/", ""));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_project_with_a_folder_lists_its_folder_and_counts_what_lies_elsewhere() {
    let home = Home::new();
    for (number, folder) in [(1, "-srv-tea"), (2, "-elsewhere")] {
        let id = format!("{number:08x}-93c1-4d41-9f0c-2a6f0f9f7a55");
        let lines = Transcript::session(&id).cwd("/srv/tea").user("u", folder);
        home.write(format!(".claude/projects/{folder}/{id}.jsonl"), lines.to_string());
    }
    let listed = annals(&home, &["list", "--project", "/srv/tea", "--json"]).stdout;
    assert_eq!((listed.lines().count(), &json_of(&listed)["title"]), (1, &json!("-srv-tea")));
    let project = json_of(&annals(&home, &["projects", "--json"]).stdout);
    assert_eq!((&project["path"], &project["sessions"]), (&json!("/srv/tea"), &json!(2)));
}

use super::*;
use crate::chain::Chain;
use crate::full_view::{self, Step};

/// Spells the roots of a file: the line of each from 1, and what it is.
fn found(lines: &[String]) -> Vec<(usize, &'static str)> {
    let session = Session::read(lines.join("\n").as_bytes()).unwrap();
    second_roots(&session).iter().map(|root| (root.node + 1, root.kind.name())).collect()
}

/// Spells the full view: live entries by uuid, others in parentheses.
fn shown(lines: &[String]) -> String {
    let session = Session::read(lines.join("\n").as_bytes()).unwrap();
    let ids = session.id_texts();
    let spelled = full_view::of(&Chain::build(&session)).into_iter().filter_map(|step| {
        let Step::Entry { node, live } = step else { return None };
        let id = ids.get(session.nodes()[node].id?);
        Some(if live { id } else { format!("({id})") })
    });
    spelled.collect::<Vec<_>>().join(" ")
}

/// Spells an entry; its time is the second in which its number says that it was written.
fn line(kind: &str, uuid: &str, parent: &str, content: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    let second: u32 = uuid.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap();
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"timestamp":"2026-01-01T00:00:{second:02}Z","message":{{"content":{content}}}}}"#
    )
}

fn prompt(uuid: &str, parent: &str) -> String {
    line("user", uuid, parent, "\"Hi\"")
}

fn reply(uuid: &str, parent: &str) -> String {
    line("assistant", uuid, parent, "\"Yes\"")
}

/// A first prompt with its reply, and a second one.
fn start() -> Vec<String> {
    vec![prompt("u1", ""), reply("a2", "u1"), prompt("u3", "a2"), reply("a4", "u3")]
}

fn with(more: &[String]) -> Vec<String> {
    [&start()[..], more].concat()
}

const PLAN: &str = r#""Implement the following plan:\n\n# Brew tea""#;

fn offer(uuid: &str, parent: &str) -> String {
    line("assistant", uuid, parent, r#"[{"type":"tool_use","id":"t","name":"ExitPlanMode","input":{}}]"#)
}

fn hook(uuid: &str, parent: &str, name: &str) -> String {
    line("progress", uuid, parent, "null").replace(
        "\"message\":",
        &format!(r#""data":{{"type":"hook_progress","hookName":"{name}"}},"message":"#),
    )
}

#[test]
fn a_file_with_one_root_has_none_in_the_middle() {
    assert_eq!(found(&start()), []);
    let reversed: Vec<_> = start().into_iter().rev().collect();
    assert_eq!(found(&reversed), [], "the first prompt stands last");
}

#[test]
fn a_missing_parent_is_a_lost_link_and_so_is_none_without_a_sign() {
    assert_eq!(found(&with(&[prompt("u5", "gone")])), [(5, "lost_link")]);
    let island = with(&[prompt("u5", ""), reply("a6", "u5")]);
    assert_eq!(found(&island), [(5, "lost_link")]);
    assert_eq!(shown(&island), "u1 a2 u3 a4 u5 a6");
    assert_eq!(found(&with(&[reply("a5", "")])), [(5, "lost_link")]);
}

#[test]
fn a_boundary_is_a_root_whatever_it_names() {
    fn boundary(more: &str) -> String {
        line("system", "b5", "", "null")
            .replace("\"uuid\"", &format!("\"subtype\":\"compact_boundary\",{more}\"uuid\""))
    }

    assert_eq!(found(&with(&[boundary("\"logicalParentUuid\":\"a4\",")])), [(5, "boundary")]);
    let plain = with(&[boundary(""), prompt("u6", "b5")]);
    assert_eq!(found(&plain), [(5, "boundary")]);
    assert_eq!(shown(&plain), "u1 a2 u3 a4 b5 u6");
}

#[test]
fn a_plan_that_is_carried_out_clears_the_context() {
    let plan = line("user", "u6", "", PLAN);
    let cleared = with(&[offer("a5", "a4"), plan.clone(), reply("a7", "u6")]);
    assert_eq!(found(&cleared), [(6, "context_cleared")]);
    assert_eq!(shown(&cleared), "u1 a2 u3 a4 a5 u6 a7");
    assert_eq!(found(&with(std::slice::from_ref(&plan))), [(5, "lost_link")], "nobody offered a plan");
    let twice = with(&[offer("a5", "a4"), plan.clone(), prompt("u8", ""), plan.replace("u6", "u9")]);
    assert_eq!(found(&twice)[2], (8, "lost_link"), "the plan was offered before another root");
}

#[test]
fn a_hook_that_runs_at_a_clear_tells_of_it() {
    let cleared = with(&[
        hook("p5", "", "SessionStart:clear"),
        hook("p6", "p5", "SessionStart:clear"),
        prompt("u7", "p6"),
    ]);
    assert_eq!(found(&cleared), [(5, "context_cleared")]);
    assert_eq!(shown(&cleared), "u1 a2 u3 a4 p5 p6 u7");
    let resumed = with(&[hook("p5", "", "SessionStart:resume"), prompt("u6", "p5")]);
    assert_eq!(found(&resumed), [(5, "lost_link")]);
    let attached = line("attachment", "h5", "", "null").replace(
        "\"message\":",
        r#""attachment":{"type":"hook_success","hookName":"SessionStart:clear"},"message":"#,
    );
    assert_eq!(found(&with(&[attached, prompt("u6", "h5")])), [(5, "context_cleared")]);
}

#[test]
fn a_prompt_at_the_time_of_the_first_one_is_its_copy() {
    let copy = [prompt("c1", ""), reply("c2", "c1")];
    assert_eq!(found(&with(&copy)), [(5, "copy_of_first_prompt")]);
    assert_eq!(shown(&with(&copy)), "(u1) (a2) (u3) (a4) c1 c2");
    let untimed: Vec<_> = with(&copy).iter().map(|line| line.replace("2026", "year")).collect();
    assert_eq!(found(&untimed), [(5, "lost_link")]);
}

#[test]
fn a_rewind_to_the_start_is_noted_behind_its_prompt() {
    fn note(leaf: &str, explicit: bool) -> String {
        format!(r#"{{"type":"last-prompt","leafUuid":"{leaf}","explicit":{explicit}}}"#)
    }

    let rewind = with(&[prompt("u5", ""), note(NO_ENTRY, true), reply("a6", "u5")]);
    assert_eq!(found(&rewind), [(5, "rewind_to_start")]);
    assert_eq!(shown(&rewind), "(u1) (a2) (u3) (a4) u5 a6");
    for other in [
        [prompt("u5", ""), note("u5", true), reply("a6", "u5")],
        [prompt("u5", ""), note(NO_ENTRY, false), reply("a6", "u5")],
        [prompt("u5", ""), reply("a6", "u5"), note(NO_ENTRY, true)],
    ] {
        assert_eq!(found(&with(&other)), [(5, "lost_link")], "{other:?}");
    }
}

#[test]
fn a_program_that_gives_no_prompt_a_parent_writes_one_conversation() {
    let interrupt = line("user", "i5", "a4", r#"[{"type":"text","text":"[Request interrupted by user]"}]"#);
    let lines = [
        prompt("u1", ""),
        reply("a2", "u1"),
        prompt("u3", ""),
        reply("a4", "u3"),
        interrupt,
        prompt("u6", ""),
    ];
    assert_eq!(found(&lines), [(3, "parentless_prompts"), (6, "parentless_prompts")]);
    assert_eq!(shown(&lines), "u1 a2 u3 a4 i5 u6");
    let unlinked = [prompt("u1", ""), reply("a2", ""), prompt("u3", "")];
    assert_eq!(found(&unlinked), [(2, "parentless_prompts"), (3, "parentless_prompts")]);
}

#[test]
fn entries_that_hang_on_each_other_in_a_circle_have_no_root() {
    fn logical(line: &str, to: &str) -> String {
        line.replace("\"uuid\"", &format!("\"logicalParentUuid\":\"{to}\",\"uuid\""))
    }

    let circle = [
        logical(&line("attachment", "h5", "", "null"), "h6"),
        line("attachment", "h6", "h5", "null"),
        line("attachment", "h7", "h8", "null"),
        line("attachment", "h8", "h7", "null"),
    ];
    assert_eq!(found(&with(&circle)), []);
}

#[test]
fn what_nobody_speaks_below_and_what_subagents_say_is_no_root() {
    let attachment = line("attachment", "h5", "", "null");
    let meta = prompt("m6", "").replace("\"uuid\"", "\"isMeta\":true,\"uuid\"");
    let side = prompt("s7", "").replace("\"uuid\"", "\"isSidechain\":true,\"uuid\"");
    assert_eq!(found(&with(&[attachment, meta, side])), []);
}

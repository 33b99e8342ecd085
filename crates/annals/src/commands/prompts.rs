//! `annals prompts`: the prompts that were typed.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, ProjectFilter, Prompt, PromptHistory};
use jiff::Timestamp;

use crate::args::{Global, Prompts};
use crate::failure::{FAILED, Failure};
use crate::output::{self, Table};

pub(crate) fn run(engine: &Engine, args: &Prompts, global: &Global) -> Result<ExitCode, Failure> {
    let PromptHistory { mut prompts, errors, skipped } = engine.prompts();
    for error in &errors {
        output::complain(&error.to_string());
    }
    if skipped > 0 {
        let lines = output::count(skipped, "line");
        output::note(&format!("skipped {lines} of history.jsonl without a readable prompt"));
    }
    let has_prompts = !prompts.is_empty();
    let project = args.project.as_deref().map(ProjectFilter::new);
    prompts.retain(|prompt| matches(prompt, args, project.as_ref()));
    prompts.truncate(args.limit.unwrap_or(usize::MAX));
    let now = Timestamp::now();
    let mut out = output::stdout_for(global.json);
    let mut table = Table::new(&["sent", "session", "??~/project", "~prompt"]);
    for prompt in &prompts {
        if global.json {
            output::json_line(&mut out, &to_wire::prompt(prompt))?;
            continue;
        }
        table.row(&[
            prompt.time.map_or_else(String::new, |time| output::ago(time, now)),
            prompt.session.as_deref().unwrap_or("-").chars().take(8).collect(),
            prompt.project.clone().unwrap_or_default(),
            output::one_line(&prompt.text),
        ]);
    }
    if !table.is_empty() {
        table.print(&mut out)?;
    }
    out.flush()?;
    match (errors.is_empty(), prompts.is_empty()) {
        (false, _) => Ok(ExitCode::from(FAILED)),
        (true, true) if has_prompts => Err(Failure::without_hint("no prompt matches".to_owned())),
        (true, true) => Err(super::nothing_in(engine, "no prompts", "history.jsonl")),
        (true, false) => Ok(ExitCode::SUCCESS),
    }
}

/// Returns whether a prompt matches all filters of the command line.
fn matches(prompt: &Prompt, args: &Prompts, project: Option<&ProjectFilter>) -> bool {
    args.text.as_ref().is_none_or(|text| contains(prompt, text))
        && project.is_none_or(|asked| prompt.project.as_deref().is_some_and(|path| asked.matches(path)))
        && args.since.is_none_or(|since| prompt.time >= Some(since))
        && args.until.is_none_or(|until| prompt.time.is_some_and(|time| time < until))
}

/// Returns whether a prompt, or text that was pasted into it, contains a text, ignoring case.
fn contains(prompt: &Prompt, text: &str) -> bool {
    let text = text.to_lowercase();
    let pasted = prompt.pasted.iter().filter_map(|pasted| pasted.content.as_ref());
    std::iter::once(&prompt.text).chain(pasted).any(|found| found.to_lowercase().contains(&text))
}

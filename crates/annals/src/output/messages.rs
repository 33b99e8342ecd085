//! Messages of the model view for people.

use std::io::Write;

use annals_proto::ModelMessage;
use annals_transcript::content::{Block, ToolResult};
use annals_transcript::json::Value;
use annals_transcript::tool;
use unicode_width::UnicodeWidthStr;

use super::conversation::{NARROWEST, SUBJECT, placeholder, subject_line};
use super::{BOLD, DIM, RED, clean, clean_lines, markdown, masked_json, without_escapes};
use crate::failure::Failure;

/// Prints a message: its role, then each block, indented.
pub(crate) fn print(
    out: &mut impl Write,
    message: &ModelMessage,
    columns: Option<usize>,
) -> Result<(), Failure> {
    writeln!(out, "{BOLD}── {}{BOLD:#}", message.role)?;
    let columns = columns.map(|columns| columns.saturating_sub(2).max(NARROWEST));
    for part in &message.parts {
        if let Some(value) = Value::new(part.get().as_bytes()) {
            block(out, value, columns)?;
        }
    }
    Ok(())
}

fn block(out: &mut impl Write, value: Value<'_>, columns: Option<usize>) -> Result<(), Failure> {
    let made_up = if value.flag("synthetic") { " (made up by Claude Code)" } else { "" };
    match Block::new(value) {
        Block::Text(text) => {
            for line in markdown::lines(&clean_lines(&without_escapes(&text.text())), columns) {
                writeln!(out, "  {line}")?;
            }
            if !made_up.is_empty() {
                writeln!(out, " {DIM}{made_up}{DIM:#}")?;
            }
        }
        Block::Thinking(thinking) => {
            let text = thinking.thinking().unwrap_or_default();
            let text = if text.is_empty() { "thinking (not kept)".into() } else { text };
            for line in clean_lines(&without_escapes(&text)).lines() {
                writeln!(out, "  {DIM}∴ {line}{DIM:#}")?;
            }
        }
        Block::RedactedThinking(_) => writeln!(out, "  {DIM}∴ thinking (encrypted){DIM:#}")?,
        Block::ToolUse(call) => {
            // The name of an argument may tell that it is secret, so the arguments are masked as a whole.
            let bytes = masked_json(Block::ToolUse(call).value().bytes());
            let Some(call) = tool::read(&bytes) else { return Ok(()) };
            let (name, id) = (call.name().unwrap_or_default(), call.id().unwrap_or_default());
            let (name, id) = (clean(&name), clean(&id));
            let taken = format!("▸ {name} {id} ").width();
            let room =
                columns.map_or(SUBJECT, |columns| columns.saturating_sub(taken).clamp(NARROWEST, SUBJECT));
            let subject = subject_line(&tool::subject(&call), room);
            let subject = if subject.is_empty() { subject } else { format!(" {subject}") };
            writeln!(out, "  ▸ {BOLD}{name}{BOLD:#} {DIM}{id}{DIM:#}{subject}")?;
        }
        Block::ToolResult(answer) => result(out, &answer, made_up)?,
        other => {
            let line = placeholder(&other).unwrap_or_default();
            writeln!(out, "  {DIM}{}{DIM:#}", clean(&line))?;
        }
    }
    Ok(())
}

fn result(out: &mut impl Write, result: &ToolResult<'_>, made_up: &str) -> Result<(), Failure> {
    let id = result.tool_use_id().unwrap_or_default();
    let failed = if result.is_error() { " error" } else { "" };
    writeln!(out, "  ◂ {DIM}{}{DIM:#}{RED}{failed}{RED:#}{DIM}{made_up}{DIM:#}", clean(&id))?;
    for line in clean_lines(&without_escapes(&result.content().text())).lines() {
        writeln!(out, "    {line}")?;
    }
    for line in result.content().blocks().filter_map(|block| placeholder(&block)) {
        writeln!(out, "    {DIM}{}{DIM:#}", clean(&line))?;
    }
    Ok(())
}

//! Calls: a line each, or in full with arguments, changes and results.

use std::io::Write;

use annals_transcript::content::{Block, ToolResult, ToolUse};
use annals_transcript::entry::view::SpilledOutput;
use annals_transcript::json::Value;
use annals_transcript::session::BlockSpan;
use annals_transcript::tool::{self, Call, State};
use unicode_width::UnicodeWidthStr;

use super::{Printer, SUBJECT, Tools, one_line, placeholder, subject_line};
use crate::failure::Failure;
use crate::output::{
    BOLD, DIM, GREEN, RED, clean, clean_masked, count, duration, masked, masked_json, without_escapes,
};

/// The most lines of a result that are printed.
const RESULT_LINES: usize = 40;

impl Printer<'_> {
    /// Prints a call; `span` is where its block lies in the transcript.
    pub(super) fn call(&mut self, block: &ToolUse<'_>, span: Option<&BlockSpan>) -> Result<(), Failure> {
        if self.detail.tools == Tools::None {
            return Ok(());
        }
        // The name of an argument may tell that it is secret, so the arguments are masked before they are taken apart.
        let bytes = masked_json(Block::ToolUse(*block).value().bytes());
        let Some(block) = &tool::read(&bytes) else { return Ok(()) };
        let name = block.name().unwrap_or_default().into_owned();
        let id = span.and_then(|span| span.tool);
        let Some(call) = id.and_then(|id| self.conversation.call(id)).copied() else { return Ok(()) };
        let state = self.conversation.state(&call)?;
        let style = if state == State::Ok { DIM } else { RED };
        let took = call
            .duration_ms(self.conversation.session())
            .map_or_else(String::new, |ms| format!(" {}", duration(ms)));
        let name = clean(&name);
        let taken = format!("  ▸ {name}  → {}{took}", state.name()).width();
        let room = self.room_beside(taken).unwrap_or(SUBJECT).min(SUBJECT);
        let shown = subject_line(&tool::subject(block), room);
        let subject = if shown.is_empty() { String::new() } else { format!(" {shown}") };
        self.flush_context()?;
        let state = state.name();
        writeln!(self.out, "  ▸ {BOLD}{name}{BOLD:#}{subject} {style}→ {state}{took}{style:#}")?;
        self.todos(block)?;
        if self.detail.tools == Tools::Full {
            self.call_in_full(block, &call, &shown)?;
        }
        Ok(())
    }

    /// Prints a call of a tool that runs where the model does.
    pub(super) fn server_call(&mut self, call: &ToolUse<'_>) -> Result<(), Failure> {
        if self.detail.tools == Tools::None {
            return Ok(());
        }
        let bytes = masked_json(Block::ServerToolUse(*call).value().bytes());
        let Some(Block::ServerToolUse(call)) = Value::new(&bytes).map(Block::new) else { return Ok(()) };
        let name = call.name().unwrap_or_default();
        let name = clean(&name);
        let room = self.room_beside(format!("  ▸ {name}").width()).unwrap_or(SUBJECT).min(SUBJECT);
        let shown = subject_line(&tool::subject(&call), room);
        self.flush_context()?;
        writeln!(self.out, "{}", format!("  ▸ {BOLD}{name}{BOLD:#} {shown}").trim_end())?;
        if self.detail.tools == Tools::Full { self.arguments(&call, &shown) } else { Ok(()) }
    }

    /// Prints the result of such a call; whether it failed, if calls are printed in short.
    pub(super) fn server_result(&mut self, result: &ToolResult<'_>) -> Result<(), Failure> {
        if tool::server_call_failed(result) && self.detail.tools != Tools::None {
            self.line(RED, "→ error")?;
        }
        if self.detail.tools != Tools::Full {
            return Ok(());
        }
        let content = result.content();
        let text = content.text();
        if !text.is_empty() {
            return self.block(&text);
        }
        let json = content.value().map(|value| String::from_utf8_lossy(value.bytes()).into_owned());
        self.block(&json.unwrap_or_default())
    }

    fn todos(&mut self, block: &ToolUse<'_>) -> Result<(), Failure> {
        let todos = block.input().and_then(|input| input.get("todos"));
        for todo in todos.into_iter().flat_map(Value::items) {
            let mark = match todo.text("status").as_deref() {
                Some("completed") => "[x]",
                Some("in_progress") => "[~]",
                _ => "[ ]",
            };
            let text = todo.text("content").unwrap_or_default();
            let room = self.room_beside(10).unwrap_or(SUBJECT).min(SUBJECT);
            writeln!(self.out, "      {mark} {}", one_line(&text, room))?;
        }
        Ok(())
    }

    /// Prints a call with its diff or its arguments, and its result. `shown` is what its line shows of its subject.
    fn call_in_full(&mut self, block: &ToolUse<'_>, call: &Call, shown: &str) -> Result<(), Failure> {
        let input = block.input();
        let name = block.name();
        if matches!(name.as_deref(), Some("Edit" | "MultiEdit" | "Write")) && tool::subject(block) != shown {
            self.block(&tool::subject(block))?;
        }
        match name.as_deref() {
            Some("Edit") => input.into_iter().try_for_each(|edit| self.edit(edit))?,
            Some("MultiEdit") => {
                let mut edits = input.and_then(|input| input.get("edits")).into_iter().flat_map(Value::items);
                edits.try_for_each(|edit| self.edit(edit))?;
            }
            Some("Write") => {
                self.diff('+', &input.and_then(|input| input.text("content")).unwrap_or_default())?;
            }
            _ => self.arguments(block, shown)?,
        }
        self.result_in_full(call)
    }

    /// Prints the change that an edit asks for.
    fn edit(&mut self, edit: Value<'_>) -> Result<(), Failure> {
        self.diff('-', &edit.text("old_string").unwrap_or_default())?;
        self.diff('+', &edit.text("new_string").unwrap_or_default())
    }

    /// Prints the arguments of a call, except the one that its line shows uncut.
    fn arguments(&mut self, block: &ToolUse<'_>, shown: &str) -> Result<(), Failure> {
        for (key, value) in block.input().into_iter().flat_map(Value::members) {
            if key == *"todos" || value.as_text().is_some_and(|text| text == shown) {
                continue;
            }
            let value = value.as_text().unwrap_or_else(|| String::from_utf8_lossy(value.bytes()));
            self.block(&format!("{}: {value}", key.decode()))?;
        }
        Ok(())
    }

    /// Prints the result of a call. Output that was spilled to a file is read from there.
    fn result_in_full(&mut self, call: &Call) -> Result<(), Failure> {
        let Some((_, result)) = call.result else { return Ok(()) };
        let bytes = self.conversation.transcript().span(result.offset, result.length)?;
        let Some(Block::ToolResult(result)) = Value::new(&bytes).map(Block::new) else { return Ok(()) };
        let text = result.content().text();
        match self.spilled(&text)? {
            Some(whole) => self.block(&whole)?,
            None => self.block(&text)?,
        }
        for block in result.content().blocks() {
            if let Some(line) = placeholder(&block) {
                self.block(&line)?;
            }
        }
        Ok(())
    }

    /// Returns the beginning of output that is in a file beside the transcript.
    fn spilled(&self, text: &str) -> Result<Option<String>, Failure> {
        const MAX_BYTES: u64 = 64 * 1024;
        let snapshot = self.conversation.transcript();
        let Some(spilled) = SpilledOutput::in_text(text) else { return Ok(None) };
        Ok(snapshot.spilled_text(&spilled, MAX_BYTES, None)?.map(|found| found.text))
    }

    fn diff(&mut self, sign: char, text: &str) -> Result<(), Failure> {
        let style = if sign == '-' { RED } else { GREEN };
        for line in masked(text).lines() {
            writeln!(self.out, "      {style}{sign} {}{style:#}", clean_masked(line))?;
        }
        Ok(())
    }

    /// Prints text under a call, cut to a reasonable length.
    pub(super) fn block(&mut self, text: &str) -> Result<(), Failure> {
        let text = without_escapes(text);
        let text = masked(&text);
        let lines: Vec<_> = text.trim_end().lines().collect();
        for line in lines.iter().take(RESULT_LINES) {
            writeln!(self.out, "      {DIM}{}{DIM:#}", clean_masked(line))?;
        }
        if lines.len() > RESULT_LINES {
            writeln!(self.out, "      {DIM}… {} more{DIM:#}", count(lines.len() - RESULT_LINES, "line"))?;
        }
        Ok(())
    }
}

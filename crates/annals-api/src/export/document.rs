//! A session as Markdown for a forge, or as plain text.

use annals_proto::{ViewInline, ViewMark, ViewNode, ViewRow, ViewRowKind};
use annals_render::html::escape;
use annals_render::{markdown, text, visible};

use super::{About, Document, Image, Place, TurnRef, call_facts, mark_words, page_name};

/// Writes Markdown. Tools, reasoning and notices are folded.
#[derive(Default)]
pub(super) struct Markdown {
    /// In how many subagents the rows are.
    depth: usize,
    /// The turn of the last row.
    turn: Option<usize>,
}

impl Markdown {
    /// Writes an anchor if a row begins a turn without a heading, such as the summary of a compaction: tables of contents lead there.
    fn anchor(&mut self, row: &ViewRow, out: &mut String) {
        let begins_turn = self.depth == 0 && row.turn.is_some() && row.turn != self.turn;
        if !begins_turn || row.kind == ViewRowKind::Idle {
            return;
        }
        self.turn = row.turn;
        if let Some(turn) = row.turn.filter(|_| row.kind != ViewRowKind::Prompt) {
            out.extend(["<a name=\"you-", &turn.to_string(), "\"></a>\n\n"]);
        }
    }
}

/// Writes plain text.
#[derive(Default)]
pub(super) struct Plain {
    depth: usize,
}

/// Returns the document that lists several others.
pub(super) fn index(documents: &[(String, About)]) -> String {
    let mut out = String::from("# Sessions\n\n| session | turns | time |\n| --- | --: | --- |\n");
    for (name, about) in documents {
        let title = escaped(&about.title);
        let [turns, time] = ["turns", "time"].map(|name| escaped(about.fact(name)));
        out.extend(["| [", &title, "](", name, ") | ", &turns, " | ", &time, " |\n"]);
    }
    out
}

/// Returns the document that lists the pages of a session, by the turns that begin on each.
pub(super) fn index_of_pages(about: &About, pages: &[Vec<TurnRef>], masked: Option<&str>) -> String {
    let mut out = String::new();
    out.extend(["# ", &escaped(&about.title), "\n\n"]);
    facts(about, &mut out);
    for (at, turns) in pages.iter().enumerate() {
        let name = page_name(at + 1, "md");
        out.extend(["## [Page ", &(at + 1).to_string(), "](", &name, ")\n\n"]);
        contents(turns, &name, &mut out);
        out.push('\n');
    }
    note_masked(masked, &mut out);
    out
}

fn note_masked(masked: Option<&str>, out: &mut String) {
    if let Some(masked) = masked {
        out.extend(["---\n\n*", &escaped(masked), "*\n"]);
    }
}

/// Writes links to the turns of a session; forges make an anchor of each heading.
fn contents(turns: &[TurnRef], page: &str, out: &mut String) {
    for turn in turns {
        let number = turn.number.to_string();
        let prompt = if turn.prompt.trim().is_empty() { "…".to_owned() } else { escaped(&turn.prompt) };
        out.extend([&number, ". [", &prompt, "](", page, "#you-", &number, ")\n"]);
    }
}

fn facts(about: &About, out: &mut String) {
    for (name, value) in &about.facts {
        out.extend(["- ", name, ": ", &escaped(value), "\n"]);
    }
    out.push('\n');
}

/// Writes links to the pages beside a page.
fn neighbours(place: &Place, out: &mut String) {
    let mut links = vec!["[all pages](README.md)".to_owned()];
    if place.number > 1 {
        links.push(format!("[previous]({})", page_name(place.number - 1, "md")));
    }
    if place.has_next {
        links.push(format!("[next]({})", page_name(place.number + 1, "md")));
    }
    out.extend([&links.join(" · "), "\n\n"]);
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    markdown::escape(&visible(text).replace('\n', " "), &mut out);
    out
}

/// Returns typed text as a paragraph that keeps its lines. Text with indented lines, such as pasted code, stays as it is.
fn as_paragraph(node: &ViewNode) -> ViewNode {
    let ViewNode::Text { text } = node else { return node.clone() };
    if text.lines().any(|line| line.starts_with([' ', '\t'])) {
        return node.clone();
    }
    let mut c = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            c.push(ViewInline::Mark(ViewMark::Br));
        }
        c.push(ViewInline::Text(line.to_owned()));
    }
    ViewNode::P { c }
}

/// Writes a part that forges fold; its first line is HTML.
fn folded(name: &str, what: &str, facts: &str, content: impl FnOnce(&mut String), out: &mut String) {
    let mut inside = String::new();
    content(&mut inside);
    out.push_str("<details><summary><b>");
    out.push_str(&on_one_line(name));
    out.push_str("</b> ");
    out.push_str(&on_one_line(what));
    if !facts.is_empty() {
        out.push_str(" <i>");
        out.push_str(&on_one_line(facts));
        out.push_str("</i>");
    }
    out.extend(["</summary>\n\n", inside.trim_end(), "\n\n</details>\n\n"]);
}

/// Returns text for a line of HTML, which an empty line would end.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let mut out = String::new();
    escape(&visible(&line), &mut out);
    out
}

impl Document for Markdown {
    fn begin(&self, about: &About, place: Option<&Place>, out: &mut String) {
        out.extend(["# ", &escaped(&about.title)]);
        if let Some(place) = place {
            out.extend([", page ", &place.number.to_string(), "\n\n"]);
            return neighbours(place, out);
        }
        out.push_str("\n\n");
        facts(about, out);
        if about.turns.len() > 1 {
            out.push_str("<details><summary>Turns</summary>\n\n");
            contents(&about.turns, "", out);
            out.push_str("\n</details>\n\n");
        }
    }

    fn row(&mut self, row: &ViewRow, _: &dyn Fn(usize) -> Option<Image>, out: &mut String) {
        let nodes = row.nodes.as_deref().unwrap_or_default();
        let content = |out: &mut String| markdown::nodes(nodes, "", out);
        self.anchor(row, out);
        let cause = row.cause.as_deref().unwrap_or("notice").replace('_', " ");
        match row.kind {
            ViewRowKind::Prompt => {
                let turn = row.turn.map_or_else(String::new, |turn| format!(" {turn}"));
                if self.depth == 0 {
                    out.extend(["## You", &turn, "\n\n"]);
                } else {
                    out.push_str("**Task**\n\n");
                }
                markdown::nodes(&nodes.iter().map(as_paragraph).collect::<Vec<_>>(), "> ", out);
                out.push('\n');
            }
            ViewRowKind::Reply => {
                content(out);
                out.push('\n');
            }
            ViewRowKind::Call => {
                let Some(tool) = &row.tool else { return };
                let inside = |out: &mut String| {
                    markdown::nodes(row.input.as_deref().unwrap_or_default(), "", out);
                    out.push('\n');
                    markdown::nodes(row.output.as_deref().unwrap_or_default(), "", out);
                };
                folded(&tool.name, &tool.title, &call_facts(row).join(" · "), inside, out);
            }
            ViewRowKind::Thinking => folded("Thinking", "", "", content, out),
            ViewRowKind::Notice => folded(&cause, &row.summary, "", content, out),
            ViewRowKind::Context => folded("context", &row.summary, "", content, out),
            ViewRowKind::Damage => folded("damaged line", "", "", content, out),
            _ => out.extend(["---\n\n*", &escaped(&mark_words(row)), "*\n\n"]),
        }
    }

    fn begin_agent(&mut self, title: &str, out: &mut String) {
        self.depth += 1;
        out.push_str("<details><summary><b>Agent</b> ");
        out.push_str(&on_one_line(title));
        out.push_str("</summary>\n\n");
    }

    fn end_agent(&mut self, out: &mut String) {
        self.depth -= 1;
        out.push_str("</details>\n\n");
    }

    fn end(&self, place: Option<&Place>, masked: Option<&str>, out: &mut String) {
        if let Some(place) = place {
            out.push_str("---\n\n");
            neighbours(place, out);
        }
        note_masked(masked, out);
    }
}

impl Document for Plain {
    fn begin(&self, about: &About, _: Option<&Place>, out: &mut String) {
        out.extend([&*visible(&about.title), "\n\n"]);
        for (name, value) in &about.facts {
            out.extend([name, ": ", &*visible(value), "\n"]);
        }
        out.push('\n');
    }

    fn row(&mut self, row: &ViewRow, _: &dyn Fn(usize) -> Option<Image>, out: &mut String) {
        let nodes = row.nodes.as_deref().unwrap_or_default();
        match row.kind {
            ViewRowKind::Prompt => {
                out.push_str(if self.depth == 0 { "You\n" } else { "Task\n" });
                text::nodes(nodes, "> ", out);
            }
            ViewRowKind::Reply => text::nodes(nodes, "", out),
            ViewRowKind::Call => {
                let Some(tool) = &row.tool else { return };
                let facts = call_facts(row).join(", ");
                let facts = if facts.is_empty() { facts } else { format!(" ({facts})") };
                out.extend(["* ", &tool.name, " ", &tool.title, &facts, "\n"]);
                text::nodes(row.input.as_deref().unwrap_or_default(), "  ", out);
                text::nodes(row.output.as_deref().unwrap_or_default(), "  | ", out);
            }
            ViewRowKind::Thinking => {
                out.push_str("(thinking)\n");
                text::nodes(nodes, "  ", out);
            }
            ViewRowKind::Notice | ViewRowKind::Context | ViewRowKind::Damage => {
                out.extend(["(", row.cause.as_deref().unwrap_or("notice"), ")\n"]);
                text::nodes(nodes, "  ", out);
            }
            _ => out.extend(["---- ", &mark_words(row), "\n"]),
        }
        out.push('\n');
    }

    fn begin_agent(&mut self, title: &str, out: &mut String) {
        self.depth += 1;
        out.extend(["==== agent ", &*visible(title), "\n\n"]);
    }

    fn end_agent(&mut self, out: &mut String) {
        self.depth -= 1;
        out.push_str("==== end of the agent\n\n");
    }

    fn end(&self, _: Option<&Place>, masked: Option<&str>, out: &mut String) {
        if let Some(masked) = masked {
            out.extend(["---- ", masked, "\n"]);
        }
    }
}

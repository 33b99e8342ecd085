//! A session as Markdown for a forge, or as plain text.

use annals_proto::{ViewInline, ViewMark, ViewNode, ViewRow, ViewRowKind};
use annals_render::html::escape;
use annals_render::{markdown, text, visible};

use super::{About, Document, call_facts, mark_words};

/// Writes Markdown. Tools, reasoning and notices are folded.
pub(super) struct Markdown;

/// Writes plain text.
pub(super) struct Plain;

/// Returns the document that lists several others.
pub(super) fn index(documents: &[(String, About)]) -> String {
    let mut out = String::from("# Sessions\n\n");
    for (name, about) in documents {
        out.extend(["- [", &escaped(&about.title), "](", name, ")\n"]);
    }
    out
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
    let mut out = String::new();
    escape(&visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")), &mut out);
    out
}

impl Document for Markdown {
    fn begin(&self, about: &About, out: &mut String) {
        out.extend(["# ", &escaped(&about.title), "\n\n"]);
        for (name, value) in &about.facts {
            out.extend(["- ", name, ": ", &escaped(value), "\n"]);
        }
        out.push('\n');
    }

    fn row(&mut self, row: &ViewRow, _: &dyn Fn(usize) -> Option<(&'static str, String)>, out: &mut String) {
        let nodes = row.nodes.as_deref().unwrap_or_default();
        let content = |out: &mut String| markdown::nodes(nodes, "", out);
        let cause = row.cause.as_deref().unwrap_or("notice").replace('_', " ");
        match row.kind {
            ViewRowKind::Prompt => {
                let turn = row.turn.map_or_else(String::new, |turn| format!(" {turn}"));
                out.extend(["## You", &turn, "\n\n"]);
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

    fn begin_agent(&self, title: &str, out: &mut String) {
        out.push_str("<details><summary><b>Agent</b> ");
        out.push_str(&on_one_line(title));
        out.push_str("</summary>\n\n");
    }

    fn end_agent(&self, out: &mut String) {
        out.push_str("</details>\n\n");
    }

    fn end(&self, _: &mut String) {}
}

impl Document for Plain {
    fn begin(&self, about: &About, out: &mut String) {
        out.extend([&*visible(&about.title), "\n\n"]);
        for (name, value) in &about.facts {
            out.extend([name, ": ", &*visible(value), "\n"]);
        }
        out.push('\n');
    }

    fn row(&mut self, row: &ViewRow, _: &dyn Fn(usize) -> Option<(&'static str, String)>, out: &mut String) {
        let nodes = row.nodes.as_deref().unwrap_or_default();
        match row.kind {
            ViewRowKind::Prompt => {
                out.push_str("You\n");
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

    fn begin_agent(&self, title: &str, out: &mut String) {
        out.extend(["==== agent ", &*visible(title), "\n\n"]);
    }

    fn end_agent(&self, out: &mut String) {
        out.push_str("==== end of the agent\n\n");
    }

    fn end(&self, _: &mut String) {}
}

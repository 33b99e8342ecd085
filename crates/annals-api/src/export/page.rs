//! A session as one page of HTML: no script, nothing to load, readable in light and dark.

use annals_proto::{ToolState, ViewRow, ViewRowKind};
use annals_render::html::{escape, nodes_with};
use annals_render::visible;

use super::{About, Document, Image, Place, TurnRef, call_facts, mark_words, page_name};

const STYLE: &str = include_str!("page.css");
/// Nothing is loaded and nothing runs, whatever the page contains.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Switches for what is shown and for the colours. The style sheet asks whether they are on, so that they need no script.
const VIEW_SWITCHES: &str = "<form class=\"bar\"><label><input type=\"checkbox\" id=\"show-tools\" checked>Tools</label>\
<label><input type=\"checkbox\" id=\"show-thinking\" checked>Thinking</label>\
<label><input type=\"checkbox\" id=\"show-notices\" checked>Notices</label>\
<label><input type=\"radio\" name=\"look\" checked>Auto</label><label><input type=\"radio\" name=\"look\" id=\"look-light\">Light</label>\
<label><input type=\"radio\" name=\"look\" id=\"look-dark\">Dark</label></form>\n";

/// Writes a page.
#[derive(Default)]
pub(super) struct Page {
    /// The entry of the last row, whose first row has its uuid as an anchor.
    last: Option<String>,
    /// In how many subagents the rows are.
    depth: usize,
}

/// Returns the page that lists several others.
pub(super) fn index(pages: &[(String, About)]) -> String {
    let mut out = String::new();
    head("Sessions", &mut out);
    out.push_str("<main><h1>Sessions</h1>\n<ul class=\"index\">\n");
    for (name, about) in pages {
        out.push_str("<li><a href=\"");
        escape(name, &mut out);
        out.push_str("\">");
        text(&about.title, &mut out);
        out.push_str("</a>");
        for (key, value) in about.facts.iter().filter(|(key, _)| matches!(*key, "project" | "time" | "turns"))
        {
            out.push_str(" <span>");
            text(if *key == "turns" { "turns " } else { "" }, &mut out);
            text(value, &mut out);
            out.push_str("</span>");
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
    finish(None, &mut out);
    out
}

/// Returns the page that lists the pages of a session, by the turns that begin on each.
pub(super) fn index_of_pages(about: &About, pages: &[Vec<TurnRef>], masked: Option<&str>) -> String {
    let mut out = String::new();
    head(&about.title, &mut out);
    out.push_str("<main><header><h1>");
    text(&about.title, &mut out);
    out.push_str("</h1>\n");
    facts(about, &mut out);
    out.push_str("</header>\n");
    for (at, turns) in pages.iter().enumerate() {
        let name = page_name(at + 1, "html");
        out.push_str("<section class=\"pages\"><h2><a href=\"");
        escape(&name, &mut out);
        out.extend(["\">Page ", &(at + 1).to_string(), "</a></h2>\n"]);
        contents(turns, &name, &mut out);
        out.push_str("</section>\n");
    }
    finish(masked, &mut out);
    out
}

/// Writes links to turns, on this page or on another one.
fn contents(turns: &[TurnRef], page: &str, out: &mut String) {
    out.push_str("<ol>\n");
    for TurnRef { number, uuid, prompt } in turns {
        out.push_str(&["<li value=\"", &number.to_string(), "\"><a href=\"", page, "#"].concat());
        text(uuid.as_deref().unwrap_or_default(), out);
        out.push_str("\">");
        text(if prompt.trim().is_empty() { "…" } else { prompt }, out);
        out.push_str("</a></li>\n");
    }
    out.push_str("</ol>");
}

fn facts(about: &About, out: &mut String) {
    out.push_str("<dl>");
    for (name, value) in &about.facts {
        out.extend(["<dt>", name, "</dt><dd>"]);
        text(value, out);
        out.push_str("</dd>\n");
    }
    out.push_str("</dl>");
}

/// Writes links to the pages beside a page.
fn neighbours(place: &Place, out: &mut String) {
    out.push_str("<p class=\"neighbours\">");
    if place.number > 1 {
        link(&page_name(place.number - 1, "html"), "← Previous", out);
    }
    link("index.html", &format!("Page {} · all pages", place.number), out);
    if place.has_next {
        link(&page_name(place.number + 1, "html"), "Next →", out);
    }
    out.push_str("</p>\n");
}

/// Writes a link to a page beside this one.
fn link(name: &str, words: &str, out: &mut String) {
    out.extend(["<a href=\"", name, "\">", words, "</a>\n"]);
}

fn finish(masked: Option<&str>, out: &mut String) {
    if let Some(masked) = masked {
        out.push_str("<p class=\"note\">");
        text(masked, out);
        out.push_str("</p>\n");
    }
    out.push_str("</main></body></html>\n");
}

/// Writes text with everything visible that hides or reorders.
fn text(found: &str, out: &mut String) {
    escape(&visible(found), out);
}

fn head(title: &str, out: &mut String) {
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"");
    out.push_str(POLICY);
    out.push_str("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    text(title, out);
    out.extend(["</title>\n<style>", STYLE, "</style></head>\n<body>\n"]);
}

impl Page {
    /// Opens an element, with the uuid of the entry as an anchor if the row is its first one.
    fn open(&mut self, element: &str, class: &str, row: &ViewRow, out: &mut String) {
        out.extend(["<", element, " class=\"", class, if row.live { "" } else { " left" }, "\""]);
        if row.uuid.is_some() && row.uuid != self.last {
            out.push_str(" id=\"");
            text(row.uuid.as_deref().unwrap_or_default(), out);
            out.push('"');
            self.last.clone_from(&row.uuid);
        }
        out.push('>');
    }

    fn folded(
        &mut self,
        class: &str,
        name: &str,
        row: &ViewRow,
        image: &dyn Fn(usize) -> Option<Image>,
        out: &mut String,
    ) {
        self.open("details", class, row, out);
        out.push_str("<summary><b>");
        text(name, out);
        out.push_str("</b> <span class=\"what\">");
        text(if row.summary == name { "" } else { &row.summary }, out);
        out.push_str("</span></summary><div class=\"body\">\n");
        nodes_with(row.nodes.as_deref().unwrap_or_default(), out, image);
        out.push_str("</div></details>\n");
    }

    fn call(&mut self, row: &ViewRow, image: &dyn Fn(usize) -> Option<Image>, out: &mut String) {
        let Some(tool) = &row.tool else { return };
        let class = match tool.state {
            ToolState::Ok => "call",
            ToolState::Pending => "call pending",
            _ => "call failed",
        };
        self.open("details", class, row, out);
        out.push_str("<summary><b>");
        text(&tool.name, out);
        out.push_str("</b> <span class=\"what\">");
        text(&tool.title, out);
        out.push_str("</span> <span class=\"facts\">");
        text(&call_facts(row).join(" · "), out);
        out.push_str("</span></summary><div class=\"body\">\n");
        nodes_with(row.input.as_deref().unwrap_or_default(), out, &|_| None);
        let output = row.output.as_deref().unwrap_or_default();
        if !output.is_empty() {
            out.push_str("<div class=\"out\">");
            nodes_with(output, out, image);
            out.push_str("</div>");
        }
        out.push_str("</div></details>\n");
    }
}

impl Document for Page {
    fn begin(&self, about: &About, place: Option<&Place>, out: &mut String) {
        head(&about.title, out);
        out.push_str(VIEW_SWITCHES);
        if about.turns.len() > 1 || place.is_some() && !about.turns.is_empty() {
            out.push_str("<nav aria-label=\"turns\">");
            contents(&about.turns, "", out);
            out.push_str("</nav>\n");
        }
        out.push_str("<main><header><h1>");
        text(&about.title, out);
        out.push_str("</h1>\n");
        match place {
            Some(place) => neighbours(place, out),
            None => facts(about, out),
        }
        out.push_str("</header>\n");
    }

    fn row(&mut self, row: &ViewRow, image: &dyn Fn(usize) -> Option<Image>, out: &mut String) {
        let cause = row.cause.as_deref().unwrap_or("notice").replace('_', " ");
        match row.kind {
            ViewRowKind::Prompt => {
                self.open("section", if self.depth == 0 { "user" } else { "user task" }, row, out);
                out.push_str("<a class=\"who\" href=\"#");
                text(row.uuid.as_deref().unwrap_or_default(), out);
                out.push_str("\">");
                match row.turn.filter(|_| self.depth == 0) {
                    Some(turn) => text(&format!("You · {turn}"), out),
                    None => text(if self.depth == 0 { "You" } else { "Task" }, out),
                }
                if let Some(time) = row.timestamp.as_deref().and_then(|time| time.get(..16)) {
                    text(&format!(" · {}", time.replace('T', " ")), out);
                }
                out.push_str("</a>\n");
                nodes_with(row.nodes.as_deref().unwrap_or_default(), out, image);
                out.push_str("</section>\n");
            }
            ViewRowKind::Reply => {
                self.open("section", "reply", row, out);
                nodes_with(row.nodes.as_deref().unwrap_or_default(), out, image);
                out.push_str("</section>\n");
            }
            ViewRowKind::Call => self.call(row, image, out),
            ViewRowKind::Thinking => self.folded("thinking", "Thinking", row, image, out),
            ViewRowKind::Notice => self.folded("notice", &cause, row, image, out),
            ViewRowKind::Context => self.folded("context", "context", row, image, out),
            ViewRowKind::Damage => self.folded("damage", "damaged line", row, image, out),
            _ => {
                let class = if row.kind == ViewRowKind::Compaction { "mark compaction" } else { "mark" };
                self.open("div", class, row, out);
                out.push_str("<span>");
                text(&mark_words(row), out);
                out.push_str("</span></div>\n");
            }
        }
    }

    fn begin_agent(&mut self, title: &str, out: &mut String) {
        self.depth += 1;
        out.push_str("<details class=\"agent\"><summary><b>Agent</b> <span class=\"what\">");
        text(title, out);
        out.push_str("</span></summary><div class=\"body\">\n");
    }

    fn end_agent(&mut self, out: &mut String) {
        self.depth -= 1;
        out.push_str("</div></details>\n");
    }

    fn end(&self, place: Option<&Place>, masked: Option<&str>, out: &mut String) {
        if let Some(place) = place {
            neighbours(place, out);
        }
        finish(masked, out);
    }
}

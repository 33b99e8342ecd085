//! Text of strangers stays text: every document is read by a real parser of HTML, which must find nothing but our own elements.

use std::cell::RefCell;

use annals_proto::ViewNode;
use annals_render::{Language, ansi, code, diff, html, json, line_count, prose, text};
use comrak::nodes::NodeValue;
use comrak::{Arena, Options, parse_document};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

const ELEMENTS: &[&str] = &[
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "ol",
    "ul",
    "li",
    "blockquote",
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "pre",
    "span",
    "i",
    "dl",
    "dt",
    "dd",
    "strong",
    "em",
    "del",
    "code",
    "a",
    "br",
];

/// What a parser found that must not be there.
#[derive(Default)]
struct Inspector(RefCell<Vec<String>>);

impl TokenSink for Inspector {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        let mut found = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => {
                if !ELEMENTS.contains(&&*tag.name) {
                    found.push(format!("<{}>", tag.name));
                }
                for attribute in tag.attrs.iter().filter(|_| tag.kind == TagKind::StartTag) {
                    let value = attribute.value.to_ascii_lowercase();
                    let is_allowed = match &*attribute.name.local {
                        "class" | "rel" => true,
                        "start" => value.bytes().all(|byte| byte.is_ascii_digit()),
                        "href" => {
                            ["http://", "https://", "mailto:"].iter().any(|scheme| value.starts_with(scheme))
                        }
                        _ => false,
                    };
                    if !is_allowed {
                        found.push(format!("{}={value}", attribute.name.local));
                    }
                }
            }
            Token::CommentToken(_) | Token::DoctypeToken(_) => found.push("a comment or doctype".to_owned()),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

/// Fails if HTML contains anything but our own elements.
fn assert_inert(nodes: &[ViewNode], input: &str) {
    let mut page = String::new();
    html::nodes(nodes, &mut page);
    let tokenizer = Tokenizer::new(Inspector::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(&*page));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    let found = tokenizer.sink.0.take();
    assert!(found.is_empty(), "{found:?} in the page of {:?}", &input.chars().take(300).collect::<String>());
    assert!(
        !page.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')),
        "control characters in the page of {input:?}"
    );
}

/// The ways to render a text.
const RENDERERS: [fn(&str) -> Vec<ViewNode>; 6] = [
    prose,
    |input| vec![ansi(input)],
    |input| vec![json(input)],
    |input| vec![code(input, Language::named("html"), Some(1))],
    |input| vec![code(input, Language::named("js"), None)],
    |input| vec![diff(Some(input), input, &input.to_uppercase(), 1)],
];

/// Renders a text; what comes out is inert, also if it is written as Markdown and read again.
fn render(renderer: fn(&str) -> Vec<ViewNode>, input: &str) {
    let nodes = renderer(input);
    assert_inert(&nodes, input);
    let mut markdown = String::new();
    annals_render::markdown::nodes(&nodes, "", &mut markdown);
    assert_inert(&prose(&markdown), input);
    assert_eq!(html_in(&markdown), Vec::<String>::new(), "in the Markdown of {input:?}:\n{markdown}");
    let mut quoted = String::new();
    annals_render::markdown::nodes(&nodes, "> ", &mut quoted);
    assert_eq!(html_in(&quoted), Vec::<String>::new(), "in quoted Markdown of {input:?}:\n{quoted}");
    text::nodes(&nodes, "", &mut String::new());
}

/// Returns the raw HTML that a parser of Markdown finds, with the extensions that forges have and with others.
fn html_in(markdown: &str) -> Vec<String> {
    let found = |options: &Options<'_>| {
        let arena = Arena::new();
        let root = parse_document(&arena, markdown, options);
        let html = root.descendants().filter_map(|node| match &node.data.borrow().value {
            NodeValue::HtmlBlock(block) => Some(block.literal.clone()),
            NodeValue::HtmlInline(html) | NodeValue::Raw(html) => Some(html.clone()),
            _ => None,
        });
        html.collect::<Vec<_>>()
    };
    let mut options = Options::default();
    let plain = found(&options);
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.autolink = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    let forge = found(&options);
    options.extension.superscript = true;
    options.extension.description_lists = true;
    options.extension.math_dollars = true;
    options.extension.math_code = true;
    options.parse.relaxed_autolinks = true;
    [plain, forge, found(&options)].concat()
}

fn render_all(input: &str) {
    for renderer in RENDERERS {
        render(renderer, input);
    }
}

const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>1</script></svg>",
    "<style>*{display:none}</style>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "[x](javascript:alert(1)) [x](  JaVaScRiPt:alert(1)) [x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](https://a.example/\" onmouseover=\"alert(1))",
    "[x](https://a.example/%22onclick=1 \"title\" onclick=x)",
    "<javascript:alert(1)> <https://a.example/><script>",
    "![x](javascript:alert(1)) ![<script>](https://a.example/\"><script>)",
    "```\"><script>\n</pre><script>alert(1)</script>\n```",
    "```js onclick=x\n</code></pre><img src=x onerror=1>\n```",
    "| <b> | \"><script> |\n|---|---|\n| </table><script> | x |",
    "# <h1 onclick=x>\n\n> </blockquote><iframe src=//a.example>",
    "<meta http-equiv=refresh content=\"0;url=//a.example\">",
    "&lt;script&gt; &#60;script&#62; &#x3c;img src=x&#x3e;",
    "<!-- --><!--> <![CDATA[ <script> ]]> <?php echo 1 ?> <!DOCTYPE x>",
    "a\u{202e}txt.exe\u{202c} \u{2066}x\u{2069} \u{200b}\u{feff}\u{e0041}",
    "\u{1b}[31m<script>\u{1b}[0m \u{1b}]8;;javascript:alert(1)\u{7}x\u{1b}]8;;\u{7}",
    "\u{0}\u{1}\u{8}\u{7f}\u{9b}31m",
    "{\"a\":\"</pre><script>alert(1)</script>\"}",
    "- [x] <input onfocus=x autofocus>\n1. <form action=javascript:x>",
    "https://a.example/<script>alert(1)</script> www.a.example/\"onclick=\"x mailto:a@b.example?x=<script>",
    "<details open ontoggle=alert(1)> </details></div></body></html>",
    "`<script>` ``</code><script>``",
    "\\<script> \\`<script>\\` *<script>* **<img>** ~~<svg>~~",
    "<div style=\"background:url(https://a.example/x)\">x</div> <p style='position:fixed'>",
    "[x](https://a.example \"style=position:fixed\") {style=\"x\"} ```{style=x}\nx\n```",
    "<svg><style>*{background:url(//a.example)}</style><use href=data:image/svg+xml,x#y></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror=1&gt;\">",
    "![x](data:image/svg+xml;base64,PHN2Zz4=) [x](data:image/png;base64,AA) <data:text/html,x>",
    "[x]: data:text/html,<script>\n\n[x] [y][x] ![x]",
    "</title></style></script></textarea></noscript></template><script>1</script>",
    "<base href=//a.example><link rel=stylesheet href=//a.example><object data=x><embed src=x>",
    "\u{2067}<b>\u{2069} \u{200f}\u{061c} \u{202e}<script>\u{202c} [\u{202e}x](https://a.example/\u{202e})",
];

#[test]
fn a_hostile_corpus_renders_inert() {
    for input in HOSTILE {
        render_all(input);
        render_all(&format!("text\n\n{input}\n\n> {input}\n- {input}"));
    }
    render_all(&HOSTILE.join("\n"));
    render_all(&HOSTILE.concat());
}

/// Texts that grow without bound in a careless parser, of about the given size.
fn bombs(size: usize) -> Vec<String> {
    let times = |piece: &str| piece.repeat(size / piece.len());
    vec![
        times("x"),
        times("\u{1b}[31mx"),
        times("\u{1b}[38;5;200;1;4m"),
        times("\u{1b}]8;;"),
        times("["),
        times("]("),
        times("[a]("),
        times("![a]("),
        times("{\"a\":"),
        times("[[1,"),
        times("> "),
        times("* "),
        times("- - 1. > "),
        times("1. "),
        times("**a "),
        times("_a_"),
        times("~~a"),
        times("<a "),
        times("<!--"),
        times("&#x41;"),
        times("\n"),
        times("`"),
        times("`a``"),
        times("```\n"),
        times("a\rb"),
        times("\u{202e}a\u{202c}"),
        times("# a\n"),
        times("[a]: b\n"),
        times("[^a]: b\n"),
        times("www."),
        times("a@b."),
        times("https://a.example/("),
        times("\\"),
        times("\"\"\""),
        times("/*"),
        times("\u{e0041}"),
        "| a ".repeat(size / 200) + "\n" + &"|-".repeat(size / 200) + "\n" + &"|\n".repeat(size / 300),
        format!(
            "{}{}",
            "  - a\n".repeat(8),
            (0..size / 400).map(|depth| " ".repeat(depth) + "- a\n").collect::<String>()
        ),
        "茶".repeat(size / 3),
        "👩‍💻".repeat(size / 11),
    ]
}

#[test]
fn bombs_take_bounded_space() {
    for bomb in bombs(200_000).into_iter().chain(["x".repeat(1 << 20), "\u{1b}[31mx".repeat(200_000)]) {
        for nodes in [
            prose(&bomb),
            vec![ansi(&bomb)],
            vec![json(&bomb)],
            vec![code(&bomb, Language::named("rust"), None)],
            vec![code(&bomb, Language::named("python"), None)],
        ] {
            let name: String = bomb.chars().take(8).collect();
            assert_inert(&nodes, &name);
            let mut page = String::new();
            html::nodes(&nodes, &mut page);
            assert!(page.len() < 40 * bomb.len() + 10_000, "{} bytes of {name:?}", page.len());
            assert!(line_count(&nodes) <= 2 * bomb.len(), "{name:?}");
        }
    }
}

/// Each ends the code early, or keeps it from beginning, in a careless writer of Markdown.
#[test]
fn html_in_code_stays_code() {
    for input in [
        "~~~~a~~ b~~\n\n`<b>`",
        "a\n\n~~**~~x~~**~~ `<b>`",
        "1234567890. a\n\n            ```\n            <b>\n            ```",
        "999999999. a\n999999999. `<b>`\n\n           ```\n           <b>\n           ```",
        "http://a.example/\\``<b>`",
        "http://a.example/`<b>`",
        "www.a.example/\\``<b>` www.a.example`<b>`",
        "http&#58;//a.example/`<b>` http:&#47;/a.example/`<b>`",
        "www[.a.example](data:x)`<b>` http:[//a.example](data:x)`<b>` [http](data:x):[//a](data:x)`<b>`",
        "`a`[](data:x)`<b>` `a`[](data:x)``<b>` c``",
        "[a&#10;&#10;b](http://a.example/)`<b>`",
        "**a&#10;&#10;b** ~~a&#10;&#10;~~~c~~`<b>`",
        "[[a](http://a.example/)](http://b.example/)`<b>`",
        "[![a](http://a.example/)`<b>`](http://b.example/)`<b>`",
        "&#32;&#32;&#32;&#32;`<b>`\n`<i>`",
        "- &#10;\n\n  ```\n  <b>\n  ```",
        "1. 1. 1. 1. &nbsp;\n\n            ```\n            <b>\n            ```",
        "- ---\n\n  ```\n  <b>\n  ```",
        "| `a\\|<b>` | `\\\\|<b>` |\n|---|---|\n| a\\\\`\\|<b>` | ``\\`<b>`` |",
        "a\\\n`<b>` **a\\\n**`<b>`",
        "# a\\\\\n\n# `<b>` a&#10;`<b>`",
        "``` ` `` <b> ```",
        "```a`b\n<b>\n```",
        "a&#92;`<b>` a\\\\`<b>`",
        "&#96;`<b>` &#96;&#96;&#96;`<b>`",
        "x &#36;`<b>`&#36; [^a]`<b>` ![a](data:x)`<b>`",
    ] {
        render(prose, input);
        render(prose, &format!("> - {}", input.replace('\n', "\n>   ")));
    }
    assert_eq!(html_in("`a` <b>").len(), 3, "the check finds HTML");
}

#[test]
fn ten_thousand_random_texts_leave_no_active_content() {
    let mut random = fastrand::Rng::with_seed(7);
    let pieces = [
        "<",
        ">",
        "\"",
        "'",
        "&",
        "script",
        "img src=x onerror=",
        "</",
        "/>",
        "javascript:",
        "data:",
        "https://a.example",
        "(",
        ")",
        "[",
        "]",
        "!",
        "`",
        "```",
        "~~~",
        "*",
        "**",
        "_",
        "~~",
        "|",
        "\n",
        "\n\n",
        "    ",
        "- ",
        "1. ",
        "> ",
        "# ",
        "---",
        "\\",
        "\u{1b}[31m",
        "\u{1b}]8;;",
        "\u{7}",
        "\u{202e}",
        "\u{200d}",
        "\0",
        "\r",
        "\t",
        "茶",
        "é",
        "👩‍💻",
        "a",
        "b",
        "=",
        ":",
        ";",
        "{",
        "}",
        ",",
        "&#60;",
        "&lt;",
        "<!--",
        "-->",
        "<style>",
        "<svg/onload=",
        "on",
        "[x]: javascript:1",
        "@a.example",
        "`<b>`",
        "``<i>``",
        "\\`",
        "http://a.example/",
        "www.",
        "1234567890. ",
        "99. ",
        "~~~~",
        "](http://a.example/)",
        "](data:x)",
        "&#10;",
        "&#32;",
        "&nbsp;",
        "\\\n",
        "  \n",
        "|---|\n",
    ];
    for number in 0..10_000 {
        let input: String = (0..random.usize(1..40)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        render(RENDERERS[if number % 2 == 0 { 0 } else { number / 2 % 6 }], &input);
    }
}

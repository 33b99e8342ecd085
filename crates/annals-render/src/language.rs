//! Programming languages as tables: enough to distinguish comments, strings, numbers, keywords and names in one pass.

/// What a scanner has to know about a language.
#[derive(Debug, PartialEq, Eq)]
pub struct Language {
    /// Its name.
    pub name: &'static str,
    /// Other names, and the endings of its files.
    aliases: &'static [&'static str],
    /// How its text is read.
    pub(crate) form: Form,
    /// What begins a comment up to the end of the line.
    pub(crate) line_comments: &'static [&'static str],
    /// What begins and ends a comment of several lines.
    pub(crate) block_comment: Option<(&'static str, &'static str)>,
    /// The characters that begin and end a string.
    pub(crate) quotes: &'static [u8],
    /// Strings that may span lines, by their delimiter.
    pub(crate) long_quotes: &'static [&'static str],
    keywords: &'static [&'static str],
}

/// How the text of a language is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Words, strings, comments.
    Words,
    /// The same; words in front of a colon are keys.
    Keys,
    /// The same; `$name` is a variable.
    Shell,
    /// Tags with attributes.
    Tags,
    /// A diff: each line by its first character.
    Diff,
}

impl Language {
    /// Returns the language of a name, as fences of Markdown have it, or of a file's ending.
    pub fn named(name: &str) -> Option<&'static Self> {
        LANGUAGES.iter().find(|language| {
            let mut names = std::iter::once(&language.name).chain(language.aliases);
            names.any(|one| one.eq_ignore_ascii_case(name))
        })
    }

    /// Returns the language of a file.
    pub fn of_path(path: &str) -> Option<&'static Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        match name {
            "Dockerfile" | "Makefile" | "makefile" | "justfile" | ".bashrc" | ".zshrc" => Self::named("sh"),
            "Cargo.lock" => Self::named("toml"),
            _ => name.rsplit_once('.').and_then(|(_, ending)| Self::named(ending)),
        }
    }

    pub(crate) fn keywords(&self) -> &'static [&'static str] {
        self.keywords
    }

    pub(crate) fn is_keyword(&self, word: &str) -> bool {
        self.keywords.contains(&word)
            || self.name == "sql" && self.keywords.contains(&&*word.to_ascii_lowercase())
    }
}

/// Words that are values in most languages.
pub(crate) const LITERALS: [&str; 12] =
    ["true", "false", "null", "nil", "None", "True", "False", "undefined", "self", "this", "NaN", "Self"];

const C_COMMENTS: &[&str] = &["//"];
const C_BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));
const HASH: &[&str] = &["#"];

const WORDS: Language = Language {
    name: "",
    aliases: &[],
    form: Form::Words,
    line_comments: C_COMMENTS,
    block_comment: C_BLOCK,
    quotes: b"\"'",
    long_quotes: &[],
    keywords: &[],
};

static LANGUAGES: [Language; 20] = [
    Language {
        name: "rust",
        aliases: &["rs"],
        // A quote may begin a lifetime.
        quotes: b"\"",
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
            "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref",
            "return", "static", "struct", "super", "trait", "type", "unsafe", "use", "where", "while",
        ],
        ..WORDS
    },
    Language {
        name: "python",
        aliases: &["py", "pyi", "python3"],
        line_comments: HASH,
        block_comment: None,
        long_quotes: &["\"\"\"", "'''"],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
            "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
            "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "match",
            "case",
        ],
        ..WORDS
    },
    Language {
        name: "typescript",
        aliases: &["ts", "tsx", "js", "jsx", "javascript", "mjs", "cjs", "mts", "vue", "svelte"],
        long_quotes: &["`"],
        keywords: &[
            "abstract",
            "as",
            "async",
            "await",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "debugger",
            "default",
            "delete",
            "do",
            "else",
            "enum",
            "export",
            "extends",
            "finally",
            "for",
            "from",
            "function",
            "if",
            "implements",
            "import",
            "in",
            "instanceof",
            "interface",
            "keyof",
            "let",
            "namespace",
            "new",
            "of",
            "private",
            "protected",
            "public",
            "readonly",
            "return",
            "static",
            "super",
            "switch",
            "throw",
            "try",
            "type",
            "typeof",
            "var",
            "void",
            "while",
            "with",
            "yield",
        ],
        ..WORDS
    },
    Language {
        name: "go",
        aliases: &["golang"],
        long_quotes: &["`"],
        keywords: &[
            "break",
            "case",
            "chan",
            "const",
            "continue",
            "default",
            "defer",
            "else",
            "fallthrough",
            "for",
            "func",
            "go",
            "goto",
            "if",
            "import",
            "interface",
            "map",
            "package",
            "range",
            "return",
            "select",
            "struct",
            "switch",
            "type",
            "var",
        ],
        ..WORDS
    },
    Language {
        name: "c",
        aliases: &["h", "cpp", "cc", "cxx", "hpp", "c++", "objc", "m", "mm", "glsl", "cuda", "cu"],
        keywords: &[
            "auto",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "constexpr",
            "continue",
            "default",
            "delete",
            "do",
            "else",
            "enum",
            "explicit",
            "extern",
            "for",
            "friend",
            "goto",
            "if",
            "inline",
            "namespace",
            "new",
            "noexcept",
            "operator",
            "override",
            "private",
            "protected",
            "public",
            "return",
            "sizeof",
            "static",
            "struct",
            "switch",
            "template",
            "throw",
            "try",
            "typedef",
            "typename",
            "union",
            "using",
            "virtual",
            "void",
            "volatile",
            "while",
            "int",
            "char",
            "bool",
            "float",
            "double",
            "long",
            "short",
            "unsigned",
            "signed",
        ],
        ..WORDS
    },
    Language {
        name: "java",
        aliases: &[
            "kt", "kts", "kotlin", "scala", "cs", "csharp", "c#", "swift", "dart", "groovy", "gradle",
            "proto",
        ],
        long_quotes: &["\"\"\""],
        keywords: &[
            "abstract",
            "as",
            "async",
            "await",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "data",
            "default",
            "do",
            "else",
            "enum",
            "extends",
            "final",
            "finally",
            "for",
            "fun",
            "func",
            "guard",
            "if",
            "implements",
            "import",
            "in",
            "instanceof",
            "interface",
            "internal",
            "is",
            "let",
            "message",
            "namespace",
            "new",
            "object",
            "override",
            "package",
            "private",
            "protected",
            "protocol",
            "public",
            "record",
            "return",
            "sealed",
            "static",
            "struct",
            "super",
            "switch",
            "throw",
            "throws",
            "trait",
            "try",
            "using",
            "val",
            "var",
            "void",
            "when",
            "where",
            "while",
            "yield",
            "int",
            "boolean",
            "double",
            "float",
            "long",
            "string",
        ],
        ..WORDS
    },
    Language {
        name: "ruby",
        aliases: &["rb", "erb", "elixir", "ex", "exs", "crystal"],
        line_comments: HASH,
        block_comment: None,
        keywords: &[
            "alias",
            "and",
            "begin",
            "break",
            "case",
            "class",
            "def",
            "defmodule",
            "do",
            "else",
            "elsif",
            "end",
            "ensure",
            "for",
            "if",
            "in",
            "module",
            "next",
            "not",
            "or",
            "redo",
            "rescue",
            "retry",
            "return",
            "super",
            "then",
            "undef",
            "unless",
            "until",
            "when",
            "while",
            "yield",
            "require",
            "attr_reader",
            "attr_accessor",
        ],
        ..WORDS
    },
    Language {
        name: "php",
        aliases: &[],
        form: Form::Shell,
        line_comments: &["//", "#"],
        keywords: &[
            "abstract",
            "array",
            "as",
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "default",
            "do",
            "echo",
            "else",
            "elseif",
            "extends",
            "final",
            "finally",
            "fn",
            "for",
            "foreach",
            "function",
            "global",
            "if",
            "implements",
            "interface",
            "match",
            "namespace",
            "new",
            "private",
            "protected",
            "public",
            "readonly",
            "require",
            "return",
            "static",
            "switch",
            "throw",
            "trait",
            "try",
            "use",
            "while",
            "yield",
        ],
        ..WORDS
    },
    Language {
        name: "lua",
        aliases: &[],
        line_comments: &["--"],
        block_comment: Some(("--[[", "]]")),
        keywords: &[
            "and", "break", "do", "else", "elseif", "end", "for", "function", "goto", "if", "in", "local",
            "not", "or", "repeat", "return", "then", "until", "while",
        ],
        ..WORDS
    },
    Language {
        name: "haskell",
        aliases: &["hs", "elm", "purescript"],
        line_comments: &["--"],
        block_comment: Some(("{-", "-}")),
        quotes: b"\"",
        keywords: &[
            "case",
            "class",
            "data",
            "deriving",
            "do",
            "else",
            "if",
            "import",
            "in",
            "instance",
            "let",
            "module",
            "newtype",
            "of",
            "then",
            "type",
            "where",
            "as",
            "exposing",
            "qualified",
        ],
        ..WORDS
    },
    Language {
        name: "sh",
        aliases: &[
            "bash",
            "zsh",
            "shell",
            "console",
            "fish",
            "ps1",
            "powershell",
            "dockerfile",
            "makefile",
            "make",
            "mk",
        ],
        form: Form::Shell,
        line_comments: HASH,
        block_comment: None,
        keywords: &[
            "if",
            "then",
            "else",
            "elif",
            "fi",
            "for",
            "while",
            "until",
            "do",
            "done",
            "case",
            "esac",
            "in",
            "function",
            "return",
            "export",
            "local",
            "readonly",
            "set",
            "unset",
            "source",
            "trap",
            "exit",
            "FROM",
            "RUN",
            "COPY",
            "CMD",
            "ENTRYPOINT",
            "ENV",
            "ARG",
            "WORKDIR",
            "EXPOSE",
        ],
        ..WORDS
    },
    Language {
        name: "sql",
        aliases: &["psql", "mysql", "sqlite"],
        line_comments: &["--"],
        keywords: &[
            "add",
            "all",
            "alter",
            "and",
            "as",
            "asc",
            "begin",
            "between",
            "by",
            "case",
            "column",
            "commit",
            "constraint",
            "create",
            "cross",
            "default",
            "delete",
            "desc",
            "distinct",
            "drop",
            "else",
            "end",
            "exists",
            "foreign",
            "from",
            "full",
            "group",
            "having",
            "if",
            "in",
            "index",
            "inner",
            "insert",
            "into",
            "is",
            "join",
            "key",
            "left",
            "like",
            "limit",
            "not",
            "on",
            "or",
            "order",
            "outer",
            "primary",
            "references",
            "right",
            "rollback",
            "select",
            "set",
            "table",
            "then",
            "union",
            "unique",
            "update",
            "values",
            "view",
            "when",
            "where",
            "with",
        ],
        ..WORDS
    },
    Language {
        name: "json",
        aliases: &["jsonc", "json5", "jsonl", "webmanifest"],
        form: Form::Keys,
        ..WORDS
    },
    Language {
        name: "yaml",
        aliases: &["yml"],
        form: Form::Keys,
        line_comments: HASH,
        block_comment: None,
        ..WORDS
    },
    Language {
        name: "toml",
        aliases: &["ini", "cfg", "conf", "properties", "env", "lock", "editorconfig"],
        form: Form::Keys,
        line_comments: &["#", ";"],
        block_comment: None,
        long_quotes: &["\"\"\"", "'''"],
        ..WORDS
    },
    Language {
        name: "css",
        aliases: &["scss", "sass", "less"],
        form: Form::Keys,
        line_comments: &[],
        keywords: &["import", "media", "include", "mixin", "extend", "use", "keyframes", "supports"],
        ..WORDS
    },
    Language {
        name: "html",
        aliases: &["htm", "xml", "svg", "xhtml", "plist", "xaml", "csproj"],
        form: Form::Tags,
        line_comments: &[],
        block_comment: Some(("<!--", "-->")),
        ..WORDS
    },
    Language { name: "diff", aliases: &["patch"], form: Form::Diff, ..WORDS },
    Language {
        name: "nix",
        aliases: &["hcl", "tf", "terraform", "bicep"],
        line_comments: &["#", "//"],
        quotes: b"\"",
        keywords: &[
            "let", "in", "with", "rec", "inherit", "if", "then", "else", "resource", "module", "variable",
            "output", "provider", "data", "locals", "for", "param",
        ],
        ..WORDS
    },
    Language {
        name: "zig",
        aliases: &[
            "odin", "v", "nim", "ml", "ocaml", "fs", "fsharp", "clj", "r", "jl", "julia", "perl", "pl",
        ],
        line_comments: &["//", "#"],
        block_comment: None,
        quotes: b"\"",
        keywords: &[
            "fn", "let", "var", "const", "pub", "if", "else", "for", "while", "return", "match", "with",
            "function", "end", "use", "my", "sub", "proc", "type", "module", "open", "struct", "enum",
            "defer", "try", "catch", "in", "of", "rec", "mut", "import", "begin", "do",
        ],
        ..WORDS
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_found_by_name_and_by_file() {
        let name = |found: Option<&Language>| found.map(|language| language.name);
        assert_eq!(name(Language::named("TSX")), Some("typescript"));
        assert_eq!(name(Language::of_path(r"C:\a\b.rs")), Some("rust"));
        assert_eq!(name(Language::of_path("/a.b/Dockerfile")), Some("sh"));
        assert_eq!(name(Language::of_path("/a/notes.txt")), None);
        assert_eq!(name(Language::named("")), None);
        let mut names: Vec<_> =
            LANGUAGES.iter().flat_map(|one| one.aliases.iter().chain([&one.name])).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a name belongs to one language");
    }
}

//! Secrets are masked here: everything that is shown or leaves annals passes through a [`Masking`].
//!
//! There is one function for each form of output: [`Masking::text`] for text on a terminal, [`Masking::listed_text`] for what
//! a list has cut, [`Masking::line`] for JSON
//! on the command line, [`Masking::result`] for results and notifications of the history protocol, and
//! [`Masking::entry`] for a line of a transcript that is converted to something else afterwards. They mask all strings
//! except those whose keys are listed in this file, so a field that is added somewhere is masked without more code.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{fmt, fs, io};

use annals_engine::LONGEST_PROMPT;
use annals_secrets::{Items, JsonForm, Masked, Masker, RuleError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::rpc::Outcome;

/// The file in `ANNALS_HOME` with the rules of the user.
pub const RULES_FILE: &str = "secrets.toml";

/// Ids and positions that programs need as they are; cursors and signatures would be useless if they were changed.
const IDS: [&str; 32] = [
    // Sessions, entries, calls and agents.
    "id",
    "uuid",
    "parent",
    "leaf",
    "session",
    "sessionId",
    "agentId",
    "resultUuid",
    "messageUuid",
    "messageId",
    "toolCallId",
    "toolCallIds",
    "compactionId",
    "forkedFrom",
    "subscription",
    "lastShared",
    // The same in lines of transcripts.
    "parentUuid",
    "logicalParentUuid",
    "leafUuid",
    "requestId",
    "promptId",
    "tool_use_id",
    "toolUseID",
    "parentToolUseID",
    "sourceToolUseID",
    "sourceToolAssistantUUID",
    // Pages and the trash.
    "cursor",
    "nextCursor",
    "previousCursor",
    "entry",
    "replaced",
    "timestamp",
];

/// Paths of files, transcripts and projects, which programs open. An export is for somebody who cannot: there they are masked.
const PATHS: [&str; 11] = [
    "path",
    "cwd",
    "project",
    "projectKey",
    "projectPath",
    "keys",
    "sharesFolderWith",
    "worktreeOf",
    "roots",
    "home",
    "moved",
];

const KEEP: [&str; IDS.len() + PATHS.len()] = {
    let mut keep = [""; IDS.len() + PATHS.len()];
    let (ids, paths) = keep.split_at_mut(IDS.len());
    ids.copy_from_slice(&IDS);
    paths.copy_from_slice(&PATHS);
    keep
};

/// Signatures of thinking, and the bytes of images: base64, in which a rule could find something by chance.
const KEEP_BASE64: &[&str] = &["signature", "data"];

/// Values whose members anybody may have named, such as the arguments of tools: below these, every string is masked.
const FREE: &[&str] = &["input", "rawInput", "rawOutput", "toolUseResult", "result", "attachment", "record"];

/// Texts that may have been cut after this number of characters (LISTS 2.7), and may end inside a secret.
const CUT: &[(&str, usize)] = &[("title", LONGEST_PROMPT), ("firstPrompt", LONGEST_PROMPT), ("beginning", 0)];

const EXPORT_FORM: JsonForm = JsonForm { keep: &IDS, ..FORM };
const FORM: JsonForm = JsonForm { keep: &KEEP, keep_base64: KEEP_BASE64, free: FREE, cut: CUT };

/// Masks secrets in everything that is shown or leaves annals. Copies share their rules.
#[derive(Clone, Debug, Default)]
pub struct Masking {
    /// Is built when it is first needed, unless the user has rules of their own, which are checked at once.
    masker: Arc<OnceLock<Masker>>,
    /// The same for JSON that is given to somebody.
    export_masker: Arc<OnceLock<Masker>>,
}

/// Why the rules of the user cannot be used. Nothing is shown then, because it might be what they should mask.
#[derive(Debug)]
pub struct RulesError {
    path: PathBuf,
    reason: RulesProblem,
}

#[derive(Debug)]
enum RulesProblem {
    Unreadable(io::Error),
    Wrong(RuleError),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.reason {
            RulesProblem::Unreadable(error) => {
                write!(f, "cannot read the rules for secrets in `{path}`: {error}")
            }
            RulesProblem::Wrong(error) => write!(f, "the rules for secrets in `{path}` are wrong: {error}"),
        }
    }
}

impl std::error::Error for RulesError {}

impl Masking {
    /// Returns a masking with the built-in rules and those of the file [`RULES_FILE`] in a folder, if there is one.
    pub fn with_rules_in(home: &Path) -> Result<Self, RulesError> {
        let path = home.join(RULES_FILE);
        let rules = match fs::read_to_string(&path) {
            Ok(rules) => rules,
            // A file may stand in the place of the folder: then there are no rules either.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            Err(error) => return Err(RulesError { path, reason: RulesProblem::Unreadable(error) }),
        };
        match Masker::with_rules(&rules) {
            Ok(masker) => {
                let for_export = Masker::with_rules(&rules).unwrap_or_default().with_form(EXPORT_FORM);
                Ok(Self {
                    masker: Arc::new(OnceLock::from(masker.with_form(FORM))),
                    export_masker: Arc::new(OnceLock::from(for_export)),
                })
            }
            Err(error) => Err(RulesError { path, reason: RulesProblem::Wrong(error) }),
        }
    }

    fn masker(&self) -> &Masker {
        self.masker.get_or_init(|| Masker::new().with_form(FORM))
    }

    /// Masks a whole text.
    pub fn text<'t>(&self, text: &'t str) -> Masked<'t> {
        self.masker().mask(text)
    }

    /// Masks a title or a prompt of a list, which may have been cut inside a secret.
    pub fn listed_text<'t>(&self, text: &'t str) -> Masked<'t> {
        self.masker().mask_cut(text, LONGEST_PROMPT)
    }

    /// Masks a text that was cut somewhere, perhaps inside a secret.
    pub fn cut_text<'t>(&self, text: &'t str) -> Masked<'t> {
        self.masker().mask_cut(text, 0)
    }

    /// Returns the secrets of a text, in order, each with the name of the rule that finds it.
    pub fn secrets<'t>(&self, text: &'t str) -> impl Iterator<Item = (&str, &'t str)> {
        self.masker().find(text).map(|found| (found.rule, &text[found.range]))
    }

    /// Returns the secrets of what a reader sees, each with the mark that is shown in its place.
    pub fn marks(&self, text: &str) -> Vec<(Range<usize>, String)> {
        self.masker().find(text).map(|found| (found.range.clone(), found.mark())).collect()
    }

    /// Masks an object of the command line, which says how many values were masked in it. Returns that number, too.
    pub fn line(&self, json: String) -> (String, usize) {
        let masked = self.masker().mask_json(&json, Items::Whole);
        match masked.json {
            Cow::Borrowed(_) => (json, 0),
            Cow::Owned(changed) => (text(changed), masked.count),
        }
    }

    /// Masks an object of an export like [`Masking::line`], and its paths, too.
    pub fn export_line(&self, json: String) -> (String, usize) {
        let for_export = self.export_masker.get_or_init(|| Masker::new().with_form(EXPORT_FORM));
        let masked = for_export.mask_json(&json, Items::Whole);
        match masked.json {
            Cow::Borrowed(_) => (json, 0),
            Cow::Owned(changed) => (text(changed), masked.count),
        }
    }

    /// Masks the result of a method; the objects in its lists say how many values were masked in them.
    pub fn result(&self, json: Box<RawValue>) -> Box<RawValue> {
        // JSON in which nothing was masked is not checked again.
        match self.masker().mask_json(json.get(), Items::Elements).json {
            Cow::Borrowed(_) => json,
            Cow::Owned(masked) => RawValue::from_string(text(masked)).expect("masked JSON is JSON"),
        }
    }

    /// Masks a line of a transcript before it is converted to something else. Returns how many values were masked, too.
    pub fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
        let masked = self.masker().mask_json_bytes(line, Items::None);
        (masked.json, masked.count)
    }

    /// Masks the texts of a wire type, which says how many values were masked in it.
    pub fn wire<T: Serialize + DeserializeOwned>(&self, value: &T) -> serde_json::Result<T> {
        serde_json::from_str(&self.line(serde_json::to_string(value)?).0)
    }
}

/// Returns masked JSON as text.
fn text(masked: Vec<u8>) -> String {
    String::from_utf8(masked).expect("whole characters are masked")
}

/// What is rendered is masked before, line by line, so that no secret is split between two pieces of a text, and once more as a reader
/// sees it.
impl annals_render::Filter for Masking {
    fn entry<'l>(&self, line: &'l [u8]) -> (Cow<'l, [u8]>, usize) {
        Masking::entry(self, line)
    }

    fn visible(&self, text: &str) -> Vec<(Range<usize>, String)> {
        self.marks(text)
    }
}

/// What is indexed and searched is masked, too, so that no search leads to a secret.
#[cfg(feature = "search")]
impl annals_engine::TextFilter for Masking {
    fn filter<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text(text).text
    }

    fn filter_arguments<'t>(&self, json: &'t [u8]) -> Cow<'t, [u8]> {
        // Below this key every string is masked, whatever its own key.
        let (before, behind): (&[u8], &[u8]) = (br#"{"input":"#, b"}");
        let whole = [before, json, behind].concat();
        match self.entry(&whole) {
            (Cow::Owned(masked), 1..) => {
                let arguments = masked.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
                arguments.map_or(Cow::Borrowed(json), |arguments| Cow::Owned(arguments.to_owned()))
            }
            _ => Cow::Borrowed(json),
        }
    }

    fn fingerprint(&self) -> u64 {
        // Where nothing is masked, no rules are built.
        self.masker.get().map_or_else(Masker::fingerprint_of_built_in, Masker::fingerprint)
    }

    fn may_write(&self, text: &str) -> bool {
        self.masker().may_write(text)
    }
}

/// Serializes a value for a peer, masked unless the peer may see everything.
pub fn serialize_masked(value: &impl Serialize, masking: Option<&Masking>) -> Outcome {
    let json = crate::dispatch::serialize(value)?;
    Ok(match masking {
        Some(masking) => masking.result(json),
        None => json,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An invented token, made here so that no scanner takes this repository for a leak.
    fn token() -> String {
        ["gh", "p_", "Q7fZk2mX9rT4w8B3cLs5", "Vn1Yd6Hj0Gp3Ae8U"].concat()
    }

    #[test]
    fn ids_cursors_paths_and_signatures_stay() {
        let masking = Masking::default();
        let kept = format!(
            r#"{{"id":"{0}","uuid":"{0}","nextCursor":"{0}","path":"/a/{0}","cwd":"/a/{0}","parts":[{{"signature":"/AKIA0123456789ABCDEF/"}}]}}"#,
            token()
        );
        assert_eq!(masking.line(kept.clone()), (kept, 0));
    }

    #[test]
    fn an_export_has_no_secret_in_a_path() {
        let masking = Masking::default();
        let line = format!(
            r#"{{"id":"{0}","cwd":"/a/{0}","files":[{{"path":"/a/{0}/b"}}],"projectPath":"/a/{0}"}}"#,
            token()
        );
        let (masked, count) = masking.export_line(line);
        assert_eq!((masked.matches(&token()).count(), masked.matches("/a/ghp_[masked: ").count()), (1, 3));
        assert_eq!(count, 1, "{masked}");
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(RULES_FILE), "allow = ['^Q7fZ']").unwrap();
        let own_rules = Masking::with_rules_in(home.path()).unwrap();
        let line = format!(r#"{{"cwd":"/a/{}"}}"#, token());
        assert_eq!(own_rules.export_line(line.clone()), (line, 0));
    }

    #[test]
    fn arguments_of_tools_are_masked_whatever_they_are_called() {
        let (line, count) =
            Masking::default().line(format!(r#"{{"parts":[{{"id":"a","input":{{"id":"{}"}}}}]}}"#, token()));
        assert!(!line.contains(&token()), "{line}");
        assert_eq!(count, 1);
        let record = format!(r#"{{"parts":[{{"record":{{"path":"/a/{0}","id":"{0}"}}}}]}}"#, token());
        assert!(!Masking::default().line(record).0.contains(&token()));
    }

    fn prompt(text: String) -> annals_proto::Prompt {
        annals_proto::Prompt {
            text,
            timestamp: None,
            project: None,
            session: None,
            pasted: Vec::new(),
            masked: 0,
        }
    }

    /// Masks a text by the rules that a home has now.
    fn masked_in(home: &Path, text: &str) -> Result<String, RulesError> {
        Masking::with_rules_in(home).map(|masking| masking.text(text).text.into_owned())
    }

    #[test]
    fn a_wire_type_says_how_many_values_were_masked() {
        let masked = Masking::default().wire(&prompt(format!("use {}", token()))).unwrap();
        let expected = prompt("use ghp_[masked: github-token]".to_owned());
        assert_eq!(masked, annals_proto::Prompt { masked: 1, ..expected });
    }

    #[test]
    fn rules_of_the_user_are_added_and_a_broken_file_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(masked_in(home.path(), "BADGE-123456").unwrap(), "BADGE-123456");
        let rules =
            "[[rule]]\nname = 'badge'\nkeywords = ['BADGE-']\npattern = 'BADGE-(?<secret>[0-9]{6})'\n";
        fs::write(home.path().join(RULES_FILE), rules).unwrap();
        assert_eq!(masked_in(home.path(), "BADGE-123456").unwrap(), "BADGE-[masked: badge]");
        fs::write(home.path().join(RULES_FILE), rules.replace("[0-9]{6}", "[0-9")).unwrap();
        let error = masked_in(home.path(), "BADGE-123456").unwrap_err().to_string();
        assert!(error.contains("secrets.toml") && error.contains("line 4"), "{error}");
        fs::write(home.path().join(RULES_FILE), b"\xff").unwrap();
        assert!(masked_in(home.path(), "BADGE-123456").is_err());
    }
}

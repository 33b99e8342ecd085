//! The filters of a query: which documents are searched.

use crate::date::{DateError, When};
use crate::part::Part;
use crate::typo;

/// A filter: a condition on documents, or its opposite.
///
/// Filters of the same name are alternatives (`tool:Bash tool:Edit`), except for times and opposites, which all hold.
/// Filters of different names all hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The condition.
    pub condition: Condition,
    /// Whether documents are searched for which the condition does not hold.
    pub is_negated: bool,
}

/// A condition on documents.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// `tool:` the tool of the call.
    Tool(String),
    /// `file:` a path that the call touched.
    File(String),
    /// `role:` who wrote the message.
    Role(Role),
    /// `project:` the working directory.
    Project(String),
    /// `branch:` the branch that was checked out.
    Branch(String),
    /// `model:` the model that wrote the message.
    Model(String),
    /// `before:` earlier than that time; of a day, earlier than its start.
    Before(When),
    /// `after:` at that time or later; of a day, from its start on.
    After(When),
    /// `is:error` the result of a call that failed.
    IsError,
    /// `in:` the parts of the conversation.
    In(&'static [Part]),
    /// `session:` the session.
    Session(String),
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user: prompts and results of tools.
    User,
    /// The model.
    Assistant,
    /// Claude Code.
    System,
}

/// The names of filters. [`Condition::parse`] knows each of them.
pub(crate) const NAMES: [&str; 11] =
    ["tool", "file", "role", "project", "branch", "model", "before", "after", "is", "in", "session"];

/// Why a filter cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The filter takes only certain words, and the value is none of them.
    #[error("`{name}:` takes {expected}, not `{value}`")]
    Value {
        /// The name of the filter.
        name: &'static str,
        /// The value, or its beginning.
        value: String,
        /// The words that it takes.
        expected: String,
    },
    /// The value is no time.
    #[error("`{name}:` needs a time: {error}")]
    Date {
        /// The name of the filter.
        name: &'static str,
        /// What is wrong with the time.
        error: DateError,
    },
}

/// Returns the name of the filter that a text begins with, up to its colon.
///
/// A path such as `model::User` and a URL such as `file:///` begin with no filter.
pub(crate) fn name_of(text: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| {
        let value = text.strip_prefix(name).and_then(|behind| behind.strip_prefix(':'));
        value.is_some_and(|value| !is_path_or_url(value))
    })
}

/// Returns the unknown name that a word begins with like a filter, and the known one that is close to it.
pub(crate) fn misspelt(word: &str) -> Option<(&str, &'static str)> {
    let (name, value) = word.split_once(':')?;
    // Two letters are close to too many words.
    let is_name = (3..=12).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    if value.is_empty() || is_path_or_url(value) || !is_name {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let known = NAMES.into_iter().filter(|known| known.len() > 3);
    let close = known.filter(|known| typo::distance(&lower, known, 1).is_some()).min()?;
    Some((name, close))
}

fn is_path_or_url(value: &str) -> bool {
    value.starts_with(':') || value.starts_with("//")
}

impl Condition {
    /// Returns the condition that `name:value` stands for in a query; an unknown name is taken for `session`.
    pub fn parse(name: &'static str, value: &str) -> Result<Self, FilterError> {
        let text = || value.to_owned();
        let time = || value.parse::<When>().map_err(|error| FilterError::Date { name, error });
        Ok(match name {
            "tool" => Condition::Tool(text()),
            "file" => Condition::File(text()),
            "role" => Condition::Role(word(name, value, &Role::NAMES)?),
            "project" => Condition::Project(text()),
            "branch" => Condition::Branch(text()),
            "model" => Condition::Model(text()),
            "before" => Condition::Before(time()?),
            "after" => Condition::After(time()?),
            "is" => word(name, value, &[("error", Condition::IsError)])?,
            "in" => Condition::In(word(name, value, &Part::NAMES)?),
            _ => Condition::Session(text()),
        })
    }
}

impl Role {
    /// Returns the word that `role:` takes for it.
    pub fn word(self) -> &'static str {
        Self::NAMES.iter().find(|(_, role)| *role == self).map_or("", |(word, _)| word)
    }

    const NAMES: [(&'static str, Role); 3] =
        [("user", Role::User), ("assistant", Role::Assistant), ("system", Role::System)];
}

/// Returns what a word stands for.
fn word<T: Clone>(name: &'static str, value: &str, words: &[(&str, T)]) -> Result<T, FilterError> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    found.map(|(_, meaning)| meaning.clone()).ok_or_else(|| FilterError::Value {
        name,
        value: value.chars().take(60).collect(),
        expected: words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
    })
}

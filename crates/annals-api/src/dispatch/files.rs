//! The files that a session changed, and what they contained.

use std::borrow::Cow;

use annals_engine::{Backup, ChangedFile, FileHistory, FileVersion};
use annals_proto::{self as wire, ErrorCode};
use annals_render::{Language, code, diff, line_count, slice};

use super::{Api, LONGEST_ITEM, LONGEST_PAGE};
use crate::mask::Masking;
use crate::rpc::Error;
use crate::to_wire;

/// The most versions of a file in an answer: the last ones.
const MOST_VERSIONS: usize = 1000;
/// About how many bytes a version of a file takes in an answer.
const VERSION_BYTES: usize = 160;
/// How many lines of a version an answer has by default and at most.
const LINES: (usize, usize) = (1000, 5000);

impl Api {
    pub(super) fn files(&self, params: &wire::OneSessionParams) -> Result<wire::FilesResult, Error> {
        let file = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let history = self.engine.file_history_inside(&file)?;
        let mut result = wire::FilesResult { files: Vec::new(), cut: false };
        let mut bytes = 0;
        for mut file in history.changed().map(to_wire::changed_file) {
            let older = file.versions.len().saturating_sub(MOST_VERSIONS);
            file.versions.drain(..older);
            bytes += file.path.len() + VERSION_BYTES * (1 + file.versions.len());
            result.cut |= older > 0 || bytes > LONGEST_PAGE;
            if bytes > LONGEST_PAGE {
                break;
            }
            result.files.push(file);
        }
        Ok(result)
    }

    /// Returns the content of a version of a file, or what is different in it from an earlier one.
    pub(super) fn file(
        &self,
        params: &wire::FileParams,
        masking: Option<&Masking>,
    ) -> Result<wire::FileResult, Error> {
        let session = self.session(&params.session_id, params.workspace_path.as_deref())?;
        let history = self.engine.file_history_inside(&session)?;
        let file = history.changed().find(|file| file.path == params.path);
        let file = file.ok_or_else(|| missing("this session changed no file with that path"))?;
        let version = version(file, params.version)?;
        let mut result = wire::FileResult {
            backup: to_wire::file_version(version).backup,
            nodes: Vec::new(),
            lines: 0,
            next: None,
        };
        let before = match params.against {
            Some(number) => text_of(&history, self::version(file, number)?, masking)?,
            None => None,
        };
        let Some(text) = text_of(&history, version, masking)? else { return Ok(result) };
        let node = match before {
            Some(before) => diff(Some(&file.path), &before, &text, 1),
            None => code(&text, Language::of_path(&file.path), Some(1)),
        };
        let count = params.count.unwrap_or(LINES.0).clamp(1, LINES.1);
        let nodes = [node];
        result.lines = line_count(&nodes);
        (result.nodes, result.next) = slice(&nodes, params.from.unwrap_or(0), count);
        Ok(result)
    }
}

/// Returns the last version of a file that has a number.
fn version(file: &ChangedFile, number: u64) -> Result<&FileVersion, Error> {
    let found = file.versions.iter().rev().find(|version| version.number == number);
    found.ok_or_else(|| missing("the file has no version with that number"))
}

/// Returns the text of a version without secrets; `None` if there is no copy of it. A file that did not exist has no text.
fn text_of(
    history: &FileHistory,
    version: &FileVersion,
    masking: Option<&Masking>,
) -> Result<Option<String>, Error> {
    match version.backup {
        Backup::NoFile => return Ok(Some(String::new())),
        Backup::Missing | Backup::Refused => return Ok(None),
        Backup::Kept(size) if size > LONGEST_ITEM => {
            return Err(Error::new(ErrorCode::NotSupported, "the copy of the file is too long to be shown"));
        }
        Backup::Kept(_) => {}
    }
    let content = history.content(version)?.unwrap_or_default();
    let text = String::from_utf8(content)
        .map_err(|_| Error::new(ErrorCode::NotSupported, "the file is not text"))?;
    let masked = masking.map_or(Cow::Borrowed(&*text), |masking| masking.text(&text).text);
    Ok(Some(masked.into_owned()))
}

fn missing(message: &str) -> Error {
    Error::new(ErrorCode::NotFound, message)
}

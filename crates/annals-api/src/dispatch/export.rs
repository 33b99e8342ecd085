//! What `POST /export` answers: a session as a document, and a report of what is masked in it.

use std::io::Write;
use std::ops::RangeInclusive;

use annals_proto::{self as wire, ErrorCode, ExportFormat};

use super::Api;
use crate::export::{ExportError, Exporter, Format, Options};
use crate::mask_log::MaskLog;
use crate::rpc::Error;

impl Api {
    /// Exports a session. `begin` receives the name of the file before anything is written, and returns the writer for it. What fails
    /// before that is the answer to the request; what fails later ends the file early.
    pub fn export<W: Write>(
        &self,
        params: &wire::ExportParams,
        begin: impl FnOnce(String) -> W,
    ) -> Result<(W, wire::ExportReport), Error> {
        let (workspace, agent) = (params.workspace_path.as_deref(), params.agent_id.as_deref());
        let file = self.transcript(&params.session_id, workspace, agent)?;
        let masks = MaskLog::new(self.masking(params.reveal)?);
        let options = options(params)?;
        let mut exporter = Exporter::new(&self.engine, &options, &masks, &|_| Box::new(|| ())).inside();
        let written = exporter.session(&file, |exporter, opened| {
            let mut out = begin(crate::export::file_name(&file, options.format));
            exporter.stream(opened, &mut out)?;
            Ok::<_, ExportError>(out)
        });
        let out = written.map_err(|error| match error {
            ExportError::Engine(error) => error.into(),
            ExportError::NoSuchTurn { .. } => Error::new(ErrorCode::NotFound, &error.to_string()),
            ExportError::Write(_) => Error::broken_off(),
        })?;
        Ok((out, exporter.report()))
    }
}

fn options(params: &wire::ExportParams) -> Result<Options, Error> {
    Ok(Options {
        format: match params.format {
            ExportFormat::Html => Format::Html,
            ExportFormat::Md => Format::Md,
            ExportFormat::Text => Format::Text,
        },
        model_view: false,
        turns: turns(params)?,
        subagents: params.subagents,
        context: false,
        thinking: !params.no_thinking,
        results: !params.no_results,
        diffs: true,
        images: true,
    })
}

fn turns(params: &wire::ExportParams) -> Result<Option<RangeInclusive<usize>>, Error> {
    if params.from_turn.is_none() && params.to_turn.is_none() {
        return Ok(None);
    }
    let (from, to) = (params.from_turn.unwrap_or(1), params.to_turn.unwrap_or(usize::MAX));
    if from > to {
        return Err(Error::invalid_params("`fromTurn` is at most `toTurn`"));
    }
    Ok(Some(from..=to))
}

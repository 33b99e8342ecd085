//! `annals lineage`: sessions that share entries with a session.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, Kinship, Relation};

use crate::args::{Global, Lineage};
use crate::failure::{FOUND_NOTHING, Failure};
use crate::output::{self, Table};

pub(crate) fn run(engine: &Engine, args: &Lineage, global: &Global) -> Result<ExitCode, Failure> {
    let file = engine.session(&args.session)?;
    let relations = engine.lineage(&file)?;
    let mut out = output::stdout();
    if global.json {
        for relation in &relations {
            output::json_line(&mut out, &to_wire::relation(relation))?;
        }
    } else if relations.is_empty() {
        output::note("no other session of this project shares entries with it");
    } else {
        print(&mut out, &relations)?;
    }
    out.flush()?;
    Ok(if relations.is_empty() { ExitCode::from(FOUND_NOTHING) } else { ExitCode::SUCCESS })
}

fn print(out: &mut impl Write, relations: &[Relation]) -> Result<(), Failure> {
    let mut table = Table::new(&["session", "~is", "?>shared entries", "??~the last of them"]);
    for relation in relations {
        let meaning = match relation.kinship {
            Kinship::Origin => "what this one was copied from",
            Kinship::Copy => "a copy of this one",
            Kinship::Twin => "of the same entries",
            Kinship::Continuation => "where this one goes on",
            Kinship::TitleKeeper => "the keeper of a title of this one",
        };
        table.row(&[
            relation
                .other
                .session
                .clone()
                .unwrap_or_else(|| relation.other.path.to_string_lossy().into_owned()),
            meaning.to_owned(),
            output::number(relation.shared as u64),
            relation.last_shared.clone().unwrap_or_default(),
        ]);
    }
    table.print(out)
}

//! `annals lineage`: sessions that share entries with a session.

use std::io::Write;
use std::process::ExitCode;

use annals_api::to_wire;
use annals_engine::{Engine, Kinship, Relation};

use crate::args::{Global, Lineage};
use crate::failure::{FOUND_NOTHING, Failure};
use crate::output::{self, Table};

pub(crate) fn run(engine: &Engine, args: &Lineage, global: &Global) -> Result<ExitCode, Failure> {
    let file = super::choose::session(engine, &args.session, global)?;
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
    let mut table = Table::new(&["~/session", "relation", "?>shared entries", "??~last shared entry"]);
    for relation in relations {
        let meaning = match relation.kinship {
            Kinship::Origin => "original of this session",
            Kinship::Copy => "copy of this session",
            Kinship::Twin => "has the same entries",
            Kinship::Continuation => "continuation of this session",
            Kinship::TitleKeeper => "contains a title of this session",
        };
        table.row(&[
            match &relation.other.session {
                Some(session) => session.chars().take(8).collect(),
                None => relation.other.path.to_string_lossy().into_owned(),
            },
            meaning.to_owned(),
            output::number(relation.shared as u64),
            relation.last_shared.clone().unwrap_or_default(),
        ]);
    }
    table.print(out)
}

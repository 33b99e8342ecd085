//! Scenarios of whole lists: every session as annals lists it, compared with Claude Code's SDKs.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use annals_transcript::project::folder_name;
use serde_json::{Value as Json, json};

use super::differences::{DifferingField, KNOWN, KnownDifference, Sdk, Transcript, moment};
use super::shapes;
use super::trial::{Trial, output_for};
use super::{Scenario, Skipped};
use crate::{Outcome, project};

pub(crate) const SCENARIOS: &[Scenario] = &[
    ("lists: what Claude Code wrote", what_claude_code_wrote),
    ("lists: hard shapes", hard_shapes),
    ("lists: named by others while Claude Code runs", named_by_others),
];

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn what_claude_code_wrote(trial: &Trial<'_>) -> Outcome {
    let corpus = project().with_file_name("shared/corpus/client");
    if !corpus.is_dir() {
        return Err(Skipped(format!("there is no {}", corpus.display())).into());
    }
    let mut roots = vec![corpus.join("tui"), corpus.join("print")];
    roots.extend(fs::read_dir(corpus.join("old"))?.flatten().map(|version| version.path()));
    for root in roots {
        let (from, to) = (root.join("projects"), trial.root());
        output_for(Command::new("cp").args(["-R", "--no-preserve=mode"]).arg(from).arg(to), "")?;
    }
    for transcript in transcripts(&trial.root())? {
        // The copy was written now, the transcript when its last entry was.
        if let Some(last) = transcript.last_time() {
            set_written_at(&transcript.path, last)?;
        }
    }
    compare(trial, &KNOWN.iter().filter(|named| named.by_claude_code).collect::<Vec<_>>())
}

/// As a session grows, Claude Code writes its title again, also one that another program gave meanwhile. Its lists and ours
/// look for the title at the end of the file only.
fn named_by_others(trial: &Trial<'_>) -> Outcome {
    let mut talk = trial.open_session()?;
    let session = talk.say("Begin SCRIPT:qa")?;
    let path = trial.transcript(&session)?;
    let mut transcript = File::options().append(true).open(&path)?;
    writeln!(
        transcript,
        "{}",
        json!({"type": "custom-title", "customTitle": "By others", "sessionId": session})
    )?;
    writeln!(transcript, "{}", json!({"type": "tag", "tag": "theirs", "sessionId": session}))?;
    for _ in 0..14 {
        talk.say(&format!("Go on SCRIPT:qa {}", "word ".repeat(3000)))?;
    }
    talk.end()?;
    let length = fs::metadata(&path)?.len();
    let listed = trial.annals(&["list"])?;
    let told = [&listed[0]["title"], &listed[0]["titleSource"], &listed[0]["tag"]];
    let is_right = told == ["By others", "custom", "theirs"] && length > 256 * 1024;
    if is_right { Ok(()) } else { Err(format!("{length} bytes, listed as {}", listed[0]).into()) }
}

fn hard_shapes(trial: &Trial<'_>) -> Outcome {
    let shapes = shapes::all();
    for shape in &shapes {
        let folder = trial.root().join("projects").join(folder_name(shape.project));
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}.jsonl", shape.session));
        fs::write(&path, shape.text())?;
        set_written_at(&path, &shape.written_at())?;
        if let Some(title) = shape.title_beside {
            fs::create_dir_all(folder.join(&shape.session))?;
            let beside = json!({"customTitle": title}).to_string();
            fs::write(folder.join(&shape.session).join("custom-title.json"), beside)?;
        }
    }
    let named = |difference: String| {
        shapes.iter().fold(difference, |text, shape| text.replace(&shape.session, shape.name))
    };
    compare(trial, &KNOWN.iter().collect::<Vec<_>>()).map_err(|error| named(error.to_string()).into())
}

/// Returns the transcripts of a config folder, those of subagents left out.
fn transcripts(root: &Path) -> Result<Vec<Transcript>> {
    let folders = fs::read_dir(root.join("projects"))?.flatten().map(|folder| folder.path());
    let paths = folders.flat_map(fs::read_dir).flatten().flatten().map(|file| file.path());
    let is_main = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".jsonl") && !name.starts_with("agent-")
    };
    let mut found = paths.filter(is_main).map(Transcript::read).collect::<std::io::Result<Vec<_>>>()?;
    let written: Vec<_> =
        found.iter().map(|transcript| (transcript.session.clone(), transcript.modified())).collect();
    for transcript in &mut found {
        let modified = transcript.modified();
        transcript.is_newest =
            !written.iter().any(|(session, other)| *session == transcript.session && *other > modified);
    }
    Ok(found)
}

/// Sets the modification time of a file to a little after a time, as if it was written then.
fn set_written_at(path: &Path, time: &str) -> Outcome {
    let later = moment(time).ok_or("not a time")? + Duration::from_micros(300);
    Ok(File::options().append(true).open(path)?.set_modified(later)?)
}

/// The fields that are compared: a name, the key of annals, the key of the SDKs.
const FIELDS: [(&str, &str, &str); 8] = [
    ("title", "title", "summary"),
    ("first prompt", "firstPrompt", "firstPrompt"),
    ("created", "createdAt", "createdAt"),
    ("updated", "updatedAt", "lastModified"),
    ("cwd", "cwd", "cwd"),
    ("branch", "gitBranch", "gitBranch"),
    ("tag", "tag", "tag"),
    ("size", "size", "fileSize"),
];

/// Returns the title of a session of annals, unless it is a prompt: the SDKs do not distinguish the user's title from the
/// model's.
fn given_title(ours: &Json) -> Json {
    let is_given = ours["titleSource"] == "custom" || ours["titleSource"] == "ai";
    if is_given { ours["title"].clone() } else { Json::Null }
}

/// Compares the list of annals with those of the SDKs. Every difference must be a known one, and every known one must occur.
fn compare(trial: &Trial<'_>, named: &[&KnownDifference]) -> Outcome {
    let transcripts = transcripts(&trial.root())?;
    let ours = trial.annals(&["list"])?;
    let mut wrong = order_of_times(&ours);
    if trial.annals(&["list"])? != ours {
        wrong.push("what the catalogue remembers is not what was read".to_owned());
    }
    for (sdk, theirs) in
        [(Sdk::TypeScript, trial.list_by_typescript()?), (Sdk::Python, trial.list_by_python()?)]
    {
        let lists = Lists { transcripts: &transcripts, ours: &ours, theirs: &theirs };
        let mut named: Vec<_> =
            named.iter().filter(|named| named.sdks.contains(&sdk)).map(|named| (named, 0)).collect();
        for seen in lists.differences() {
            let explains =
                |named: &KnownDifference| named.fields.contains(&seen.field) && (named.explains)(&seen);
            match named.iter_mut().find(|(named, _)| explains(named)) {
                Some((_, count)) => *count += 1,
                None => wrong.push(format!("{sdk:?}: {seen}")),
            }
        }
        let gone = named.iter().filter(|(_, count)| *count == 0);
        wrong.extend(gone.map(|(named, _)| format!("{sdk:?}: no longer so: {}", named.name)));
        wrong.extend(
            lists.strangers().map(|session| format!("{sdk:?}: {session} is listed again, or not there")),
        );
        wrong.extend(lists.order().map(|difference| format!("{sdk:?}: {difference}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("\n    {}", wrong.join("\n    ")).into()) }
}

/// The same transcripts in the list of annals and in that of an SDK.
struct Lists<'a> {
    transcripts: &'a [Transcript],
    ours: &'a [Json],
    theirs: &'a [Json],
}

impl<'a> Lists<'a> {
    /// Returns a transcript as annals lists it; null if it does not.
    fn ours(&self, transcript: &Transcript) -> &'a Json {
        let path = transcript.path.to_string_lossy();
        self.ours.iter().find(|session| session["path"] == *path).unwrap_or(&Json::Null)
    }

    /// Returns the same from the SDK.
    fn theirs(&self, transcript: &Transcript) -> &'a Json {
        let is_this = |session: &&Json| session["sessionId"] == *transcript.session && transcript.is_newest;
        self.theirs.iter().find(is_this).unwrap_or(&Json::Null)
    }

    fn differences(&self) -> Vec<DifferingField<'a>> {
        let mut found = Vec::new();
        for transcript in self.transcripts {
            let (listed, theirs) = (self.ours(transcript), self.theirs(transcript));
            let mut compare = |field, ours: Json, theirs: Json| {
                if ours != theirs {
                    found.push(DifferingField { field, transcript, ours, theirs, listed });
                }
            };
            compare("listed", listed.is_object().into(), theirs.is_object().into());
            if listed.is_object() && theirs.is_object() {
                compare("given title", given_title(listed), theirs["customTitle"].clone());
                for (field, our_key, their_key) in FIELDS {
                    compare(field, listed[our_key].clone(), theirs[their_key].clone());
                }
            }
        }
        found
    }

    /// Returns listed sessions whose transcript was not among the compared ones.
    fn strangers(&self) -> impl Iterator<Item = &'a Json> {
        let is_known = |listed: &&Json| {
            let is_it = |known: &Json| std::ptr::eq(known, *listed);
            self.transcripts.iter().any(|known| is_it(self.ours(known)) || is_it(self.theirs(known)))
        };
        let strange = self.ours.iter().chain(self.theirs).filter(move |listed| !is_known(listed));
        strange.map(|listed| if listed["id"].is_null() { &listed["sessionId"] } else { &listed["id"] })
    }

    /// Returns where the order differs, among the sessions that both list with the same file and time.
    fn order(&self) -> Option<String> {
        let is_common = |transcript: &&Transcript| {
            let (ours, theirs) = (self.ours(transcript), self.theirs(transcript));
            ours.is_object() && ours["updatedAt"] == theirs["lastModified"]
        };
        let common: Vec<_> = self.transcripts.iter().filter(is_common).collect();
        let is_common =
            |path: &Json| common.iter().any(|transcript| *path == *transcript.path.to_string_lossy());
        let ours =
            self.ours.iter().filter(|session| is_common(&session["path"])).map(|session| &session["id"]);
        let theirs = self.theirs.iter().map(|session| &session["sessionId"]);
        let theirs =
            theirs.filter(|session| common.iter().any(|transcript| **session == *transcript.session));
        let mut both = ours.zip(theirs).enumerate();
        let (place, (ours, theirs)) = both.find(|(_, (ours, theirs))| ours != theirs)?;
        Some(format!("place {}: annals {ours}, the SDK {theirs}", place + 1))
    }
}

/// Returns where the list of annals is not in the order of its own times.
fn order_of_times(ours: &[Json]) -> Vec<String> {
    let times: Vec<_> = ours.iter().map(|session| session["updatedAt"].as_str()).collect();
    let is_wrong = |pair: &&[Option<&str>]| pair[0] < pair[1];
    times
        .windows(2)
        .filter(is_wrong)
        .map(|pair| format!("{:?} stands before {:?}", pair[0], pair[1]))
        .collect()
}

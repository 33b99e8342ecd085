//! How Claude Code continues a session.
//!
//! Claude Code looks for a session in the project of the folder that it is started in, and in no other one.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use annals_transcript::chain::{Chain, Obstacle};
use annals_transcript::entry::view::User;
use annals_transcript::project::folder_name;
use annals_transcript::{Reader, model};

use crate::engine::Engine;
use crate::error::Error;
use crate::files::{TranscriptFile, open_regular};
use crate::labels::own_target;
use crate::live::LiveWriter;
use crate::roots::Roots;

/// What it takes to continue a session in Claude Code.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resumption {
    /// The session.
    pub session: String,
    /// The folder in which Claude Code finds the session.
    pub folder: ResumeFolder,
    /// The config folder of the session, if Claude Code would use another one by itself.
    pub config: Option<PathBuf>,
    /// Why Claude Code would not resume the session.
    pub obstacle: Option<Obstacle>,
    /// The Claude Code that has the session open.
    pub open_in: Option<LiveWriter>,
    /// How many messages Claude Code would not restore although they can be read.
    pub lost_messages: usize,
}

/// From which folder Claude Code finds a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumeFolder {
    /// The folder whose project has the transcript. It need not exist any more.
    Own(PathBuf),
    /// The transcript lies in the project of another folder than this one, which is the first that it names: Claude Code would
    /// not find the session from here.
    Elsewhere(PathBuf),
    /// The transcript names no folder by an absolute path of this system.
    Unknown,
}

pub(crate) fn resumption(engine: &Engine, file: &TranscriptFile) -> Result<Resumption, Error> {
    let target = own_target(file)?;
    let snapshot = engine.snapshot(file.clone())?;
    let chain = Chain::build(snapshot.session());
    let obstacle = chain.obstacle().or_else(|| {
        // After a rewind to the start there is nothing to send, and still a session to continue.
        (chain.leaf().is_some() && model::messages(&chain).is_empty()).then_some(Obstacle::NoConversation)
    });
    Ok(Resumption {
        session: target.session_id().to_owned(),
        folder: folder(engine, file)?,
        config: config(&file.path),
        obstacle,
        open_in: engine.registered_writer(file),
        lost_messages: snapshot.lost_messages(),
    })
}

/// Returns the folder whose project has the transcript. The session may have begun in a folder below it, or gone on to another
/// one; then a later entry names it.
fn folder(engine: &Engine, file: &TranscriptFile) -> Result<ResumeFolder, Error> {
    let row = engine.session_row(file)?;
    let first = row.project_path().filter(|path| is_usable(path));
    if let Some(own) = first.clone().filter(|path| folder_name(path) == row.project_key) {
        return Ok(ResumeFolder::Own(own.into()));
    }
    let mut reader = Reader::new(open_regular(&file.path).map_err(Error::reading(&file.path))?);
    while let Some(entry) = reader.read().map_err(Error::reading(&file.path))? {
        let folder = entry.view::<User>().and_then(|user| user.cwd().map(Cow::into_owned));
        if let Some(own) = folder.filter(|path| is_usable(path) && folder_name(path) == row.project_key) {
            return Ok(ResumeFolder::Own(own.into()));
        }
    }
    let Some(first) = first.map(PathBuf::from) else { return Ok(ResumeFolder::Unknown) };
    // Claude Code resolves the links of the folder that it is started in.
    let resolved = first.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned));
    let is_own = resolved.is_some_and(|path| folder_name(&path) == row.project_key);
    Ok(if is_own { ResumeFolder::Own(first) } else { ResumeFolder::Elsewhere(first) })
}

/// Returns whether a path can be given to another program. A relative one would mean another folder wherever it is used.
fn is_usable(path: &str) -> bool {
    Path::new(path).is_absolute()
}

/// Returns the config folder of a transcript, unless Claude Code uses it by itself.
fn config(transcript: &Path) -> Option<PathBuf> {
    // The transcript lies in `projects`, in the folder of its project.
    let config = transcript.ancestors().nth(3)?;
    let config = config.canonicalize().unwrap_or_else(|_| config.to_owned());
    // A relative path means another folder in the folder of the session.
    let used = Roots::of_claude_code().filter(|used| used.is_absolute());
    let is_used = used.is_some_and(|used| used.canonicalize().unwrap_or(used) == config);
    (!is_used).then_some(config)
}

#[cfg(test)]
mod tests {
    use testkit::command::Home as Scratch;

    use super::*;
    use crate::Home;

    const ID: &str = "3e11a6b4-93c1-4d41-9f0c-2a6f0f9f7a55";

    /// Returns how Claude Code would continue a session with these lines in the project `-src-tea`.
    fn of(lines: &[&str]) -> Resumption {
        let home = Scratch::new();
        let path = home.write(format!("projects/-src-tea/{ID}.jsonl"), lines.join("\n") + "\n");
        let roots = Roots::given(vec![home.path().into()]).unwrap();
        let engine = Engine::open(roots, Home::at(home.path().join("annals")));
        let found = resumption(&engine, &TranscriptFile::at(&path)).unwrap();
        assert_eq!(found.config, Some(home.path().canonicalize().unwrap()), "no other test uses it");
        found
    }

    fn user(uuid: &str, parent: &str, cwd: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"cwd":"{cwd}","timestamp":"2026-01-01T10:00:00.000Z","message":{{"role":"user","content":"Hi"}}}}"#
        )
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_the_one_whose_project_has_the_transcript() {
        let folder = |lines: &[String]| {
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            of(&lines).folder
        };
        let own = ResumeFolder::Own("/src/tea".into());
        assert_eq!(folder(&[user("a", "null", "/src/tea")]), own);
        assert_eq!(folder(&[user("a", "null", "/src/tea/pot/lid")]), own);
        assert_eq!(folder(&[user("a", "null", "/elsewhere"), user("b", r#""a""#, "/src/tea")]), own);
        let elsewhere = ResumeFolder::Elsewhere("/elsewhere".into());
        assert_eq!(folder(&[user("a", "null", "/elsewhere")]), elsewhere);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_no_absolute_path_is_not_used() {
        for cwd in ["-", "src/tea", "~", r"-src\\tea", r"C:\\src\\tea", "-src-tea"] {
            assert_eq!(of(&[&user("a", "null", cwd)]).folder, ResumeFolder::Unknown, "{cwd}");
        }
        let later = [user("a", "null", "-"), user("b", r#""a""#, "/src/tea")];
        assert_eq!(of(&[&later[0], &later[1]]).folder, ResumeFolder::Own("/src/tea".into()));
    }

    #[test]
    fn what_claude_code_would_not_resume_has_an_obstacle() {
        assert_eq!(of(&[&user("a", "null", "/src/tea")]).obstacle, None);
        assert_eq!(
            of(&[r#"{"type":"custom-title","customTitle":"Tea"}"#]).obstacle,
            Some(Obstacle::NoConversation)
        );
        let timeless = user("a", "null", "/src/tea").replace("2026-01-01T10:00:00.000Z", "soon");
        assert_eq!(of(&[&timeless]).obstacle, Some(Obstacle::NoTime));
    }
}

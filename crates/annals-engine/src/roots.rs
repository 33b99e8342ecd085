//! The config folders of Claude Code, in which the sessions are.

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use annals_transcript::paths::ConfigFolder;

use crate::error::{Error, ErrorKind};

/// Config folders of Claude Code, each with a `projects` folder inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    folders: Vec<PathBuf>,
    /// The folders that were given and had no `projects` folder then. Claude Code makes it with its first session: a server that
    /// was started before must see that session.
    missing: Vec<PathBuf>,
    /// The folder that new sessions are written to, whether it exists yet or not.
    first: Option<PathBuf>,
}

impl Roots {
    /// Uses these folders. At least one of them must have a `projects` folder; [`Roots::missing`] returns errors for the
    /// others.
    pub fn given(folders: Vec<PathBuf>) -> Result<Self, Error> {
        let roots = Self::of(folders);
        match roots.missing.first() {
            Some(path) if roots.folders.is_empty() => Err(Error::no_projects(path)),
            _ => Ok(roots),
        }
    }

    /// Uses these folders for recording: `projects` folders that are missing are made when they are needed.
    pub fn to_record_in(folders: Vec<PathBuf>) -> Self {
        Self::of(folders)
    }

    /// Uses the folders that Claude Code uses: `$CLAUDE_CONFIG_DIR`, or else `~/.claude` and `~/.config/claude`.
    pub fn from_environment() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the place")]
        let home = env::home_dir();
        Self::from_values(env::var_os("CLAUDE_CONFIG_DIR"), home)
    }

    /// Returns the one folder that Claude Code itself would use if it were started now: `$CLAUDE_CONFIG_DIR`, or else `~/.claude`.
    pub fn of_claude_code() -> Option<PathBuf> {
        #[expect(clippy::disallowed_methods, reason = "this is the place")]
        let home = env::home_dir();
        let config = env::var_os("CLAUDE_CONFIG_DIR").filter(|config| !config.is_empty());
        config.map(PathBuf::from).or_else(|| Some(home?.join(".claude")))
    }

    /// Returns the file in which Claude Code keeps settings of the user, the MCP servers among them: `.claude.json` in
    /// `$CLAUDE_CONFIG_DIR`, or else in the home folder. An old `.config.json` in the config folder comes first, as in Claude Code.
    pub fn user_settings() -> Option<PathBuf> {
        #[expect(clippy::disallowed_methods, reason = "this is the place")]
        let home = env::home_dir();
        let config = env::var_os("CLAUDE_CONFIG_DIR").filter(|config| !config.is_empty()).map(PathBuf::from);
        let old = config.clone().or_else(|| Some(home.as_ref()?.join(".claude")))?.join(".config.json");
        if old.is_file() { Some(old) } else { Some(config.or(home)?.join(".claude.json")) }
    }

    fn from_values(config: Option<OsString>, home: Option<PathBuf>) -> Self {
        let folders = match (config.filter(|config| !config.is_empty()), home) {
            (Some(config), _) => vec![PathBuf::from(config)],
            (None, Some(home)) => vec![home.join(".claude"), home.join(".config/claude")],
            (None, None) => Vec::new(),
        };
        Self::of(folders)
    }

    fn of(folders: Vec<PathBuf>) -> Self {
        let folders: Vec<_> = folders.into_iter().map(absolute).collect();
        let first = folders.iter().find(|folder| has_projects(folder)).or(folders.first()).cloned();
        let (folders, missing) = folders.into_iter().partition(|folder| has_projects(folder));
        Self { first, folders: distinct(folders), missing: distinct(missing) }
    }

    /// Returns an error for every given folder that is not a config folder.
    pub fn missing(&self) -> impl Iterator<Item = Error> {
        self.missing.iter().filter(|root| !has_projects(root)).map(|path| Error::no_projects(path))
    }

    /// Returns the `projects` folders.
    pub(crate) fn projects(&self) -> impl Iterator<Item = PathBuf> + use<'_> {
        self.paths().map(projects_of)
    }

    /// Returns all given folders, whether they have a `projects` folder or not.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().chain(&self.missing).map(PathBuf::as_path)
    }

    /// Returns the `projects` folders, including those that do not exist yet.
    #[cfg(feature = "follow")]
    pub(crate) fn projects_to_come(&self) -> impl Iterator<Item = PathBuf> + use<'_> {
        self.named().map(projects_of)
    }

    /// Returns the config folders that have a `projects` folder at this moment, or had one when they were given.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let new = self.missing.iter().filter(|root| has_projects(root) && !self.has_another_name_of(root));
        self.folders.iter().chain(new).map(PathBuf::as_path)
    }

    fn has_another_name_of(&self, root: &Path) -> bool {
        let resolved = resolved_projects(root);
        self.folders.iter().any(|folder| resolved_projects(folder) == resolved)
    }

    /// Returns the folder that new sessions are written to, whether it exists yet or not.
    pub(crate) fn to_write_into(&self) -> Result<&Path, Error> {
        self.first.as_deref().ok_or_else(|| Error::new(ErrorKind::NoRoot))
    }
}

fn projects_of(folder: &Path) -> PathBuf {
    ConfigFolder::new(folder).projects()
}

/// Returns whether a config folder has a `projects` folder. If permissions do not show it, reading it later reports the error.
fn has_projects(folder: &Path) -> bool {
    match projects_of(folder).metadata() {
        Ok(metadata) => metadata.is_dir(),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// Returns the absolute form of a path. Links are kept, because users know their folders by these names; only the part before
/// the last `..` is resolved, since `..` means the parent of the resolved folder.
fn absolute(path: PathBuf) -> PathBuf {
    let path = std::path::absolute(&path).unwrap_or(path);
    let parts: Vec<_> = path.components().collect();
    let end = parts.iter().rposition(|part| *part == Component::ParentDir).map_or(0, |last| last + 1);
    let (above, below) = parts.split_at(end);
    let above: PathBuf = above.iter().collect();
    let mut whole = if end == 0 { above } else { above.canonicalize().unwrap_or(above) };
    whole.extend(below);
    whole
}

/// Returns the folders without those that are another name of an earlier one.
fn distinct(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    folders.into_iter().filter(|folder| seen.insert(resolved_projects(folder))).collect()
}

/// Returns the resolved `projects` folder, or else the resolved config folder, by which two roots are compared.
fn resolved_projects(folder: &Path) -> PathBuf {
    let projects = projects_of(folder);
    projects.canonicalize().unwrap_or_else(|_| folder.canonicalize().unwrap_or(projects))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_one_folder_or_two_under_home() {
        let home = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.join("projects")).unwrap();
            path
        };
        let (custom, usual, xdg) = (folder("custom"), folder(".claude"), folder(".config/claude"));
        let at_home = || Some(home.path().to_owned());
        assert_eq!(Roots::from_values(Some(custom.clone().into()), at_home()).folders, [custom]);
        assert_eq!(Roots::from_values(Some("".into()), at_home()).folders, [usual.clone(), xdg]);
        std::fs::remove_dir_all(home.path().join(".config")).unwrap();
        assert_eq!(Roots::from_values(None, at_home()).folders, [usual]);
        assert_eq!(Roots::from_values(None, None).folders, [] as [PathBuf; 0]);
        let twice = Roots::given(vec![home.path().join(".claude"), home.path().join("./.claude/")]).unwrap();
        assert_eq!(twice.folders.len(), 1);
    }

    #[test]
    fn a_root_is_the_same_however_it_is_named() {
        let here = std::env::current_dir().unwrap();
        let folder = tempfile::tempdir_in(&here).unwrap();
        let name = Path::new(folder.path().file_name().unwrap());
        std::fs::create_dir_all(folder.path().join("projects")).unwrap();
        let whole = here.join(name);
        for typed in [
            whole.clone(),
            name.to_owned(),
            Path::new(".").join(name),
            Path::new("./").join(name).join(""),
            name.join("projects/.."),
            whole.join("projects").join("..").join("."),
        ] {
            let roots = Roots::given(vec![typed.clone()]).unwrap();
            assert_eq!(
                (&roots.folders[..], roots.first.as_ref()),
                (&[whole.clone()][..], Some(&whole)),
                "{typed:?}"
            );
        }
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(folder.path(), &link).unwrap();
            let roots = Roots::given(vec![name.join("link")]).unwrap();
            assert_eq!(roots.folders, [link], "users know their folders by the names of links");
        }
    }

    #[test]
    fn a_projects_folder_that_is_made_later_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("first/projects")).unwrap();
        let roots = Roots::to_record_in(vec![path("first"), path("second"), path("link")]);
        assert_eq!(roots.paths().collect::<Vec<_>>(), [path("first")]);
        assert_eq!(roots.missing().count(), 2);
        std::fs::create_dir_all(path("second/projects")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(path("first"), path("link")).unwrap();
        assert_eq!(roots.paths().collect::<Vec<_>>(), [path("first"), path("second")]);
        assert_eq!(roots.missing().count(), usize::from(!cfg!(unix)));
    }

    #[test]
    fn folders_that_cannot_be_used_are_told_and_do_not_keep_the_others_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("good/projects")).unwrap();
        std::fs::create_dir_all(path("bare")).unwrap();
        std::fs::create_dir_all(path("odd")).unwrap();
        std::fs::write(path("odd/projects"), "").unwrap();
        std::fs::write(path("file"), "").unwrap();
        for (name, reason) in [
            ("bare", "has no `projects` folder"),
            ("odd", "has no `projects` folder"),
            ("file", "is a file, not a config folder of Claude Code"),
            ("nowhere", "is not there"),
        ] {
            let error = Roots::given(vec![path(name)]).unwrap_err();
            assert!(error.is_no_projects() && error.to_string().ends_with(reason), "{error}");
            let roots = Roots::given(vec![path(name), path("good")]).unwrap();
            assert_eq!(roots.folders, [path("good")]);
            assert_eq!(
                roots.missing().map(|error| error.to_string()).collect::<Vec<_>>(),
                [error.to_string()]
            );
        }
    }
}

//! Where sessions live: the config folders of the client.

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};

/// The client's config folders, each with a `projects` folder inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    folders: Vec<PathBuf>,
    /// Where new sessions go, whether it is there yet or not.
    first: Option<PathBuf>,
}

impl Roots {
    /// Takes the folders as given. Each must hold a `projects` folder.
    pub fn given(folders: Vec<PathBuf>) -> Result<Self, Error> {
        match folders.iter().find(|folder| !folder.join("projects").is_dir()) {
            Some(path) => Err(Error::new(ErrorKind::NoProjects { path: path.clone() })),
            None => Ok(Self::taken(folders)),
        }
    }

    /// Takes the folders as given, for recording: what is missing in them is made.
    pub fn to_record_in(folders: Vec<PathBuf>) -> Self {
        Self::taken(folders)
    }

    /// Takes the folders that the client uses: `$CLAUDE_CONFIG_DIR`, or else `~/.claude` and `~/.config/claude`.
    /// Folders that do not exist are left out.
    pub fn from_environment() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the place")]
        let home = env::home_dir();
        Self::from_values(env::var_os("CLAUDE_CONFIG_DIR"), home)
    }

    fn from_values(config: Option<OsString>, home: Option<PathBuf>) -> Self {
        let folders = match (config.filter(|config| !config.is_empty()), home) {
            (Some(config), _) => vec![PathBuf::from(config)],
            (None, Some(home)) => vec![home.join(".claude"), home.join(".config/claude")],
            (None, None) => Vec::new(),
        };
        Self::taken(folders)
    }

    fn taken(folders: Vec<PathBuf>) -> Self {
        let is_there = |folder: &PathBuf| folder.join("projects").is_dir();
        let first = folders.iter().find(|folder| is_there(folder)).or(folders.first()).cloned();
        Self { first, folders: distinct(folders.into_iter().filter(is_there)) }
    }

    /// Returns the `projects` folders.
    pub(crate) fn projects(&self) -> impl Iterator<Item = PathBuf> + use<'_> {
        self.paths().map(|root| root.join("projects"))
    }

    /// Returns the folders.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// Returns the folder that new sessions go into, whether it is there yet or not.
    pub(crate) fn to_write_into(&self) -> Result<&Path, Error> {
        self.first.as_deref().ok_or_else(|| Error::new(ErrorKind::NoRoot))
    }
}

/// Keeps one of several names of the same folder.
fn distinct(folders: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
    folders.filter(|folder| seen.insert(real(folder))).collect()
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
    fn a_given_folder_must_be_a_clients() {
        let folder = tempfile::tempdir().unwrap();
        let error = Roots::given(vec![folder.path().to_owned()]).unwrap_err();
        assert!(error.is_no_projects() && error.to_string().contains("no `projects` folder"));
    }
}

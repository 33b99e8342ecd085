//! Repositories: which branch is checked out, and which folders are worktrees of one another.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use annals_transcript::project::resolve;

/// At most this many bytes of a file are read.
const LONGEST: u64 = 64 << 10;

/// Returns the branch that is checked out in a folder: `HEAD` if the head is detached, an empty text outside a repository.
pub(crate) fn branch(folder: &Path) -> String {
    let head = folder.ancestors().find_map(|folder| git_folder(&folder.join(".git")));
    let head = head.and_then(|git| read(&git.join("HEAD")));
    match head.as_deref().map(str::trim) {
        None => String::new(),
        Some(head) => head.strip_prefix("ref: refs/heads/").unwrap_or("HEAD").to_owned(),
    }
}

/// Returns the repository that a folder is a worktree of. Returns `None` for a main repository and for any other folder.
pub(crate) fn repository_of_worktree(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if !git.is_file() {
        return None;
    }
    let of_worktree = git_folder(&git)?;
    let worktrees = of_worktree.parent().filter(|path| path.ends_with(".git/worktrees"))?;
    Some(resolve(worktrees.parent()?.parent()?))
}

/// Returns the folders of a repository's worktrees.
pub(crate) fn worktrees(repository: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository.join(".git/worktrees")).into_iter().flatten().flatten();
    entries.filter_map(|entry| worktree_folder(&entry.path())).collect()
}

/// Returns the folder of a worktree, by its entry in `.git/worktrees`.
fn worktree_folder(entry: &Path) -> Option<PathBuf> {
    let text = read(&entry.join("gitdir"))?;
    Some(resolve(entry.join(text.trim()).parent()?))
}

/// Returns the git folder that `.git` stands for. In a worktree `.git` is a file with the path of that folder.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let text = read(git)?;
    Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Reads one of git's small files. The folder is not trusted: only a regular file is opened, and only its first bytes are read.
fn read(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_that_of_the_repository_around_a_folder() {
        let home = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("repo/.git/HEAD", "ref: refs/heads/fix/天气\n");
        write("repo/.git/worktrees/w/HEAD", "0123456789\n");
        write("repo/deep/er/file", "");
        write("tree/.git", "gitdir: ../repo/.git/worktrees/w\n");
        let branch = |path: &str| branch(&home.path().join(path));
        assert_eq!(branch("repo/deep/er"), "fix/天气");
        assert_eq!(branch("tree"), "HEAD");
        assert_eq!(branch("nowhere"), "");

        let tree = home.path().join("tree");
        write("repo/.git/worktrees/w/gitdir", &format!("{}\n", tree.join(".git").display()));
        assert_eq!(worktrees(&home.path().join("repo")), [resolve(&tree)]);
        let repository = repository_of_worktree(&tree).unwrap();
        assert_eq!(repository, resolve(&home.path().join("repo")), "without a detour");
        assert_eq!(repository_of_worktree(&home.path().join("repo")), None);
        write("submodule/.git", "gitdir: ../repo/.git/modules/submodule\n");
        assert_eq!(repository_of_worktree(&home.path().join("submodule")), None);
    }
}

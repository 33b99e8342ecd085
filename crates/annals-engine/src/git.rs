//! Which branch is checked out.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the branch that is checked out in a folder: `HEAD` if it is none, nothing outside a repository.
pub(crate) fn branch(folder: &Path) -> String {
    let head = folder.ancestors().find_map(|folder| git_folder(&folder.join(".git")));
    let head = head.and_then(|git| fs::read_to_string(git.join("HEAD")).ok());
    match head.as_deref().map(str::trim) {
        None => String::new(),
        Some(head) => head.strip_prefix("ref: refs/heads/").unwrap_or("HEAD").to_owned(),
    }
}

/// In a worktree `.git` is a file that says where the folder lies.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let text = fs::read_to_string(git).ok()?;
    Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
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
    }
}

//! `cargo x web`, `viewer`, `shots` and `demo`: builds the viewer, tests it in a browser, takes its picture, shows it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::{Outcome, call, call_with, project};

#[derive(clap::Args)]
pub(crate) struct ViewerArgs {
    /// Only checks whose name contains this
    only: Option<String>,
    /// Run the checks of scrolling in Firefox instead
    #[arg(long)]
    firefox: bool,
    /// Run the checks of scrolling in `WebKitGTK` instead; needs `webkit2gtk-driver` and a display, such as that of `xvfb-run`
    #[arg(long, conflicts_with = "firefox")]
    webkit: bool,
}

/// Builds the viewer into `web/dist`, which `annals-server` embeds.
pub(crate) fn build() -> Outcome {
    install()?;
    npm(&["run", "build"])?;
    // See `build.rs` of annals-server: a folder that did not exist before cannot tell cargo that it has changed.
    File::options()
        .append(true)
        .open(project().join("crates/annals-server/build.rs"))?
        .set_modified(SystemTime::now())?;
    Ok(())
}

/// Runs the tests of the viewer: its logic, then a browser against a mock of the server and against the server itself.
pub(crate) fn viewer(args: &ViewerArgs) -> Outcome {
    build()?;
    if args.firefox || args.webkit {
        return scroll_in(if args.firefox { "firefox" } else { "webkit" }, args.only.as_deref());
    }
    check(&built()?, args.only.as_deref())
}

/// Runs the checks of scrolling in another browser, which needs no server but the mock.
fn scroll_in(browser: &str, only: Option<&str>) -> Outcome {
    let mut suite = Command::new("node");
    suite.args(["--experimental-websocket", "web/e2e/run.mjs"]).args(only).env("BROWSER", browser);
    call_with(&mut suite)
}

/// Runs the tests of the viewer that is built, with this server.
pub(crate) fn check(annals: &Path, only: Option<&str>) -> Outcome {
    if only.is_none() {
        npm(&["test"])?;
    }
    let mut suite = Command::new("node");
    suite.arg("web/e2e/run.mjs").args(only).env("ANNALS", annals);
    call_with(&mut suite)
}

/// The pictures that the README shows, by their names in `target/shots`.
const README_PICTURES: [(&str, &str); 2] =
    [("conversation-light.png", "viewer-light.png"), ("conversation-dark.png", "viewer-dark.png")];
/// A larger picture does not belong into the repository.
const LARGEST_PICTURE: u64 = 200_000;

/// Takes pictures of the main pages with the sessions of `corpus/sample`, and replaces those of the README.
pub(crate) fn shots() -> Outcome {
    build()?;
    let mut shots = Command::new("node");
    call_with(shots.arg("web/e2e/shots.mjs").env("ANNALS", built()?))?;
    replace_readme_pictures(&project().join("target/shots"), &project().join("docs/images"))
}

fn replace_readme_pictures(shots: &Path, images: &Path) -> Outcome {
    fs::create_dir_all(images)?;
    for (shot, image) in README_PICTURES {
        let shot = shots.join(shot);
        let bytes = fs::metadata(&shot)?.len();
        if bytes > LARGEST_PICTURE {
            return Err(format!("{} has {bytes} bytes, more than {LARGEST_PICTURE}", shot.display()).into());
        }
        fs::copy(&shot, images.join(image))?;
    }
    println!("pictures of the README in {}", images.display());
    Ok(())
}

/// Serves the sample, with the viewer if Node is there to build it.
pub(crate) fn demo() -> Outcome {
    if has_node() {
        build()?;
    } else {
        println!("there is no Node 20, so the viewer is not built; the page says how to get it");
    }
    call(
        env!("CARGO"),
        &["run", "--quiet", "--package", "annals", "--", "serve", "--read-only", "--root", "corpus/sample"],
    )
}

/// Returns whether the viewer can be built here.
pub(crate) fn has_node() -> bool {
    ["node", "npm"].iter().all(|name| {
        let mut version = Command::new(name);
        version
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

/// Installs the packages of the lock file, unless they are installed.
fn install() -> Outcome {
    let folder = project().join("web");
    let installed = folder.join("node_modules/.package-lock.json");
    let time = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    if time(&installed).is_some_and(|installed| {
        time(&folder.join("package-lock.json")).is_some_and(|locked| installed >= locked)
    }) {
        return Ok(());
    }
    // Not `npm ci`, which fails if a registry lacks the packages of other platforms. The lock file still decides the versions.
    npm(&["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"])
}

fn npm(args: &[&str]) -> Outcome {
    call_with(Command::new("npm").args(["--prefix", "web"]).args(args))
}

/// Builds annals and returns the path of the program.
fn built() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    call(env!("CARGO"), &["build", "--quiet", "--package", "annals", "--profile", profile])?;
    Ok(std::env::current_exe()?.with_file_name("annals"))
}

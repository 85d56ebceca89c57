//! A browser that has no window.

use super::folder::Folder;
use std::process::{Command, Output};

pub struct Chromium;

impl Chromium {
    /// Nothing where it is not installed.
    pub fn found() -> Option<Self> {
        if Command::new("chromium").arg("--version").output().is_ok() {
            return Some(Self);
        }
        assert!(std::env::var_os("CI").is_none(), "chromium is not installed");
        eprintln!("skipped: chromium is not installed");
        None
    }

    /// With these words besides, and nothing told on its console.
    pub fn run(&self, folder: &Folder, more: &[String]) -> Output {
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"])
            .args(["--enable-logging=stderr", "--hide-scrollbars", "--virtual-time-budget=20000"])
            .arg(format!("--user-data-dir={}", folder.path("profile").display()))
            .args(more)
            .output()
            .expect("chromium runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let console: Vec<_> = errors.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(console.is_empty(), "{console:?}");
        output
    }

    /// A page as it is after all has run, in a window of this width.
    pub fn page(&self, folder: &Folder, address: &str, width: usize) -> String {
        let output = self.run(folder, &[format!("--window-size={width},900"), "--dump-dom".into(), address.into()]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

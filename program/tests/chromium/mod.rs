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

    fn run(&self, folder: &Folder, more: &[String]) -> Output {
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

    /// A page as it is after all has run, with nothing told on its console.
    pub fn page(&self, folder: &Folder, address: &str) -> String {
        let output = self.run(folder, &["--window-size=1400,900".into(), "--dump-dom".into(), address.into()]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Its pixels.
    pub fn picture(&self, folder: &Folder, address: &str, [width, height]: [usize; 2]) -> Vec<[u8; 3]> {
        let file = folder.path("seen.png");
        self.run(
            folder,
            &[format!("--window-size={width},{height}"), format!("--screenshot={}", file.display()), address.into()],
        );
        let mut reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file).expect("a picture")))
            .read_info()
            .expect("a PNG file");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut bytes).expect("pixels");
        let samples = info.color_type.samples();
        bytes.chunks_exact(samples).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
    }
}

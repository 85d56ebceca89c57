//! `isocenter view`: a volume in a browser.

use super::pictures::Stored;
use crate::cli::View;
use crate::plan::Plan;
use crate::view::{Opened, Server, Viewed};
use crate::{names, status, talk};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use tempfile::NamedTempFile;

pub fn run(view: &View) -> Result<()> {
    let mut opened = Opened::open(&view.volume, view.data.as_deref()).map_err(status::unreadable)?;
    planned(&mut opened, &view.volume);
    if let Some(pixel) = view.pixel {
        ensure!(pixel > 0.0 && pixel.is_finite(), "--pixel is {pixel}; it must be above 0");
        opened.places = opened.places.with_side(pixel);
    }
    let viewed = Viewed { name: talk::path(&view.volume), opened };
    match &view.save {
        Some(path) => save(&viewed, path),
        None => serve(viewed, view),
    }
}

/// What numbers mean that lie alone in a file, if their plan is beside them.
fn planned(opened: &mut Opened, volume: &Path) {
    if opened.attenuation {
        return;
    }
    let Ok(plan) = Plan::read(&volume.with_extension("toml")) else { return };
    let window = &plan.steps.volume.window;
    let (dtype, integers) = (opened.source.dtype(), plan.steps.volume.dtype());
    if plan.output.file_name() == volume.file_name() && dtype == integers {
        (opened.scale, opened.attenuation) = (Some(Stored::new(window, dtype).scale), true);
    }
}

fn save(viewed: &Viewed, path: &Path) -> Result<()> {
    names::file(path)?;
    names::write(path, viewed.kept()?)?;
    talk::tell("page", json!({"path": talk::path(path)}), format_args!("page {}", path.display()));
    Ok(())
}

fn serve(viewed: Viewed, view: &View) -> Result<()> {
    // Ctrl-C is how it ends, and no error.
    let (end, ended) = channel();
    ctrlc::set_handler(move || {
        let _ = end.send(());
    })
    .context("Ctrl-C")?;
    let facts = viewed.facts();
    let server = Server::new(viewed, view.port)?;
    let (address, port) = (server.address()?, server.port()?);
    let tunnel = format!("ssh -N -L {port}:127.0.0.1:{port} {}", host());
    let text = format!(
        "{}: {facts}\n{address}\nfrom another machine: {tunnel}, there, and then the same address\nCtrl-C ends it",
        view.volume.display()
    );
    talk::tell("serving", json!({"path": talk::path(&view.volume), "address": address, "port": port}), text);
    std::thread::Builder::new().spawn(move || server.run()).context("a thread")?;
    // It goes when this ends.
    let _way = if view.open { browser(&address) } else { None };
    ended.recv().context("Ctrl-C")
}

/// Opens a browser, by a file that nobody else can read: all users of a machine see the words of commands, with any address in them.
fn browser(address: &str) -> Option<NamedTempFile> {
    let opened = || -> Result<NamedTempFile> {
        let mut file = tempfile::Builder::new().prefix("isocenter-view").suffix(".html").tempfile()?;
        write!(file, "<!DOCTYPE html>\n<meta http-equiv=\"refresh\" content=\"0; url={address}\">\n")?;
        let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        let mut command = Command::new(program);
        command.arg(file.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().context(program)?;
        // So that nothing is left of it in the list of processes.
        std::thread::spawn(move || child.wait());
        Ok(file)
    };
    opened().map_err(|error| talk::note(format_args!("no browser was opened, {error:#}: the address is for one"))).ok()
}

/// What others call this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "HOST".into() } else { name.trim().into() }
}

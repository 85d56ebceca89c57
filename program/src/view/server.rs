//! Answers a browser on this machine, and nobody else: whoever does not know the token gets nothing.

use super::page;
use super::planes::Plane;
use super::request::{Refused, Wanted, header, wanted};
use super::{Viewed, token};
use crate::talk;
use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// For a request to come, and for an answer to be taken.
const PATIENCE: Duration = Duration::from_secs(20);
/// After a connection that failed.
const PAUSE: Duration = Duration::from_millis(20);
/// Requests at a time, at most: a browser has six.
const AT_A_TIME: usize = 32;

pub struct Server {
    listener: TcpListener,
    token: String,
    viewed: Arc<Viewed>,
}

impl Server {
    /// On a port of this machine that others cannot reach; 0: one that is free.
    pub fn new(viewed: Viewed, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        let listener = listener.with_context(|| format!("--port {port}"))?;
        Ok(Self { listener, token: token()?, viewed: Arc::new(viewed) })
    }

    pub fn port(&self) -> Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    pub fn address(&self) -> Result<String> {
        Ok(format!("http://127.0.0.1:{}/{}/", self.port()?, self.token))
    }

    /// Answers until the program ends.
    pub fn run(&self) -> Result<()> {
        let busy = Arc::new(AtomicUsize::new(0));
        for stream in self.listener.incoming() {
            // One that went away before it was taken is no reason to end.
            let Ok(stream) = stream else {
                // Nor to try again at once, where there are too many open files.
                std::thread::sleep(PAUSE);
                continue;
            };
            let one = One { stream, token: self.token.clone(), viewed: self.viewed.clone(), busy: busy.clone() };
            if busy.fetch_add(1, Ordering::Relaxed) >= AT_A_TIME {
                // With it the connection ends.
                drop(one);
                continue;
            }
            // Without a thread it ends likewise.
            let _ = std::thread::Builder::new().spawn(move || one.answer());
        }
        Ok(())
    }
}

/// A connection, which has one request.
struct One {
    stream: TcpStream,
    token: String,
    viewed: Arc<Viewed>,
    busy: Arc<AtomicUsize>,
}

impl Drop for One {
    fn drop(&mut self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl One {
    fn answer(mut self) {
        let limits = [self.stream.set_read_timeout(Some(PATIENCE)), self.stream.set_write_timeout(Some(PATIENCE))];
        if limits.iter().any(Result::is_err) {
            return;
        }
        let asked = header(&mut self.stream, Instant::now() + PATIENCE);
        let (status, kind, body) = match asked.and_then(|header| wanted(&header, &self.token)) {
            Ok(Wanted::Page) => match page::live(&self.viewed) {
                Ok(page) => ("200 OK", HTML, page.into_bytes()),
                Err(error) => failed(&error),
            },
            Ok(Wanted::Plane(plane)) => match plane.check(self.viewed.opened.source.shape()) {
                Ok(()) => self.plane(&plane),
                Err(outside) => ("400 Bad Request", TEXT, format!("{outside:#}\n").into_bytes()),
            },
            Err(refused) => (status(refused), TEXT, Vec::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
            body.len()
        );
        // A browser may go away at any time.
        let _ = self.stream.write_all(head.as_bytes()).and_then(|()| self.stream.write_all(&body));
        let _ = self.stream.shutdown(Shutdown::Write);
        // What it still sends is taken, or it would not see the answer.
        let mut rest = (&self.stream).take(1 << 20);
        let _ = std::io::copy(&mut rest, &mut std::io::sink());
    }
}

impl One {
    fn plane(&self, plane: &Plane) -> Answer {
        match self.viewed.plane(plane) {
            Ok(values) => ("200 OK", "application/octet-stream", values),
            Err(error) => failed(&error),
        }
    }
}

/// Status, type and body.
type Answer = (&'static str, &'static str, Vec<u8>);

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A fault of reading: told where the program was started, and in the page.
fn failed(error: &anyhow::Error) -> Answer {
    talk::warning(format_args!("{error:#}"));
    ("500 Internal Server Error", TEXT, format!("{error:#}\n").into_bytes())
}

fn status(refused: Refused) -> &'static str {
    match refused {
        Refused::Bad => "400 Bad Request",
        Refused::NotFound => "404 Not Found",
        Refused::Method => "405 Method Not Allowed",
        Refused::TooLong => "431 Request Header Fields Too Large",
        Refused::Slow => "408 Request Timeout",
    }
}

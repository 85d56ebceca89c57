//! Volumes of every kind looked at: planes that the program gives to browsers, requests that no browser makes, and pages in Chromium.

mod chromium;
mod folder;

use chromium::Chromium;
use folder::Folder;
use isocenter::array::DType;
use isocenter_program::volume::{self, About, Compression, Format, Wanted};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SHAPE: [usize; 3] = [37, 45, 150];
const NAMES: [&str; 6] = ["v.h5", "v.tif", "v", "v.vol", "v.raw", "v.zarr"];
/// Between slices and within them, and of the first voxel from the axis.
const APART: f64 = 0.006;
const PIXEL: f64 = 0.003;
const FIRST: [f64; 3] = [-10.0, 3.5, -100.25];
const SCALE: [f64; 2] = [0.5, -3.0];

/// Other values at every place.
fn stored([z, y, x]: [usize; 3]) -> u16 {
    (z * 1000 + y * 20 + x) as u16
}

fn values(dtype: DType) -> Vec<u8> {
    let [slices, rows, columns] = SHAPE;
    let all = (0..slices * rows * columns).map(|k| stored([k / (rows * columns), k / columns % rows, k % columns]));
    match dtype {
        DType::U16 => all.flat_map(u16::to_ne_bytes).collect(),
        _ => all.flat_map(|v| f32::from(v).to_ne_bytes()).collect(),
    }
}

/// Between slices: values alone have one side of voxels.
fn apart(path: &Path) -> f64 {
    if path.extension().is_some_and(|e| e == "vol" || e == "raw") { PIXEL } else { APART }
}

/// A volume of the kind that its name asks for; gives its numbers.
fn write(path: &Path) -> DType {
    let dtype = if path.extension().is_some_and(|e| e == "vol") { DType::F32 } else { DType::U16 };
    let format = if path.extension().is_none() { Format::Tiff } else { Format::of(path) };
    let scale = if dtype == DType::F32 { [1.0, 0.0] } else { SCALE };
    let places = volume::Places { step: [apart(path), PIXEL, PIXEL], first: FIRST, known: true };
    let about = About { title: None, places, row: 7, scale, plan: "a plan", labels: &[] };
    let wanted = Wanted { path, format, compression: Compression::Zstd, shape: SHAPE, dtype, block: 128, about };
    let volume = wanted.create().expect("a volume");
    volume.write(0, &values(dtype)).expect("written");
    volume.finish().expect("finished");
    dtype
}

/// The program at work, until it is dropped.
struct Viewer {
    child: Child,
    port: u16,
    token: String,
}

impl Viewer {
    fn new(folder: &Folder, words: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isocenter"));
        command.args([&["view", "--json"], words].concat()).current_dir(&folder.0).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command runs");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let serving = lines.find_map(|line| {
            let line: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            (line["event"] == "serving").then_some(line)
        });
        let serving = serving.expect("it serves");
        let address = serving["address"].as_str().expect("an address");
        let token = address.trim_end_matches('/').rsplit('/').next().expect("a token").to_string();
        assert!(token.len() == 32, "{address}");
        Self { child, port: serving["port"].as_u64().expect("a port") as u16, token }
    }

    fn sent(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        // It may have answered before all of it was sent.
        let _ = stream.write_all(bytes);
        stream
    }

    /// Status and body of the answer to some bytes.
    fn answer(&self, bytes: &[u8]) -> (u16, Vec<u8>) {
        let mut stream = self.sent(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let at = answer.windows(4).position(|end| end == b"\r\n\r\n").expect("a header");
        let head = String::from_utf8_lossy(&answer[..at]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("{head}")), answer[at + 4..].to_vec())
    }

    fn get(&self, rest: &str) -> (u16, Vec<u8>) {
        self.answer(format!("GET /{}/{rest} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", self.token).as_bytes())
    }

    /// Ends it as Ctrl-C does; that is no error.
    fn end(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
        assert_eq!(self.child.wait().expect("a child").code(), Some(0));
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Places of an axis: the first, how many, how far apart.
type Places = [usize; 3];

/// Where a page says that voxels are: in kinds of files that tell it from the axis, in others about the middle.
fn check_places(name: &str, page: &str) {
    let about = page.split_once("id=\"about\"").and_then(|(_, rest)| rest.split_once('>')?.1.split_once("</script>"));
    let about: Value = serde_json::from_str(about.expect("facts").0).expect("JSON");
    let told = &about["places"];
    let axis = ["v.h5", "v.zarr"].contains(&name);
    let first = if axis { FIRST } else { SHAPE.map(|n| (1.0 - n as f64) / 2.0) };
    assert!(told["axis"] == axis && told["millimetres"] == true, "{name}: {told}");
    for (key, right) in [("step", [apart(Path::new(name)), PIXEL, PIXEL]), ("first", first)] {
        for (k, right) in right.into_iter().enumerate() {
            let seen = told[key][k].as_f64().expect("a number");
            // A number of single precision, or a fraction of 32-bit numbers, tells a side.
            assert!((seen - right).abs() <= 1e-7 * right.abs(), "{name}: {key} {seen}, {right}");
        }
    }
}

#[test]
fn planes_of_every_kind() {
    let folder = Folder::new("planes");
    for name in NAMES {
        let dtype = write(&folder.path(name));
        let viewer = Viewer::new(&folder, &[name]);
        let (status, page) = viewer.get("");
        let page = String::from_utf8(page).expect("UTF-8");
        assert!(status == 200 && page.contains("37 slices of 45 x 150"), "{name}: {page}");
        check_places(name, &page);
        for (across, at, down, along) in [
            (0, 36, [0, 45, 1], [0, 150, 1]),
            (0, 5, [3, 7, 6], [1, 30, 5]),
            (0, 0, [44, 1, 1], [149, 1, 9]),
            (1, 44, [0, 37, 1], [0, 150, 1]),
            (1, 3, [1, 6, 7], [127, 11, 2]),
            (2, 149, [0, 37, 1], [0, 45, 1]),
            (2, 128, [2, 7, 5], [4, 9, 4]),
        ] as [(usize, usize, Places, Places); 7]
        {
            let list = |p: Places| p.map(|n| n.to_string()).join(",");
            let axis = ["z", "y", "x"][across];
            let (status, bytes) =
                viewer.get(&format!("plane?across={axis}&at={at}&down={}&along={}", list(down), list(along)));
            let place = |d: usize, a: usize| {
                let [d, a] = [down[0] + d * down[2], along[0] + a * along[2]];
                [[at, d, a], [d, at, a], [d, a, at]][across]
            };
            let expected =
                (0..down[1]).flat_map(|d| (0..along[1]).map(move |a| (d, a))).map(|(d, a)| stored(place(d, a)));
            let seen: Vec<u16> = match dtype {
                DType::U16 => bytes.as_chunks().0.iter().map(|v| u16::from_le_bytes(*v)).collect(),
                _ => bytes.as_chunks().0.iter().map(|v| f32::from_le_bytes(*v) as u16).collect(),
            };
            assert!(status == 200 && seen.iter().copied().eq(expected), "{name}: across {axis} at {at}");
        }
        viewer.end();
    }
}

/// Whoever does not know the token gets nothing; nobody gets the program to end.
#[test]
fn requests_that_no_browser_makes() {
    let folder = Folder::new("requests");
    write(&folder.path("v.h5"));
    let viewer = Viewer::new(&folder, &["v.h5"]);
    let token = viewer.token.clone();
    let plane = |query: &str| viewer.get(&format!("plane?{query}")).0;
    for (query, status) in [
        ("across=z&at=37&down=0,1,1&along=0,1,1", 400),
        ("across=x&at=150&down=0,1,1&along=0,1,1", 400),
        ("across=z&at=0&down=0,46,1&along=0,1,1", 400),
        ("across=z&at=0&down=44,2,1&along=0,1,1", 400),
        ("across=z&at=0&down=0,0,1&along=0,1,1", 400),
        ("across=z&at=0&down=0,1,0&along=0,1,1", 400),
        ("across=z&at=0&down=0,18446744073709551615,1&along=0,1,1", 400),
        ("across=z&at=0&down=18446744073709551615,1,1&along=0,1,1", 400),
        ("across=z&at=0&down=0,2,18446744073709551615&along=0,1,1", 400),
        ("across=z&at=0&down=0,1,1&along=0,1,1", 200),
        ("across=z&at=0&down=0,1,1", 400),
        ("", 400),
    ] {
        assert_eq!(plane(query), status, "{query}");
    }
    let wrong = "0".repeat(32);
    for (request, status) in [
        (format!("GET /{wrong}/ HTTP/1.1\r\n\r\n"), 404),
        ("GET / HTTP/1.1\r\n\r\n".into(), 404),
        ("GET /favicon.ico HTTP/1.1\r\n\r\n".into(), 404),
        (format!("GET /{token} HTTP/1.1\r\n\r\n"), 404),
        (format!("GET /{token}/../../../etc/passwd HTTP/1.1\r\n\r\n"), 404),
        (format!("GET /{token}/v.h5 HTTP/1.1\r\n\r\n"), 404),
        (format!("POST /{token}/ HTTP/1.1\r\nContent-Length: 4\r\n\r\nmore"), 405),
        (format!("GET /{token}/ HTTP/2\r\n\r\n"), 400),
        (format!("GET /{token}/"), 400),
        ("\r\n\r\n".into(), 400),
        (String::new(), 400),
        (format!("GET /{token}/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)), 431),
    ] {
        let (seen, body) = viewer.answer(request.as_bytes());
        assert!(seen == status && body.len() < 100, "{:.60}: {seen}", request);
    }
    assert_eq!(viewer.answer(b"GET /\xff\xfe\x00/ HTTP/1.1\r\n\r\n").0, 400);
    // Connections that say nothing, or half of a line, keep nobody else from being answered.
    let silent: Vec<_> = (0..8).map(|k| viewer.sent(&b"GET /"[..k % 5])).collect();
    assert_eq!(viewer.get("").0, 200);
    drop(silent);
    // A port that somebody has.
    let port = viewer.port.to_string();
    let other = Command::new(env!("CARGO_BIN_EXE_isocenter"))
        .args(["view", "v.h5", "--port", &port])
        .current_dir(&folder.0)
        .output()
        .expect("the command runs");
    assert!(!other.status.success() && String::from_utf8_lossy(&other.stderr).contains(&port));
    viewer.end();
}

#[test]
fn volumes_that_cannot_be_read() {
    let folder = Folder::new("unreadable");
    for name in ["v.h5", "v.vol", "v.zarr"] {
        write(&folder.path(name));
    }
    std::fs::write(folder.path("text.h5"), "no volume").expect("a file");
    std::fs::write(folder.path("alone.raw"), "values").expect("a file");
    std::fs::write(folder.path("begun.h5.unfinished"), "").expect("a file");
    std::fs::create_dir(folder.path("empty")).expect("a folder");
    let shortened = std::fs::read(folder.path("v.vol")).expect("values");
    std::fs::write(folder.path("short.vol"), &shortened[..shortened.len() - 1]).expect("a file");
    std::fs::copy(folder.path("v.vol.info"), folder.path("short.vol.info")).expect("a copy");
    let other = folder.path("other.zarr");
    std::fs::create_dir_all(other.join("0")).expect("a folder");
    let text = |name: &str| std::fs::read_to_string(folder.path("v.zarr").join(name)).expect("metadata");
    std::fs::write(other.join("zarr.json"), text("zarr.json")).expect("a file");
    std::fs::write(other.join("0/zarr.json"), text("0/zarr.json").replace("crc32c", "crc64")).expect("a file");
    for (words, word) in [
        (vec!["nothing.h5"], "nothing.h5 is not there"),
        (vec!["begun.h5"], "is not finished"),
        (vec!["text.h5"], "text.h5"),
        (vec!["v.h5", "--data", "/entry/other"], "/entry/other"),
        (vec!["v.vol", "--data", "/entry/other"], "--data"),
        (vec!["alone.raw"], "alone.raw.info"),
        (vec!["short.vol"], "truncated"),
        (vec!["empty"], "empty"),
        (vec!["other.zarr"], "another way"),
        (vec!["v.h5", "--pixel", "0"], "--pixel"),
        (vec!["v.h5", "--save", "."], "folder"),
        (vec!["v.h5", "--save", "a.html", "--open"], "--open"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isocenter"));
        let output = command.arg("view").args(&words).current_dir(&folder.0).output().expect("the command runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(word), "{words:?}: {told}");
    }
}

/// Pixels of a page.
fn pixels(chromium: &Chromium, folder: &Folder, address: &str) -> Vec<[u8; 3]> {
    let file = folder.path("seen.png");
    let words = ["--window-size=1400,900".into(), format!("--screenshot={}", file.display()), address.into()];
    chromium.run(folder, &words);
    let file = BufReader::new(std::fs::File::open(file).expect("a picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG file");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut bytes).expect("pixels");
    bytes.chunks_exact(info.color_type.samples()).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

/// What is seen of a volume in a browser: values and places where the cross is, of pages that ask for planes and of those that have them.
#[test]
fn pages_in_a_browser() {
    let Some(chromium) = Chromium::found() else { return };
    let folder = Folder::new("pages");
    // A name that would end the page's data, and run a script.
    let name = "<\u{2028}script>alert(1)@SCRIPT@.tif";
    write(&folder.path(name));
    let viewer = Viewer::new(&folder, &[name]);
    let address = format!("http://127.0.0.1:{}/{}/", viewer.port, viewer.token);
    let cross = |page: &str| {
        let text = page.split_once("id=\"cross\">").and_then(|(_, rest)| rest.split_once("</output>"));
        text.map(|(text, _)| text.to_string()).unwrap_or_default()
    };
    let words = |[z, y, x]: [usize; 3]| {
        let value = f64::from(stored([z, y, x])) * SCALE[0] + SCALE[1];
        let place = |side: f64, k: usize, n: usize| side * (k as f64 - (n as f64 - 1.0) / 2.0);
        let [a, b, c] = [place(PIXEL, x, SHAPE[2]), place(PIXEL, y, SHAPE[1]), place(APART, z, SHAPE[0])];
        format!("{value} 1/mm\nx {a:.4} mm ({x})\ny {b:.4} mm ({y})\nz {c:.4} mm ({z})")
    };
    for (fragment, at) in [("", [18, 22, 75]), ("#z=3&y=40&x=149", [3, 40, 149]), ("#z=999&y=-4&x=1", [36, 0, 1])] {
        let page = chromium.page(&folder, &format!("{address}{fragment}"), 1400);
        assert!(page.contains("data-ready=\"true\""), "{page}");
        assert_eq!(cross(&page), words(at), "{fragment}");
    }
    viewer.end();
    // Without the program.
    let save = ["view", name, "--save", "kept.html"];
    let saved = Command::new(env!("CARGO_BIN_EXE_isocenter")).args(save).current_dir(&folder.0).output();
    assert!(saved.expect("the command runs").status.success());
    let page = std::fs::read_to_string(folder.path("kept.html")).expect("a page");
    assert!(!page.contains("alert(1)@SCRIPT@.tif\"") && !page.contains("<\u{2028}script>"));
    let seen = chromium.page(&folder, &format!("file://{}", folder.path("kept.html").display()), 1400);
    assert!(seen.contains("data-ready=\"true\""), "{seen}");
    assert_eq!(cross(&seen), words([18, 22, 75]));
    // Its canvases show the planes: black and white are at its smallest and largest values.
    let picture = pixels(&chromium, &folder, &format!("file://{}", folder.path("kept.html").display()));
    let levels: std::collections::BTreeSet<_> = picture.iter().map(|pixel| pixel[0]).collect();
    assert!(levels.len() > 100, "{levels:?}");
}

//! The report of a run, opened in a browser that has no window: Chromium.

mod chromium;
mod folder;

use chromium::Chromium;
use folder::Folder;
use serde_json::Value;
use std::f64::consts::PI;
use std::path::Path;
use std::process::Command;

const ROWS: usize = 5;
const BINS: usize = 80;
const VIEWS: usize = 61;

/// Two rods, in a Data Exchange file of line integrals whose title would do harm if it were taken for a part of the page.
fn scan(path: &Path) {
    let value = |k: usize| {
        let (view, bin) = (k / (ROWS * BINS), (k % BINS) as f64);
        let rod = |x: f64, y: f64| {
            let angle = PI * view as f64 / VIEWS as f64;
            let s = bin - 38.2 - x * angle.cos() - y * angle.sin();
            (-s * s / 30.0).exp()
        };
        (rod(15.0, 3.0) + 0.5 * rod(-9.0, 12.0) + (k * 7 % 11) as f64 * 1e-3) as f32
    };
    let values: Vec<f32> = (0..VIEWS * ROWS * BINS).map(value).collect();
    let file = hdf5_metno::File::create(path).expect("a file");
    let exchange = file.create_group("exchange").expect("a group");
    let data = exchange.new_dataset::<f32>().shape([VIEWS, ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(&values).expect("values");
}

/// Put at the page's end: tells, in the page, what a person would see of it.
const LOOK: &str = r#"
<script>
const refused = [];
addEventListener("securitypolicyviolation", e => refused.push(e.blockedURI || e.violatedDirective));
addEventListener("load", () => {
    const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; };
    const all = what => [...document.querySelectorAll(what)];
    const told = {
        images: all("img").map(e => [e.naturalWidth, e.naturalHeight, ...box(e).slice(2)]),
        plots: all("svg").map(e => box(e).slice(2)),
        texts: all("svg text").map(e => e.textContent),
        // Whether texts stick out of their plots.
        out: all("svg text").filter(e => {
            const [left, top, width, height] = box(e), [l, t, w, h] = box(e.closest("svg"));
            return left < l - 1 || top < t - 1 || left + width > l + w + 1 || top + height > t + h + 1;
        }).map(e => e.textContent),
        across: document.documentElement.scrollWidth - innerWidth,
        fetched: performance.getEntriesByType("resource").map(e => e.name).filter(name => !name.startsWith("data:")),
        bars: all(".times div").length,
        scripts: all("script").length,
        refused,
    };
    const end = document.createElement("script");
    end.type = "application/json";
    end.id = "told";
    end.textContent = JSON.stringify(told);
    document.body.append(end);
});
</script>
"#;

/// What `LOOK` tells of a page in a window of this width.
fn looked_at(chromium: &Chromium, folder: &Folder, page: &str, width: usize) -> Value {
    let policy = "style-src 'unsafe-inline'";
    assert_eq!(page.matches(policy).count(), 1, "the page says what it may do");
    let page = page.replace(policy, &format!("{policy}; script-src 'unsafe-inline'")).replace("</html>", LOOK);
    std::fs::write(folder.path("looked.html"), page).expect("a page");
    let address = format!("file://{}", folder.path("looked.html").display());
    let page = chromium.page(folder, &address, width);
    let told = page.split_once("id=\"told\">").and_then(|(_, rest)| rest.split_once("</script>"));
    serde_json::from_str(told.unwrap_or_else(|| panic!("the page does not load: {page}")).0).expect("JSON")
}

#[test]
fn the_report_is_seen_in_a_browser() {
    let Some(chromium) = Chromium::found() else { return };
    let folder = Folder::new("browser");
    // A name that would end an attribute, fetch a picture and run a script.
    let name = "\"><img src=x onerror=alert(1)><script>alert(2)<";
    let scan_name = format!("{name}.h5");
    scan(&folder.path(&scan_name));
    for (more, label) in [(["--pixel", "0.0065"], "x (mm)"), (["--threads", "1"], "x (pixel)")] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_isocenter"));
        run.args(["recon", &scan_name, "-o", "v.h5", "--depth", "u16", "--device", "cpu"]).args(more);
        let output = run.current_dir(&folder.0).output().expect("the command runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let page = std::fs::read_to_string(folder.path("v.html")).expect("a report");
        for width in [1400, 400] {
            let told = looked_at(&chromium, &folder, &page, width);
            let list = |name: &str| told[name].as_array().expect("a list").clone();
            // The slice, what lies across it, and the sinogram.
            let images = list("images");
            assert_eq!(images.len(), 4, "{told}");
            for (image, sides) in images.iter().zip([[BINS, BINS], [BINS, ROWS], [BINS, ROWS], [BINS, VIEWS]]) {
                let number = |k: usize| image[k].as_f64().unwrap_or_default();
                assert_eq!([number(0), number(1)], sides.map(|n| n as f64), "{told}");
                assert!(number(2) > 200.0 && number(3) > 20.0, "{told}");
            }
            assert_eq!(list("plots").len(), 6, "{told}");
            for plot in list("plots") {
                assert!(plot[0].as_f64() > Some(300.0) && plot[1].as_f64() > Some(50.0), "{told}");
            }
            let texts = list("texts");
            for word in [label, "view", "bin", "axis (bin)", "score", "pixels"] {
                assert!(texts.iter().any(|text| text == word), "{word}: {told}");
            }
            assert!(list("out").is_empty() && list("fetched").is_empty() && list("refused").is_empty(), "{told}");
            // Its own script, the only one, and nothing to scroll sideways.
            assert_eq!((told["scripts"].as_u64(), told["across"].as_i64()), (Some(1), Some(0)), "{told}");
            assert!(told["bars"].as_u64() >= Some(5), "{told}");
        }
    }
}

//! The sheet as a page, which needs nothing beside it.

use super::{Sheet, Shown};
use crate::report::{STYLE, escaped, picture, rounded, search};
use anyhow::Result;
use std::fmt::Write;

pub fn html(sheet: &Sheet, shown: &[Shown], [low, high]: [f64; 2]) -> Result<String> {
    let title = escaped(&sheet.title);
    let mut page = format!("<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n");
    page.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n",
    );
    let unit = if sheet.pixel.is_some() { "mm" } else { "pixel" };
    let ramp = picture::address(&(0..=255).collect::<Vec<u8>>(), 256)?;
    write!(page, "<style>{STYLE}{OWN}</style>\n<h1>{title}</h1>\n<p>{}</p>\n", escaped(&sheet.advice))?;
    writeln!(
        page,
        "<p class=\"scale\">{} <img alt=\"black to white\" src=\"{ramp}\"> {} per {unit}</p>\n<div class=\"sheet\">",
        rounded(low),
        rounded(high)
    )?;
    for tile in shown {
        let label = escaped(tile.label);
        write!(page, "<figure><figcaption>{label}</figcaption>")?;
        for (what, picture) in [("all of the slice", Some(&tile.whole)), ("a part of it", tile.part.as_ref())] {
            if let Some(picture) = picture {
                let address = picture::address(&picture.greys, picture.columns)?;
                write!(page, "<img alt=\"{what}, {label}\" src=\"{address}\">")?;
            }
        }
        page.push_str("</figure>\n");
    }
    page.push_str("</div>\n");
    if let Some(found) = &sheet.found {
        page.push_str("<div class=\"search\">");
        search(&mut page, found)?;
        page.push_str("</div>\n");
    }
    page.push_str("</html>\n");
    Ok(page)
}

const OWN: &str = "
body { max-width: none; }
.sheet { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(41rem, 100%), 1fr)); gap: 1rem; }
.sheet figcaption { font-size: 1rem; font-weight: 600; opacity: 1; font-variant-numeric: tabular-nums; }
.sheet img { width: calc(50% - .3rem); margin-right: .3rem; image-rendering: pixelated; vertical-align: top; }
.scale img { width: 16rem; height: 1rem; vertical-align: middle; }
.search { max-width: 40rem; margin-top: 1rem; }
";

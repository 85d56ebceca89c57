//! The page: one file of its own, which fetches planes from where it comes from, or has them in it.

use super::Viewed;
use super::planes::{Places, Plane};
use crate::report::escaped;
use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Values along the longer side of a plane that is kept in a page, at most: of three planes a megabyte each.
const KEPT: usize = 512;

/// A page that asks for planes.
pub fn live(viewed: &Viewed) -> Result<String> {
    page(viewed, viewed.about())
}

/// A page with three planes through the middle.
pub fn kept(viewed: &Viewed) -> Result<String> {
    let shape = viewed.opened.source.shape();
    let plane = |across: usize| -> Result<Value> {
        let sides = Plane::axes(across).map(|axis| shape[axis]);
        let step = sides[0].max(sides[1]).div_ceil(KEPT).max(1);
        let places = sides.map(|side| Places::each(side, step));
        let values = viewed.plane(&Plane { across, at: shape[across] / 2, places })?;
        let places = places.map(|Places { first, count, step }| json!({"first": first, "count": count, "step": step}));
        Ok(json!({"places": places, "values": STANDARD.encode(values)}))
    };
    let mut about = viewed.about();
    about["planes"] = (0..3).map(plane).collect::<Result<Value>>()?;
    page(viewed, about)
}

fn page(viewed: &Viewed, about: Value) -> Result<String> {
    // Nothing in it ends the element that it stands in.
    let about = about.to_string().replace('<', "\\u003c");
    let parts = [
        ("TITLE", escaped(&viewed.name)),
        ("NONCE", super::token()?),
        ("STYLE", STYLE.into()),
        ("SCRIPT", SCRIPT.into()),
        ("ABOUT", about),
    ];
    // Each place once: what is put in is not looked at again, whatever a name has in it.
    let mut page = String::new();
    for (k, piece) in PAGE.split('@').enumerate() {
        let part = parts.iter().find(|(name, _)| k % 2 == 1 && *name == piece);
        page.push_str(part.map_or(piece, |(_, text)| text));
    }
    Ok(page)
}

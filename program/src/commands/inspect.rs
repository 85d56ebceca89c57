//! `isocenter inspect`.

use crate::cli::Inspect;
use crate::scan::pyhst::{self, Parameters};
use crate::scan::{Pixel, Scan};
use anyhow::Result;
use isocenter::array::DType;
use isocenter::ct::InputKind;

pub fn run(inspect: &Inspect) -> Result<()> {
    let path = &inspect.scan;
    let scan = Scan::open(path, &inspect.input)?;
    let [_, rows, bins] = scan.views.source.shape();
    let (views, dtype) = (scan.views.which.len(), scan.views.source.dtype());
    println!("{}: {}", path.display(), scan.format);
    if let Some(title) = &scan.title {
        println!("  title       {title}");
    }
    println!("  projections {views} of {rows} rows x {bins} bins, {dtype:?}, {}", scan.views.source.storage());
    println!("  taken for   {}", taken_for(&scan));
    let (first, last) = (scan.angles[0].to_degrees(), scan.angles[views - 1].to_degrees());
    println!("  angles      {first:.4} to {last:.4} degrees");
    let flats = scan.flats.iter().map(|f| format!("{} after {} views", f.frames.which.len(), f.position));
    let flats = flats.collect::<Vec<_>>().join(", ");
    println!("  flats       {}", if flats.is_empty() { "none" } else { &flats });
    println!("  darks       {}", scan.darks.as_ref().map_or(0, |darks| darks.which.len()));
    match &scan.pixel {
        Pixel::Millimetres(pixel) => println!("  pixel       {pixel} mm"),
        Pixel::Untold => println!("  pixel       not told"),
        Pixel::Unread(told) | Pixel::Doubtful(told) => println!("  pixel       {told}; --pixel MM gives it to recon"),
    }
    if pyhst::is(path) {
        let taken = Parameters::read(path)?.taken(|_| false)?;
        print!("{taken}");
        if let Err(refused) = taken.check() {
            println!("{refused}");
        }
    }
    for note in &scan.notes {
        println!("  note        {note}");
    }
    Ok(())
}

/// What projections are, in words.
fn taken_for(scan: &Scan) -> &'static str {
    match scan.input() {
        InputKind::Counts => "counts",
        InputKind::Transmission => "transmissions",
        InputKind::LineIntegrals => "line integrals",
        InputKind::Auto if scan.views.source.dtype() == DType::F32 => {
            "line integrals, as there are no flats; --input says it otherwise"
        }
        InputKind::Auto => "counts, which need flats; --input says it otherwise",
    }
}

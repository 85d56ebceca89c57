//! Scans in formats that are not read.

use crate::folder::Folder;
use crate::scans::fails;

#[test]
fn formats_are_named_with_what_converts_them() {
    let folder = Folder::new("elsewhere");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    };
    write("scan.txrm", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    write("scan.h5", b"SIMPLE  =                    T");
    write("scan.nxs.gz", b"\x1f\x8b\x08");
    write("store.zarr/.zgroup", b"{}");
    write("images/p_0.fits", b"SIMPLE  =                    T");
    write("scan.mat", b"MATLAB 7.3 MAT-file");
    for (words, parts) in [
        (vec!["scan.txrm"], ["Zeiss", "txrm2tiff"]),
        (vec!["scan.h5"], ["FITS", "astropy"]),
        (vec!["scan.nxs.gz"], ["gzip", "gunzip"]),
        (vec!["store.zarr"], ["Zarr", "h5py"]),
        (vec!["images"], ["no TIFF and no EDF images", "astropy"]),
        (vec!["images/*.fits"], ["FITS", "astropy"]),
        (vec!["scan.mat"], ["MATLAB", "permute"]),
    ] {
        let error = fails(&folder, &[vec!["inspect"], words.clone()].concat());
        assert!(parts.iter().all(|part| error.contains(part)), "{words:?}: {error}");
    }
}

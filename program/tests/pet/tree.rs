//! Files in HDF5, as yardl's C++ writes them, of files in its binary form: records as C++ has them in memory, vectors by their number and a pointer.

use crate::writer::{MAGIC, SCHEMA};
use hdf5_metno::globals::*;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{File, Group};
use hdf5_metno_sys::h5d::{H5Dclose, H5Dcreate2, H5Dwrite};
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5p::{H5P_DEFAULT, H5Pcreate, H5Pset_chunk};
use hdf5_metno_sys::h5s::{H5S_ALL, H5S_UNLIMITED, H5S_class_t, H5Screate, H5Screate_simple};
use hdf5_metno_sys::h5t::{
    H5T_VARIABLE, H5T_class_t, H5T_cset_t, H5Tarray_create2, H5Tcopy, H5Tcreate, H5Tenum_create, H5Tenum_insert,
    H5Tinsert, H5Tset_cset, H5Tset_size, H5Tvlen_create,
};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::ffi::CString;
use std::path::Path;
use std::rc::Rc;

/// Elements of a chunk.
const CHUNK: u64 = 4;

/// Takes a value of the binary form, and gives its bytes in memory.
type Pack = dyn Fn(&mut Packing) -> Vec<u8>;

/// What is written of a type.
#[derive(Clone)]
struct Kind {
    of: hid_t,
    size: usize,
    align: usize,
    pack: Rc<Pack>,
}

/// The bytes of a file in the binary form, and what packed bytes point to.
struct Packing<'a> {
    bytes: &'a [u8],
    kept: Vec<Box<[u8]>>,
}

impl Packing<'_> {
    fn take(&mut self, count: usize) -> Vec<u8> {
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        taken.to_vec()
    }

    fn whole(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.take(1)[0];
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    }

    /// A pointer to bytes that stay where they are.
    fn keep(&mut self, bytes: Vec<u8>) -> [u8; 8] {
        self.kept.push(bytes.into());
        (self.kept.last().expect("one").as_ptr() as u64).to_le_bytes()
    }
}

fn name(of: &str) -> CString {
    CString::new(of).expect("a name")
}

// SAFETY, of all below: `write` holds the library's lock, types are open until the end, and buffers have as many bytes as their types say.

fn record(size: usize, members: &[(&str, usize, hid_t)]) -> hid_t {
    unsafe {
        let made = H5Tcreate(H5T_class_t::H5T_COMPOUND, size);
        for (field, begin, of) in members {
            assert!(H5Tinsert(made, name(field).as_ptr(), *begin, *of) >= 0);
        }
        made
    }
}

fn enumeration(base: hid_t, symbols: &[(String, i32)]) -> hid_t {
    unsafe {
        let made = H5Tenum_create(base);
        for (symbol, value) in symbols {
            assert!(H5Tenum_insert(made, name(symbol).as_ptr(), value.to_le_bytes().as_ptr().cast()) >= 0);
        }
        made
    }
}

fn number(of: &str) -> Kind {
    let (id, size) = match of {
        "float32" => (*H5T_IEEE_F32LE, 4),
        "float64" => (*H5T_IEEE_F64LE, 8),
        "bool" | "uint8" => (*H5T_STD_U8LE, 1),
        "int32" => (*H5T_STD_I32LE, 4),
        "uint32" => (*H5T_STD_U32LE, 4),
        "int64" | "datetime" => (*H5T_STD_I64LE, 8),
        "uint64" | "size" => (*H5T_STD_U64LE, 8),
        other => panic!("{other}"),
    };
    let (is_fixed, is_folded) = (of.starts_with("float") || size == 1, ["int32", "int64", "datetime"].contains(&of));
    let pack = move |packing: &mut Packing| {
        if is_fixed {
            return packing.take(size);
        }
        let value = packing.whole();
        let value = if is_folded { (value >> 1) ^ (value & 1).wrapping_neg() } else { value };
        value.to_le_bytes()[..size].to_vec()
    };
    Kind { of: id, size, align: size, pack: Rc::new(pack) }
}

fn text() -> Kind {
    let of = unsafe {
        let of = H5Tcopy(*H5T_C_S1);
        assert!(H5Tset_size(of, H5T_VARIABLE) >= 0 && H5Tset_cset(of, H5T_cset_t::H5T_CSET_UTF8) >= 0);
        of
    };
    let pack = |packing: &mut Packing| {
        let count = packing.whole() as usize;
        let bytes = [packing.take(count), vec![0]].concat();
        packing.keep(bytes).to_vec()
    };
    Kind { of, size: 8, align: 8, pack: Rc::new(pack) }
}

fn vector(item: Kind) -> Kind {
    let of = unsafe { H5Tvlen_create(item.of) };
    let pack = move |packing: &mut Packing| {
        let count = packing.whole();
        let bytes = (0..count).flat_map(|_| (item.pack)(packing)).collect();
        [count.to_le_bytes(), packing.keep(bytes)].concat()
    };
    Kind { of, size: 16, align: 8, pack: Rc::new(pack) }
}

fn array(item: Kind, shape: &[u64]) -> Kind {
    let of = unsafe { H5Tarray_create2(item.of, shape.len() as u32, shape.as_ptr()) };
    let count = shape.iter().product::<u64>() as usize;
    let (size, align) = (count * item.size, item.align);
    Kind { of, size, align, pack: Rc::new(move |packing| (0..count).flat_map(|_| (item.pack)(packing)).collect()) }
}

fn fields(all: Vec<(String, Kind)>) -> Kind {
    let align = all.iter().map(|(_, kind)| kind.align).max().unwrap_or(1);
    let (mut begins, mut size) = (Vec::new(), 0usize);
    for (_, kind) in &all {
        begins.push(size.next_multiple_of(kind.align));
        size = begins[begins.len() - 1] + kind.size;
    }
    let size = size.next_multiple_of(align);
    let members = all.iter().zip(&begins).map(|((name, kind), begin)| (name.as_str(), *begin, kind.of));
    let of = record(size, &members.collect::<Vec<_>>());
    let pack = move |packing: &mut Packing| {
        let mut made = vec![0; size];
        for ((_, kind), begin) in all.iter().zip(&begins) {
            made[*begin..][..kind.size].copy_from_slice(&(kind.pack)(packing));
        }
        made
    };
    Kind { of, size, align, pack: Rc::new(pack) }
}

fn optional(kind: Kind) -> Kind {
    let (begin, align) = (kind.size, kind.align);
    let size = begin + align;
    let of = record(size, &[("has_value", begin, *H5T_STD_U8LE), ("value", 0, kind.of)]);
    let pack = move |packing: &mut Packing| {
        let mut made = vec![0; size];
        made[begin] = packing.take(1)[0];
        if made[begin] != 0 {
            made[..begin].copy_from_slice(&(kind.pack)(packing));
        }
        made
    };
    Kind { of, size, align, pack: Rc::new(pack) }
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn text_of<'a>(json: &'a Json, name: &str) -> &'a str {
    json[name].as_str().expect("a text")
}

/// Types of a schema.
struct Schema(Json);

impl Schema {
    fn named(&self, of: &str) -> Option<&Json> {
        self.0["types"].as_array()?.iter().find(|one| one["name"] == last(of))
    }

    fn kind(&self, of: &Json, given: &HashMap<String, Kind>) -> Kind {
        if let Some(of) = of.as_str() {
            return match (given.get(last(of)), self.named(of)) {
                (Some(kind), _) => kind.clone(),
                (_, Some(described)) => self.described(described, &HashMap::new()),
                _ if of == "string" => text(),
                _ => number(of),
            };
        }
        if let Some(cases) = of.as_array() {
            assert!(cases.len() == 2 && cases[0].is_null(), "{of}");
            return optional(self.kind(&cases[1], given));
        }
        if let Some(items) = of["vector"].get("items") {
            let item = self.kind(items, given);
            return of["vector"]["length"].as_u64().map_or_else(|| vector(item.clone()), |n| array(item.clone(), &[n]));
        }
        if let Some(items) = of["array"].get("items") {
            let (item, sides) = (self.kind(items, given), &of["array"]["dimensions"]);
            let Some(sides) = sides.as_array() else {
                assert_eq!(*sides, 1);
                return vector(item);
            };
            return array(item, &sides.iter().map(|side| side["length"].as_u64().expect("a side")).collect::<Vec<_>>());
        }
        let described = self.named(text_of(of, "name")).expect("a type");
        let names = described["typeParameters"].as_array().expect("names").iter();
        let kinds = of["typeArguments"].as_array().expect("types").iter().map(|of| self.kind(of, given));
        self.described(described, &names.map(|name| name.as_str().expect("a name").into()).zip(kinds).collect())
    }

    fn described(&self, of: &Json, given: &HashMap<String, Kind>) -> Kind {
        if let Some(values) = of["values"].as_array() {
            let base = number(of["base"].as_str().unwrap_or("int32"));
            let symbols = values
                .iter()
                .map(|one| (text_of(one, "symbol").into(), one["value"].as_i64().expect("a value") as i32));
            return Kind { of: enumeration(base.of, &symbols.collect::<Vec<_>>()), ..base };
        }
        let Some(all) = of["fields"].as_array() else { return self.kind(&of["type"], given) };
        fields(all.iter().map(|one| (text_of(one, "name").into(), self.kind(&one["type"], given))).collect())
    }
}

/// A dataset of elements in chunks, or of one without.
fn put(group: &Group, named: &str, of: hid_t, elements: &[u8], count: Option<u64>) {
    unsafe {
        let how = H5Pcreate(*H5P_DATASET_CREATE);
        let space = match count {
            Some(count) => {
                assert!(H5Pset_chunk(how, 1, &CHUNK) >= 0);
                H5Screate_simple(1, &count, &H5S_UNLIMITED)
            }
            None => H5Screate(H5S_class_t::H5S_SCALAR),
        };
        let made = H5Dcreate2(group.id(), name(named).as_ptr(), of, space, H5P_DEFAULT, how, H5P_DEFAULT);
        assert!(made >= 0, "{named}");
        if !elements.is_empty() {
            assert!(H5Dwrite(made, of, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.as_ptr().cast()) >= 0);
        }
        H5Dclose(made);
    }
}

/// Writes a file in the binary form as HDF5, of so many entries in its index at most.
pub fn write(path: &Path, binary: &[u8], indexed: usize) {
    hdf5_metno::sync::sync(|| {
        let file = File::create(path).expect("a file");
        let group = file.create_group("PETSIRD").expect("a group");
        let version = group.new_attr::<i32>().create("$yardl_format_version").expect("an attribute");
        version.write_scalar(&1).expect("a version");
        let schema: VarLenUnicode = SCHEMA.parse().expect("a text");
        let dataset = group.new_dataset::<VarLenUnicode>().create("$yardl_schema").expect("a dataset");
        dataset.write_scalar(&schema).expect("a schema");
        let mut packing = Packing { bytes: &binary[MAGIC.len()..], kept: Vec::new() };
        let count = packing.whole() as usize;
        assert_eq!(packing.take(count), SCHEMA.as_bytes());
        let schema = Schema(serde_json::from_str(SCHEMA).expect("a schema"));
        let header = schema.kind(&"Header".into(), &HashMap::new());
        put(&group, "header", header.of, &(header.pack)(&mut packing), None);
        let cases = schema.named("TimeBlock").expect("blocks")["type"].as_array().expect("cases").clone();
        let of = |case: &Json| case.get("type").unwrap_or(case).clone();
        let kinds: Vec<_> = cases.iter().map(|case| schema.kind(&of(case), &HashMap::new())).collect();
        let tags: Vec<_> =
            cases.iter().map(|case| case["tag"].as_str().or(case.as_str()).map(last).expect("a tag")).collect();
        let (mut counts, mut elements, mut index) = (vec![0; kinds.len()], vec![Vec::new(); kinds.len()], Vec::new());
        loop {
            let count = packing.whole();
            for _ in 0..count {
                let case = usize::from(packing.take(1)[0]);
                index.push([case as u64, counts[case]].map(u64::to_le_bytes).concat());
                elements[case].extend((kinds[case].pack)(&mut packing));
                counts[case] += 1;
            }
            if count == 0 {
                break;
            }
        }
        index.truncate(indexed);
        let group = group.create_group("timeBlocks").expect("a group");
        let symbols: Vec<_> = tags.iter().zip(0..).map(|(tag, k)| (tag.to_string(), k)).collect();
        let entry = record(16, &[("type", 0, enumeration(*H5T_STD_I8LE, &symbols)), ("offset", 8, *H5T_STD_U64LE)]);
        put(&group, "$index", entry, &index.concat(), Some(index.len() as u64));
        for (((tag, kind), elements), count) in tags.iter().zip(&kinds).zip(&elements).zip(&counts) {
            put(&group, tag, kind.of, elements, Some(*count));
        }
    });
}

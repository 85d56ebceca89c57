//! Element types in files, and how their values become those that the library reads.

use hdf5_metno::datatype::Datatype;
use hdf5_metno::globals::*;
use hdf5_metno_sys::h5t::H5Tequal;
use isocenter::array::DType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

/// What the bits of a number mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Unsigned,
    Signed,
    Float,
}

/// A number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    kind: Kind,
    big_endian: bool,
}

impl Element {
    /// Of a dataset's type; nothing if it is none of the usual numbers.
    pub fn of(dtype: &Datatype) -> Option<Self> {
        hdf5_metno::sync::sync(|| {
            let known = [
                (Kind::U8, *H5T_STD_U8LE, *H5T_STD_U8BE),
                (Kind::I8, *H5T_STD_I8LE, *H5T_STD_I8BE),
                (Kind::U16, *H5T_STD_U16LE, *H5T_STD_U16BE),
                (Kind::I16, *H5T_STD_I16LE, *H5T_STD_I16BE),
                (Kind::U32, *H5T_STD_U32LE, *H5T_STD_U32BE),
                (Kind::I32, *H5T_STD_I32LE, *H5T_STD_I32BE),
                (Kind::U64, *H5T_STD_U64LE, *H5T_STD_U64BE),
                (Kind::I64, *H5T_STD_I64LE, *H5T_STD_I64BE),
                (Kind::F32, *H5T_IEEE_F32LE, *H5T_IEEE_F32BE),
                (Kind::F64, *H5T_IEEE_F64LE, *H5T_IEEE_F64BE),
            ];
            // SAFETY: the library's lock is held, and both are types that are open.
            let same = |other| unsafe { H5Tequal(dtype.id(), other) > 0 };
            known.into_iter().find_map(|(kind, little, big)| {
                if same(little) {
                    return Some(Self { kind, big_endian: false });
                }
                same(big).then_some(Self { kind, big_endian: true })
            })
        })
    }

    /// Of so many bits; nothing if it is none of the usual numbers.
    pub fn of_form(form: Form, bits: u16, big_endian: bool) -> Option<Self> {
        let kind = match (form, bits) {
            (Form::Unsigned, 8) => Kind::U8,
            (Form::Signed, 8) => Kind::I8,
            (Form::Unsigned, 16) => Kind::U16,
            (Form::Signed, 16) => Kind::I16,
            (Form::Unsigned, 32) => Kind::U32,
            (Form::Signed, 32) => Kind::I32,
            (Form::Unsigned, 64) => Kind::U64,
            (Form::Signed, 64) => Kind::I64,
            (Form::Float, 32) => Kind::F32,
            (Form::Float, 64) => Kind::F64,
            _ => return None,
        };
        Some(Self { kind, big_endian })
    }

    /// Whether its highest byte comes first.
    pub fn big_endian(self) -> bool {
        self.big_endian
    }

    /// Bytes of one.
    pub fn size(self) -> usize {
        match self.kind {
            Kind::U8 | Kind::I8 => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 => 8,
        }
    }

    /// What its values become.
    pub fn dtype(self) -> DType {
        match self.kind {
            Kind::U8 => DType::U8,
            Kind::U16 => DType::U16,
            _ => DType::F32,
        }
    }

    /// Whether its bytes are those values as they are.
    pub fn plain(self) -> bool {
        match self.kind {
            Kind::U8 => true,
            Kind::U16 | Kind::F32 => self.big_endian == cfg!(target_endian = "big"),
            _ => false,
        }
    }

    /// In words.
    pub fn name(self) -> String {
        let name = format!("{:?}", self.kind).to_lowercase();
        let swapped = self.big_endian && self.size() > 1;
        name + if swapped { ", big endian" } else { "" }
    }

    /// Makes values of the bytes of a file.
    pub fn decode(self, from: &[u8], to: &mut [u8]) {
        macro_rules! values {
            ($from:ty, $to:ty) => {{
                let (from, _) = from.as_chunks::<{ size_of::<$from>() }>();
                let (to, _) = to.as_chunks_mut::<{ size_of::<$to>() }>();
                if self.big_endian {
                    for (from, to) in from.iter().zip(to) {
                        *to = (<$from>::from_be_bytes(*from) as $to).to_ne_bytes();
                    }
                } else {
                    for (from, to) in from.iter().zip(to) {
                        *to = (<$from>::from_le_bytes(*from) as $to).to_ne_bytes();
                    }
                }
            }};
        }
        match self.kind {
            _ if self.plain() => to.copy_from_slice(from),
            Kind::U8 => values!(u8, u8),
            Kind::I8 => values!(i8, f32),
            Kind::U16 => values!(u16, u16),
            Kind::I16 => values!(i16, f32),
            Kind::U32 => values!(u32, f32),
            Kind::I32 => values!(i32, f32),
            Kind::U64 => values!(u64, f32),
            Kind::I64 => values!(i64, f32),
            Kind::F32 => values!(f32, f32),
            Kind::F64 => values!(f64, f32),
        }
    }
}

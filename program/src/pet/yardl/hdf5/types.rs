//! Types of HDF5, as its library tells them.

use hdf5_metno::globals::*;
use hdf5_metno_sys::h5::H5free_memory;
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5t::{
    H5T_class_t, H5Tclose, H5Tequal, H5Tget_array_dims2, H5Tget_array_ndims, H5Tget_class, H5Tget_member_name,
    H5Tget_member_offset, H5Tget_member_type, H5Tget_member_value, H5Tget_nmembers, H5Tget_size, H5Tget_super,
    H5Tis_variable_str,
};
use std::ffi::CStr;

/// Axes of an array, at most: those that HDF5 has.
const AXES: usize = 32;

/// A number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
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

/// A type that is open, until it is dropped. All of it is to be used while the library's lock is held, see `hdf5_metno::sync::sync`.
pub struct Type(hid_t);

impl Drop for Type {
    fn drop(&mut self) {
        // SAFETY: it is open, and is closed here alone.
        unsafe { H5Tclose(self.0) };
    }
}

impl Type {
    /// Of a type that nobody else closes; None of one that there is not.
    pub fn new(id: hid_t) -> Option<Self> {
        (id > 0).then_some(Self(id))
    }

    pub fn class(&self) -> H5T_class_t {
        // SAFETY: the type is open.
        unsafe { H5Tget_class(self.0) }
    }

    /// Bytes in memory.
    pub fn size(&self) -> u64 {
        // SAFETY: the type is open.
        unsafe { H5Tget_size(self.0) as u64 }
    }

    /// Of a text, whether it is as long as it has to be.
    pub fn is_any_text(&self) -> bool {
        // SAFETY: the type is open.
        unsafe { H5Tis_variable_str(self.0) > 0 }
    }

    /// Of a vector, an array or an enumeration.
    pub fn inner(&self) -> Option<Self> {
        // SAFETY: the type is open, and what is given is a new one.
        Self::new(unsafe { H5Tget_super(self.0) })
    }

    /// Of an array.
    pub fn shape(&self) -> Option<Vec<u64>> {
        // SAFETY: the type is open, and there is room for as many axes as HDF5 has.
        let (count, dims) = unsafe {
            let mut dims = [0; AXES];
            let count = H5Tget_array_ndims(self.0);
            let is_right = (1..=AXES as i32).contains(&count) && H5Tget_array_dims2(self.0, dims.as_mut_ptr()) > 0;
            (if is_right { count as usize } else { 0 }, dims)
        };
        (count > 0).then(|| dims[..count].to_vec())
    }

    /// Members of a record or an enumeration.
    pub fn count(&self) -> u32 {
        // SAFETY: the type is open.
        unsafe { H5Tget_nmembers(self.0) }.max(0) as u32
    }

    pub fn name(&self, member: u32) -> Option<String> {
        // SAFETY: the type is open; the text is copied before it is freed.
        unsafe {
            let name = H5Tget_member_name(self.0, member);
            let made = (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned());
            H5free_memory(name.cast());
            made
        }
    }

    /// Of a record: where a member begins in memory, and its type.
    pub fn member(&self, member: u32) -> Option<(u64, Self)> {
        // SAFETY: the type is open, and what is given is a new one.
        let (begin, of) = unsafe { (H5Tget_member_offset(self.0, member), H5Tget_member_type(self.0, member)) };
        Some((begin as u64, Self::new(of)?))
    }

    /// Of an enumeration of bytes.
    pub fn value(&self, member: u32) -> Option<i8> {
        // SAFETY: the type is open, and its values have no more than eight bytes.
        let mut bytes = [0i8; 8];
        let is_right =
            self.size() <= 8 && unsafe { H5Tget_member_value(self.0, member, bytes.as_mut_ptr().cast()) } >= 0;
        is_right.then_some(bytes[0])
    }

    pub fn number(&self) -> Option<Number> {
        let known = [
            (Number::U8, *H5T_STD_U8LE),
            (Number::I8, *H5T_STD_I8LE),
            (Number::U16, *H5T_STD_U16LE),
            (Number::I16, *H5T_STD_I16LE),
            (Number::U32, *H5T_STD_U32LE),
            (Number::I32, *H5T_STD_I32LE),
            (Number::U64, *H5T_STD_U64LE),
            (Number::I64, *H5T_STD_I64LE),
            (Number::F32, *H5T_IEEE_F32LE),
            (Number::F64, *H5T_IEEE_F64LE),
        ];
        // SAFETY: both types are open.
        known.into_iter().find(|(_, of)| unsafe { H5Tequal(self.0, *of) > 0 }).map(|(number, _)| number)
    }
}

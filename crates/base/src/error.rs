//! Status codes, and the error type that carries one with its message.

use std::fmt;

/// What a call returns. Values are fixed and never reused; new ones are only appended.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// A required pointer is NULL.
    NullPointer = 1,
    /// Not a handle of this library, of another type, or already destroyed.
    InvalidHandle = 2,
    /// `struct_size` is smaller than the first version of the struct, or larger than this library knows.
    StructSize = 3,
    /// An enumeration field holds a value that this library does not know.
    UnknownValue = 4,
    /// A number lies outside its allowed range (zero or negative sizes among them).
    OutOfRange = 5,
    /// A product of sizes does not fit 64 bits or the address space.
    SizeOverflow = 6,
    /// NaN or Inf in a geometry or option field.
    NotFiniteParameter = 7,
    /// NaN or Inf in a data tensor, with the NaN policy set to error.
    NotFiniteData = 8,
    /// A tensor has the wrong number of dimensions.
    TensorNdim = 9,
    /// A tensor has an element type that this call does not take.
    TensorDtype = 10,
    /// A tensor's shape does not match the geometry.
    TensorShape = 11,
    /// A tensor's strides reach before its buffer, wrap round the address space, misalign its elements, or make an output overlap itself.
    TensorStrides = 12,
    /// A tensor lives on a device that this context does not own.
    TensorDevice = 13,
    /// Input and output share memory.
    Overlap = 14,
    /// Angular weights need at least two views.
    TooFewViews = 15,
    /// Angular weights need at least two different angles (modulo pi).
    EqualAngles = 16,
    /// A flat field that is not above its dark field, or raw counts without a flat field.
    FlatField = 17,
    /// A call came before the one that it needs (for example `reconstruct` before `set_geometry`).
    NotConfigured = 18,
    /// The context's memory cap is too small for the smallest piece of the work.
    MemoryCap = 19,
    /// The machine is out of memory.
    OutOfMemory = 20,
    /// The progress callback asked to stop.
    Cancelled = 21,
    /// The handle is in use by the very call whose callback made this call.
    Busy = 22,
    /// A fault inside the library, caught before it could harm the process. Please report it.
    Internal = 23,
    /// No NVIDIA driver, no GPU, or no GPU of that index.
    NoDevice = 24,
    /// The NVIDIA driver is older than the kernels need.
    DriverTooOld = 25,
    /// The library was built without GPU kernels, or without any that this GPU runs.
    NoKernelImage = 26,
    /// A CUDA call failed; the message names it and has CUDA's own text.
    Cuda = 27,
    /// A read or write callback returned non-zero.
    Callback = 28,
}

impl Status {
    /// All statuses, in order of their values.
    pub const ALL: [Status; 29] = {
        use Status::*;
        [
            Ok,
            NullPointer,
            InvalidHandle,
            StructSize,
            UnknownValue,
            OutOfRange,
            SizeOverflow,
            NotFiniteParameter,
            NotFiniteData,
            TensorNdim,
            TensorDtype,
            TensorShape,
            TensorStrides,
            TensorDevice,
            Overlap,
            TooFewViews,
            EqualAngles,
            FlatField,
            NotConfigured,
            MemoryCap,
            OutOfMemory,
            Cancelled,
            Busy,
            Internal,
            NoDevice,
            DriverTooOld,
            NoKernelImage,
            Cuda,
            Callback,
        ]
    };

    /// One short English phrase, ending in NUL so that C can have it as it is.
    pub const fn phrase(self) -> &'static std::ffi::CStr {
        match self {
            Status::Ok => c"success",
            Status::NullPointer => c"a required pointer is NULL",
            Status::InvalidHandle => c"not a live handle of the right type",
            Status::StructSize => c"struct_size does not fit this library",
            Status::UnknownValue => c"unknown enumeration value",
            Status::OutOfRange => c"number out of range",
            Status::SizeOverflow => c"sizes overflow",
            Status::NotFiniteParameter => c"NaN or Inf in a parameter",
            Status::NotFiniteData => c"NaN or Inf in the data",
            Status::TensorNdim => c"tensor has the wrong number of dimensions",
            Status::TensorDtype => c"tensor has the wrong element type",
            Status::TensorShape => c"tensor has the wrong shape",
            Status::TensorStrides => c"tensor has impossible strides",
            Status::TensorDevice => c"tensor is on a device that the context does not own",
            Status::Overlap => c"input and output overlap",
            Status::TooFewViews => c"too few views for angular weights",
            Status::EqualAngles => c"all angles are equal",
            Status::FlatField => c"flat field missing or not above the dark field",
            Status::NotConfigured => c"an earlier call is missing",
            Status::MemoryCap => c"memory cap too small",
            Status::OutOfMemory => c"out of memory",
            Status::Cancelled => c"cancelled by the progress callback",
            Status::Busy => c"handle is busy with the call that this one came from",
            Status::Internal => c"internal fault",
            Status::NoDevice => c"no such GPU",
            Status::DriverTooOld => c"NVIDIA driver too old",
            Status::NoKernelImage => c"no GPU kernel for this GPU",
            Status::Cuda => c"CUDA call failed",
            Status::Callback => c"a callback failed",
        }
    }
}

/// A status other than [`Status::Ok`] and the message that goes with it: what was wrong, the value seen, the value allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The code that the C caller gets.
    pub status: Status,
    /// The text that `isoc_last_error` gives.
    pub message: String,
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with its message.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Whether more memory would have helped.
    pub fn lacks_memory(&self) -> bool {
        matches!(self.status, Status::MemoryCap | Status::OutOfMemory)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.status, self.message)
    }
}

impl std::error::Error for Error {}

/// Leaves the function with an [`Error`]: `fail!(OutOfRange, "views is {views}; it must be at least 1")`.
#[macro_export]
macro_rules! fail {
    ($status:ident, $($message:tt)*) => {
        return Err($crate::error::Error::new($crate::error::Status::$status, format!($($message)*)))
    };
}
pub use crate::fail;

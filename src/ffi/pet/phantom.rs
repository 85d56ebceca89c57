//! Phantoms of activity and attenuation.

use super::plan::{isoc_pet, with_plan};
use super::tensors::expect_host_image;
use crate::ffi::boundary::{array, count};
use crate::ffi::tensor::isoc_tensor;
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::phantom::Shape;
use isocenter_pet::phantom::{Object, Phantom, Quantity};

/// Shape of a body.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_shape {
    /// Along z, circular.
    Cylinder = 0,
    /// A sphere if its axes are equal.
    Ellipsoid = 1,
    /// A box.
    Box = 2,
}

/// A body of a phantom, in mm from the centre of the scanner. Where bodies overlap, values add: one within another holds the
/// differences to its surroundings.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_body {
    /// An isoc_pet_shape.
    pub shape: u32,
    /// Zero.
    pub reserved: u32,
    /// Centre.
    pub x: f64,
    /// Centre.
    pub y: f64,
    /// Centre.
    pub z: f64,
    /// Half its size along x.
    pub half_x: f64,
    /// Along y; 0 means as along x.
    pub half_y: f64,
    /// Along z; 0 means as along x.
    pub half_z: f64,
    /// For a volume, in any unit.
    pub activity: f64,
    /// Linear coefficient, 1/mm: 0.0096 is that of water at 511 keV.
    pub attenuation: f64,
}

const MAX_BODIES: usize = 1 << 20;

impl isoc_pet_body {
    pub(super) fn to_object(self, k: usize) -> Result<Object> {
        let or_x = |v: f64| if v == 0.0 { self.half_x } else { v };
        let (centre, semi) = ([self.x, self.y, self.z], [self.half_x, or_x(self.half_y), or_x(self.half_z)]);
        let shape = match self.shape {
            0 if semi[1] != semi[0] => {
                fail!(OutOfRange, "bodies[{k}].half_y is {}; a cylinder's must be half_x or 0", self.half_y)
            }
            0 => Shape::Cylinder { centre, radius: semi[0], length: 2.0 * semi[2] },
            1 => Shape::Ellipsoid { centre, semi },
            2 => Shape::Box { centre, size: semi.map(|s| 2.0 * s) },
            v => fail!(UnknownValue, "bodies[{k}].shape is {v}; it must be 0 to 2 (isoc_pet_shape)"),
        };
        Ok(Object { shape, activity: self.activity, attenuation: self.attenuation })
    }
}

/// # Safety
/// `bodies` is NULL or holds `number`.
pub(super) unsafe fn phantom(bodies: *const isoc_pet_body, number: i64) -> Result<Phantom> {
    let number = count(number, "body_count", 1, MAX_BODIES)?;
    // SAFETY: by this function's contract.
    let bodies = unsafe { array(bodies, number, "bodies") }?;
    Phantom::new(bodies.iter().enumerate().map(|(k, b)| b.to_object(k)).collect::<Result<_>>()?)
}

/// Which quantity of a phantom.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_pet_quantity {
    /// Activity.
    Activity = 0,
    /// Attenuation.
    Attenuation = 1,
}

/// Writes the voxel means of a phantom: f32 (nz, ny, nx) in host memory.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_phantom_image(
    pet: *mut isoc_pet,
    bodies: *const isoc_pet_body,
    body_count: i64,
    quantity: u32,
    image: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        let quantity = match quantity {
            0 => Quantity::Activity,
            1 => Quantity::Attenuation,
            v => fail!(UnknownValue, "quantity is {v}; it must be 0 or 1 (isoc_pet_quantity)"),
        };
        // SAFETY: by this function's contract.
        unsafe {
            let to = expect_host_image(pet, "image")?.output(image)?;
            pet.phantom_image(&phantom(bodies, body_count)?, quantity, to)
        }
    })
}

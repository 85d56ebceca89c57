//! The vectors of some slices, and what methods do to them. Methods name vectors by numbers, so that whoever implements a space keeps
//! them as it likes: the processor with slices side by side in lanes, a GPU slice after slice.

use super::history::Iterated;
use super::norms::Norms;
use isocenter_base::error::Result;

/// Images of all slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Image(pub(crate) usize);
/// Rows of all slices, subset after subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows(pub(crate) usize);
/// A number of each bin of all slices, which all views share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offsets(pub(crate) usize);
/// A number of each slice, in f64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum(pub(crate) usize);

/// What is reconstructed: before the first iteration where to begin, 0 outside the mask.
pub(crate) const X: Image = Image(0);
/// The line integrals.
pub(crate) const DATA: Rows = Rows(0);

/// The duals of differences.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// Along x and y.
    pub(crate) plane: [Image; 2],
    pub(crate) depth: Option<Depth>,
}

impl Fields {
    pub(crate) fn all(self) -> impl Iterator<Item = Image> {
        self.plane.into_iter().chain(self.depth.map(|depth| depth.field))
    }
}

/// The dual of differences to the next slice, 0 at the last.
#[derive(Clone, Copy)]
pub(crate) struct Depth {
    pub(crate) field: Image,
    /// Differences to the next slice count so much.
    pub(crate) scale: f32,
}

/// The image's step of a primal-dual method.
#[derive(Clone, Copy)]
pub(crate) struct Primal {
    pub(crate) image: Image,
    /// What images are to be added to, if they are not whole: see [`Base`](super::base::Base).
    pub(crate) base: Option<Image>,
    /// -A^T q, and the next image afterwards.
    pub(crate) gradient: Image,
    pub(crate) ahead: Image,
    pub(crate) fields: Fields,
    /// Of each slice: the step, and how far the image goes, which is 0 once it has ended.
    pub(crate) step: Sum,
    pub(crate) relaxed: Sum,
}

/// The fields' step: their length is at most the penalty's weight; where differences below `huber` are squared they are shorter.
#[derive(Clone, Copy)]
pub(crate) struct Dual {
    pub(crate) ahead: Image,
    /// As of [`Primal`].
    pub(crate) base: Option<Image>,
    pub(crate) fields: Fields,
    pub(crate) step: Sum,
    pub(crate) relaxed: Sum,
    pub(crate) penalty: Penalty,
}

/// weight times the sum of |gradient|, or of |gradient|^2 / (2 huber) where that is shorter than `huber`, and |gradient| - huber / 2 else.
#[derive(Clone, Copy)]
pub(crate) struct Penalty {
    pub(crate) weight: f32,
    pub(crate) huber: f32,
}

/// Sums over the pixels inside the mask of an image x, with fields y no longer than the penalty's weight and v = D^T y - back, all of
/// which are added to but `lowest`, which is lowered.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) image: Image,
    /// As of [`Primal`].
    pub(crate) base: Option<Image>,
    pub(crate) back: Image,
    pub(crate) fields: Fields,
    pub(crate) penalty: Penalty,
    /// The penalty.
    pub(crate) variation: Sum,
    /// The penalty and its conjugate of y, less <D x, y>: not below 0.
    pub(crate) duality: Sum,
    /// The larger of v (x - lower) and v (x - upper), where there is an upper bound; else v (x - lower).
    pub(crate) bounds: Sum,
    /// (x - lower) C, with C = A^T 1.
    pub(crate) mass: Sum,
    /// The smallest v / C, or 0.
    pub(crate) lowest: Sum,
}

/// The step of offsets r whose penalty is weight |r|_1.
#[derive(Clone, Copy)]
pub(crate) struct Shift {
    pub(crate) offsets: Offsets,
    /// -J^T q, and the next offsets afterwards.
    pub(crate) gradient: Offsets,
    pub(crate) ahead: Offsets,
    /// As of [`Primal`].
    pub(crate) step: Sum,
    pub(crate) relaxed: Sum,
    /// Of the step.
    pub(crate) part: f32,
    pub(crate) weight: f32,
}

/// Sums s over views are taken apart: what is within the weight counts, and what is beyond is left, over the bin's mass.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) offsets: Offsets,
    pub(crate) sums: Offsets,
    /// `views`, where there is none.
    pub(crate) mass: Option<Offsets>,
    pub(crate) views: usize,
    pub(crate) weight: f32,
    /// Both added to: weight |r|_1, and that less <s, r>.
    pub(crate) penalty: Sum,
    pub(crate) duality: Sum,
}

/// A step of accelerated projected gradient.
#[derive(Clone, Copy)]
pub(crate) struct Hasten {
    pub(crate) image: Image,
    /// What images are to be added to.
    pub(crate) base: Image,
    /// Where the gradient was taken.
    pub(crate) ahead: Image,
    /// A^T (b - A ahead), or what is taken from `back` for it.
    pub(crate) gradient: Image,
    pub(crate) back: Option<Image>,
    /// Of |x|^2 / 2.
    pub(crate) weight: f32,
    /// Of each slice: the step, 0 once it has ended; and how far the point ahead goes beyond.
    pub(crate) step: Sum,
    pub(crate) part: Sum,
    /// Added to: <ahead - next image, next image - image>, above 0 where it turns back.
    pub(crate) turned: Sum,
}

/// What tells how far an image is above the minimum of least squares within bounds; see `fista`.
#[derive(Clone, Copy)]
pub(crate) struct Excess {
    pub(crate) image: Image,
    /// As of [`Hasten`].
    pub(crate) base: Image,
    /// A^T (b - A image)
    pub(crate) gradient: Image,
    pub(crate) weight: f32,
    /// Both added to. The sum over pixels of the largest v (x - z) - weight (x - z)^2 / 2 for z within the bounds, v the gradient.
    pub(crate) excess: Sum,
    /// |image|^2, of the whole image.
    pub(crate) length: Sum,
}

/// What a method takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Needs {
    pub(crate) images: usize,
    pub(crate) rows: usize,
    pub(crate) sums: usize,
    pub(crate) offsets: usize,
    /// Each row's bins have a factor: one over the ray's sum.
    pub(crate) ray_factors: bool,
    /// Each pixel has a factor in each subset: one over the sum of its weights.
    pub(crate) pixel_factors: bool,
    /// That sum is over rays whose factor is not 0, not over all.
    pub(crate) leaves_rays_out: bool,
    /// Norms are asked for.
    pub(crate) norms: bool,
    /// It is asked how far vectors come.
    pub(crate) watched: bool,
    /// Images begin with this.
    pub(crate) start: f32,
}

impl Needs {
    pub(crate) const NOTHING: Self = Self {
        images: 0,
        rows: 0,
        sums: 0,
        offsets: 0,
        ray_factors: false,
        pixel_factors: false,
        leaves_rays_out: false,
        norms: false,
        watched: false,
        start: 0.0,
    };
}

/// Rays and pixels whose weights sum to less than this part of a pixel's side count as met by none: rounding would decide about them.
pub(crate) const LEAST: f64 = 1e-3;

/// Vectors of some slices. Sums are added to; a slice that has ended keeps its image whatever is asked for.
pub(crate) trait Space {
    /// rows = A image, of one subset.
    fn forward(&mut self, subset: usize, image: Image, rows: Rows) -> Result<()>;
    /// image = A^T rows, of one subset.
    fn adjoint(&mut self, subset: usize, rows: Rows, image: Image) -> Result<()>;
    /// to = A^T A image, as a convolution.
    fn convolve(&mut self, image: Image, to: Image) -> Result<()>;

    /// projected = R (data - projected) of one subset, with the rays' factors R if there are any; sum += data minus projected times that.
    fn residual(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()>;
    /// projected = data / projected of one subset, 0 where nothing is measured or expected and where the ray's factor is; sum +=
    /// data ln(data / projected) - data + projected.
    fn ratio(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()>;
    /// rows = rows - (over / under) by; sum += |rows|^2.
    fn retreat(&mut self, rows: Rows, by: Rows, quotient: [Sum; 2], sum: Sum) -> Result<()>;
    /// image = image - (over / under) by; sum += |image|^2.
    fn withdraw(&mut self, image: Image, by: Image, quotient: [Sum; 2], sum: Sum) -> Result<()>;
    /// sum += |rows|^2
    fn square(&mut self, rows: Rows, sum: Sum) -> Result<()>;

    /// image = image + step C by within the bounds, with the pixels' factors C of a subset.
    fn relax(&mut self, subset: usize, image: Image, by: Image, step: f32) -> Result<()>;
    /// image = image + by within the bounds, inside the mask.
    fn join(&mut self, image: Image, by: Image) -> Result<()>;
    /// image = image C by within the bounds, where C is not 0.
    fn multiply(&mut self, subset: usize, image: Image, by: Image) -> Result<()>;
    /// image = 0 where the pixels' factors of all subsets are 0; `spare` is overwritten.
    fn blank(&mut self, image: Image, spare: Image) -> Result<()>;
    /// by = by - weight image inside the mask, 0 outside; sum += |by|^2.
    fn descend(&mut self, by: Image, image: Image, weight: f32, sum: Sum) -> Result<()>;
    /// image = image + (over / under) by
    fn advance(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()>;
    /// image = by + (over / under) image
    fn turn(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()>;
    /// sum += <image, by>
    fn inner(&mut self, image: Image, by: Image, sum: Sum) -> Result<()>;
    /// sum += weight |image|^2
    fn weigh(&mut self, image: Image, weight: f64, sum: Sum) -> Result<()>;

    /// square += |of - rows|^2 and sum += the sum of of - rows.
    fn apart(&mut self, rows: Rows, of: Rows, square: Sum, sum: Sum) -> Result<()>;
    /// projected = data / projected - 1, 0 where the ray's factor is; sum += data ln(data / projected) - data + projected.
    fn slope(&mut self, data: Rows, projected: Rows, sum: Sum) -> Result<()>;
    /// sum -= data ln(1 - rows), and rows = -rows; both 0 where the ray's factor is.
    fn conjugate(&mut self, rows: Rows, data: Rows, sum: Sum) -> Result<()>;
    /// Of Poisson's law, the rows' step from -q = rows, with A ahead in `projected`, which is overwritten, and a step and a `relaxed` of each
    /// slice: q goes `relaxed` times as far as to (1 + z - sqrt((z - 1)^2 + 4 step data)) / 2, z = q + step projected; 0 where the ray's factor
    /// is. This next q is left in `projected`.
    fn count(&mut self, rows: Rows, projected: Rows, data: Rows, steps: [Sum; 2]) -> Result<()>;
    /// rows = rows + part (by - rows), with each slice's part.
    fn approach(&mut self, rows: Rows, by: Rows, part: Sum) -> Result<()>;
    /// rows = rows + relaxed step / (1 + step) (by - rows), with parts of the step along [`Smooth`](super::smooth::Smooth) components; a step and a
    /// `relaxed` of each slice.
    fn approach_smoothly(&mut self, rows: Rows, by: Rows, steps: [Sum; 2]) -> Result<()>;
    /// Of total variation, the image's step: gradient = -A^T q becomes the image's next value, within the bounds; `ahead` is as far again
    /// from the image as that; the image goes `relaxed` times as far.
    fn primal(&mut self, step: Primal) -> Result<()>;
    /// Its gradient's step: fields go towards those of `ahead`, as long as the penalty allows.
    fn dual(&mut self, step: Dual) -> Result<()>;
    /// Moves fields, none longer than the penalty's weight, so that less of D^T y - back is below 0: see [`polish`](super::variation::polish).
    fn polish(&mut self, back: Image, fields: [Image; 2], penalty: Penalty) -> Result<()>;
    /// image = image + part (by - image), with each slice's part.
    fn blend(&mut self, image: Image, by: Image, part: Sum) -> Result<()>;
    /// sum += |image - as it was at the last call|^2 over a part of its pixels.
    fn image_moved(&mut self, image: Image, sum: Sum) -> Result<()>;
    /// The same of rows.
    fn rows_moved(&mut self, rows: Rows, sum: Sum) -> Result<()>;
    /// What bounds the distance from the minimum: see [`Bound`].
    fn bound(&mut self, bound: Bound) -> Result<()>;
    /// to = from
    fn duplicate(&mut self, from: Rows, to: Rows) -> Result<()>;
    /// rows = rows + factor times the offsets, in every view, times the roots of rays' weights.
    fn spread(&mut self, offsets: Offsets, rows: Rows, factor: f32) -> Result<()>;
    /// offsets = the sums over views of rows times the roots of rays' weights.
    fn gather(&mut self, rows: Rows, offsets: Offsets) -> Result<()>;
    /// The offsets' step: see [`Shift`].
    fn shift(&mut self, step: Shift) -> Result<()>;
    /// What is said there.
    fn limit(&mut self, limit: Limit) -> Result<()>;
    /// The step: see [`Hasten`].
    fn hasten(&mut self, step: Hasten) -> Result<()>;
    /// What is said there.
    fn excess(&mut self, of: Excess) -> Result<()>;
    /// Nesterov's numbers of each slice: `momentum` begins anew where `turned`, which becomes 0, is above 0; `part` = (momentum - 1) / next.
    fn quicken(&mut self, momentum: Sum, turned: Sum, part: Sum) -> Result<()>;
    /// Norms of this scan's pair.
    fn norms(&mut self) -> Result<Norms>;
    /// Numbers of the slices.
    fn read(&mut self, sum: Sum) -> Result<Vec<f64>>;
    /// Sets them.
    fn set(&mut self, sum: Sum, values: &[f64]) -> Result<()>;
    /// Slices that have not ended.
    fn running(&mut self) -> Result<Vec<bool>>;
    /// Ends slices.
    fn end(&mut self, ended: &[bool]) -> Result<()>;

    /// sum = 0
    fn clear(&mut self, sum: Sum) -> Result<()>;
    /// to = from
    fn copy(&mut self, from: Sum, to: Sum) -> Result<()>;
    /// sum = sum - over^2 / under, of slices that go on.
    fn lessen(&mut self, sum: Sum, quotient: [Sum; 2]) -> Result<()>;
    /// Ends slices whose sum is at most `part` of another.
    fn end_where(&mut self, sum: Sum, part: f64, of: Sum) -> Result<()>;
    /// What an iteration found: `factor` times these.
    fn record(&mut self, iteration: usize, objective: Sum, factor: f64) -> Result<()>;
    /// The same from the host.
    fn tell(&mut self, found: Iterated);
    /// After an iteration: tells of progress, heeds a wish to cancel; false once all slices have ended.
    fn go_on(&mut self) -> Result<bool>;
}

//! Stripes: what a detector's bin does wrong, which becomes a ring. On line integrals of one detector row, all of its views together.

mod by_angle;
mod columns;
mod fit;
mod median;
mod regularised;
mod remover;
mod reordered;
mod significant;
mod sorting;
mod statistics;
mod vo;
mod wavelet;

pub(crate) use by_angle::ByAngle;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
pub(crate) use remover::Remover;
use reordered::Reordered;
pub use vo::Vo;
pub use wavelet::Wavelet;
pub(crate) use wavelet::{Sizes as WaveletSizes, Tables};

/// Weights that leave offsets neither all nor nothing.
const ALPHAS: std::ops::RangeInclusive<f64> = 1e-9..=1e6;

/// How stripes are removed.
#[derive(Clone, Debug, PartialEq)]
pub enum Stripes {
    /// What stands out from noise.
    Significant,
    /// By Vo, Atwood and Drakopoulos, all of it.
    Vo(Vo),
    /// By sorting alone; bins of its median, as [`Vo::small`].
    Sorting(usize),
    /// Offsets that make the means over views smooth; what their squares weigh.
    Regularised(f64),
    /// By Munch, Trtik, Marone and Stampanoni.
    Wavelet(Wavelet),
}

impl Stripes {
    /// Refuses parameters out of range, naming the field.
    pub fn check(&self) -> Result<()> {
        if let Self::Vo(vo) = self {
            vo.check()?;
        }
        if let Self::Wavelet(wavelet) = self {
            wavelet.check()?;
        }
        if let Self::Regularised(alpha) = self {
            if !alpha.is_finite() {
                fail!(NotFiniteParameter, "stripes.alpha is {alpha}; it must be finite");
            }
            if !(ALPHAS.contains(alpha)) {
                let (low, high) = (ALPHAS.start(), ALPHAS.end());
                fail!(OutOfRange, "stripes.alpha is {alpha}; it must be {low:e} to {high:e}");
            }
        }
        for (name, window) in self.windows() {
            if window == 1 {
                fail!(OutOfRange, "stripes.{name} is 1; it must be 2 bins or more, or 0");
            }
        }
        Ok(())
    }

    /// Refuses windows that are longer than the detector, and more levels than a sinogram has.
    pub(crate) fn check_size(&self, views: usize, bins: usize) -> Result<()> {
        if let Self::Wavelet(wavelet) = self {
            wavelet.check_size(views, bins)?;
        }
        for (name, window) in self.windows() {
            if window > bins {
                fail!(OutOfRange, "stripes.{name} is {window} bins; the detector has {bins}");
            }
        }
        Ok(())
    }

    fn windows(&self) -> Vec<(&'static str, usize)> {
        match self {
            Self::Significant | Self::Regularised(_) | Self::Wavelet(_) => Vec::new(),
            Self::Vo(vo) => vec![("large_window", vo.large), ("small_window", vo.small)],
            Self::Sorting(window) => vec![("small_window", *window)],
        }
    }

    /// With windows for so many bins.
    pub(crate) fn of(&self, bins: usize) -> Self {
        match self {
            Self::Significant | Self::Regularised(_) | Self::Wavelet(_) => self.clone(),
            Self::Vo(vo) => Self::Vo(vo.of(bins)),
            Self::Sorting(window) => Self::Sorting(vo::window_of(*window, vo::SMALL, bins)),
        }
    }

    /// What the work on a sinogram takes, in bytes.
    pub(crate) fn bytes(&self, views: usize, bins: usize, by_angle: Option<&ByAngle>) -> u64 {
        let reordered = by_angle.map_or(0, |_| Reordered::bytes(bins));
        reordered
            + match self.of(bins) {
                Self::Significant => significant::Room::bytes(bins),
                Self::Regularised(_) => regularised::Room::bytes(bins),
                Self::Vo(vo) => vo::Room::bytes(views, bins, vo.large),
                Self::Sorting(_) => vo::Room::bytes(views, bins, 0),
                Self::Wavelet(wavelet) => wavelet::Room::bytes(&wavelet, views, bins),
            }
    }

    /// Tables that all removers of a size share, for the methods that have some.
    pub(crate) fn tables(&self, views: usize, bins: usize, level: Level) -> Result<Option<Tables>> {
        match self {
            Self::Wavelet(wavelet) => Tables::new(wavelet, views, bins, level).map(Some),
            _ => Ok(None),
        }
    }

    /// What those take, in bytes.
    pub(crate) fn table_bytes(&self, views: usize, bins: usize) -> u64 {
        match self {
            Self::Wavelet(wavelet) => Tables::bytes(wavelet, views, bins),
            _ => 0,
        }
    }

    /// A remover for sinograms of so many views and bins, with its working memory; `tables` are its method's for that size, and
    /// `by_angle` is for views in another order than that of their angles.
    pub(crate) fn remover<'a>(
        &self,
        (views, bins): (usize, usize),
        tables: Option<&'a Tables>,
        by_angle: Option<&'a ByAngle>,
    ) -> Result<Box<dyn Remover + 'a>> {
        let method = self.method(views, bins, tables)?;
        Ok(match by_angle {
            Some(by_angle) => Box::new(Reordered::new(method, by_angle, bins)?),
            None => method,
        })
    }

    fn method<'a>(&self, views: usize, bins: usize, tables: Option<&'a Tables>) -> Result<Box<dyn Remover + 'a>> {
        Ok(match self.of(bins) {
            Self::Significant => Box::new(significant::Room::new(views, bins)?),
            Self::Regularised(alpha) => Box::new(regularised::Room::new(alpha, bins)?),
            Self::Vo(vo) => Box::new(vo::All { vo, room: vo::Room::new(views, bins, vo.large)? }),
            Self::Sorting(window) => Box::new(vo::Sorting { window, room: vo::Room::new(views, bins, 0)? }),
            Self::Wavelet(_) => match tables {
                Some(tables) => Box::new(wavelet::Room::new(tables)?),
                None => fail!(Internal, "a method without its tables"),
            },
        })
    }
}

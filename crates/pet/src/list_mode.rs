//! What a plan does with list-mode events: it counts them where histo-images are, on the processor or on the GPU that it computes on.

use super::deposit::{deposit, deposit_crystals};
use super::doubts;
use super::dropped::Dropped;
use super::events::{self, EventArrays, Events, Source};
use super::gpu::deposit::{Depositor, List, check_place};
use super::lattice::Lattice;
use super::plan::Pet;
use super::scanner::{self, CrystalArrays, CrystalEvents, DetectedMut, Lost, Pairs, Scanner};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::LogLevel;
use isocenter_base::error::{Result, fail};
use std::sync::Arc;

impl Pet {
    /// Sets the crystals and time bins that events name; they hold whatever the geometry.
    pub fn set_scanner(&mut self, scanner: Scanner) {
        if let Some(doubt) = scanner::doubt(&scanner) {
            self.context.log(LogLevel::Warning, || doubt);
        }
        self.scanner = Some(Arc::new(scanner));
        self.depositor = None;
    }

    /// Crystals and time bins.
    pub fn scanner(&self) -> Result<&Scanner> {
        match &self.scanner {
            Some(scanner) => Ok(scanner),
            None => fail!(NotConfigured, "the plan has no scanner yet; isoc_pet_set_scanner comes first"),
        }
    }

    /// Adds events to histo-images of its views.
    pub fn deposit(&mut self, events: &EventArrays, histos: ArrayMut<4>) -> Result<Dropped> {
        let lattice = *self.lattice()?;
        let EventArrays { first, second, time } = events;
        let dropped = match histos.layout().gpu {
            Some(gpu) => {
                events::check(first.layout(), second.layout(), time.layout())?;
                let places = [
                    ("time_differences", time.layout().gpu),
                    ("first_positions", first.layout().gpu),
                    ("second_positions", second.layout().gpu),
                ];
                check_place(gpu, &places)?;
                self.deposit_on_gpu(gpu, &lattice, List::Positions(events), &histos.stacked())?
            }
            None => deposit(&self.context, self.view_set()?, &lattice, events, histos)?,
        };
        // Events on a GPU are not looked at again.
        let seen = if time.layout().gpu.is_none() { Some(Events::new(events)?) } else { None };
        self.tell_of_dropped(seen, &lattice, time.shape()[0], &dropped);
        Ok(dropped)
    }

    /// Adds events that name crystals to sets of histo-images of its views, `[set][view][z][y][x]`.
    pub fn deposit_crystals(&mut self, events: &CrystalArrays, histos: ArrayMut<5>) -> Result<Dropped> {
        let lattice = *self.lattice()?;
        let CrystalArrays { crystals, times, labels, .. } = events;
        let sets = histos.shape()[0];
        let dropped = match histos.layout().gpu {
            Some(gpu) => {
                scanner::check(self.scanner()?, crystals.layout(), times.layout(), labels.as_ref().map(Array::layout))?;
                let places = [("times", times.layout().gpu), ("crystals", crystals.layout().gpu)];
                let labels = labels.as_ref().map(|l| ("labels", l.layout().gpu));
                let places: Vec<_> = places.into_iter().chain(labels).collect();
                check_place(gpu, &places)?;
                self.deposit_on_gpu(gpu, &lattice, List::Crystals(events), &histos)?
            }
            None => deposit_crystals(&self.context, self.view_set()?, &lattice, (self.scanner()?, events), histos)?,
        };
        let seen = match times.layout().gpu {
            None => Some(CrystalEvents::new(self.scanner()?, events, sets)?),
            Some(_) => None,
        };
        self.tell_of_dropped(seen, &lattice, times.shape()[0], &dropped);
        Ok(dropped)
    }

    /// Detects events in host memory: see [`scanner::DetectedMut`].
    pub fn detect(
        &self,
        events: &EventArrays,
        efficiencies: Option<&Array<1>>,
        seed: u64,
        to: &DetectedMut,
    ) -> Result<Lost> {
        let efficiencies = efficiencies.map(|from| self.read_efficiencies(from)).transpose()?;
        let given = (efficiencies.as_deref(), seed);
        scanner::detect(&self.context, self.scanner()?, given, &Events::new(events)?, to)
    }

    /// Sets which pairs of the scanner's crystals are measured, None: all of them.
    pub fn set_pairs(&mut self, pairs: Option<Pairs>) -> Result<()> {
        let Some(scanner) = &mut self.scanner else {
            fail!(NotConfigured, "the plan has no scanner yet; isoc_pet_set_scanner comes first");
        };
        Arc::make_mut(scanner).pairs = pairs;
        self.depositor = None;
        Ok(())
    }

    pub(super) fn tell_of_dropped(
        &self,
        seen: Option<impl Source>,
        lattice: &Lattice,
        count: usize,
        dropped: &Dropped,
    ) {
        let all = count as u64;
        let Dropped { unknown, not_measured, not_finite, equal_positions, outside_tilts, .. } = *dropped;
        let located = all - unknown - not_measured - not_finite - equal_positions - outside_tilts;
        let doubt = seen
            .and_then(|events| doubts::doubt(&events, lattice, dropped, located))
            .or_else(|| doubts::lost(dropped, all))
            .or_else(|| doubts::of_pairs(dropped, all));
        if let Some(doubt) = doubt {
            self.context.log(LogLevel::Warning, || doubt);
        } else if let Some(fact) = doubts::tell(dropped, lattice, all) {
            self.context.log(LogLevel::Info, || fact);
        }
    }

    fn deposit_on_gpu(&mut self, gpu: usize, lattice: &Lattice, list: List, histos: &ArrayMut<5>) -> Result<Dropped> {
        let Some(device) = self.gpus().iter().find(|device| device.index() == gpu).cloned() else {
            fail!(TensorDevice, "histo_images are on GPU {gpu}, which is not the one that the plan computes on");
        };
        let depositor = match self.depositor.take() {
            Some(depositor) => depositor,
            None => Depositor::new(&device, self.view_set()?, self.scanner.as_deref())?,
        };
        let dropped = depositor.deposit(&self.context, lattice, list, histos, (self.stream(), self.held()));
        // Under a cap, the engine counts on having all of it.
        if !self.context.caps_gpus() {
            self.depositor = Some(depositor);
        }
        dropped
    }
}

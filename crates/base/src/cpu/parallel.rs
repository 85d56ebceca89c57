//! Parallel loops over indexed items, with rayon's names and on rayon's pool, and with its machinery compiled once: a loop hands
//! `dyn` work to [`run`], where rayon's own iterators are instantiated anew for every closure (a sixth of all that the compiler had to
//! translate).
//!
//! Items go by an index. Nothing depends on how many threads there are, or on who takes what: results stand in the order of the items,
//! and what is reduced is reduced in that order, part by part, which has to be exact or associative, as in rayon.

use rayon::iter::plumbing::{Consumer, Folder, Producer, Reducer, UnindexedConsumer, bridge_producer_consumer};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Fewest and most items of a part, where a loop may be cut.
#[derive(Clone, Copy, Debug)]
pub struct Grain {
    min: usize,
    max: usize,
}

const ANY: Grain = Grain { min: 1, max: usize::MAX };

impl Grain {
    fn both(self, other: Self) -> Self {
        Self { min: self.min.max(other.min), max: self.max.min(other.max) }
    }
}

/// Calls `work` for parts of `0..len` that cover it, on the pool that this is called in; when one breaks, those that have not begun are left out.
pub fn run(len: usize, grain: Grain, work: &(dyn Fn(Range<usize>) -> ControlFlow<()> + Sync)) {
    let stopped = AtomicBool::new(false);
    bridge_producer_consumer(len, Part { range: 0..len, grain }, Work { work, stopped: &stopped });
}

/// Some neighbouring indices.
struct Part {
    range: Range<usize>,
    grain: Grain,
}

impl Producer for Part {
    type Item = Range<usize>;
    type IntoIter = std::iter::Once<Range<usize>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self.range)
    }

    fn min_len(&self) -> usize {
        self.grain.min
    }

    fn max_len(&self) -> usize {
        self.grain.max
    }

    fn split_at(self, at: usize) -> (Self, Self) {
        let Self { range: Range { start, end }, grain } = self;
        (Self { range: start..start + at, grain }, Self { range: start + at..end, grain })
    }
}

#[derive(Clone, Copy)]
struct Work<'a> {
    work: &'a (dyn Fn(Range<usize>) -> ControlFlow<()> + Sync),
    stopped: &'a AtomicBool,
}

impl Consumer<Range<usize>> for Work<'_> {
    type Folder = Self;
    type Reducer = Self;
    type Result = ();

    fn split_at(self, _: usize) -> (Self, Self, Self) {
        (self, self, self)
    }

    fn into_folder(self) -> Self {
        self
    }

    fn full(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl UnindexedConsumer<Range<usize>> for Work<'_> {
    fn split_off_left(&self) -> Self {
        *self
    }

    fn to_reducer(&self) -> Self {
        *self
    }
}

impl Folder<Range<usize>> for Work<'_> {
    type Result = ();

    fn consume(self, part: Range<usize>) -> Self {
        if (self.work)(part).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self
    }

    fn complete(self) {}

    fn full(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl Reducer<()> for Work<'_> {
    fn reduce(self, (): (), (): ()) {}
}

/// Items by their index.
#[allow(clippy::len_without_is_empty)]
pub trait Parallel: Sized + Sync {
    /// What a loop's body gets.
    type Item;
    /// Some neighbouring items.
    type Items: Iterator<Item = Self::Item>;

    /// How many items there are.
    fn len(&self) -> usize;

    /// A part of them, as an iterator of its own, whose pointers the compiler can keep in registers.
    ///
    /// # Safety
    /// The part lies within the length, and parts that are asked for, by whatever threads, are apart.
    unsafe fn items(&self, part: Range<usize>) -> Self::Items;

    /// How a loop over them may be cut.
    fn grain(&self) -> Grain {
        ANY
    }

    /// Parts have so many items at least.
    fn with_min_len(self, min: usize) -> Grained<Self> {
        let grain = self.grain().both(Grain { min, max: usize::MAX });
        Grained { items: self, grain }
    }

    /// Parts have so many items at most.
    fn with_max_len(self, max: usize) -> Grained<Self> {
        let grain = self.grain().both(Grain { min: 1, max });
        Grained { items: self, grain }
    }

    /// Items with their index before them.
    fn enumerate(self) -> Enumerate<Self> {
        Enumerate(self)
    }

    /// Pairs, as many as the shorter one has items.
    fn zip<B: IntoParallel>(self, other: B) -> Zip<Self, B::Items> {
        Zip(self, other.into_par_iter())
    }

    /// What a function makes of the items.
    fn map<R, F: Fn(Self::Item) -> R + Sync>(self, function: F) -> Map<Self, F> {
        Map { items: self, function }
    }

    /// What a function makes of the items with something of its own, which `init` makes for each part.
    fn map_init<S, R, I: Fn() -> S + Sync, F: Fn(&mut S, Self::Item) -> R + Sync>(
        self,
        init: I,
        function: F,
    ) -> MapInit<Self, I, F> {
        MapInit { items: self, init, function }
    }

    /// The first ones.
    fn take(self, count: usize) -> Between<Self> {
        let count = count.min(self.len());
        Between { items: self, start: 0, count }
    }

    /// All but the first ones.
    fn skip(self, count: usize) -> Between<Self> {
        let start = count.min(self.len());
        Between { start, count: self.len() - start, items: self }
    }

    /// Calls the body for each.
    fn for_each<F: Fn(Self::Item) + Sync>(self, body: F) {
        run(self.len(), self.grain(), &|part| {
            // SAFETY: parts are apart and within the length.
            for item in unsafe { self.items(part) } {
                body(item);
            }
            ControlFlow::Continue(())
        });
    }

    /// Calls the body for each with something of its own, which `init` makes for each part.
    fn for_each_init<S, I: Fn() -> S + Sync, F: Fn(&mut S, Self::Item) + Sync>(self, init: I, body: F) {
        run(self.len(), self.grain(), &|part| {
            let mut own = init();
            // SAFETY: parts are apart and within the length.
            for item in unsafe { self.items(part) } {
                body(&mut own, item);
            }
            ControlFlow::Continue(())
        });
    }

    /// Whether something holds for all of them.
    fn all<F: Fn(Self::Item) -> bool + Sync>(self, holds: F) -> bool {
        self.try_for_each(|item| if holds(item) { Ok(()) } else { Err(()) }).is_ok()
    }

    /// Calls the body for each until one fails, and gives the first of the errors that were met.
    fn try_for_each<E: Send, F: Fn(Self::Item) -> Result<(), E> + Sync>(self, body: F) -> Result<(), E> {
        self.try_for_each_init(|| (), |(), item| body(item))
    }

    /// The same with something of its own for the body, which `init` makes for each part.
    fn try_for_each_init<S, E: Send, I: Fn() -> S + Sync, F: Fn(&mut S, Self::Item) -> Result<(), E> + Sync>(
        self,
        init: I,
        body: F,
    ) -> Result<(), E> {
        let failed = First::default();
        run(self.len(), self.grain(), &|part| {
            let mut own = init();
            // SAFETY: parts are apart and within the length.
            for (k, item) in part.clone().zip(unsafe { self.items(part) }) {
                if let Err(error) = body(&mut own, item) {
                    failed.offer(k, error);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        failed.take().map_or(Ok(()), Err)
    }
}

/// The value with the lowest index of all that threads offer.
struct First<T>(Mutex<Option<(usize, T)>>);

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> First<T> {
    fn offer(&self, index: usize, value: T) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(k, _)| index < *k) {
            *first = Some((index, value));
        }
    }

    fn take(self) -> Option<T> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, value)| value)
    }
}

/// What is computed of items, and then collected or reduced.
pub trait Computed: Sized + Sync {
    /// What is computed.
    type Output: Send;

    /// How many, and how a loop over them may be cut.
    fn extent(&self) -> (usize, Grain);

    /// Computes a part and hands it over in order, until it is told to stop.
    ///
    /// # Safety
    /// Parts are apart and within the length.
    unsafe fn compute(&self, part: Range<usize>, to: &mut dyn FnMut(usize, Self::Output) -> ControlFlow<()>);

    /// All of them in order.
    fn collect<C: FromComputed<Self::Output>>(self) -> C {
        C::collected(self)
    }

    /// All of them, combined in order; `identity` changes nothing.
    fn reduce<I, F>(self, identity: I, combine: F) -> Self::Output
    where
        I: Fn() -> Self::Output + Sync,
        F: Fn(Self::Output, Self::Output) -> Self::Output + Sync,
    {
        let parts = Mutex::new(Vec::new());
        let (len, grain) = self.extent();
        run(len, grain, &|part| {
            let (start, mut sum) = (part.start, Some(identity()));
            // SAFETY: parts are apart and within the length.
            unsafe {
                self.compute(part, &mut |_, value| {
                    sum = sum.take().map(|sum| combine(sum, value));
                    ControlFlow::Continue(())
                });
            }
            parts.lock().unwrap_or_else(PoisonError::into_inner).push((start, sum));
            ControlFlow::Continue(())
        });
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|(start, _)| *start);
        parts.into_iter().filter_map(|(_, sum)| sum).fold(identity(), combine)
    }

    /// Whether one of them holds.
    fn any<F: Fn(Self::Output) -> bool + Sync>(self, holds: F) -> bool {
        let found = AtomicBool::new(false);
        let (len, grain) = self.extent();
        run(len, grain, &|part| {
            let mut flow = ControlFlow::Continue(());
            let mut look = |_, value| {
                if holds(value) {
                    found.store(true, Ordering::Relaxed);
                    flow = ControlFlow::Break(());
                }
                flow
            };
            // SAFETY: parts are apart and within the length.
            unsafe { self.compute(part, &mut look) };
            flow
        });
        found.into_inner()
    }

    /// Their sum, for types whose addition is exact.
    fn sum(self) -> Self::Output
    where
        Self::Output: Default + std::ops::Add<Output = Self::Output>,
    {
        self.reduce(Default::default, |a, b| a + b)
    }

    /// The same as [`Computed::reduce`] of what may fail: the first of the errors that were met.
    fn try_reduce<T: Send, E: Send, I, F>(self, identity: I, combine: F) -> Result<T, E>
    where
        Self: Computed<Output = Result<T, E>>,
        I: Fn() -> T + Sync,
        F: Fn(T, T) -> Result<T, E> + Sync,
    {
        let (failed, parts) = (First::default(), Mutex::new(Vec::new()));
        let (len, grain) = self.extent();
        run(len, grain, &|part| {
            let (start, mut sum) = (part.start, Some(identity()));
            let mut add = |k, value: Result<T, E>| match value.and_then(|v| match sum.take() {
                Some(sum) => combine(sum, v),
                None => Ok(v),
            }) {
                Ok(both) => {
                    sum = Some(both);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failed.offer(k, error);
                    ControlFlow::Break(())
                }
            };
            // SAFETY: parts are apart and within the length.
            unsafe { self.compute(part, &mut add) };
            let is_whole = sum.is_some();
            parts.lock().unwrap_or_else(PoisonError::into_inner).extend(sum.map(|sum| (start, sum)));
            if is_whole { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if let Some(error) = failed.take() {
            return Err(error);
        }
        let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|(start, _)| *start);
        parts.into_iter().try_fold(identity(), |all, (_, sum)| combine(all, sum))
    }
}

/// What can be made of computed items.
pub trait FromComputed<T>: Sized {
    /// All of them in order.
    fn collected<P: Computed<Output = T>>(items: P) -> Self;
}

/// Where threads write items, each its own.
struct Slots<T>(*mut MaybeUninit<T>);

// SAFETY: each slot is written by one thread.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    fn at(&self, k: usize) -> *mut MaybeUninit<T> {
        self.0.wrapping_add(k)
    }
}

impl<T: Send> FromComputed<T> for Vec<T> {
    fn collected<P: Computed<Output = T>>(items: P) -> Self {
        let (len, grain) = items.extent();
        let mut all = Vec::with_capacity(len);
        let slots = Slots(all.spare_capacity_mut().as_mut_ptr());
        run(len, grain, &|part| {
            // SAFETY: parts are apart and within the length, which is the capacity.
            unsafe {
                items.compute(part, &mut |k, value| {
                    slots.at(k).write(MaybeUninit::new(value));
                    ControlFlow::Continue(())
                });
            }
            ControlFlow::Continue(())
        });
        // SAFETY: all parts were written; a panic would not have come here.
        unsafe { all.set_len(len) };
        all
    }
}

impl<T: Send, E: Send> FromComputed<Result<T, E>> for Result<Vec<T>, E> {
    fn collected<P: Computed<Output = Result<T, E>>>(items: P) -> Self {
        Vec::collected(items).into_iter().collect()
    }
}

/// Something that has items.
pub trait IntoParallel {
    /// Those.
    type Items: Parallel;

    /// Its items.
    fn into_par_iter(self) -> Self::Items;
}

impl<P: Parallel> IntoParallel for P {
    type Items = P;

    fn into_par_iter(self) -> P {
        self
    }
}

impl IntoParallel for Range<usize> {
    type Items = Indices;

    fn into_par_iter(self) -> Indices {
        Indices { start: self.start, len: self.len() }
    }
}

impl<'a, T: Sync> IntoParallel for &'a [T] {
    type Items = Iter<'a, T>;

    fn into_par_iter(self) -> Iter<'a, T> {
        Iter(self)
    }
}

impl<'a, T: Sync> IntoParallel for &'a Vec<T> {
    type Items = Iter<'a, T>;

    fn into_par_iter(self) -> Iter<'a, T> {
        Iter(self)
    }
}

impl<'a, T: Send> IntoParallel for &'a mut [T] {
    type Items = IterMut<'a, T>;

    fn into_par_iter(self) -> IterMut<'a, T> {
        IterMut(Shared::new(self))
    }
}

impl<'a, T: Send> IntoParallel for &'a mut Vec<T> {
    type Items = IterMut<'a, T>;

    fn into_par_iter(self) -> IterMut<'a, T> {
        IterMut(Shared::new(self))
    }
}

/// Some neighbouring indices, as items.
pub struct Indices {
    start: usize,
    len: usize,
}

impl Parallel for Indices {
    type Item = usize;
    type Items = Range<usize>;

    fn len(&self) -> usize {
        self.len
    }

    unsafe fn items(&self, part: Range<usize>) -> Range<usize> {
        self.start + part.start..self.start + part.end
    }
}

/// The elements of a vector, by value; those that no loop came to are dropped with it.
pub struct Owned<T>(Vec<Mutex<Option<T>>>);

impl<T: Send> IntoParallel for Vec<T> {
    type Items = Owned<T>;

    fn into_par_iter(self) -> Owned<T> {
        Owned(self.into_iter().map(|value| Mutex::new(Some(value))).collect())
    }
}

impl<T: Send> Parallel for Owned<T> {
    type Item = T;
    type Items = std::vec::IntoIter<T>;

    fn len(&self) -> usize {
        self.0.len()
    }

    unsafe fn items(&self, part: Range<usize>) -> std::vec::IntoIter<T> {
        let take = |slot: &Mutex<Option<T>>| slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.0[part].iter().filter_map(take).collect::<Vec<T>>().into_iter()
    }
}

/// References to elements.
pub struct Iter<'a, T>(&'a [T]);

impl<'a, T: Sync> Parallel for Iter<'a, T> {
    type Item = &'a T;
    type Items = std::slice::Iter<'a, T>;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> Self::Items {
        self.0[part].iter()
    }
}

/// Parts of a slice, all but the last of one length.
pub struct Chunks<'a, T> {
    all: &'a [T],
    size: usize,
    count: usize,
}

impl<'a, T: Sync> Parallel for Chunks<'a, T> {
    type Item = &'a [T];
    type Items = std::slice::Chunks<'a, T>;

    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> Self::Items {
        let end = part.end.saturating_mul(self.size).min(self.all.len());
        self.all[part.start * self.size..end].chunks(self.size)
    }
}

/// A slice of which each item is one thread's.
struct Shared<'a, T> {
    first: *mut T,
    len: usize,
    lent: PhantomData<&'a mut [T]>,
}

// SAFETY: items are apart, and each is asked for once.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    fn new(all: &'a mut [T]) -> Self {
        Self { first: all.as_mut_ptr(), len: all.len(), lent: PhantomData }
    }

    /// # Safety
    /// The part is nobody else's.
    #[inline(always)]
    unsafe fn part(&self, part: Range<usize>) -> &'a mut [T] {
        assert!(part.start <= part.end && part.end <= self.len);
        // SAFETY: inside, and by the caller's contract nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(part.start), part.len()) }
    }
}

/// Exclusive references to elements.
pub struct IterMut<'a, T>(Shared<'a, T>);

impl<'a, T: Send + 'a> Parallel for IterMut<'a, T> {
    type Item = &'a mut T;
    type Items = std::slice::IterMut<'a, T>;

    fn len(&self) -> usize {
        self.0.len
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> Self::Items {
        // SAFETY: by the caller's contract.
        unsafe { self.0.part(part) }.iter_mut()
    }
}

/// Exclusive parts of a slice, all but the last of one length.
pub struct ChunksMut<'a, T> {
    all: Shared<'a, T>,
    size: usize,
    count: usize,
}

impl<'a, T: Send + 'a> Parallel for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    type Items = std::slice::ChunksMut<'a, T>;

    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> Self::Items {
        let end = part.end.saturating_mul(self.size).min(self.all.len);
        // SAFETY: by the caller's contract.
        unsafe { self.all.part(part.start * self.size..end) }.chunks_mut(self.size)
    }
}

/// Elements and parts of slices, as items. Parts have at least one element each; what is over in the `exact` ones is left out.
pub trait ParallelSlice<T> {
    /// References to elements.
    fn par_iter(&self) -> Iter<'_, T>;
    /// Parts of a length, the last one maybe shorter.
    fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
    /// Parts of a length.
    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T>;
    /// Exclusive references to elements.
    fn par_iter_mut(&mut self) -> IterMut<'_, T>;
    /// Exclusive parts of a length, the last one maybe shorter.
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
    /// Exclusive parts of a length.
    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
}

impl<T> ParallelSlice<T> for [T] {
    fn par_iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
        Chunks { all: self, size, count: self.len().div_ceil(size) }
    }

    fn par_chunks_exact(&self, size: usize) -> Chunks<'_, T> {
        Chunks { all: self, size, count: self.len() / size }
    }

    fn par_iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut(Shared::new(self))
    }

    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        ChunksMut { size, count: self.len().div_ceil(size), all: Shared::new(self) }
    }

    fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        ChunksMut { size, count: self.len() / size, all: Shared::new(self) }
    }
}

/// Items that say how a loop over them may be cut.
pub struct Grained<P> {
    items: P,
    grain: Grain,
}

impl<P: Parallel> Parallel for Grained<P> {
    type Item = P::Item;
    type Items = P::Items;

    fn len(&self) -> usize {
        self.items.len()
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> P::Items {
        // SAFETY: by the caller's contract.
        unsafe { self.items.items(part) }
    }

    fn grain(&self) -> Grain {
        self.grain
    }
}

/// Items with their index.
pub struct Enumerate<P>(P);

impl<P: Parallel> Parallel for Enumerate<P> {
    type Item = (usize, P::Item);
    type Items = std::iter::Zip<Range<usize>, P::Items>;

    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> Self::Items {
        // SAFETY: by the caller's contract.
        part.clone().zip(unsafe { self.0.items(part) })
    }

    fn grain(&self) -> Grain {
        self.0.grain()
    }
}

/// Items of two, side by side.
pub struct Zip<A, B>(A, B);

impl<A: Parallel, B: Parallel> Parallel for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Items = std::iter::Zip<A::Items, B::Items>;

    fn len(&self) -> usize {
        self.0.len().min(self.1.len())
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> Self::Items {
        // SAFETY: by the caller's contract.
        unsafe { self.0.items(part.clone()).zip(self.1.items(part)) }
    }

    fn grain(&self) -> Grain {
        self.0.grain().both(self.1.grain())
    }
}

/// Some neighbouring items.
pub struct Between<P> {
    items: P,
    start: usize,
    count: usize,
}

impl<P: Parallel> Parallel for Between<P> {
    type Item = P::Item;
    type Items = P::Items;

    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    unsafe fn items(&self, part: Range<usize>) -> P::Items {
        // SAFETY: by the caller's contract.
        unsafe { self.items.items(self.start + part.start..self.start + part.end) }
    }

    fn grain(&self) -> Grain {
        self.items.grain()
    }
}

/// What a function makes of items.
pub struct Map<P, F> {
    items: P,
    function: F,
}

impl<R: Send, P: Parallel, F: Fn(P::Item) -> R + Sync> Computed for Map<P, F> {
    type Output = R;

    fn extent(&self) -> (usize, Grain) {
        (self.items.len(), self.items.grain())
    }

    unsafe fn compute(&self, part: Range<usize>, to: &mut dyn FnMut(usize, R) -> ControlFlow<()>) {
        // SAFETY: by the caller's contract.
        for (k, item) in part.clone().zip(unsafe { self.items.items(part) }) {
            if to(k, (self.function)(item)).is_break() {
                return;
            }
        }
    }
}

/// What a function makes of items with something of its own.
pub struct MapInit<P, I, F> {
    items: P,
    init: I,
    function: F,
}

impl<S, R: Send, P: Parallel, I: Fn() -> S + Sync, F: Fn(&mut S, P::Item) -> R + Sync> Computed for MapInit<P, I, F> {
    type Output = R;

    fn extent(&self) -> (usize, Grain) {
        (self.items.len(), self.items.grain())
    }

    unsafe fn compute(&self, part: Range<usize>, to: &mut dyn FnMut(usize, R) -> ControlFlow<()>) {
        let mut own = (self.init)();
        // SAFETY: by the caller's contract.
        for (k, item) in part.clone().zip(unsafe { self.items.items(part) }) {
            if to(k, (self.function)(&mut own, item)).is_break() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn on(threads: usize, work: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(work);
    }

    #[test]
    fn every_item_is_met_once_whatever_the_threads() {
        for threads in [1, 2, 5] {
            for len in [0, 1, 2, 7, 1000] {
                on(threads, || {
                    let mut met = vec![0u32; len];
                    met.par_iter_mut().enumerate().for_each(|(k, v)| *v += k as u32 + 1);
                    assert!(met.iter().enumerate().all(|(k, v)| *v == k as u32 + 1));
                    met.par_chunks_mut(3).zip((0..len).into_par_iter()).for_each(|(part, k)| part[0] = k as u32);
                    assert!(met.chunks(3).enumerate().all(|(k, part)| part[0] == k as u32));
                    let twice: Vec<usize> = (0..len).into_par_iter().map(|k| 2 * k).collect();
                    assert!(twice.iter().enumerate().all(|(k, v)| *v == 2 * k));
                    let owned: Vec<String> = (0..len).map(|k| k.to_string()).collect();
                    owned.into_par_iter().enumerate().for_each(|(k, text)| assert_eq!(text, k.to_string()));
                    assert_eq!((0..len).into_par_iter().map(|k| k).sum(), len * len.saturating_sub(1) / 2);
                });
            }
        }
    }

    #[test]
    fn parts_of_exact_chunks_and_of_neighbours_leave_out_what_is_over() {
        let mut values: Vec<usize> = (0..11).collect();
        assert_eq!(values.par_chunks_exact(4).map(<[usize]>::len).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(values.par_chunks(4).map(<[usize]>::len).collect::<Vec<_>>(), [4, 4, 3]);
        values.par_chunks_exact_mut(4).for_each(|part| part.fill(7));
        assert_eq!(values[8..], [8, 9, 10]);
        let some: Vec<usize> = values.par_iter().skip(8).take(2).map(|v| *v).collect();
        assert_eq!(some, [8, 9]);
        assert_eq!(values.par_iter().skip(20).len() + values.par_iter().take(20).len(), 11);
    }

    #[test]
    fn parts_keep_to_the_grain() {
        on(4, || {
            let parts = AtomicUsize::new(0);
            let count = |min, max| {
                parts.store(0, Ordering::Relaxed);
                let items = (0..100).into_par_iter().with_min_len(min).with_max_len(max);
                items.for_each_init(|| parts.fetch_add(1, Ordering::Relaxed), |_, _| {});
                parts.load(Ordering::Relaxed)
            };
            assert_eq!(count(1, 1), 100);
            assert!(count(1, 10) >= 10);
            assert!(count(50, usize::MAX) <= 2);
            assert_eq!(count(100, usize::MAX), 1);
        });
    }

    #[test]
    fn reduction_goes_by_the_order_of_items() {
        on(3, || {
            let text = (0..200).into_par_iter().map(|k| format!("{k} ")).reduce(String::new, |a, b| a + &b);
            assert_eq!(text, (0..200).map(|k| format!("{k} ")).collect::<String>());
        });
    }

    #[test]
    fn the_first_error_that_was_met_is_given() {
        on(4, || {
            let fail = |k: usize| if k >= 40 { Err(k) } else { Ok(()) };
            assert!((0..100).into_par_iter().try_for_each(fail).is_err_and(|k| k >= 40));
            // Where all are met, it is the first of all.
            let collected: Result<Vec<usize>, usize> = (0..100).into_par_iter().map(|k| fail(k).map(|()| k)).collect();
            assert_eq!(collected, Err(40));
            let sum = (0..100).into_par_iter().map(|k| fail(k).map(|()| k)).try_reduce(|| 0, |a, b| Ok(a + b));
            assert_eq!(sum, Err(40));
            assert!(!(0..100).into_par_iter().all(|k| k < 99) && (0..100).into_par_iter().all(|k| k < 100));
        });
    }

    #[test]
    fn a_panic_comes_out_of_the_loop() {
        let found = std::panic::catch_unwind(|| on(2, || (0..10).into_par_iter().for_each(|k| assert_ne!(k, 7))));
        assert!(found.is_err());
    }
}

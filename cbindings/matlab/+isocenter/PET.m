classdef PET < handle
% PET  DIRECT time-of-flight PET: events into histo-images, projections with the detectors' response, reconstruction, simulation.
%
%   PET = isocenter.PET(NAME, VALUE, ...)            sets the geometry
%   PET = isocenter.PET(CONTEXT, NAME, VALUE, ...)   the same with an isocenter.Context
%   PET = isocenter.PET()                            leaves it to setGeometry
%
%   Millimetres, picoseconds, radians; the centre of the lattice is the centre of the scanner. Views count from 1. Arrays are used
%   where they are; dimensions of 1 may be left out.
%     image        nx x ny x nz, single
%     histo-images nx x ny x nz x views, single or (counts) uint32
%     positions    3 x events, and time differences, one an event: single or double
%
%   setGeometry      lattice and views
%   setResponse      what timing and detectors do to a point
%   setOptions       algorithm, iterations, relaxation
%   setTables, tables   kernels of your own
%   setOrder, views  order of views, their directions
%   setPrior, priorGradient   what differences of neighbouring voxels cost
%   setRegions       regions whose means tell when passes have done enough
%   deposit          events -> histo-images
%   setScanner, depositCrystals, blockCrystals   the same of events that name crystals
%   setPairs         which pairs of crystals are measured
%   detect           events with positions -> events that name crystals
%   attenuation, factors   CT -> attenuation, and what reconstruct needs of a scanner and of it
%   fanSums, singles, randoms   delayed coincidences -> rates of single photons -> randoms
%   efficiencies     a scan of a known source -> which part of the photons each crystal detects
%   scatter          image and attenuation -> scatter and randoms, as reconstruct takes them
%   forward, adjoint image -> histo-images and back, exact transposes of each other
%   sensitivity      the image that the views see
%   reconstruct, history   histo-images -> image (RAMLA, OSEM, MLEM, and with a prior BSREM, SVRG), and how it went
%   phantomImage, simulate, expect   phantoms of bodies, events of a scan, what is expected of it
%   contrastRecovery, noise   figures of merit
%   info, memory     what the plan found, and what it needs
%   factorsMemory, randomsMemory, scatterMemory   what these need
%   forwardLines, adjointLines   image -> values of events along their lines and back, without time of flight or with widths of each event's own
%   lineFactors, lineSensitivity, lineRandoms, sampleLines   what reconstructLines needs of a scanner, of attenuation, randoms and scatter
%   reconstructLines, linesMemory   a list of events -> image along lines, and what that needs
%   delete           frees the plan, as clearing its last variable does
%
%   Errors have identifiers isocenter:pet:KIND. Ctrl-C stops a call.
%
%   Example:
%     pet = isocenter.PET('Size', [64 64 8], 'Voxel', 5, 'Azimuths', 20, 'MaxTilt', 0.1);
%     pet.setResponse('TofFwhm', 400, 'RadialFwhm', 6, 'AxialFwhm', 6);
%     body = struct('Shape', 'cylinder', 'HalfX', 100, 'HalfZ', 15, 'Activity', 1);   % within the lattice
%     scan = struct('Bodies', body, 'TofFwhm', 400, 'RadialFwhm', 6, 'AxialFwhm', 6);
%     [first, second, times, tally] = pet.simulate(scan, 1e6);
%     measured = pet.deposit(first, second, times);
%     [factors, additive] = pet.expect(scan, tally);
%     pet.setOptions('Iterations', 2);
%     image = pet.reconstruct(measured, factors, additive);
%     imagesc(image(:, :, 4).'), axis image
%
%   See also isocenter.Context, isocenter.CT, isocenter.MRI.

    properties (SetAccess = private, Hidden, Transient)
        id = uint64(0);
    end
    methods
        function self = PET(varargin)
            if nargin == 0, return; end % MATLAB fills arrays with copies of PET(), which must not share a plan
            [context, settings] = isocenter.internal.start(varargin);
            self.id = isocenter_mex('pet.create', context);
            if ~isempty(settings), self.setGeometry(settings{:}); end
        end

        function delete(self)
            % DELETE  Free the plan.
            isocenter.internal.free('pet', self.id);
        end

        function disp(self)
            % DISP  Sizes of the arrays, and where it computes.
            isocenter.internal.show(self, 'pet', 'PET');
        end

        function setGeometry(self, varargin)
            % SETGEOMETRY  Lattice and views. Forgets tables, order, prior and regions; keeps the response.
            %   pet.setGeometry(NAME, VALUE, ...) or pet.setGeometry(STRUCT)
            %
            %   Size      [nx ny nz], in voxels (required)
            %   Voxel     its size in mm, one number or [x y z] (required)
            %   MaxTilt   largest tilt of an event, up or down (required)
            %   Azimuths, Tilts   a grid of Azimuths x Tilts views: azimuth i is (i - 1) pi / Azimuths; Tilts (1) are the centres of
            %                     equal parts of -MaxTilt to MaxTilt. View (i - 1) Tilts + j has azimuth i and tilt j
            %   Views     or a list of your own: 2 x views of azimuth and tilt
            self.id = isocenter.internal.plan('pet', self.id);
            isocenter_mex('pet.set_geometry', self.id, varargin{:});
        end

        function setResponse(self, varargin)
            % SETRESPONSE  Full widths at half maximum of what timing and detectors do to a point.
            %   pet.setResponse(NAME, VALUE, ...) or pet.setResponse(STRUCT)
            %
            %   TofFwhm      of the time difference, ps
            %   RadialFwhm   across the line in the transverse plane, mm
            %   AxialFwhm    across both, mm
            %   RadialTable  instead of RadialFwhm: 2 x n of distances from the axis (ascending) and widths there, mm
            %   Step         voxels in one step of distance share a kernel (2 mm)
            %   Cut, CutWidth   'box' (the default) or 'ellipsoid' of so many sigmas (3)
            %   Profile      'symmetric' (the default), or 'asymmetric' with Ratio, Shift and Share of a second Gaussian
            self.id = isocenter.internal.plan('pet', self.id);
            isocenter_mex('pet.set_response', self.id, varargin{:});
        end

        function setOptions(self, varargin)
            % SETOPTIONS  How to reconstruct; what is not named gets its default.
            %   pet.setOptions(NAME, VALUE, ...) or pet.setOptions(STRUCT)
            %
            %   Algorithm        'ramla' (the default), 'osem' or 'mlem'; 'bsrem' or 'svrg', which go up the gradient of the log-likelihood
            %                    less the prior of setPrior, to the one image where that is largest: 'svrg' in few passes
            %   Iterations       passes over all views (10); RAMLA is sharp after two or three, and goes on to noise
            %   FirstIteration   passes made before, by other calls (0)
            %   Subsets          of OSEM (8, or one a view where there are fewer), of BSREM (one for five views, at most 24) and SVRG (one for three, at most 40); fewer where each would have less than half a count a voxel
            %   Order            of views: 'geometric' (the default), 'random' (see Seed) or 'given' (see setOrder)
            %   Relaxation       of RAMLA, BSREM and SVRG, above 0 to 1 (1), over 1 + RelaxationDecay (0; of BSREM 0.1, and so for 0) times
            %                    the pass
            %   Projector        'auto' (the default), 'gather' or 'fourier', with Tolerance (1e-5)
            %   StopChange       passes end when one has changed the image by no more, |after - before| / |after| (0, none); not
            %                    judged are the first pass from a uniform image and SVRG's of one step
            %   StopRegionChange the same with the means of the regions of setRegions, the largest change over the mean of all regions
            %                    (0, none); where both are set, both must hold
            self.id = isocenter.internal.plan('pet', self.id);
            isocenter_mex('pet.set_options', self.id, varargin{:});
        end

        function setOrder(self, varargin)
            % SETORDER  Numbers of views in the order of a pass, each at most once; those left out are not used.
            %   pet.setOrder(ORDER)
            isocenter_mex('pet.set_order', self.id, varargin{:});
        end

        function setPrior(self, varargin)
            % SETPRIOR  What 'bsrem' and 'svrg' take off the log-likelihood; it holds until setGeometry.
            %   pet.setPrior('Strength', BETA, NAME, VALUE, ...) or pet.setPrior(STRUCT)
            %   pet.setPrior([])    takes it away
            %   Strength times the sum over pairs of neighbours f and g, each of the 26 about a voxel once, of w x / distance times
            %   their potential; x is the voxel's side along x. Voxels that no view sees are nobody's neighbours.
            %
            %   Potential      'relative_difference' (the default), (f - g)^2 / (f + g + Gamma |f - g| + Epsilon); 'quadratic',
            %                  (f - g)^2 / 2, or with an Edge Edge^2 (sqrt(1 + ((f - g) / Edge)^2) - 1)
            %   Strength       0 or more (required)
            %   Gamma          how early 'relative_difference' keeps edges (2): twice as large a value keeps smaller ones
            %   Epsilon        makes 'relative_difference' smooth about 0, in the unit of the image (0)
            %   Edge           differences beyond it are edges to 'quadratic', in the unit of the image (0, none are)
            %   Weights        nx x ny x nz, single, 0 or more: w has those of both voxels as factors
            %   Anatomy        nx x ny x nz, single, as of a CT or MR image on the lattice: w has exp(-((A_f - A_g) / AnatomySigma)^2 / 2)
            %                  as a factor
            %   AnatomySigma   in the unit of Anatomy, and required with it
            isocenter_mex('pet.set_prior', self.id, varargin{:});
        end

        function [gradient, value] = priorGradient(self, varargin)
            % PRIORGRADIENT  What the prior takes off the log-likelihood of an image, and its gradient.
            %   [GRADIENT, VALUE] = pet.priorGradient(IMAGE)
            %   IMAGE: nx x ny x nz, single, 0 or more; GRADIENT: the same. setPrior comes first.
            [gradient, value] = isocenter_mex('pet.prior_gradient', self.id, varargin{:});
        end

        function setRegions(self, varargin)
            % SETREGIONS  Regions whose means StopRegionChange of setOptions is about; they hold until setGeometry.
            %   pet.setRegions(REGIONS)    nx x ny x nz, uint8, uint16 or uint32: labels from 1 to 65535, and 0 for voxels of none
            %   pet.setRegions([])         takes them away
            isocenter_mex('pet.set_regions', self.id, varargin{:});
        end

        function setTables(self, varargin)
            % SETTABLES  Kernels of your own for a view.
            %   pet.setTables(VIEW, MAP, OFFSETS, VALUES)
            %   MAP nx x ny: the kernel of each column of voxels, counted from 1; OFFSETS 3 x n, in voxels along x, y, z; VALUES
            %   n x kernels, single, scaled to a sum of 1 for each kernel.
            isocenter_mex('pet.set_tables', self.id, varargin{:});
        end

        function t = tables(self, varargin)
            % TABLES  Kernels of a view, as setTables takes them: Map, Offsets, Values; and Mass, what the cut left of each.
            %   T = pet.tables(VIEW)
            t = isocenter_mex('pet.tables', self.id, varargin{:});
        end

        function list = views(self, varargin)
            % VIEWS  Directions of the views: 2 x views of azimuth and tilt.
            list = isocenter_mex('pet.views', self.id, varargin{:});
        end

        function histo_images = forward(self, varargin)
            % FORWARD  Histo-images of an image, of all views or of those whose numbers are given.
            %   HISTO_IMAGES = pet.forward(IMAGE) or pet.forward(IMAGE, VIEWS)
            %   VIEWS of [] (0 x 0) are all; any other empty list is an error.
            histo_images = isocenter_mex('pet.forward', self.id, varargin{:});
        end

        function image = adjoint(self, varargin)
            % ADJOINT  The exact transpose of forward.
            %   IMAGE = pet.adjoint(HISTO_IMAGES) or pet.adjoint(HISTO_IMAGES, VIEWS)
            image = isocenter_mex('pet.adjoint', self.id, varargin{:});
        end

        function image = sensitivity(self, varargin)
            % SENSITIVITY  The sum over views of the adjoint of FACTORS, 1 if left out.
            %   IMAGE = pet.sensitivity(FACTORS)
            image = isocenter_mex('pet.sensitivity', self.id, varargin{:});
        end

        function image = reconstruct(self, varargin)
            % RECONSTRUCT  The image of measured histo-images.
            %   IMAGE = pet.reconstruct(MEASURED)
            %   IMAGE = pet.reconstruct(MEASURED, FACTORS, ADDITIVE)
            %   IMAGE = pet.reconstruct(MEASURED, FACTORS, ADDITIVE, INITIAL)   begins with an image, instead of a uniform one
            %   FACTORS: the part that is measured in each voxel of each view, exp(-integral of attenuation) x efficiency, not its
            %   inverse; those of the methods factors or expect. ADDITIVE: scatter + randoms, in counts, as of the method scatter. [] leaves
            %   one out: FACTORS of 1, ADDITIVE of 0.
            image = isocenter_mex('pet.reconstruct', self.id, varargin{:});
        end

        function passes = history(self, varargin)
            % HISTORY  LogLikelihood, Penalty, Change, RegionChange and SkippedVoxels of each pass of the last reconstruct, as a struct array.
            %   Penalty is what the prior takes off, of the image that the pass began with. Change and RegionChange, as StopChange and
            %   StopRegionChange bound them, are 0 where neither is set.
            passes = isocenter_mex('pet.history', self.id, varargin{:});
        end

        function [histo_images, dropped] = deposit(self, varargin)
            % DEPOSIT  Counts events in histo-images.
            %   [HISTO_IMAGES, DROPPED] = pet.deposit(FIRST_POSITIONS, SECOND_POSITIONS, TIME_DIFFERENCES)   uint32
            %   [HISTO_IMAGES, DROPPED] = pet.deposit(FIRST_POSITIONS, SECOND_POSITIONS, TIME_DIFFERENCES, HISTO_IMAGES)
            %                             adds to histo-images, single or uint32, in a copy
            %   Positions: 3 x events, in mm; TIME_DIFFERENCES: t2 - t1 in ps, positive where the event is nearer to the first
            %   position.
            %   DROPPED counts events that are in no histo-image. Its Events is the number of all that were dropped, the sum of NotFinite
            %   (NaN or Inf), EqualPositions, OutsideTilts (beyond MaxTilt), OutsideLattice, Overflow (a voxel can count no further),
            %   Unknown and NotMeasured (of depositCrystals).
            [histo_images, dropped] = isocenter_mex('pet.deposit', self.id, varargin{:});
        end

        function setScanner(self, varargin)
            % SETSCANNER  Crystals and time bins, which events of depositCrystals name, and detect, factors, randoms and scatter are of. It holds whatever the geometry.
            %   pet.setScanner(POSITIONS, NORMALS, NAME, VALUE, ...) or pet.setScanner(POSITIONS, NAME, VALUE, ...)
            %   POSITIONS: 3 x crystals, in mm, single or double: where photons are detected on average. NORMALS: the same of directions
            %   that faces look in, of any length; [] or left out: to the z axis. blockCrystals makes both.
            %
            %   CrystalWidth, CrystalHeight   of a face, across the axis and across the width, mm; an event is anywhere on its two faces,
            %                                 as its number says. 0 and 0 (the default) make points of crystals
            %   CrystalSizes   2 x crystals: width and height of each, in their place
            %   TimeEdges    of the bins of t2 - t1, ascending, in ps, one more than there are bins; without it events have times in ps
            self.id = isocenter.internal.plan('pet', self.id);
            isocenter_mex('pet.set_scanner', self.id, varargin{:});
        end

        function setPairs(self, varargin)
            % SETPAIRS  Which pairs of crystals the scanner measures, and what is measured of each besides what its crystals detect; without it all are, with 1.
            %   pet.setPairs(MODULES, GROUPS, EFFICIENCIES)   or pet.setPairs(MODULES, GROUPS); pet.setPairs() takes it away
            %   setScanner comes first, and a new scanner has none. MODULES: the module of each crystal, from 1: a block, a ring of crystals, a panel.
            %   GROUPS: modules x modules, the same both ways: 0 where the two are not in coincidence, else the group of the pair, from 1.
            %   EFFICIENCIES: one a group, of all its pairs of crystals; or elements x elements x groups, of the crystals of either module, numbered within
            %   it by their numbers in the scanner: first that of the module with the smaller number, within one module the crystal with the smaller
            %   number; single or double. [] or left out: 1.
            %   A pair is measured with the product of both crystals' efficiencies and its own; depositCrystals drops events of pairs with 0 as NotMeasured.
            self.id = isocenter.internal.plan('pet', self.id);
            isocenter_mex('pet.set_pairs', self.id, varargin{:});
        end

        function [histo_images, dropped] = depositCrystals(self, varargin)
            % DEPOSITCRYSTALS  Counts events that name crystals in histo-images; setScanner comes first.
            %   [HISTO_IMAGES, DROPPED] = pet.depositCrystals(CRYSTALS, TIMES)                          uint32
            %   [HISTO_IMAGES, DROPPED] = pet.depositCrystals(CRYSTALS, TIMES, LABELS)                  nx x ny x nz x views x labels
            %   [HISTO_IMAGES, DROPPED] = pet.depositCrystals(CRYSTALS, TIMES, LABELS, HISTO_IMAGES)    adds, in a copy
            %   [HISTO_IMAGES, DROPPED] = pet.depositCrystals(CRYSTALS, TIMES, LABELS, HISTO_IMAGES, FIRST_EVENT)
            %   CRYSTALS: 2 x events, the first and the second photon's, from 1: 1 more than in files that count from 0. TIMES: time bins,
            %   from 1, of an integer class; or t2 - t1 in ps, single or double, positive where the event is nearer to the first crystal.
            %   LABELS: which set of histo-images an event is counted in, from 1 (prompts and delays, gates, frames); [] for 1 everywhere.
            %   Without HISTO_IMAGES there are as many sets as the largest label. FIRST_EVENT: the number of the list's first event in the
            %   scan, from 1 (1): a scan in several lists then is as one in one.
            %   CRYSTALS, LABELS and time bins are of any numeric class, and copied once, as uint32 from 0.
            %   DROPPED: see deposit; Unknown are events of crystals, bins or labels that there are not, NotMeasured those of pairs that setPairs has 0 for.
            [histo_images, dropped] = isocenter_mex('pet.deposit_crystals', self.id, varargin{:});
        end

        function [crystals, times, lost] = detect(self, varargin)
            % DETECT  What the scanner makes of events with positions, as simulate returns them: events for depositCrystals.
            %   [CRYSTALS, TIMES, LOST] = pet.detect(FIRST_POSITIONS, SECOND_POSITIONS, TIME_DIFFERENCES, EFFICIENCIES, NAME, VALUE, ...)
            %   The first three are those of deposit, of one event at least. EFFICIENCIES: one a crystal, single or double, 0 to 1, and so the
            %   sum of those behind each other: the probability that it detects; [] or left out: the first that a line meets detects. setScanner comes first, with a width and a height of crystals.
            %   CRYSTALS: uint32, 2 x events, of the crystals that the events' lines meet, from 1, and 0 for an event that is lost.
            %   TIMES: 1 x events, uint32, time bins from 1, and 0 for an event that is lost; or single, t2 - t1 in ps between the crystals.
            %   LOST counts events that are lost. Its Events is the sum of Missed (the line meets no crystal at one end), Undetected (by
            %   EFFICIENCIES) and OutsideWindow (in no time bin).
            %
            %   Seed    of the random numbers of EFFICIENCIES (0)
            %   Bins    false for TIMES in ps where the scanner has time bins (true)
            self.id = isocenter.internal.plan('pet', self.id);
            [crystals, times, lost] = isocenter_mex('pet.detect', self.id, varargin{:});
        end

        function map = attenuation(self, varargin)
            % ATTENUATION  Attenuation at 511 keV, 1/mm, of a CT in Hounsfield units, as factors takes it.
            %   MAP = pet.attenuation(HOUNSFIELD, KILOVOLTS)
            %   HOUNSFIELD: nx x ny x nz of any size, single or double; MAP: the same, single. KILOVOLTS: the tube's peak voltage, 80 to 140.
            self.id = isocenter.internal.plan('pet', self.id);
            map = isocenter_mex('pet.attenuation', self.id, varargin{:});
        end

        function made = factors(self, varargin)
            % FACTORS  What reconstruct needs of the scanner: the part of the decays in each voxel that is measured in each view.
            %   FACTORS = pet.factors(EFFICIENCIES, ATTENUATION, NAME, VALUE, ...)   or pet.factors(NAME, VALUE, ...), ...
            %   EFFICIENCIES: one a crystal, single or double, at least 0: the part of all photons along lines
            %   across it that it detects, those of crystals behind each other add up; [] or left out: every photon is detected.
            %   ATTENUATION: nx x ny x nz of any size, single or double, 1/mm at 511 keV; [] or left out: none.
            %   setScanner comes first, with a width and a height of crystals.
            %
            %   Directions   of each view, about, whose lines a factor is the mean of (32): twice as many halve the square of its noise
            %   Duration     of the measurement, s: the image is in Bq/ml. Without it, in decays a voxel that send pairs of photons, and
            %                the next four have no place
            %   Branching    part of the decays that send pairs of photons (1), of 18F 0.967
            %   HalfLife     s, of 18F 6586; without it there is no decay
            %   Delay        from the time that the image's activity is told at to the start of the measurement, s (0)
            %   Live         part of the duration in which the scanner was ready (1)
            %   MapVoxel     size of the map's voxels, mm, one number or [x y z]; that of the lattice if left out
            %   MapCentre    [x y z] of the map's centre, mm from that of the lattice ([0 0 0])
            made = isocenter_mex('pet.factors', self.id, varargin{:});
        end

        function [host, gpu] = factorsMemory(self, varargin)
            % FACTORSMEMORY  Most bytes of working memory that factors will take, with efficiencies or without.
            %   [HOST, GPU] = pet.factorsMemory(ATTENUATION, NAME, VALUE, ...)   or pet.factorsMemory(NAME, VALUE, ...), ...
            %   ATTENUATION, of which the size alone counts, and what is named: as for factors. HOST as MemoryCap of the context counts
            %   them; GPU, of the GPU that it computes on, as GpuMemoryCap does, 0 on the processor. With caps of so many bytes it computes,
            %   with less it is an error isocenter:pet:memoryCap.
            %
            %   Directions, Duration, Branching, HalfLife, Delay, Live, MapVoxel, MapCentre   as for factors
            [host, gpu] = isocenter_mex('pet.factors_memory', self.id, varargin{:});
        end

        function [sums, dropped] = fanSums(self, varargin)
            % FANSUMS  Counts delayed coincidences by crystal: 1 for either crystal, where the line is near the axis and within the tilts.
            %   [SUMS, DROPPED] = pet.fanSums(CRYSTALS, LABELS, SUMS, NAME, VALUE, ...)   or pet.fanSums(CRYSTALS, NAME, VALUE, ...), ...
            %   setScanner comes first. CRYSTALS, LABELS: as for depositCrystals, LABELS [] or left out for 1 everywhere. SUMS: uint32,
            %   crystals x labels; those given are added to, in a copy. Without them there are as many columns as the largest label.
            %   DROPPED: see deposit; EqualPositions are pairs of one crystal, OutsideLattice those beyond the field of view, and Unknown
            %   those of crystals or labels that there are not, such as label 0 for prompts.
            %
            %   FieldOfView   diameter about the axis, mm: the scanner has to measure all pairs of crystals whose lines are within; that of
            %                 the circle in the lattice if left out
            [sums, dropped] = isocenter_mex('pet.fan_sums', self.id, varargin{:});
        end

        function rates = singles(self, varargin)
            % SINGLES  Photons that each crystal detects a second, of its delayed coincidences with all others: those of the largest likelihood.
            %   SINGLES = pet.singles(SUMS, 'Duration', S, NAME, VALUE, ...)
            %   SUMS: one a crystal, single or uint32, of fanSums. SINGLES: the same, single, in 1/s.
            %
            %   Duration      of the measurement, s (required)
            %   Window        largest time difference of a delayed coincidence, ps; that of the scanner's time bins if left out
            %   FieldOfView   as for fanSums
            rates = isocenter_mex('pet.singles', self.id, varargin{:});
        end

        function values = efficiencies(self, varargin)
            % EFFICIENCIES  Which part of all photons each crystal detects, as factors takes it, from a scan of a known source.
            %   VALUES = pet.efficiencies(SUMS, IMAGE, ATTENUATION, NAME, VALUE, ...)
            %   SUMS: one a crystal, single, double or uint32, of fanSums of all prompts. IMAGE: nx x ny x nz, single or double, the source's
            %   activity, whose unit sets the scale; of one of another scale, VALUES are right but for a common factor. ATTENUATION: as for
            %   factors; [] or left out: none. VALUES: one a crystal, single: 0 of those without counts, and the mean of the others of those that
            %   see next to nothing of the source, both of which the log tells. Scatter in SUMS counts as trues. setScanner comes first, with a
            %   width and a height of crystals.
            %
            %   Singles       one a crystal, 1/s, of the method singles or the scanner's own: their randoms are taken away, for which there must
            %                 be a Duration; [] or left out: there are none
            %   Window        largest time difference of an event, ps; that of the scanner's time bins if left out. Of Singles
            %   FieldOfView   as for fanSums
            %   Duration, Branching, HalfLife, Delay, Live, MapVoxel, MapCentre   as for factors
            values = isocenter_mex('pet.efficiencies', self.id, varargin{:});
        end

        function histo_images = randoms(self, varargin)
            % RANDOMS  Random coincidences that are expected of crystals which detect so many photons a second.
            %   HISTO_IMAGES = pet.randoms(SINGLES, 'Duration', S, NAME, VALUE, ...)
            %   SINGLES: one a crystal, single or double, in 1/s, of the method singles or the scanner's own. setScanner comes first, with a
            %   width and a height of crystals.
            %
            %   Duration     of the measurement, s (required)
            %   Window       largest time difference of an event, ps; that of the scanner's time bins, or none, if left out
            %   Directions   as for factors (32)
            histo_images = isocenter_mex('pet.randoms', self.id, varargin{:});
        end

        function [host, gpu] = randomsMemory(self, varargin)
            % RANDOMSMEMORY  Most bytes of working memory that randoms will take.
            %   [HOST, GPU] = pet.randomsMemory() or pet.randomsMemory('Directions', N), as for randoms
            %   HOST and GPU as of factorsMemory.
            [host, gpu] = isocenter_mex('pet.randoms_memory', self.id, varargin{:});
        end

        function [additive, found] = scatter(self, varargin)
            % SCATTER  What reconstruct takes as ADDITIVE: single scatter of an image's activity, and randoms.
            %   [ADDITIVE, FOUND] = pet.scatter(IMAGE, ATTENUATION, NAME, VALUE, ...)
            %   IMAGE: nx x ny x nz, single or double, reconstructed with less in ADDITIVE; the next image is reconstructed with this one. Two
            %   or three times are enough. ATTENUATION: as for factors. setScanner comes first, with a width and a height of crystals.
            %   FOUND: Scatter, counts of single scatter; Scale and ScaleError, by which they were multiplied, and its standard deviation; Tails, counts beside all that attenuates, less
            %   randoms; TailsScatter, single scatter there; Places, where photons are scattered.
            %
            %   Efficiencies       as for factors; [] or left out: 1
            %   Measured           histo-images by whose tails, beside all that attenuates, scatter is scaled; without them it is not
            %   Randoms            histo-images that are added, of the method randoms
            %   EnergyResolution   full width at half maximum of the energy of unscattered photons over that energy (0.11)
            %   EnergyLower, EnergyUpper   of the detectors' energy window, keV (435, 585)
            %   TofFwhm            of the time difference, ps; that of setResponse if left out
            %   Spacing            of places where photons are scattered, mm (12; as much less as a radius is below 300 mm)
            %   Directions, Duration, Branching, HalfLife, Delay, Live, MapVoxel, MapCentre   those of the factors that IMAGE is of
            [additive, found] = isocenter_mex('pet.scatter', self.id, varargin{:});
        end

        function [host, gpu] = scatterMemory(self, varargin)
            % SCATTERMEMORY  Most bytes of working memory that scatter will take, with Efficiencies, Measured and Randoms or without.
            %   [HOST, GPU] = pet.scatterMemory(ATTENUATION, NAME, VALUE, ...)
            %   ATTENUATION, whose values tell at how many places photons are scattered, and what is named: as for scatter. HOST and GPU
            %   as of factorsMemory.
            %
            %   EnergyResolution, EnergyLower, EnergyUpper, TofFwhm, Spacing   as for scatter
            %   Directions, Duration, Branching, HalfLife, Delay, Live, MapVoxel, MapCentre   as for factors
            [host, gpu] = isocenter_mex('pet.scatter_memory', self.id, varargin{:});
        end

        function [values, dropped] = forwardLines(self, varargin)
            % FORWARDLINES  Sums of an image along the lines of a list of events: Joseph's projector, of the image blurred by RadialFwhm and AxialFwhm of setResponse.
            %   [VALUES, DROPPED] = pet.forwardLines(LIST, IMAGE)
            %   LIST is a struct, of at least one event:
            %   Crystals   2 x events, as for depositCrystals; or
            %   FirstPositions, SecondPositions   3 x events, as for deposit
            %   Times      one an event, t2 - t1 in ps, single or double, positive where the event is nearer to the first; or with Crystals time bins, from 1, of an integer class.
            %              Without them there is no time of flight
            %   TofFwhm    one an event, single or double, ps: of each one's Times, as of pairs of modules that differ; that of setResponse if left out
            %   FirstEvent   the number of the list's first event in the scan, from 1 (1), by which events of Crystals have their places on these
            %   VALUES: 1 x events, single. Without Times they are integrals in mm, with Times means about the events' places. DROPPED: see deposit; its events, with those
            %   that miss the lattice as OutsideLattice, have 0. No MaxTilt holds.
            [values, dropped] = isocenter_mex('pet.forward_lines', self.id, varargin{:});
        end

        function [image, dropped] = adjointLines(self, varargin)
            % ADJOINTLINES  The transpose of forwardLines: values times lines, added up in an image.
            %   [IMAGE, DROPPED] = pet.adjointLines(LIST, VALUES)
            %   LIST: as for forwardLines. VALUES: one an event, single.
            [image, dropped] = isocenter_mex('pet.adjoint_lines', self.id, varargin{:});
        end

        function [factors, dropped] = lineFactors(self, varargin)
            % LINEFACTORS  What is measured of each event's line, as reconstructLines takes it.
            %   [FACTORS, DROPPED] = pet.lineFactors(LIST, EFFICIENCIES, ATTENUATION, NAME, VALUE, ...)   or pet.lineFactors(LIST, NAME, VALUE, ...), ...
            %   LIST: as for forwardLines, of Crystals where there are EFFICIENCIES. All else is as for factors. FACTORS: 1 x events, single: efficiencies of both
            %   crystals times the part of photons that gets through, times what makes counts of an activity, a steradian and mm^2, and with Times mm along the line.
            %   DROPPED: see deposit; its events have 0.
            %
            %   Directions, Duration, Branching, HalfLife, Delay, Live, MapVoxel, MapCentre   as for factors
            [factors, dropped] = isocenter_mex('pet.line_factors', self.id, varargin{:});
        end

        function image = lineSensitivity(self, varargin)
            % LINESENSITIVITY  What is measured of each voxel by all lines within MaxTilt, as reconstructLines takes it: the sum over views of factors, interpolated along z as lines are.
            %   SENSITIVITY = pet.lineSensitivity(EFFICIENCIES, ATTENUATION, NAME, VALUE, ...)   or pet.lineSensitivity(NAME, VALUE, ...), ...
            %   All is as for factors. SENSITIVITY: nx x ny x nz, single.
            %
            %   Directions   as for factors (8): the sum has the noise of all views' together
            %   Duration, Branching, HalfLife, Delay, Live, MapVoxel, MapCentre   as for factors
            image = isocenter_mex('pet.line_sensitivity', self.id, varargin{:});
        end

        function randoms = lineRandoms(self, varargin)
            % LINERANDOMS  The density of random coincidences about each event of a list of crystals, a part of what reconstructLines takes as ADDITIVE.
            %   RANDOMS = pet.lineRandoms(LIST, SINGLES, 'Duration', S, NAME, VALUE, ...)
            %   LIST: as for forwardLines, of Crystals. SINGLES: as for randoms. RANDOMS: 1 x events, single.
            %
            %   Duration   of the measurement, s (required)
            %   Window     largest time difference of an event, ps; that of the scanner's time bins if left out
            randoms = isocenter_mex('pet.line_randoms', self.id, varargin{:});
        end

        function [values, dropped] = sampleLines(self, varargin)
            % SAMPLELINES  The density about each event of counts that histo-images expect, such as those of scatter: a part of what reconstructLines takes as ADDITIVE.
            %   [VALUES, DROPPED] = pet.sampleLines(LIST, HISTO_IMAGES)
            %   LIST: as for forwardLines. HISTO_IMAGES: single. VALUES: 1 x events, single. DROPPED: see deposit; its events have 0.
            [values, dropped] = isocenter_mex('pet.sample_lines', self.id, varargin{:});
        end

        function [image, dropped] = reconstructLines(self, varargin)
            % RECONSTRUCTLINES  The image of a list of events along their lines, by the algorithm of setOptions, of which Subsets are of events; 'ramla' goes view by view, and is an error.
            %   [IMAGE, DROPPED] = pet.reconstructLines(LIST, SENSITIVITY)
            %   [IMAGE, DROPPED] = pet.reconstructLines(LIST, SENSITIVITY, FACTORS, ADDITIVE)
            %   [IMAGE, DROPPED] = pet.reconstructLines(LIST, SENSITIVITY, FACTORS, ADDITIVE, INITIAL)   begins with an image, instead of a uniform one
            %   For scanners without time of flight, with so little that it is as long as the object, or with modules of several time resolutions; others are faster by
            %   depositCrystals and reconstruct.
            %   LIST: as for forwardLines. SENSITIVITY: of lineSensitivity. FACTORS and ADDITIVE: one an event, single, 0 or more: those of lineFactors, and what is measured
            %   besides, of lineRandoms and sampleLines. [] leaves one out: FACTORS of 1, ADDITIVE of 0.
            %   DROPPED: see deposit; its events do not count.
            [image, dropped] = isocenter_mex('pet.reconstruct_lines', self.id, varargin{:});
        end

        function bytes = linesMemory(self, varargin)
            % LINESMEMORY  Bytes of working memory that reconstructLines takes of so many events: of the host, or of the GPU that it computes on.
            %   BYTES = pet.linesMemory(EVENTS)
            bytes = isocenter_mex('pet.lines_memory', self.id, varargin{:});
        end

        function image = phantomImage(self, varargin)
            % PHANTOMIMAGE  Voxel means of a phantom's 'activity' (the default) or 'attenuation'.
            %   IMAGE = pet.phantomImage(BODIES, QUANTITY)
            %   BODIES: a struct array of Shape ('cylinder', the default, 'ellipsoid' or 'box'), X, Y, Z, HalfX, HalfY, HalfZ in mm,
            %   Activity, and Attenuation in 1/mm. Values add where bodies overlap.
            image = isocenter_mex('pet.phantom_image', self.id, varargin{:});
        end

        function [first_positions, second_positions, time_differences, tally] = simulate(self, varargin)
            % SIMULATE  Events of a scan, as deposit takes them, and how many there were of each kind.
            %   [FIRST_POSITIONS, SECOND_POSITIONS, TIME_DIFFERENCES, TALLY] = pet.simulate(SCAN, EVENTS)
            %   [...] = pet.simulate(SCAN, EVENTS, ACTIVITY)   an image instead of the bodies' activity
            %   SCAN is a struct:
            %   Bodies        see phantomImage
            %   Diameter, AxialLength             of the detectors, mm (930, 250)
            %   TofFwhm, RadialFwhm, AxialFwhm, RadialTable   as for setResponse; 0 for no blur
            %   Randoms, Scatter                  their parts of all events (0)
            %   RandomWindow, ScatterSigma        ps (3000), mm (120)
            %   Seed          the same events for the same seed (0)
            %   EnergyResolution, EnergyLower, EnergyUpper   as for scatter (0, 435, 585): with a resolution, photons are scattered by the
            %                 bodies' attenuation, and Scatter has to be 0; with 0 they are not
            %   Attenuation   of factors, with MapVoxel and MapCentre, in place of the bodies'
            [first_positions, second_positions, time_differences, tally] = isocenter_mex('pet.simulate', self.id, varargin{:});
        end

        function [factors, additive] = expect(self, varargin)
            % EXPECT  What is expected of a simulated scan, as reconstruct takes it.
            %   [FACTORS, ADDITIVE] = pet.expect(SCAN, TALLY) or pet.expect(SCAN, TALLY, ACTIVITY)
            %   FACTORS are the counts that an activity of 1 in a voxel is expected to give in each view: they grow with the number of
            %   events, may be above 1, and give reconstruct's image the unit of the bodies' Activity. ADDITIVE is in counts; of
            %   a scan with an EnergyResolution it has randoms alone, and the method scatter estimates the rest.
            [factors, additive] = isocenter_mex('pet.expect', self.id, varargin{:});
        end

        function recovery = contrastRecovery(self, varargin)
            % CONTRASTRECOVERY  Mean over spheres of 10 mm of their contrast over the true one.
            %   RECOVERY = pet.contrastRecovery(IMAGE, CENTRES, RATIO)
            %   CENTRES 3 x spheres, in mm; RATIO of the spheres' activity to the background's.
            recovery = isocenter_mex('pet.contrast_recovery', self.id, varargin{:});
        end

        function deviation = noise(self, varargin)
            % NOISE  Standard deviation over mean of the central disc of 50 mm.
            %   DEVIATION = pet.noise(IMAGE)
            deviation = isocenter_mex('pet.noise', self.id, varargin{:});
        end

        function s = info(self, varargin)
            % INFO  What the plan found, as a struct.
            s = isocenter_mex('pet.info', self.id, varargin{:});
        end

        function bytes = memory(self, varargin)
            % MEMORY  Most bytes of working memory that reconstruct will take.
            bytes = isocenter_mex('pet.memory', self.id, varargin{:});
        end
    end
    methods (Static)
        function [positions, normals] = blockCrystals(varargin)
            % BLOCKCRYSTALS  Crystals of a scanner whose flat blocks make rings about the z axis, as setScanner takes them.
            %   [POSITIONS, NORMALS] = isocenter.PET.blockCrystals(NAME, VALUE, ...)   3 x crystals each: mm, and unit vectors to the axis
            %   Crystal (ring - 1) Blocks Across + (block - 1) Across + place: places rise with the azimuth, rings of crystals with z.
            %
            %   Blocks, BlockRings   blocks of a ring, rings of blocks (1)
            %   Across, Along        crystals of a block about the axis and along it
            %   Diameter             between faces of opposite blocks, mm
            %   PitchAcross, PitchAlong   from crystal to crystal, mm; along the axis as across if left out
            %   BlockPitch           from block to block along the axis, mm; no gap if left out
            %   FirstAzimuth         of the middle of block 1, radians (0)
            [positions, normals] = isocenter_mex('pet.block_crystals', varargin{:});
        end
    end
end

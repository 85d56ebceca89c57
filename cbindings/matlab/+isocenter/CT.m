classdef CT < handle
% CT  Parallel-beam CT: filtered back projection, and a matched pair of projectors for iterative methods.
%
%   CT = isocenter.CT(NAME, VALUE, ...)            sets the geometry
%   CT = isocenter.CT(CONTEXT, NAME, VALUE, ...)   the same with an isocenter.Context
%   CT = isocenter.CT()                            leaves it to setGeometry
%
%   Arrays: single, used where they are. Dimensions of 1 may be left out.
%     projections  bins x rows x views, or bins x views x rows with Order 'sinograms'; bins x views where there is one row
%     volume       nx x ny x slices: imagesc(volume(:, :, k).') shows a slice with x to the right and y downwards
%   Where raw counts are taken they may be uint16 or uint8.
%
%   setGeometry        scan and volume
%   setOptions         filter, interpolation, padding
%   setOutput          volumes of 8 and 16 bits, circular mask, histogram
%   setFlatField       for raw counts
%   fitFlatField       the beam of each view, where its shape changes
%   setOutliers        what stands out in raw frames
%   setDistortion      the detector's distortion, a tilt, shifts of views
%   setPhase           phase retrieval from transmissions
%   setStripes         what would become rings
%   setHalfAcquisition a full turn about an axis near an edge of the detector
%   setIterative       how iterative algorithms go on
%   reconstruct        projections -> volume, filtered back projection
%   reconstructStream  the same, slab by slab, for volumes that do not fit memory
%   findAxis           the rotation axis, from projections
%   findBadViews       views that are no measurement, from projections
%   suggestRegularisation  the weight of total variation, from the noise of projections
%   filter             projections -> projections
%   backproject        projections -> volume, the sum over views
%   forward, adjoint   volume -> projections and back, exact transposes of each other
%   info, angularWeights, memory   what the plan found, and what it needs
%   output, histogram  what the last reconstruction stored
%   history            what its iterations saw
%   setAngularWeights  weights of your own
%   tune               measures the GPU's kernels
%   sheppLogan, phantomVolume, phantomProjections   phantoms of ellipses, exact
%   delete             frees the plan, as clearing its last variable does
%
%   Errors have identifiers isocenter:ct:KIND. Ctrl-C stops a call.
%
%   Example:
%     angles = (0:399) * pi / 400;
%     ct = isocenter.CT('Angles', angles, 'Bins', 256);
%     p = ct.phantomProjections(isocenter.CT.sheppLogan('modified', 127));
%     slice = ct.reconstruct(p);
%     imagesc(slice.', [0 0.5]), axis image, colormap gray
%
%   See also isocenter.Context, isocenter.MRI, isocenter.PET.

    properties (SetAccess = private, Hidden, Transient)
        id = uint64(0);
    end
    methods
        function self = CT(varargin)
            if nargin == 0, return; end % MATLAB fills arrays with copies of CT(), which must not share a plan
            [context, settings] = isocenter.internal.start(varargin);
            self.id = isocenter_mex('ct.create', context);
            if ~isempty(settings), self.setGeometry(settings{:}); end
        end

        function delete(self)
            % DELETE  Free the plan.
            isocenter.internal.free('ct', self.id);
        end

        function disp(self)
            % DISP  Sizes of the arrays, and where it computes.
            isocenter.internal.show(self, 'ct', 'CT');
        end

        function setGeometry(self, varargin)
            % SETGEOMETRY  Scan and volume. The flat field stays while Rows and Bins do; weights of your own do not.
            %   ct.setGeometry(NAME, VALUE, ...) or ct.setGeometry(STRUCT)
            %
            %   Angles     one a view, in radians, in any order (required)
            %   Bins       detector bins in a row (required)
            %   Rows       detector rows (1)
            %   Order      'frames' (the default) or 'sinograms': dimensions of projections
            %   Axis       the bin of the rotation axis, counted from 1, with a fraction; one, or one a view ((Bins + 1) / 2)
            %   BinPitch   distance between bins, in any length unit (1)
            %   PixelSize  side of a pixel in the same unit (BinPitch)
            %   Size       [nx ny] of a slice ([Bins Bins])
            %   XOffset, YOffset   the axis passes through column (nx + 1) / 2 + XOffset and row (ny + 1) / 2 + YOffset (0)
            %   FirstRow   first detector row of the volume, counted from 1 (1)
            %   Slices     slices of the volume (all rows from FirstRow on)
            %   Region     [c0 c1 r0 r1]: of the slice that the others describe only columns c0 to c1 and rows r0 to r1, ends included, so
            %              volume(c0:c1, r0:r1, :) of what it would be, with the same pixels (all)
            self.id = isocenter.internal.plan('ct', self.id);
            isocenter_mex('ct.set_geometry', self.id, varargin{:});
        end

        function setOptions(self, varargin)
            % SETOPTIONS  How to reconstruct; what is not named gets its default.
            %   ct.setOptions(NAME, VALUE, ...) or ct.setOptions(STRUCT)
            %
            %   Filter         'ram_lak' (the default), 'shepp_logan', 'cosine', 'hamming', 'hann', 'parzen', 'butterworth', 'none' or
            %                  'custom'
            %   Cutoff         end of the window over the Nyquist frequency, above 0 to 1 (1; Butterworth 0.5)
            %   ButterworthOrder   0.5 to 64 (4)
            %   Response       of 'custom': values at frequencies evenly spaced from 0 to Nyquist, in cycles a bin
            %   Interpolation  'linear' (the default), 'nearest', 'oversampled' or 'band_limited', which keeps detail that 'linear' smooths,
            %                  rings more at edges, and takes N^2 log N operations a slice in place of N^3
            %   Projector      forward and adjoint: 'joseph' (the default), or 'band_limited', exact for images without detail finer than
            %                  two pixels, by fast Fourier transforms
            %   Tolerance      of 'band_limited': largest relative error of its sums in the l2 norm, 1e-6 to 1e-2 (1e-4)
            %   Padding        'zero' (the default), or 'edge' for objects wider than the detector
            %   WeightedBackprojection   true: backproject multiplies by the angular weights, as reconstruct does (false)
            %   MinimumTransmission      lower limit of transmissions before the logarithm (1e-6)
            %   Input          what projections hold: 'counts', 'transmission' or 'line_integrals'; 'auto' (the default) takes integers
            %                  for counts and single for line integrals, and refuses single while there is a flat field
            %   Kernel         of a GPU: 'auto' (the default; the only one with 'band_limited'), 'texture_standard', 'texture', 'alu', 'hybrid'
            %                  or 'tensor'
            %   Precision      of data on a GPU: 'single' (the default) or 'half'
            %   Algorithm      of reconstruct: 'fbp' (the default), filtered back projection; or iterations of forward and adjoint: 'sirt',
            %                  'cgls', 'mlem', 'total_variation' or 'fista', which setIterative says more of. With subsets 'sirt' is OS-SART and
            %                  'mlem' OSEM
            self.id = isocenter.internal.plan('ct', self.id);
            isocenter_mex('ct.set_options', self.id, varargin{:});
        end

        function setOutput(self, varargin)
            % SETOUTPUT  How reconstruct and reconstructStream store the volume; what is not named gets its default.
            %   ct.setOutput(NAME, VALUE, ...) or ct.setOutput(STRUCT); ct.setOutput() goes back to single as it is
            %
            %   Dtype          'f32' (the default): single; 'u8' and 'u16': uint8 and uint16, 0 to 255 or 65535 over a window, one for all
            %                  slices; 'f16': half precision, whose bits are in a uint16 array, for half.typecast or a file
            %   Low, High      the window; what is outside it is stored as its ends (from percentiles)
            %   LowPercentile, HighPercentile   of the values inside the mask, 0 to 100, found in a first pass over some slices (0.1, 99.9)
            %   HistogramSlices   slices of that pass, spread evenly; -1 for all (16)
            %   MaskRadius     pixels outside a circle of this radius, in halves of the slice's shorter side, up to 1.5, get MaskValue
            %                  and do not count (0, no mask)
            %   MaskValue      in place of values outside the circle (0)
            %   HistogramBins  bins of ct.histogram() (0, none)
            self.id = isocenter.internal.plan('ct', self.id);
            isocenter_mex('ct.set_output', self.id, varargin{:});
        end

        function s = output(self, varargin)
            % OUTPUT  What the last reconstruction stored, as a struct: value = Offset + Slope * double(stored), the window Low to High,
            % and how many values lay outside it.
            s = isocenter_mex('ct.output', self.id, varargin{:});
        end

        function counts = histogram(self, varargin)
            % HISTOGRAM  The histogram of the last reconstruction's volume, over its window; the bins at the ends have what was outside it.
            counts = isocenter_mex('ct.histogram', self.id, varargin{:});
        end

        function setFlatField(self, varargin)
            % SETFLATFIELD  For raw counts, of which filter and reconstruct make -log((raw - dark) / (flat - dark)).
            %   ct.setFlatField(FLATS, DARKS)  single, uint16 or uint8, bins x rows x frames; frames are averaged
            %   ct.setFlatField(FLATS)         darks of 0
            %   ct.setFlatField(FLATS, DARKS, NAME, VALUE, ...) or ct.setFlatField(FLATS, DARKS, STRUCT), with or without DARKS
            %   ct.setFlatField([])            forgets them
            %   Integers are counts; of single ct.setOptions('Input', 'counts') says so. They stay while Rows and Bins do, and, where the
            %   beam varies from view to view, the number of views.
            %
            %   Combine         of the darks, and of the flats of a group: 'mean' (the default) or 'median'
            %   GroupFrames     of flats taken at several places in the scan: how many frames each group has, in their order (one group)
            %   GroupPositions  how many views had been taken before each group: 0 is before the scan, the number of views after it;
            %                   ascending. View k, counted from 1, lies at k - 0.5, its beam on the straight line between the groups
            %                   around it; beyond the first and last it is that of the nearest
            %   GroupMonitor    what the beam's monitor said of each group, above 0; needs Monitor (1)
            %   Monitor         what it said in each view, in the same unit: the beam is flat / GroupMonitor * Monitor (flats are the beam)
            %   BadPixels       finds pixels that are dead, hot or far from their neighbours, by so many times the detector's scatter (1
            %                   to 1e6, 10 is usual), and replaces their line integrals by those of their row's nearest good ones;
            %                   ct.info().BadPixels counts them (0, none)
            %   Outliers        removed from each flat and dark first: a struct with options of setOutliers, struct() for the defaults (none)
            %   Eigenflats      for a beam whose shape changes from view to view: the maximum number of principal components of the flats
            %                   that fitFlatField then fits to each view, up to 20 (0, none)
            isocenter_mex('ct.set_flat_field', self.id, varargin{:});
        end

        function found = fitFlatField(self, varargin)
            % FITFLATFIELD  What the beam of each view has of the eigenflats of setFlatField, by its frame: the weights for which the total
            % variation of the corrected frame is smallest.
            %   FOUND = ct.fitFlatField(PROJECTIONS, NAME, VALUE, ...)  whole frames of some views, counts, in the geometry's order
            %   All views of a scan need it before filter, reconstruct, reconstructStream and findAxis take counts, in one call or in
            %   parts. setFlatField forgets it.
            %   FirstView  the view of the scan, counted from 1, that PROJECTIONS begin with (default: 1)
            %   Binning    rows and bins of the blocks whose means are compared (default: 100 to 200 blocks of the longer side)
            %   FOUND has Components, how many stand above noise (0: nothing was to be done); Explained, the part of the flats' variance
            %   of each; Weights, components x views, for which those of the flats have a root mean square of 1; VariationBefore and
            %   VariationAfter, total variation over the sum of transmissions, on average over the views.
            found = isocenter_mex('ct.fit_flat_field', self.id, varargin{:});
        end

        function setOutliers(self, varargin)
            % SETOUTLIERS  How filter, reconstruct and reconstructStream remove outliers (zingers) from raw frames, before the flat field.
            %   ct.setOutliers()      bright ones, 10 times the noise of 3 x 3 pixels in 3 views
            %   ct.setOutliers([])    leaves them, as it is at first
            %   ct.setOutliers(NAME, VALUE, ...) or ct.setOutliers(STRUCT)
            %   A value that is farther than Threshold times Unit from the median of its neighbourhood becomes that median. Counts and
            %   transmissions only. ct.info().Outliers counts those of the last call.
            %
            %   Unit       'noise' (the default): 1.4826 times the median distance from the median, at least a 200th of it; 'median':
            %              that median; 'count'
            %   Side       'bright' (the default): values above the median; 'dark': those below it; 'both'
            %   Window     bins and rows of a neighbourhood: 3 or 5 (3)
            %   Depth      views of a neighbourhood, in their order: 1 or 3; frames, of flats and darks (3)
            %   Threshold  1e-6 to 1e9 (10 times the noise, 0.2 of the median; counts have to be said)
            self.id = isocenter.internal.plan('ct', self.id);
            if nargin == 2 && isnumeric(varargin{1}) && isempty(varargin{1})
                isocenter_mex('ct.leave_outliers', self.id);
            else
                isocenter_mex('ct.set_outliers', self.id, varargin{:});
            end
        end

        function setDistortion(self, varargin)
            % SETDISTORTION  Take the detector's distortion, a tilt and shifts of views out of the frames in filter, reconstruct and
            % reconstructStream: after outliers and the flat field, which are the detector's own, and before phase and stripes.
            %   ct.setDistortion(NAME, VALUE, ...) or ct.setDistortion(STRUCT)
            %   ct.setDistortion([])    leaves frames as they are, as it is at first
            %   Transmissions, or projections that are line integrals, are read linearly between four measured pixels; beyond the detector
            %   its outermost ones are repeated. A pixel at (x, y), in bins and rows, is read at the place that these steps lead to: its
            %   view's shifts; a turn by atan(Tilt) about the detector's middle; the perspective; c + B(r) * ((x, y) - c), c the centre, r the
            %   distance from it, B(r) = b(1) + b(2) * r + b(3) * r^2 + ... (Vo, Atwood and Drakopoulos 2015, with discorpy's coefficients).
            %
            %   Radial       the coefficients b of the radial distortion, up to 10, for pixels; b(1) is near 1 (none)
            %   XCentre, YCentre   bin and row of its centre, counted from 1: discorpy's xcenter + 1 and ycenter + 1; it may lie beside the
            %                detector (required with Radial)
            %   Perspective  eight coefficients p, as discorpy gives them, for pixels that count from 0: (x, y) is read at
            %                (p(1) * x + p(2) * y + p(3), p(4) * x + p(5) * y + p(6)) / (p(7) * x + p(8) * y + 1), where x is 0 in bin 1 and
            %                y is 0 in row 1 (none)
            %   Tilt         bins by which the axis moves from a detector row to the next, as findAxis finds it, within 0.5: frames are
            %                turned until it is upright (0)
            %   XShifts, YShifts   bins and rows by which each view lies aside on the detector, one value a view (0). Where views move
            %                sideways alone, Axis of setGeometry may have one value a view, which reads no pixel between others
            self.id = isocenter.internal.plan('ct', self.id);
            if nargin == 2 && isnumeric(varargin{1}) && isempty(varargin{1})
                isocenter_mex('ct.leave_distortion', self.id);
            else
                isocenter_mex('ct.set_distortion', self.id, varargin{:});
            end
        end

        function setPhase(self, varargin)
            % SETPHASE  How filter, reconstruct and reconstructStream retrieve phase: each frame of transmissions is filtered in two
            % dimensions, after outliers and the flat field, which makes line integrals of attenuation.
            %   ct.setPhase(NAME, VALUE, ...) or ct.setPhase(STRUCT)
            %   ct.setPhase([])    leaves them, as it is at first
            %   Counts and transmissions only. PixelUm always, and EnergyKev, DistanceMm and DeltaBeta, or LengthUm.
            %
            %   Method         'paganin' (the default; Paganin and others 2002: one material, any contrast, near field) or 'ctf' (contrast
            %                  transfer function of one distance, Cloetens and others 1999: weak contrast, longer distances)
            %   EnergyKev      of the photons, 1 to 1000
            %   DistanceMm     from sample to detector, of a cone beam the effective one, 1 to 1e5
            %   PixelUm        a bin at the sample, in micrometres, 0.01 to 1000; rows are as far apart
            %   DeltaBeta      decrement of the refractive index over its imaginary part, 1e-3 to 1e6
            %   LengthUm       in their place, of 'paganin': sqrt(pi * wavelength * distance * DeltaBeta) in micrometres
            %   Alpha          of 'ctf', where its transfer function is small: 1e-8 to 1 (0.01)
            %   UnsharpSigma   standard deviation of an unsharp mask's Gaussian, in bins, to 100 (none)
            %   UnsharpAmount  how much of what the Gaussian takes away is added, to 100; with UnsharpSigma (none)
            self.id = isocenter.internal.plan('ct', self.id);
            if nargin == 2 && isnumeric(varargin{1}) && isempty(varargin{1})
                isocenter_mex('ct.leave_phase', self.id);
            else
                isocenter_mex('ct.set_phase', self.id, varargin{:});
            end
        end

        function setStripes(self, varargin)
            % SETSTRIPES  How filter, reconstruct and reconstructStream remove stripes, which would become rings.
            %   ct.setStripes()      what stands out from noise, and nothing else
            %   ct.setStripes([])    leaves them, as it is at first
            %   ct.setStripes(NAME, VALUE, ...) or ct.setStripes(STRUCT)
            %
            %   Method         'significant' (the default), 'vo' (Vo, Atwood and Drakopoulos 2018, all of it), 'sorting' (its algorithm
            %                  3 alone), 'regularised' (Titarenko, Withers and Yagola 2010) or 'wavelet_fourier' (Munch, Trtik, Marone
            %                  and Stampanoni 2009)
            %   Snr            of 'vo': how far a stripe stands out, at least, above 1 (3)
            %   LargeWindow    of 'vo': bins of the median against large stripes (51)
            %   SmallWindow    of 'vo' and 'sorting': bins of the median against small stripes (21)
            %   DropRatio      of 'vo': part of a bin's values that does not count towards its mean, 0 to 0.8 (0.1)
            %   Alpha          of 'regularised': what offsets weigh against steps of the means; the smaller, the smoother (5e-4)
            %   Sigma          of 'wavelet_fourier': how many frequencies along views are damped, 0.01 to 100 (1)
            %   Levels         of 'wavelet_fourier': levels of the transform (5, or as many as fit)
            %   Wavelet        of 'wavelet_fourier': order of Daubechies' wavelet, 1 to 20 (9)
            self.id = isocenter.internal.plan('ct', self.id);
            if nargin == 2 && isnumeric(varargin{1}) && isempty(varargin{1})
                isocenter_mex('ct.leave_stripes', self.id);
            else
                isocenter_mex('ct.set_stripes', self.id, varargin{:});
            end
        end

        function setHalfAcquisition(self, varargin)
            % SETHALFACQUISITION  Scans are half acquisitions to reconstruct and reconstructStream.
            %   ct.setHalfAcquisition()      a full turn about an axis near an edge of the detector, or up to a quarter of its bins beyond
            %   ct.setHalfAcquisition([])    takes rows as they are, as it is at first
            %   ct.setHalfAcquisition(NAME, VALUE, ...) or ct.setHalfAcquisition(STRUCT)
            %
            %   Overlap    bins over which weights of opposite views rise: 1 to 2 (1 + the bins from the axis to the nearer edge), the default
            %   Rise       'smooth' (the default), with slopes that begin and end with 0, or 'linear'
            %   Bins and Axis of the geometry are the detector's; for the whole field Size is about 2 (Bins - Overlap / 2).
            self.id = isocenter.internal.plan('ct', self.id);
            if nargin == 2 && isnumeric(varargin{1}) && isempty(varargin{1})
                isocenter_mex('ct.leave_half_acquisition', self.id);
            else
                isocenter_mex('ct.set_half_acquisition', self.id, varargin{:});
            end
        end

        function setIterative(self, varargin)
            % SETITERATIVE  How iterative algorithms go on (see the option Algorithm); what is not named gets its default.
            %   ct.setIterative(NAME, VALUE, ...) or ct.setIterative(STRUCT)
            %
            %   Iterations      maximum number, each over all views (30)
            %   Subsets         of 'sirt' and 'mlem': of the views (1)
            %   Relaxation      of 'sirt': factor of each step, above 0 and below 2 (1)
            %   Bounds          of 'sirt', 'mlem', 'fista' and 'total_variation', which needs a lower one: what values are kept within,
            %                   'none' (the default), 'non_negative', or 'box'
            %   Lower, Upper    of Bounds 'box', may be infinite
            %   MaskRadius      pixels outside this circle stay 0: its radius in halves of the slice's shorter side (no mask)
            %   Normal          of 'cgls' and 'fista': how A^T A is applied, 'auto' (the default), 'pair', or 'toeplitz', as a convolution: that is
            %                   nearly what it is of Projector 'band_limited' where all pixels inside the circle fall on the detector; 'auto' takes it
            %                   for 'fista', which comes to the pair's minimum, and 'cgls' to the convolution's
            %   Regularisation  of 'cgls' and 'fista': weight of the squared norm of the image, in squares of the length unit (0); of
            %                   'total_variation', weight of the sum of the gradient's length, in the length unit (required)
            %   Weighting       of 'cgls', 'fista' and 'total_variation' (which then needs two bounds): how much each ray counts,
            %                   'uniform' (the default), 'transmission', by exp(-b), b the line integral, or 'given', by setRayWeights
            %   Fit             of 'total_variation': how an image is measured by the data, 'squares' (the default) or 'poisson', for counts of
            %                   emission or fluorescence, with two bounds of 0 or more
            %   Variation       of 'total_variation': of pixels next to each other in a slice, 'slices' (the default), or of neighbouring slices,
            %                   too, 'volume', which are then worked on together and must fit the memory cap; through GPUs they go piece by
            %                   piece where they do not fit
            %   RingWeight      of 'total_variation' within two bounds: weight of the sum of offsets, one a bin and slice that all views share, which
            %                   are found with the image and taken off the data: rings (0, none)
            %   Huber           of 'total_variation': gradients shorter than this count by their square, so that slopes are kept (0)
            %   Tolerance       of 'cgls': ends a slice when its gradient is this part of the first one's (0); of 'total_variation', when
            %                   its duality gap is this part of its objective (1e-4)
            %   What an algorithm has no use for must keep its default: reconstruct, which knows it, says so.
            self.id = isocenter.internal.plan('ct', self.id);
            isocenter_mex('ct.set_iterative', self.id, varargin{:});
        end

        function setRayWeights(self, varargin)
            % SETRAYWEIGHTS  Weights of rays in least squares by iterations, for Weighting 'given' of setIterative.
            %   ct.setRayWeights(WEIGHTS)    bins x views, single or double, 0 or more; the same in all slices. A weight of 0 leaves a ray
            %   out, as of a dead column of the detector or of metal in its way
            %   ct.setRayWeights()           forgets them, as setGeometry does
            self.id = isocenter.internal.plan('ct', self.id);
            isocenter_mex('ct.set_ray_weights', self.id, varargin{:});
        end

        function found = history(self, varargin)
            % HISTORY  What the iterations of the last reconstruction saw, a struct array: Iteration, those before it; Objective, what the
            % algorithm makes smaller, and Gap, how far that is above its minimum at most (Inf where the algorithm does not know), summed
            % over slices; Slices, how many had not ended. Of 'total_variation' after each 20 iterations and the last, else before each.
            %   FOUND = ct.history()
            found = isocenter_mex('ct.history', self.id, varargin{:});
        end

        function volume = reconstruct(self, varargin)
            % RECONSTRUCT  Slices in attenuation a length unit, by filtered back projection or what the option Algorithm says.
            %   VOLUME = ct.reconstruct(PROJECTIONS)
            %   VOLUME = ct.reconstruct(PROJECTIONS, INITIAL)    iterations begin with INITIAL, a single volume, moved into the bounds
            %   Single line integrals, counts (uint16, uint8) with a flat field, or what the option Input says. A disk of 1 comes
            %   out as 1. VOLUME is single, or of the class of setOutput.
            volume = isocenter_mex('ct.reconstruct', self.id, varargin{:});
        end

        function reconstructStream(self, varargin)
            % RECONSTRUCTSTREAM  Filtered back projection slab by slab, for volumes that do not fit memory.
            %   ct.reconstructStream(READ, WRITE) or ct.reconstructStream(READ, WRITE, CLASS)
            %   PROJECTIONS = READ(FIRST, COUNT)  returns projections of slices FIRST to FIRST + COUNT - 1 of the volume
            %   WRITE(VOLUME, FIRST, COUNT)       takes these slices
            %   Slice FIRST is detector row FirstRow + FIRST - 1. With setOutliers, setDistortion or setPhase READ is also asked for the
            %   rows beside those of a slab, as far as the detector has them: parts overlap, or each begins where the last one ended, and FIRST may be below 1, FirstRow + FIRST - 1
            %   not.
            %   CLASS is that of the projections: 'single' (the default), or with a flat field 'uint16' or 'uint8'.
            isocenter_mex('ct.reconstruct_stream', self.id, varargin{:});
        end

        function found = findAxis(self, varargin)
            % FINDAXIS  The rotation axis of the scan, from its projections; nothing in the plan changes.
            %   FOUND = ct.findAxis(PROJECTIONS, NAME, VALUE, ...)  projections as reconstruct takes them
            %   Method  'auto' (the default), 'opposite_views' (views half a turn apart), 'sinogram' (half a turn alone),
            %           'sharpness' (trial slices)
            %   Low     first axis to look at; Low and High left out: nearly all of the detector, by 'sharpness' its middle half
            %   High    last axis to look at
            %   Rows    detector rows to use, evenly spread over those of the volume (default: up to 24)
            %   Tilt    the axis may change from row to row along a line (default: false)
            %   Curve   values of the score over the range that are wanted (default: 0)
            %   FOUND has Method, which decided; Axis, a fractional bin that counts from 1, as the geometry's does, for the middle row of
            %   the volume; Tilt in bins a row; Error, the standard error of Axis; Confidence, 0 to 1; HalfAcquisition; and
            %   Curve, the best value of which is the smallest, with CurveFirst, the axis of its first value, and CurveStep, bins from one
            %   to the next. Where the axis cannot be told that is an error, which says why.
            found = isocenter_mex('ct.find_axis', self.id, varargin{:});
        end

        function found = findBadViews(self, varargin)
            % FINDBADVIEWS  Views that are no measurement of the object; nothing in the plan changes.
            %   FOUND = ct.findBadViews(PROJECTIONS)  projections as reconstruct takes them
            %   FOUND has Faults, a word for each view: 'none', 'black' (no beam), 'saturated', 'frozen' (the same as the view before in a scan with
            %   noise), 'not_finite', 'doubtful' (much darker or brighter than views beside it); Certain, the views of the first four faults;
            %   Doubtful; and Good, all views but the certain ones. Views count from 1:
            %   ct.setGeometry('Angles', angles(found.Good), ...); volume = ct.reconstruct(frames(:, :, found.Good));
            %   Line integrals tell frozen, not finite and doubtful views alone. With eigenflats the call comes before fitFlatField.
            found = isocenter_mex('ct.find_bad_views', self.id, varargin{:});
        end

        function [weight, noise] = suggestRegularisation(self, varargin)
            % SUGGESTREGULARISATION  The weight of total variation, Regularisation of setIterative, by the projections' noise and some slices.
            %   WEIGHT = ct.suggestRegularisation(PROJECTIONS)  projections as reconstruct takes them, of 16 bins or more
            %   [WEIGHT, NOISE] = ct.suggestRegularisation(PROJECTIONS)
            %   WEIGHT is 0.7 * NOISE * Q^1.6 * (N / 64)^0.7 * sqrt(views) * PixelSize, in the length unit, for N pixels across, and NOISE the
            %   standard deviation of the noise of a line integral, after the flat field, the logarithm and setDistortion, estimated from third
            %   differences along the bins of some rows. Q is how much more than noise up to 4 slices leave of the data that total variation
            %   makes with 0.5 * NOISE * sqrt(views) * PixelSize, within the bounds of setIterative or above 0: edges that are sharper than
            %   pixels can show ask for more. A smooth object wants more still. Where neighbouring bins share noise, as by a scintillator's
            %   blur, NOISE is too small; after setPhase that is an error.
            [weight, noise] = isocenter_mex('ct.suggest_regularisation', self.id, varargin{:});
        end

        function filtered = filter(self, varargin)
            % FILTER  The ramp filter with the window of the options, in 1 / BinPitch, without angular weights.
            %   FILTERED = ct.filter(PROJECTIONS)
            %   Rows outside the volume's slices are 0.
            filtered = isocenter_mex('ct.filter', self.id, varargin{:});
        end

        function volume = backproject(self, varargin)
            % BACKPROJECT  The sum over views of projections at each pixel's place; unscaled.
            %   VOLUME = ct.backproject(PROJECTIONS)
            volume = isocenter_mex('ct.backproject', self.id, varargin{:});
        end

        function projections = forward(self, varargin)
            % FORWARD  Line integrals (Joseph 1982), in length units.
            %   PROJECTIONS = ct.forward(VOLUME)
            %   Rows outside the volume's slices are 0.
            projections = isocenter_mex('ct.forward', self.id, varargin{:});
        end

        function volume = adjoint(self, varargin)
            % ADJOINT  The exact transpose of forward.
            %   VOLUME = ct.adjoint(PROJECTIONS)
            volume = isocenter_mex('ct.adjoint', self.id, varargin{:});
        end

        function s = info(self, varargin)
            % INFO  What the plan found in the angles and decided, as a struct. Angles are in radians, modulo pi.
            s = isocenter_mex('ct.info', self.id, varargin{:});
        end

        function weights = angularWeights(self, varargin)
            % ANGULARWEIGHTS  The weight of each view, in radians: half the gaps to its neighbours, or your own.
            weights = isocenter_mex('ct.angular_weights', self.id, varargin{:});
        end

        function setAngularWeights(self, varargin)
            % SETANGULARWEIGHTS  Weights of your own, until the next setGeometry.
            %   ct.setAngularWeights(WEIGHTS)  one a view, in radians, 0 or more; a sum of pi keeps attenuation's scale
            %   ct.setAngularWeights([])       those that the plan works out again
            isocenter_mex('ct.set_angular_weights', self.id, varargin{:});
        end

        function bytes = memory(self, varargin)
            % MEMORY  Bytes of working memory that reconstruct will take.
            bytes = isocenter_mex('ct.memory', self.id, varargin{:});
        end

        function tune(self, varargin)
            % TUNE  Measures the GPU's back projectors for this geometry, and keeps to the fastest.
            isocenter_mex('ct.tune', self.id, varargin{:});
        end

        function volume = phantomVolume(self, varargin)
            % PHANTOMVOLUME  The exact mean of ellipses over each pixel, the same in every slice.
            %   VOLUME = ct.phantomVolume(ELLIPSES); see sheppLogan.
            volume = isocenter_mex('ct.phantom_volume', self.id, varargin{:});
        end

        function projections = phantomProjections(self, varargin)
            % PHANTOMPROJECTIONS  Exact line integrals of ellipses, the same in every row.
            %   PROJECTIONS = ct.phantomProjections(ELLIPSES); see sheppLogan.
            projections = isocenter_mex('ct.phantom_projections', self.id, varargin{:});
        end
    end
    methods (Static)
        function ellipses = sheppLogan(varargin)
            % SHEPPLOGAN  Ellipses of a Shepp-Logan phantom that fills a circle.
            %   ELLIPSES = isocenter.CT.sheppLogan('modified' or 'original', RADIUS)
            %   A struct array of Value, X, Y, SemiX, SemiY in length units from the axis, y upwards, and Angle in radians,
            %   counter-clockwise. Values add where ellipses overlap.
            ellipses = isocenter_mex('ct.shepp_logan', varargin{:});
        end
    end
end

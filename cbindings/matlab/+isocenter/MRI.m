classdef MRI < handle
% MRI  Non-Cartesian MRI: transforms between an image and samples of k-space, gridding, and reconstruction by conjugate gradient.
%
%   MRI = isocenter.MRI(TRAJECTORY, NAME, VALUE, ...)            sets the geometry
%   MRI = isocenter.MRI(CONTEXT, TRAJECTORY, NAME, VALUE, ...)   the same with an isocenter.Context
%   MRI = isocenter.MRI()                                        leaves it to setGeometry
%
%   Model: s(m, c) = sum over r of S(r, c) rho(r) exp(-2 pi i k(:, m) . r); voxel j of an axis of N, counted from 1, is at position
%   j - 1 - floor(N / 2). An image and samples are complex single or complex double, and results are of the input's class; a real
%   array is taken as complex, at the price of a copy. Dimensions of 1 may be left out.
%     trajectory   2 x samples or 3 x samples, x first, or 1 x samples of a line (Size [nx 1]), single or double
%     image        nx x ny x nz; without coil maps nx x ny x nz x coils. A plane leaves nz out
%     samples      samples x coils
%     maps         nx x ny x nz x coils, complex
%
%   setGeometry          image and trajectory
%   setOptions           penalty, iterations, method
%   setWeights, computeWeights, weights   density weights
%   setMaps, setField, setPositions       coils, off-resonance, voxels that are on no grid
%   setDifferenceWeights, setMatrix       penalties
%   setFrames, setWindows, setBasis       series: frames, sliding windows, images that change while samples are taken
%   setShots             shots of one image, between which its phase changes
%   forward, adjoint     image -> samples and back, exact transposes of each other
%   gridding             samples -> image, weighted by density: the quick reconstruction
%   reconstruct, history, objective, gap   samples -> image by iterations, and how they went
%   reconstructStream, griddingStream, streamMemory   the same of samples that do not fit memory, and what it needs
%   findMaps, mapsMemory                  coil maps and image from samples alone, and what that needs
%   findDelays, delayedTrajectory         delays of gradients, from samples, and the trajectory with them
%   normal               the system that reconstruct solves, for solvers of your own
%   computeQ, exportQ, importQ            Q of the trajectory, made once for all its scans
%   info, memory         what the plan decided, and what it needs
%   sheppLogan, phantomSamples, phantomImage, compare   phantoms, and measures of error
%   delete               frees the plan, as clearing its last variable does
%
%   Errors have identifiers isocenter:mri:KIND. Ctrl-C stops a call.
%
%   Example:
%     turn = (0:200) * pi * (sqrt(5) - 1) / 2;
%     k = [cos(turn); sin(turn)];
%     k = reshape(reshape(k, 2, 1, []) .* (-128:127) / 256, 2, []);   % spokes of 256 samples
%     mri = isocenter.MRI(k, 'Size', [128 128], 'Unit', 'cycles_per_voxel');
%     s = mri.phantomSamples(isocenter.MRI.sheppLogan('modified', 64));
%     mri.computeWeights('radial', 256);
%     image = mri.reconstruct(s);
%     imagesc(abs(image).'), axis image xy, colormap gray
%
%   See also isocenter.Context, isocenter.CT, isocenter.PET.

    properties (SetAccess = private, Hidden, Transient)
        id = uint64(0);
    end
    methods
        function self = MRI(varargin)
            if nargin == 0, return; end % MATLAB fills arrays with copies of MRI(), which must not share a plan
            [context, settings] = isocenter.internal.start(varargin);
            self.id = isocenter_mex('mri.create', context);
            if ~isempty(settings), self.setGeometry(settings{:}); end
        end

        function delete(self)
            % DELETE  Free the plan.
            isocenter.internal.free('mri', self.id);
        end

        function disp(self)
            % DISP  Sizes of the arrays, and where it computes.
            isocenter.internal.show(self, 'mri', 'MRI');
        end

        function setGeometry(self, varargin)
            % SETGEOMETRY  Image and trajectory. Forgets weights, maps, field, positions, the penalty's weights and matrix, and Q.
            %   mri.setGeometry(TRAJECTORY, NAME, VALUE, ...) or mri.setGeometry(TRAJECTORY, STRUCT)
            %
            %   Size       [nx ny] or [nx ny nz], in voxels (required)
            %   Unit       of the trajectory: 'cycles_per_voxel' (within 0.5), 'cycles_per_field_of_view' (within N / 2)
            %              or 'radians_per_voxel' (within pi) (required)
            %   Coils      receivers (1)
            %   Precision  of the arithmetic, whatever the class of arrays: 'single' (the default) or 'double'
            %
            %   A readout that is sampled twice as finely as Size needs keeps its samples and its trajectory as they are.
            self.id = isocenter.internal.plan('mri', self.id);
            isocenter_mex('mri.set_geometry', self.id, varargin{:});
        end

        function setOptions(self, varargin)
            % SETOPTIONS  How to reconstruct; what is not named gets its default.
            %   mri.setOptions(NAME, VALUE, ...) or mri.setOptions(STRUCT)
            %
            %   Iterations  most of them (30)
            %   Residual    stops at this |residual| / |right-hand side|, or, with penalties 'wavelets', 'variation' and 'low_rank', |step| / |image| (1e-6)
            %   Lambda      weight of the penalty (0). After computeWeights F' W F is about 1, and 0.01 to 0.1 is usual
            %   Penalty     'identity' (the default), 'differences' (see setDifferenceWeights), 'matrix' (see setMatrix), 'wavelets',
            %               'variation' or, of a series, 'low_rank'. With the last three 0.003 of info's LambdaLimit is a Lambda to begin with
            %   Method      'auto' (the default), 'nufft' or 'exact'
            %   Normal      'auto' (the default), 'toeplitz' or 'pair'
            %   Tolerance   of fast transforms (1e-5, in double precision 1e-9)
            %   Upsampling  least size of their grid over the image's, 1.1 to 4 (the fastest)
            %   Sines       'precise' (the default) or 'hardware'
            %   Algorithm   'auto' (the default), 'conjugate_gradient', 'fista' or 'primal_dual'
            %   Wavelet     'daubechies4' (the default) or 'haar'
            %   Levels      of the wavelet transform (as many as leave averages of 8 voxels an axis)
            %   FixedGrid   true: the grid of wavelets or blocks stays from iteration to iteration (false)
            %   Huber       differences shorter than this count by their square in 'variation' (0)
            %   Block       voxels along an edge of a block of 'low_rank' (8)
            %   Joint       true: images of a series share their wavelets or edges (false)
            %   Imaginary   weight of the square of imaginary parts, inf for real images; a phase that is known goes into the maps (0)
            self.id = isocenter.internal.plan('mri', self.id);
            isocenter_mex('mri.set_options', self.id, varargin{:});
        end

        function setWeights(self, varargin)
            % SETWEIGHTS  Density weights of your own. Forgets Q.
            %   mri.setWeights(WEIGHTS)   one a sample, not negative
            %   mri.setWeights([])        sets 1
            %   Each is the part of k-space that belongs to its sample, in (cycles per voxel)^dimensions, as computeWeights has them:
            %   the sum over all of a square or cube is 1. Gridding then has the scale of reconstruct.
            isocenter_mex('mri.set_weights', self.id, varargin{:});
        end

        function computeWeights(self, varargin)
            % COMPUTEWEIGHTS  Finds density weights and sets them.
            %   mri.computeWeights()                     for any trajectory, 10 iterations (Pipe and Menon)
            %   mri.computeWeights('iterative', N)       N iterations
            %   mri.computeWeights('radial', READOUT)    for straight spokes of READOUT evenly spaced samples each
            isocenter_mex('mri.compute_weights', self.id, varargin{:});
        end

        function w = weights(self, varargin)
            % WEIGHTS  The density weights, 1 where none were set.
            w = isocenter_mex('mri.weights', self.id, varargin{:});
        end

        function setMaps(self, varargin)
            % SETMAPS  Coil sensitivities: all coils then see one image.
            %   mri.setMaps(MAPS)   complex nx x ny x nz x coils; with several sets, nx x ny x nz x coils x sets as coilMaps makes them,
            %                       coils see the sum of as many images, each by its own set: nx x ny x nz x sets
            %   mri.setMaps([])     forgets them
            isocenter_mex('mri.set_maps', self.id, varargin{:});
        end

        function setField(self, varargin)
            % SETFIELD  Off-resonance and decay: sample m then has the factor exp(-(2 pi i FIELD(r) + DECAY(r)) TIMES(m)) besides.
            %   mri.setField(FIELD, TIMES)          FIELD nx x ny x nz in Hz, TIMES one a sample in seconds
            %   mri.setField(FIELD, TIMES, DECAY)   DECAY nx x ny x nz, R2* in 1/s; FIELD may be []
            %   mri.setField()                      forgets both
            %   Fast transforms are then sums of mri.info().FieldTerms products of those without.
            isocenter_mex('mri.set_field', self.id, varargin{:});
        end

        function setPositions(self, varargin)
            % SETPOSITIONS  Where voxels are that are on no grid.
            %   mri.setPositions(POSITIONS)   axes x nx x ny x nz, in voxels
            %   mri.setPositions([])          goes back to the grid
            isocenter_mex('mri.set_positions', self.id, varargin{:});
        end

        function setDifferenceWeights(self, varargin)
            % SETDIFFERENCEWEIGHTS  Weights of the penalty 'differences'.
            %   mri.setDifferenceWeights(WEIGHTS)   nx x ny x nz x axes, x first
            %   mri.setDifferenceWeights([])        sets 1
            %   The weight at a voxel is that of the difference between it and the next one along the axis.
            isocenter_mex('mri.set_difference_weights', self.id, varargin{:});
        end

        function setMatrix(self, varargin)
            % SETMATRIX  R of the penalty 'matrix'.
            %   mri.setMatrix(MATRIX)   sparse, a column for each voxel in the order of image(:)
            if nargin > 1 && issparse(varargin{1}), varargin{1} = varargin{1}.'; end % else it is an error, which the next line raises
            isocenter_mex('mri.set_matrix', self.id, varargin{:});
        end

        function setFrames(self, varargin)
            % SETFRAMES  A series of frames with images of their own.
            %   mri.setFrames(FIRST, COUNTS)   frame f has the COUNTS(f) samples from FIRST(f) on; frames may overlap
            %   mri.setFrames()                one scan again
            %   Images are then nx x ny x nz x frames, or without maps x frames * coils, coils first. computeWeights, which comes after this,
            %   finds weights of each frame.
            isocenter_mex('mri.set_frames', self.id, varargin{:});
        end

        function setWindows(self, varargin)
            % SETWINDOWS  A series of frames of equal length.
            %   mri.setWindows(LENGTH, STEP)   frame f has the LENGTH samples from (f - 1) * STEP + 1 on, as long as there are so many
            %   A sliding window over spokes of golden angles has a multiple of the spoke's samples as both.
            isocenter_mex('mri.set_windows', self.id, varargin{:});
        end

        function setBasis(self, varargin)
            % SETBASIS  Images that change while samples are taken, as sums of a few: subspace models.
            %   mri.setBasis(BASIS)          images x samples, real or complex
            %   mri.setBasis(BASIS, TIMES)   images x times; TIMES has the column of each sample
            %   mri.setBasis([])             forgets it
            %   Sample m is then the sum over k of BASIS(k, TIMES(m)) times that of image k. Images are nx x ny x nz x images.
            isocenter_mex('mri.set_basis', self.id, varargin{:});
        end

        function setShots(self, varargin)
            % SETSHOTS  Samples of shots, between which the object's phase changes, as in diffusion scans.
            %   mri.setShots(SHOTS, PHASES)   SHOTS has the shot of each sample, from 1 on; PHASES nx x ny x nz x shots, complex
            %   mri.setShots()                forgets them
            %   Sample m sees the image times PHASES(:, :, :, SHOTS(m)); all shots are of one image.
            isocenter_mex('mri.set_shots', self.id, varargin{:});
        end

        function samples = forward(self, varargin)
            % FORWARD  What the scanner would measure.
            %   SAMPLES = mri.forward(IMAGE)
            samples = isocenter_mex('mri.forward', self.id, varargin{:});
        end

        function image = adjoint(self, varargin)
            % ADJOINT  The conjugate transpose of forward, unscaled.
            %   IMAGE = mri.adjoint(SAMPLES)
            %   adjoint, gridding and reconstruct take several scans, such as slices: samples x coils x scans, and images with scans last.
            image = isocenter_mex('mri.adjoint', self.id, varargin{:});
        end

        function image = gridding(self, varargin)
            % GRIDDING  The adjoint of samples times their density weights.
            %   IMAGE = mri.gridding(SAMPLES)
            image = isocenter_mex('mri.gridding', self.id, varargin{:});
        end

        function out = normal(self, varargin)
            % NORMAL  (F' W F + lambda R' R) IMAGE, which reconstruct inverts.
            %   OUT = mri.normal(IMAGE)
            out = isocenter_mex('mri.normal', self.id, varargin{:});
        end

        function image = reconstruct(self, varargin)
            % RECONSTRUCT  Solves (F' W F + lambda R' R) image = F' W samples by conjugate gradient.
            %   IMAGE = mri.reconstruct(SAMPLES)
            %   IMAGE = mri.reconstruct(SAMPLES, INITIAL)   begins with an image, instead of zeros
            %   IMAGE is of the class of SAMPLES, or of that of INITIAL, which may be another.
            image = isocenter_mex('mri.reconstruct', self.id, varargin{:});
        end

        function image = reconstructStream(self, varargin)
            % RECONSTRUCTSTREAM  The same as reconstruct of samples that do not fit memory: READ brings those of some shots at a time.
            %   IMAGE = mri.reconstructStream(READ), mri.reconstructStream(READ, ATONCE), (READ, ATONCE, CLASS) or (READ, ATONCE, CLASS, INITIAL)
            %   SAMPLES = READ(FIRST, COUNT)   returns samples FIRST to FIRST + COUNT - 1 of the trajectory, COUNT x coils, complex
            %   ATONCE is the number of samples that it is asked for at a time, of a readout or several; 0: 2^24 values, or an eighth of the
            %   memory cap. With frames it is asked for those of each frame. CLASS is that of the samples: 'single' (the default) or 'double'.
            image = isocenter_mex('mri.reconstruct_stream', self.id, varargin{:});
        end

        function image = griddingStream(self, varargin)
            % GRIDDINGSTREAM  The same as gridding of samples that READ brings, as for reconstructStream.
            %   IMAGE = mri.griddingStream(READ), mri.griddingStream(READ, ATONCE) or mri.griddingStream(READ, ATONCE, CLASS)
            image = isocenter_mex('mri.gridding_stream', self.id, varargin{:});
        end

        function [host, gpu] = streamMemory(self, varargin)
            % STREAMMEMORY  Most bytes of working memory that reconstructStream will take, and griddingStream no more.
            %   [HOST, GPU] = mri.streamMemory(), mri.streamMemory(ATONCE) or mri.streamMemory(ATONCE, CLASS), as for reconstructStream
            %   GPU is of the GPU that it computes on; 0 on the processor.
            [host, gpu] = isocenter_mex('mri.stream_memory', self.id, varargin{:});
        end

        function residuals = history(self, varargin)
            % HISTORY  |residual| / |right-hand side| of the last reconstruct: before the first iteration, and after each. With
            %   penalties 'wavelets', 'variation' and 'low_rank' |step| / |image|, after 1 for the start.
            %   mri.history(K) is that of image K where every coil has its own.
            residuals = isocenter_mex('mri.history', self.id, varargin{:});
        end

        function objectives = objective(self, varargin)
            % OBJECTIVE  What the last reconstruct with penalty 'wavelets', 'variation' or 'low_rank' made less: |F image - samples|^2 / 2 in the weights'
            %   norm + Lambda times the penalty, before the first iteration and after each.
            %   mri.objective(K) is that of image K where every coil has its own.
            objectives = isocenter_mex('mri.objective', self.id, varargin{:});
        end

        function gaps = gap(self, varargin)
            % GAP  How far each value of objective is above the minimum at most, by the highest lower bound so far. Of penalties 'wavelets' and
            %   'low_rank' whose grid stays: with FixedGrid, or with Algorithm 'primal_dual'; else empty.
            %   mri.gap(K) is that of image K where every coil has its own.
            gaps = isocenter_mex('mri.gap', self.id, varargin{:});
        end

        function computeQ(self, varargin)
            % COMPUTEQ  Makes Q of trajectory, weights and field, unless it is there; reconstruct does so by itself.
            isocenter_mex('mri.compute_q', self.id, varargin{:});
        end

        function [maps, image] = findMaps(self, varargin)
            % FINDMAPS  Coil sensitivities and the image together, from samples alone: for scans without calibration data.
            %   [MAPS, IMAGE] = mri.findMaps(SAMPLES, NAME, VALUE, ...)   MAPS for setMaps; the plan itself has none, and gets none
            %   Steps       Gauss-Newton steps (10); each halves the regularisation: more follow the samples, and their noise, more closely
            %   Iterations  most conjugate-gradient iterations of a step (100)
            %   Residual    |residual| / |right-hand side| that ends them (0.1), -1 for none
            %   Alpha       weight of the regularisation in the first step (1)
            %   Reduction   its factor from step to step (0.5)
            %   Scale, Order   a and b of the coils' norm (1 + a |k|^2)^(b/2), k in cycles per voxel (220 and 32)
            %   Squares of a voxel's maps add up to 1, and fade away from the object; IMAGE times MAPS explains the samples, and history has how
            %   far they are from them.
            [maps, image] = isocenter_mex('mri.find_maps', self.id, varargin{:});
        end

        function bytes = mapsMemory(self, varargin)
            % MAPSMEMORY  Most bytes of working memory that findMaps will take.
            %   BYTES = mri.mapsMemory(NAME, VALUE, ...)
            %   Options, as for findMaps: Steps, Iterations, Residual, Alpha, Reduction, Scale, Order
            bytes = isocenter_mex('mri.maps_memory', self.id, varargin{:});
        end

        function delays = findDelays(self, varargin)
            % FINDDELAYS  Delays between gradients and samples, from a scan whose readouts cross in the middle of k-space: spokes, spirals.
            %   DELAYS = mri.findDelays(SAMPLES, 'Readout', N, NAME, VALUE, ...)
            %   Readout  samples of a readout (a spoke, an interleaf), of which all have as many (required)
            %   Range    largest delay that is looked for, in samples (5)
            %   Voxel    edges of a voxel, [x y] or [x y z], where they differ: mixed delays need them ([1 1 1])
            %   DELAYS has Xx, Yy and Zz in samples, of the gradients along x, y and z, positive where they come late; Xy, Xz and Yz, mixed
            %   ones, of axes that are turned against the gradients'; XxError and so on, their standard errors; Confidence, 0 to 1, the part of
            %   the samples' energy in the middle of k-space that one image explains; and Axes, along which readouts move.
            %   Nothing in the plan changes; where delays cannot be told the error says why.
            delays = isocenter_mex('mri.find_delays', self.id, varargin{:});
        end

        function trajectory = delayedTrajectory(self, varargin)
            % DELAYEDTRAJECTORY  The plan's trajectory as it is with delays, in its own unit, for setGeometry: double, axes x samples.
            %   TRAJECTORY = mri.delayedTrajectory(DELAYS, 'Readout', N, NAME, VALUE, ...)
            %   DELAYS   what findDelays gives, or [x y] or [x y z] in samples
            %   Options as for findDelays. Samples beyond the unit's range are refused by setGeometry: leave them out, or clip them and give them
            %   a weight of 0 (setWeights).
            trajectory = isocenter_mex('mri.delayed_trajectory', self.id, varargin{:});
        end

        function q = exportQ(self, varargin)
            % EXPORTQ  Q, real: see conventions.md, in docs of the source or share/doc/isocenter/pages of an installed folder.
            %   Q = mri.exportQ()   not with a field
            q = isocenter_mex('mri.export_q', self.id, varargin{:});
        end

        function importQ(self, varargin)
            % IMPORTQ  Takes the Q of a plan with the same grid, trajectory and weights.
            %   mri.importQ(Q)
            isocenter_mex('mri.import_q', self.id, varargin{:});
        end

        function s = info(self, varargin)
            % INFO  What the plan found and decided, as a struct.
            s = isocenter_mex('mri.info', self.id, varargin{:});
        end

        function bytes = memory(self, varargin)
            % MEMORY  Most bytes of working memory that reconstruct will take.
            bytes = isocenter_mex('mri.memory', self.id, varargin{:});
        end

        function samples = phantomSamples(self, varargin)
            % PHANTOMSAMPLES  What one coil measures of ellipsoids: their Fourier transform, exact.
            %   SAMPLES = mri.phantomSamples(ELLIPSOIDS); see sheppLogan.
            samples = isocenter_mex('mri.phantom_samples', self.id, varargin{:});
        end

        function image = phantomImage(self, varargin)
            % PHANTOMIMAGE  The mean of ellipsoids over each voxel.
            %   IMAGE = mri.phantomImage(ELLIPSOIDS); see sheppLogan.
            image = isocenter_mex('mri.phantom_image', self.id, varargin{:});
        end

        function [psnr, percent] = compare(self, varargin)
            % COMPARE  Peak signal-to-noise ratio in dB, and root mean square error in percent of the truth's.
            %   [PSNR, PERCENT] = mri.compare(IMAGE, TRUTH)
            [psnr, percent] = isocenter_mex('mri.compare', self.id, varargin{:});
        end
    end
    methods (Static)
        function ellipsoids = sheppLogan(varargin)
            % SHEPPLOGAN  Ellipsoids of a Shepp-Logan head that is 2 HALF voxels wide and high.
            %   ELLIPSOIDS = isocenter.MRI.sheppLogan('modified' or 'original', HALF)           for a plane
            %   ELLIPSOIDS = isocenter.MRI.sheppLogan('modified' or 'original', HALF, HALF_Z)   for a volume
            %   A struct array of Value, X, Y, Z, SemiX, SemiY, SemiZ in voxels from position 0, and Angle about z in radians.
            ellipsoids = isocenter_mex('mri.shepp_logan', varargin{:});
        end
    end
end

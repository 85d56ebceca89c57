function ct_measured(file)
% CT_MEASURED  Reconstructs a sinogram of a full turn and writes isocenter_ct_measured.png to the current folder.
%   CT_MEASURED(FILE) reads an image of raw counts, views x bins, whose first and last view are a full turn apart. Air beside the
%   object is the flat field; the axis is where opposite views mirror each other.
    addpath(fullfile(fileparts(mfilename('fullpath')), '..'));
    counts = single(imread(file)).';                    % bins x views
    [bins, views] = size(counts);
    % Bins that stand out from their neighbours are defects of the detector, and would make streaks.
    neighbours = median(cat(3, counts([3:end 1:2], :), counts([2:end 1], :), counts, counts([end 1:end - 1], :), ...
                            counts([end - 1 end 1:end - 2], :)), 3);
    defect = abs(counts - neighbours) > 0.05 * neighbours;
    counts(defect) = neighbours(defect);
    air = max(mean(counts(1:10, :)), mean(counts(end - 9:end, :)));
    lines = -log(max(counts, 1) ./ air);
    angles = linspace(0, 2 * pi, views);

    % a(j) is b(sum - j): the peak of their convolution is at twice the axis, to half a bin.
    half = floor((views - 1) / 2);
    a = fft(lines(:, 1:half), 2 * bins);
    b = fft(lines(:, half + 1:2 * half), 2 * bins);
    correlation = sum(real(ifft(a .* b)), 2);
    [~, peak] = max(correlation);
    axis_bin = (peak + 1) / 2;                          % counted from 1
    fprintf('%d views of %d bins, axis at bin %.1f\n', views, bins, axis_bin);

    ct = isocenter.CT('Angles', angles, 'Bins', bins, 'Axis', axis_bin);
    ct.setOptions('Filter', 'hann', 'Padding', 'edge');
    slice = ct.reconstruct(lines);
    wrong = isocenter.CT('Angles', angles, 'Bins', bins);
    wrong.setOptions('Filter', 'hann', 'Padding', 'edge');
    sorted = sort(slice(:));
    disp('from left to right: the axis that was found; the middle of the detector');
    save_picture('isocenter_ct_measured.png', {slice, wrong.reconstruct(lines)}, [0 0.5 * sorted(round(0.998 * end))]); % one part is far denser
end

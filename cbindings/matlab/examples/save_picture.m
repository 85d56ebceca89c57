function save_picture(file, panels, range)
% SAVE_PICTURE  Writes images side by side to a PNG file, grey from RANGE(1) to RANGE(2); it needs no display.
%   Panels are nx x ny: x goes to the right and y downwards, so each is transposed.
    grey = cell(1, 2 * numel(panels) - 1);
    for k = 1:numel(panels)
        scaled = (double(panels{k}).' - range(1)) / (range(2) - range(1));
        grey{2 * k - 1} = uint8(255 * min(max(scaled, 0), 1));
        if k > 1, grey{2 * k - 2} = 255 * ones(size(scaled, 1), 8, 'uint8'); end
    end
    imwrite([grey{:}], file);
    fprintf('picture: %s\n', fullfile(pwd, file));
end

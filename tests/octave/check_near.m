function check_near(name, got, expected, tolerance)
% All elements within `tolerance` of the expected ones, relative to the largest of these.
    expected = double(expected); got = double(got);
    if ~isequal(size(got), size(expected)) && ~isscalar(expected)
        check_true(sprintf('%s: size %s, expected %s', name, mat2str(size(got)), mat2str(size(expected))), false);
        return
    end
    off = max(abs(got(:) - expected(:))) / max(abs(expected(:)));
    check_true(sprintf('%s: off by %.2g, at most %.2g', name, off, tolerance), off <= tolerance);
end

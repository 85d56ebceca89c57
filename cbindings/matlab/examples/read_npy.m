function values = read_npy(file)
% READ_NPY  An array of a NumPy file, its sizes in reverse: NumPy's last dimension is MATLAB's first, and nothing is permuted.
%   float32, float64, complex64 and complex128, in C order.
    from = fopen(file, 'r', 'l');
    if from < 0, error('cannot read %s', file); end
    closing = onCleanup(@() fclose(from));
    magic = fread(from, 8, 'uint8=>uint8').';
    if ~isequal(magic(1:6), uint8([147, double('NUMPY')])), error('%s is no NumPy file', file); end
    if magic(7) == 1, bytes = fread(from, 1, 'uint16'); else, bytes = fread(from, 1, 'uint32'); end
    header = fread(from, bytes, 'uint8=>char').';
    if ~isempty(strfind(header, 'True')), error('%s is in Fortran order', file); end
    type = regexp(header, '''descr'': ''<([fc]\d+)''', 'tokens', 'once');
    sizes = regexp(header, '\(([\d, ]*)\)', 'tokens', 'once');
    sizes = fliplr(sscanf(strrep(sizes{1}, ',', ' '), '%d').');
    known = struct('f4', 'single', 'f8', 'double', 'c8', 'single', 'c16', 'double');
    if isempty(type) || ~isfield(known, type{1}), error('%s has elements of another type', file); end
    values = fread(from, Inf, [known.(type{1}) '=>' known.(type{1})]);
    if type{1}(1) == 'c', values = complex(values(1:2:end), values(2:2:end)); end
    values = reshape(values, [sizes 1]);
end

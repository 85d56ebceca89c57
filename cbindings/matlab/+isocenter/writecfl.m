function writecfl(name, data)
% WRITECFL  Writes an array as BART's files.
%
%   isocenter.writecfl(NAME, DATA)
%
%   NAME: of NAME.hdr and NAME.cfl, without the endings. DATA: numbers, of 16 dimensions at most, written as complex single.
%
%   See also isocenter.readcfl.
    if ~(isnumeric(data) || islogical(data)) || isempty(data) || ndims(data) > 16
        error('isocenter:cfl', 'DATA is %s of class %s; it must be numbers, of 1 to 16 dimensions', mat2str(size(data)), class(data));
    end
    values = single(data(:).');
    if ~isequal(isfinite(values), isfinite(data(:).'))
        error('isocenter:cfl', 'DATA has numbers beyond 3.4e38, which single does not hold');
    end
    sizes = ones(1, 16);
    sizes(1:ndims(data)) = size(data);
    library = isocenter.version();
    put([name '.cfl'], [real(values); imag(values)], 'single');
    put([name '.hdr'], sprintf('# Dimensions\n%s\n# Creator\nIsocenter %s\n', strtrim(sprintf('%d ', sizes)), library.Version), 'char');
end

function put(file, data, kind)
    handle = fopen(file, 'w', 'ieee-le');
    if handle < 0 || fwrite(handle, data, kind) ~= numel(data) || fclose(handle) ~= 0
        error('isocenter:cfl', '%s cannot be written', file);
    end
end

% BART's files: what is written is read, and mistakes.
function test_cfl()
    name = tempname();
    clean = onCleanup(@() cellfun(@delete, {[name '.cfl'], [name '.hdr']}));
    rand('seed', 3);
    for sizes = {[1 1], [5 1], [1 7], [2 3 4], [2 3 1 1 1 2], [ones(1, 15) 3]}
        data = complex(single(rand(sizes{1})), single(rand(sizes{1})));
        isocenter.writecfl(name, data);
        found = isocenter.readcfl(name);
        check_true(['as written: ' mat2str(sizes{1})], isequal(found, data) && isequal(size(found), size(data)) && isa(found, 'single'));
    end
    isocenter.writecfl(name, [1 2 3; 4 5 6]);
    check_true('x first', isequal(numbers([name '.cfl']), single([1 0 4 0 2 0 5 0 3 0 6 0]')));
    check_true('the header', strncmp(text([name '.hdr']), sprintf('# Dimensions\n2 3 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n# Creator\n'), 54));
    put([name '.hdr'], sprintf('# Command\nx\n# Dimensions\r\n3 2 \r\n1\n# Creator\nBART v0.8.00\n'));
    check_true('as BART writes', isequal(size(isocenter.readcfl(name)), [3 2]));
    for mistake = {'', 'sections'; sprintf('# Dimensions\n2 x\n'), 'dimension 1 is ''x'''; sprintf('# Dimensions\n-0\n'), 'dimension 0 is ''-0'''; sprintf('# Dimensions\n2 nan\n'), '''nan'''; ...
            sprintf('# Dimensions\n\n'), 'dimension 0 is '''''; sprintf('# Dimensions\n%s 2\n', strtrim(repmat('1 ', 1, 16))), 'only 16'; sprintf('# Dimensions\n99999999 99999999\n'), 'more bytes'; ...
            sprintf('# Dimensions\n6\n# Data\nelsewhere\n'), 'elsewhere'; sprintf('# Dimensions\n7\n'), 'has 48 bytes; 7 complex numbers'; sprintf('# Dimensions\n5\n'), 'do not belong together'}'
        put([name '.hdr'], mistake{1});
        fails(@() isocenter.readcfl(name), mistake{2});
    end
    fails(@() isocenter.readcfl([name 'x']), 'cannot be opened');
    fails(@() isocenter.writecfl(name, 'text'), 'it must be numbers');
    fails(@() isocenter.writecfl(name, []), 'it must be numbers');
    fails(@() isocenter.writecfl(name, 1e39), 'beyond 3.4e38');
end

function fails(call, said)
    try
        call();
        found = 'nothing';
    catch e
        found = e.message;
    end
    check_true(['says "' said '": ' found], ~isempty(strfind(found, said)));
end

function data = numbers(file)
    handle = fopen(file, 'r', 'ieee-le'); data = fread(handle, Inf, 'single=>single'); fclose(handle);
end

function data = text(file)
    handle = fopen(file); data = fread(handle, Inf, '*char')'; fclose(handle);
end

function put(file, data)
    handle = fopen(file, 'w'); fwrite(handle, data); fclose(handle);
end

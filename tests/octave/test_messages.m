% Messages of the library, whichever call they come from, in MATLAB's words: words that are quoted are those that are taken.
function test_messages()
    becomes('set options.input to 1 (counts), 2 (transmission) or 3 (line_integrals)', ...
            'set Input to ''counts'', ''transmission'' or ''line_integrals''');
    becomes('options.filter is 8 (custom)', 'Filter is ''custom''');
    becomes('parameter, the samples of a spoke, is 3; it must divide 8', 'READOUT, the samples of a spoke, is 3; it must divide 8');
    becomes('options.input says what they are: 1 (counts, with a flat field), 2 (transmission), 3 (line_integrals)', ...
            'Input says what they are: ''counts'' (with a flat field), ''transmission'', ''line_integrals''');
    becomes('events are tilted beyond max_tilt: positions are x, y, z', 'events are tilted beyond MaxTilt: positions are x, y, z');
    becomes('options.subsets is 3, and is not used: options.algorithm is 0 (ramla), not 1 (osem)', ...
            'Subsets is 3, and is not used: Algorithm is ''ramla'', not ''osem''');
    ct = isocenter.CT('Angles', [0 1], 'Bins', 8);
    said = in_matlab_mex('1 (counts), 2 (transmission) or 3 (line_integrals)');
    found = regexp(said, '''(\w+)''', 'tokens');
    check_true(['three words: ' said], numel(found) == 3);
    for word = found, ct.setOptions('Input', word{1}{1}); end
end

function becomes(text, expected)
    said = in_matlab_mex(text);
    check_true(sprintf('"%s", expected "%s"', said, expected), strcmp(said, expected));
end

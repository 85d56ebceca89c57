% Examples of the help texts, code of docs/matlab.md and docs/iterative.md, and the example scripts: they run, and the scripts' pictures show something.
function test_examples()
    project = fullfile(fileparts(mfilename('fullpath')), '..', '..');
    for name = {'Context', 'CT', 'MRI', 'PET'}
        help_text = get_help_text(['isocenter.' name{1}]);
        found = regexp(help_text, 'Example:\n(.*?)(\n *\n|\n *See also|$)', 'tokens', 'once');
        check_true(['help of ' name{1} ' has an example'], ~isempty(found));
        run_code(found{1});
    end
    help_text = get_help_text('isocenter.MRI.setGeometry');
    check_true('the default precision is in the help', ~isempty(strfind(help_text, '''single'' (the default) or ''double''')));
    page = fileread(fullfile(project, 'docs', 'matlab.md'));
    for text = {get_help_text('isocenter.MRI'), regexp(page, '## MRI.*?## PET', 'match', 'once')}
        shown = regexp(text{1}, 'imagesc[^\n]*', 'match');
        upwards = regexp(text{1}, 'imagesc[^\n]*axis image xy', 'match');
        check_true('y of MRI is upwards in every picture', ~isempty(shown) && numel(shown) == numel(upwards));
    end
    blocks = regexp(page, '```matlab\n(.*?)```', 'tokens');
    check_true('code in docs/matlab.md', numel(blocks) >= 4);
    printed = run_code(strjoin(cellfun(@(block) block{1}, blocks, 'UniformOutput', false), ''));
    message = strtrim(regexp(page, '^    MRI\.gridding: .*$', 'match', 'once', 'lineanchors', 'dotexceptnewline'));
    check_true(['docs/matlab.md has the message that is printed: ' printed], ~isempty(message) && ~isempty(strfind(printed, message)));
    blocks = regexp(fileread(fullfile(project, 'docs', 'iterative.md')), '```matlab\n(.*?)```', 'tokens');
    check_true('code in docs/iterative.md', numel(blocks) == 1);
    run_code(blocks{1}{1});
    examples = fullfile(project, 'cbindings', 'matlab', 'examples');
    for name = {'ct', 'mri', 'pet'}
        picture(['isocenter_' name{1} '.png'], @() run_script(fullfile(examples, [name{1} '.m'])));
    end
    data = fullfile(project, '..', 'shared', 'data');
    measured(fullfile(data, 'ct', 'sinogram_360_neutron.tif'), 'isocenter_ct_measured.png', @ct_measured);
    measured(fullfile(data, 'mri', 'spiral3d_brain_4coil'), 'isocenter_mri_measured.png', @mri_measured);
    measured(fullfile(data, 'mri', 'radial_brain_32coil'), 'isocenter_mri_measured.png', @mri_measured);
end

function picture(file, make)
    if exist(file, 'file'), delete(file); end
    evalc('make()');
    grey = double(imread(file));
    check_true([file ' shows something'], std(grey(:)) > 20 && mean(grey(:)) > 10 && mean(grey(:)) < 200);
end

function measured(data, file, example)
    if exist(data, 'file')
        picture(file, @() example(data));
    else
        fprintf('skipped: %s (no such file)\n', data);
    end
end

% In a workspace of its own; pictures need a display.
function printed = run_code(code)
    code = regexprep(code, '[^\n]*(imagesc|imshow)[^\n]*', '');
    printed = evalc(code);
end

function run_script(file)
    source(file);
end

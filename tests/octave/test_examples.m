% Examples of the help texts, code of docs/matlab.md, and the example scripts: they run, and the scripts' pictures show something.
function test_examples()
    project = fullfile(fileparts(mfilename('fullpath')), '..', '..');
    for name = {'Context', 'CT', 'MRI', 'PET'}
        help_text = get_help_text(['isocenter.' name{1}]);
        found = regexp(help_text, 'Example:\n(.*?)(\n *\n|\n *See also|$)', 'tokens', 'once');
        check_true(['help of ' name{1} ' has an example'], ~isempty(found));
        run_code(found{1});
    end
    page = fileread(fullfile(project, 'docs', 'matlab.md'));
    blocks = regexp(page, '```matlab\n(.*?)```', 'tokens');
    check_true('code in docs/matlab.md', numel(blocks) >= 4);
    run_code(strjoin(cellfun(@(block) block{1}, blocks, 'UniformOutput', false), ''));
    for name = {'ct', 'mri', 'pet'}
        file = ['isocenter_' name{1} '.png'];
        if exist(file, 'file'), delete(file); end
        run_script(fullfile(project, 'cbindings', 'matlab', 'examples', [name{1} '.m']));
        grey = double(imread(file));
        check_true([file ' shows something'], std(grey(:)) > 20 && mean(grey(:)) > 20 && mean(grey(:)) < 200);
    end
end

% In a workspace of its own; pictures need a display.
function run_code(code)
    code = regexprep(code, '[^\n]*(imagesc|imshow)[^\n]*', '');
    evalc(code);
end

function run_script(file)
    evalc('source(file)');
end

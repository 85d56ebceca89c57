function show(self, area, name)
% SHOW  What the classes' disp does: one line of facts, which calculates nothing.
    if numel(self) ~= 1
        fprintf('  %s isocenter.%s\n', strjoin(cellfun(@num2str, num2cell(size(self)), 'UniformOutput', false), ' x '), name);
        return
    end
    facts = 'no geometry';
    if self.id ~= 0
        try
            facts = isocenter_mex([area '.describe'], self.id);
        catch failure
            facts = 'has been freed';
            if isempty(strfind(failure.identifier, 'invalidHandle')), facts = failure.message; end
        end
    end
    fprintf('  isocenter.%s: %s\n', name, facts);
end

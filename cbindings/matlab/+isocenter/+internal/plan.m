function id = plan(area, id)
% PLAN  The number of an object's plan, which is made if there is none yet.
    if id == 0, id = isocenter_mex([area '.create'], uint64(0)); end
end

classdef Context < handle
% CONTEXT  Where plans compute, how much memory they take, what they report.
%
%   C = isocenter.Context(NAME, VALUE, ...) or isocenter.Context(STRUCT)
%
%   Plans that are made without a context share one of default options.
%
%   Device        'auto' (the default: NVIDIA GPUs if there are any, else the processor), 'cpu' or 'gpu'
%   Gpus          with 'gpu': indices as the driver counts, from 0; all by default
%   Threads       one for each processor by default
%   MemoryCap     most bytes of working memory; by default seven eighths of what is available when a call begins
%   GpuMemoryCap  the same on each GPU; nine tenths of what is free by default
%   NanPolicy     'error' (the default), or 'replace': NaN and Inf in data count as 0, and info of a plan tells how many there were
%   Progress      'none' (the default); 'console'; or a function: STOP = F(FRACTION, STAGE) is called some twenty times a second.
%                 Logical true stops the call; numbers do not, so that functions that return handles may be used
%   Log           true prints what the library decides, and what iterations have come to (false). Its warnings are MATLAB's, 'isocenter:log'
%
%   Ctrl-C stops any calculation, whatever Progress is.
%
%   Example:
%     c = isocenter.Context('Device', 'cpu', 'Progress', 'console');
%     ct = isocenter.CT(c, 'Angles', (0:179) * pi / 180, 'Bins', 256);

    properties (SetAccess = private, Hidden, Transient)
        id = uint64(0);
    end
    methods
        function self = Context(varargin)
            self.id = isocenter_mex('context.create', varargin{:});
        end

        function delete(self)
            % DELETE  Free it. Plans that were made with it keep what they need.
            isocenter.internal.free('context', self.id);
        end

        function disp(self)
            % DISP  Where it computes.
            isocenter.internal.show(self, 'context', 'Context');
        end
    end
end

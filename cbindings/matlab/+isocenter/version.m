function v = version()
% VERSION  Version, Abi and BuildInfo of the library that is loaded.
    v = isocenter_mex('context.version');
end

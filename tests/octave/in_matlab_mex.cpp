// in_matlab_mex(TEXT): a message of the library as the gateway words it, whichever call it would come from.
#include "../../cbindings/matlab/src/errors.cpp"

size_t array_dimensions(const std::string &) { return 0; }
std::string setting_of(const std::string &) { return ""; }
bool report_interrupted() { return false; }
void report_finish() {}

void mexFunction(int, mxArray *results[], int count, const mxArray *arguments[]) {
    if (count != 1 || !mxIsChar(arguments[0])) mexErrMsgTxt("in_matlab_mex takes one text");
    char *text = mxArrayToString(arguments[0]);
    results[0] = mxCreateString(in_matlab(text).c_str());
    mxFree(text);
}

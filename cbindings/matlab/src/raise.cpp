// Octave's own errors and warnings: mexErrMsgIdAndTxt and mexWarnMsgIdAndTxt put "isocenter_mex: " before a message. A file of its own,
// since Octave's headers and mex.h do not go together.
#if defined(ISOCENTER_OCTAVE)
#include <octave/oct.h>

void octave_raise(const char *identifier, const char *text) { error_with_id(identifier, "%s", text); }

void octave_warn(const char *identifier, const char *text) { warning_with_id(identifier, "%s", text); }
#endif

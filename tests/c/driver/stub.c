/* A driver in name only, for what the library must say about drivers that do not serve. VERSION and INIT are set when it is
 * compiled. */
int cuDriverGetVersion(int *version) {
    *version = VERSION;
    return 0;
}

int cuInit(unsigned flags) {
    (void)flags;
    return INIT;
}

int cuDeviceGetCount(int *count) {
    *count = 0;
    return 0;
}

int cuGetErrorName(int error, const char **text) {
    (void)error;
    *text = "CUDA_ERROR_OF_THE_STUB";
    return 0;
}

int cuGetErrorString(int error, const char **text) {
    (void)error;
    *text = "what the stub says";
    return 0;
}

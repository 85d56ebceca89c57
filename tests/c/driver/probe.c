/* Prints the status and the message of asking for a GPU, then whether the automatic choice works. */
#include <isocenter.h>
#include <stdio.h>

int main(void) {
    isoc_context_options options = { 0 };
    isoc_context *ctx = NULL;
    options.struct_size = sizeof options;
    options.device = ISOC_CONTEXT_DEVICE_GPU;
    isoc_status status = isoc_context_create(&options, &ctx);
    printf("%d: %s\n", status, status ? isoc_last_error() : "");
    options.device = ISOC_CONTEXT_DEVICE_AUTO;
    status = isoc_context_create(&options, &ctx);
    printf("auto %d\n", status);
    return isoc_context_destroy(ctx);
}

/* Loads the DLL at run time from the path that is its argument, of any letters, and lets it go while its threads run and a context is not destroyed:
 * they must not lose their code. Then a DLL beside it that holds a context, whose threads must not keep it from going. */
#include "../c/system.h"

#include <isocenter.h>
#include <wchar.h>

/* Of the plugin. */
int reconstructs(void);

/* A pointer `into` to a function of a DLL, of the type that it is declared with. */
#define FIND(dll, function, into)                          \
    __typeof__(function) *into;                            \
    do {                                                   \
        FARPROC found = GetProcAddress(dll, #function);    \
        if (!found)                                        \
            return complain("no " #function);              \
        memcpy(&into, &found, sizeof into);                \
    } while (0)

static int complain(const char *what) {
    printf("FAIL  %s (error %lu)\n", what, (unsigned long)GetLastError());
    return 1;
}

static void too_late(int signal_number) {
    printf("FAIL  it does not end (%d)\n", signal_number);
    _exit(1);
}

int wmain(int count, wchar_t **arguments) {
    setvbuf(stdout, NULL, _IONBF, 0);
    watch_over(too_late, 60);
    if (count != 3)
        return complain("usage: load LIBRARY PLUGIN");
    HMODULE library = LoadLibraryW(arguments[1]);
    if (!library)
        return complain("LoadLibraryW");
    FIND(library, isoc_version, version);
    FIND(library, isoc_abi_version, abi);
    FIND(library, isoc_context_create, create);
    isoc_context *ctx = NULL;
    if (abi() != ISOC_ABI_VERSION)
        return complain("isoc_abi_version");
    if (create(NULL, &ctx))
        return complain("isoc_context_create");
    printf("isocenter %s, ABI %u\n", version(), abi());
    if (!FreeLibrary(library) || threads_named("isocenter") < 1)
        return complain("FreeLibrary, or no threads");
    sleep_ms(50);
    if (!*version() || threads_named("isocenter") < 1)
        return complain("the library is gone while its threads run");

    HMODULE plugin = LoadLibraryW(arguments[2]);
    if (!plugin)
        return complain("the plugin does not load");
    FIND(plugin, reconstructs, works);
    if (!works())
        return complain("the plugin reconstructs nothing");
    if (!FreeLibrary(plugin) || GetModuleHandleW(L"plugin.dll"))
        return complain("the plugin does not go");
    puts("1 passed, 0 failed");
    return 0;
}

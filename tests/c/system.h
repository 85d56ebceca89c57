/* What the tests ask of the system beside C: POSIX's words, and Windows' for the same. C11 and C++17. */
#ifndef SYSTEM_H
#define SYSTEM_H

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, setenv, threads */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef _WIN32

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <psapi.h>
#include <tlhelp32.h>

#undef IN /* words of 16-bit days */
#undef OUT
#undef far
#undef near

typedef void (*on_crash)(int signal_number);

static on_crash when_late;

static DWORD WINAPI late(void *seconds) {
    Sleep(1000 * (DWORD)(uintptr_t)seconds);
    when_late(SIGABRT);
    return 0;
}

static inline void watch_over(on_crash crashed, unsigned seconds) {
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    when_late = crashed;
    CloseHandle(CreateThread(NULL, 0, late, (void *)(uintptr_t)seconds, 0, NULL));
}

static inline void set_variable(const char *name, const char *value) { _putenv_s(name, value ? value : ""); }

static inline void sleep_ms(unsigned ms) { Sleep(ms); }

/* Bytes that the process has in memory. */
static inline long resident(void) {
    PROCESS_MEMORY_COUNTERS counters;
    memset(&counters, 0, sizeof counters);
    return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters) ? (long)counters.WorkingSetSize : 0;
}

/* Whether the system promises so much memory. */
static inline int promises(size_t bytes) {
    void *memory = VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (memory)
        VirtualFree(memory, 0, MEM_RELEASE);
    return memory != NULL;
}

/* Threads of this process whose names begin with a word. */
static inline int threads_named(const char *word) {
    /* Of Windows 10: by its address, since not every import library has it. */
    typedef HRESULT(WINAPI * get_description)(HANDLE, PWSTR *);
    FARPROC found = GetProcAddress(GetModuleHandleA("kernelbase.dll"), "GetThreadDescription");
    get_description describe;
    memcpy(&describe, &found, sizeof describe);
    int count = 0;
    HANDLE list = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    THREADENTRY32 entry;
    entry.dwSize = sizeof entry;
    for (int more = describe && Thread32First(list, &entry); more; more = Thread32Next(list, &entry)) {
        HANDLE thread = entry.th32OwnerProcessID == GetCurrentProcessId() ?
            OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, entry.th32ThreadID) : NULL;
        PWSTR name = NULL;
        if (!thread)
            continue;
        if (SUCCEEDED(describe(thread, &name)) && name) {
            size_t k = 0;
            while (word[k] && name[k] == (wchar_t)word[k])
                k++;
            count += !word[k];
            LocalFree(name);
        }
        CloseHandle(thread);
    }
    CloseHandle(list);
    return count;
}

#else

#include <dirent.h>
#include <sys/mman.h>

typedef void (*on_crash)(int signal_number);

static inline void watch_over(on_crash crashed, unsigned seconds) {
    const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGALRM };
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        signal(signals[k], crashed);
    alarm(seconds);
}

static inline void set_variable(const char *name, const char *value) { value ? setenv(name, value, 1) : unsetenv(name); }

static inline void sleep_ms(unsigned ms) {
    struct timespec pause = { ms / 1000, (long)(ms % 1000) * 1000 * 1000 };
    nanosleep(&pause, NULL);
}

/* Bytes that the process has in memory. */
static inline long resident(void) {
    long total = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Whether the system promises so much memory. */
static inline int promises(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    return memory != MAP_FAILED;
}

/* Threads of this process whose names begin with a word. */
static inline int threads_named(const char *word) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], name[20] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        count += fgets(name, sizeof name, file) && strncmp(name, word, strlen(word)) == 0;
        fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return count;
}

#endif

#endif

/* python.exe, for a folder that has Python's DLL, whose name PYTHON is. */
#include <windows.h>

int wmain(int count, wchar_t **words) {
    HMODULE python = LoadLibraryW(L"" PYTHON);
    int (*run)(int, wchar_t **) = python ? (int (*)(int, wchar_t **))(void *)GetProcAddress(python, "Py_Main") : NULL;
    return run ? run(count, words) : 1;
}

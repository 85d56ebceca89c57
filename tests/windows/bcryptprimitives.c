/* Random bytes, which Rust's standard library takes from bcryptprimitives.dll: every Windows 10 has it, Wine 8.0 has not. For tests under such a
 * Wine alone. */
#include <windows.h>

#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return RtlGenRandom(data, (ULONG)length); }

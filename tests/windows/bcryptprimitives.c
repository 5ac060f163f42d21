// The function of Windows's bcryptprimitives.dll that Rust's standard library calls, for Wine 8,
// which lacks that library: random bytes, from the system's generator.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG count);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    while (count > 0) {
        ULONG part = count < 0x10000 ? (ULONG)count : 0x10000;
        if (!SystemFunction036(bytes, part)) return FALSE;
        bytes += part;
        count -= part;
    }
    return TRUE;
}

/* ThreadSanitizer sees a lock of Swift's Mutex where it is taken and given back by code that is compiled into ours:
 * where no thread waits. Where one does, the kernel hands it over (futex(2), FUTEX_LOCK_PI) within
 * libswiftSynchronization, which is not built with the sanitizer, so that it does not know that the second thread came
 * after the first. scripts/sanitize links this into what it builds: it tells it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

#define MUTEX "$s15Synchronization12_MutexHandleV"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

static void *real(char const *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(MUTEX "9_lockSlowyys6UInt32VF");
SWIFT void lock_slow(uint32_t thread, SELF) {
    SWIFT void (*next)(uint32_t, SELF) = real(MUTEX "9_lockSlowyys6UInt32VF");
    next(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT bool try_lock_slow(SELF) __asm__(MUTEX "12_tryLockSlowSbyF");
SWIFT bool try_lock_slow(SELF) {
    SWIFT bool (*next)(SELF) = real(MUTEX "12_tryLockSlowSbyF");
    bool taken = next(mutex);
    if (taken) __tsan_acquire(mutex);
    return taken;
}

SWIFT void unlock_slow(SELF) __asm__(MUTEX "11_unlockSlowyyF");
SWIFT void unlock_slow(SELF) {
    SWIFT void (*next)(SELF) = real(MUTEX "11_unlockSlowyyF");
    __tsan_release(mutex);
    next(mutex);
}

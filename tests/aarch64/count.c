// A plugin of QEMU that prints the number of instructions that a program executed. Its header is
// part of QEMU's sources only, so that what it uses of the interface is declared here.
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*f)(uint64_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, int add, void *to, uint64_t what);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*f)(uint64_t, void *), void *);

EXPORT int qemu_plugin_version = 1;
static uint64_t count;

static void translated(uint64_t id, struct qemu_plugin_tb *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &count, qemu_plugin_tb_n_insns(block));
}

static void finished(uint64_t id, void *data) {
    (void)id, (void)data;
    fprintf(stderr, "%" PRIu64 "\n", count);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}

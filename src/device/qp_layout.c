/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds members of the kernel's structures by its BTF (Documentation/bpf/btf.rst of Linux). */
#include "config.h"
#include "qp_program.h"
#include <errno.h>
#include <string.h>

#ifdef HAVE_LIBBPF
#include "sysfs.h"
#include <bpf/btf.h>
#include <limits.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define MODULE_BTF "/sys/kernel/btf/ib_core"
#define MODULE	   "/sys/module/ib_core"

static const char text_enum[] = "rdma_restrack_type", text_qp[] = "RDMA_RESTRACK_QP";

static const struct member {
	const char *of, *name;
	uint32_t size;	     /* that the programs read */
	const char *or_name; /* as older kernels call it */
	size_t to;	     /* in struct qp_layout */
} members[] = {
	{"rdma_restrack_entry", "type", 4, NULL, offsetof(struct qp_layout, res_type)},
	{"rdma_restrack_entry", "user", 1, NULL, offsetof(struct qp_layout, res_user)},
	{"ib_qp", "res", 0, NULL, offsetof(struct qp_layout, qp_res)},
	{"ib_qp", "qp_num", 4, NULL, offsetof(struct qp_layout, qp_num)},
	{"ib_qp", "port", 4, NULL, offsetof(struct qp_layout, qp_port)},
	{"ib_qp", "device", 8, NULL, offsetof(struct qp_layout, qp_device)},
	{"ib_qp_attr", "dest_qp_num", 4, NULL, offsetof(struct qp_layout, attr_dest)},
	{"ib_device", "name", 64, NULL, offsetof(struct qp_layout, device_name)},
	{"task_struct", "group_leader", 8, NULL, offsetof(struct qp_layout, task_leader)},
	{"task_struct", "start_boottime", 8, "real_start_time",
		offsetof(struct qp_layout, task_start)},
	{"task_struct", "comm", 16, NULL, offsetof(struct qp_layout, task_comm)},
};

/* Offset of a member in bytes, also within unnamed members; -1: there is none of this size. */
static int64_t find(const struct btf *btf, uint32_t id, const char *name, uint32_t size)
{
	const struct btf_type *t = btf__type_by_id(btf, id);
	const struct btf_member *m;

	if (!t || !btf_is_composite(t))
		return -1;
	m = btf_members(t);
	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const char *is = btf__name_by_offset(btf, m[i].name_off);
		uint32_t bits = btf_member_bit_offset(t, i);
		int64_t inner = -1;

		if (is && !strcmp(is, name)) {
			if (btf_member_bitfield_size(t, i) || bits % 8 ||
				(size && btf__resolve_size(btf, m[i].type) != size))
				return -1;
			return bits / 8;
		}
		if (is && !*is)
			inner = find(btf, m[i].type, name, size);
		if (inner >= 0)
			return bits / 8 + inner;
	}
	return -1;
}

static int64_t find_member(const struct btf *btf, const struct member *m)
{
	int32_t id = btf__find_by_name_kind(btf, m->of, BTF_KIND_STRUCT);
	int64_t at = id < 0 ? -1 : find(btf, (uint32_t)id, m->name, m->size);

	if (id >= 0 && at < 0 && m->or_name)
		at = find(btf, (uint32_t)id, m->or_name, m->size);
	return at;
}

static int find_value(const struct btf *btf, uint32_t *value)
{
	int32_t id = btf__find_by_name_kind(btf, text_enum, BTF_KIND_ENUM);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (uint32_t i = 0; t && i < btf_vlen(t); i++) {
		const char *is = btf__name_by_offset(btf, btf_enum(t)[i].name_off);

		if (is && !strcmp(is, text_qp)) {
			*value = (uint32_t)btf_enum(t)[i].val;
			return 0;
		}
	}
	return -1;
}

static int unexpected(const char *of, const char *name, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, 0, "report the kernel's version",
		"the kernel's BTF has no %s of %s as it is expected", name, of);
}

int qp_layout_find(struct qp_layout *l, const struct btf *btf, struct rd_error *err)
{
	for (size_t i = 0; i < RD_COUNT(members); i++) {
		int64_t at = find_member(btf, &members[i]);
		uint32_t offset = (uint32_t)at;

		/* An instruction adds at most this. */
		if (at < 0 || at > INT16_MAX)
			return unexpected(members[i].of, members[i].name, err);
		memcpy((char *)l + members[i].to, &offset, sizeof(offset));
	}
	return find_value(btf, &l->type_qp) ? unexpected(text_enum, text_qp, err) : 0;
}

static bool is_module(const char *root)
{
	return rd_sysfs_exists("%s" MODULE_BTF, root);
}

/* Only modules that can be loaded have this file (kernel/module/sysfs.c of Linux). */
static bool is_built_in(const char *root)
{
	return !rd_sysfs_exists("%s" MODULE "/initstate", root) &&
	       rd_sysfs_exists("%s" KERNEL_BTF, root);
}

bool qp_layout_known(const char *root)
{
	return is_module(root) || is_built_in(root);
}

static int has_none(const char *root, struct rd_error *err)
{
	char taint[16];

	rd_sysfs_text(taint, sizeof(taint), "%s" MODULE "/taint", root);
	if (strchr(taint, 'O'))
		return rd_fail(err, RD_CLASS_DEVICE, 0, "use the kernel's own modules",
			"the module ib_core has no BTF, as those of MLNX_OFED and DOCA that DKMS "
			"built");
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		"use a kernel with CONFIG_DEBUG_INFO_BTF_MODULES (Linux 5.11 or newer)",
		"the kernel has no BTF of the module ib_core");
}

int qp_layout_read(struct qp_layout *l, const char *root, struct rd_error *err)
{
	struct btf *kernel = NULL, *module = NULL;
	char path[PATH_MAX];
	int ret;

	*l = (struct qp_layout){0};
	if (!qp_layout_known(root))
		return has_none(root, err);
	snprintf(path, sizeof(path), "%s" KERNEL_BTF, root);
	kernel = btf__parse(path, NULL);
	if (kernel && is_module(root)) {
		snprintf(path, sizeof(path), "%s" MODULE_BTF, root);
		module = btf__parse_split(path, kernel);
	}
	if (!kernel || (!module && is_module(root)))
		ret = rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot read %s", path);
	else
		ret = qp_layout_find(l, module ? module : kernel, err);
	btf__free(module);
	btf__free(kernel);
	return ret;
}
#endif

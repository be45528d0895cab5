/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libmlx5, loaded at run time as libibverbs loads it, as the provider of mlx5 devices: one binary
 * runs with the distribution's or MLNX_OFED's, and without any. Its functions are defined here
 * under their own names, so that who calls them needs to know nothing of this.
 */
#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <pthread.h>
#include <rdmadump/verbs.h>

/* clang-format off */
#define FUNCTIONS(F)                                                                               \
	F(mlx5dv_is_supported) F(mlx5dv_init_obj) F(mlx5dv_query_device)                           \
	F(mlx5dv_open_device) F(mlx5dv_devx_general_cmd) F(mlx5dv_devx_wq_query)
/* clang-format on */

/* As rd_libmlx5_lacks() returns it */
static const char *lacks = "";

static struct {
#define MEMBER(name) __typeof__(name) *name;
	FUNCTIONS(MEMBER)
} lib;

static void load(void)
{
	/* The soname of libibverbs's provider: where that is loaded, this is the same library. */
	void *so = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!so)
		return;
	lacks = NULL;
#define LOOK_UP(name)                                                                              \
	lib.name = (__typeof__(name) *)dlsym(so, #name);                                           \
	if (!lib.name)                                                                             \
		lacks = " that has " #name "()";
	FUNCTIONS(LOOK_UP);
}

const char *rd_libmlx5_lacks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return lacks;
}

/* All others are called for a device or context only after this function said that it is mlx5's. */
bool mlx5dv_is_supported(struct ibv_device *device)
{
	return !rd_libmlx5_lacks() && lib.mlx5dv_is_supported(device);
}

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	return lib.mlx5dv_init_obj(obj, type);
}

int mlx5dv_query_device(struct ibv_context *ctx, struct mlx5dv_context *out)
{
	return lib.mlx5dv_query_device(ctx, out);
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	return lib.mlx5dv_open_device(device, attr);
}

int mlx5dv_devx_general_cmd(
	struct ibv_context *ctx, const void *in, size_t inlen, void *out, size_t outlen)
{
	return lib.mlx5dv_devx_general_cmd(ctx, in, inlen, out, outlen);
}

int mlx5dv_devx_wq_query(struct ibv_wq *wq, const void *in, size_t inlen, void *out, size_t outlen)
{
	return lib.mlx5dv_devx_wq_query(wq, in, inlen, out, outlen);
}

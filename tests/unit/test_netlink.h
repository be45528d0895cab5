/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A message of the kernel in the making: netlink's own rules, to be broken. */
#pragma once

#include "test.h"
#include <linux/netlink.h>

struct message {
	union {
		struct nlmsghdr head;
		uint8_t bytes[4096];
	};
};

static struct message m;

/* The message, and how long it is. */
#define MESSAGE &m.head, m.head.nlmsg_len

/* `family`: the header of that family of messages, of n bytes. */
static inline void message_begin(int type, const void *family, size_t n)
{
	memset(&m, 0, sizeof(m));
	m.head.nlmsg_len = (uint32_t)NLMSG_SPACE(n);
	m.head.nlmsg_type = (uint16_t)type;
	if (n)
		memcpy(NLMSG_DATA(&m.head), family, n);
}

static inline struct nlattr *put(int type, const void *data, size_t n)
{
	struct nlattr *a = (struct nlattr *)(void *)(m.bytes + m.head.nlmsg_len);

	a->nla_type = (uint16_t)type;
	a->nla_len = (uint16_t)(sizeof(*a) + n);
	if (n)
		memcpy(a + 1, data, n);
	m.head.nlmsg_len += (uint32_t)NLA_ALIGN(a->nla_len);
	return a;
}

static inline struct nlattr *put_u8(int type, uint8_t value)
{
	return put(type, &value, sizeof(value));
}

static inline struct nlattr *put_u32(int type, uint32_t value)
{
	return put(type, &value, sizeof(value));
}

static inline struct nlattr *put_u64(int type, uint64_t value)
{
	return put(type, &value, sizeof(value));
}

#define put_text(type, text) put(type, text, strlen(text) + 1)
#define nest(type)	     put(type, NULL, 0)

static inline void nest_end(struct nlattr *a)
{
	a->nla_len = (uint16_t)(m.bytes + m.head.nlmsg_len - (uint8_t *)a);
}

/* Gives a reader copies of the message in memory of their own, so that a sanitizer sees a byte
 * behind them being read: cut at every length, shorter by what they say, each byte changed. */
static inline void message_damaged(void (*read)(const struct nlmsghdr *h, size_t len, bool cut))
{
	static const uint8_t values[] = {0, 1, 3, 4, 5, 0x7f, 0x80, 0xff};
	const uint32_t len = m.head.nlmsg_len;

	for (uint32_t n = 1; n < len; n++)
		for (int said = 0; said < 2; said++) {
			struct nlmsghdr *copy = malloc(n);

			assert_non_null(copy);
			memcpy(copy, &m, n);
			if (said)
				memcpy(copy, &n, n < 4 ? n : 4);
			read(copy, n, !said);
			free(copy);
		}
	for (size_t at = 0; at < len; at++)
		for (size_t v = 0; v < sizeof(values); v++) {
			struct nlmsghdr *copy = malloc(len);

			assert_non_null(copy);
			memcpy(copy, &m, len);
			((uint8_t *)copy)[at] = values[v];
			read(copy, len, false);
			free(copy);
		}
}

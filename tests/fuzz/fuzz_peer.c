/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes what reads the peer's messages of a self-test: any bytes as what arrives on the
 * connection, message after message, as src/selftest/peer_link.c reads them.
 */
#include "../../src/selftest/peer_message.h"
#include <ctype.h>
#include <rdmadump/device.h>
#include <stdlib.h>
#include <string.h>

static void require(bool right)
{
	if (!right)
		abort();
}

static void check_text(const char *text)
{
	size_t n = strnlen(text, PEER_NAME);

	require(n < PEER_NAME);
	for (size_t i = 0; i < n; i++)
		require(isprint((unsigned char)text[i]));
}

/* What the rest of the program relies on. */
static void check_message(const struct peer_message *m)
{
	switch (m->type) {
	case PEER_HELLO:
		check_text(m->hello.program);
		check_text(m->hello.device);
		check_text(m->hello.watches);
		require(m->hello.gid_type <= RD_GID_ROCE_V2);
		require(!m->hello.has_mac || !(m->hello.mac[0] & 1));
		require(!m->hello.has_gid || m->hello.gid[0] != 0xff);
		require(m->hello.lid <= UINT16_MAX);
		break;
	case PEER_READY:
		check_text(m->ready.error);
		require(m->ready.kind <= UINT8_MAX && m->ready.from_listener <= 1);
		require(m->ready.qpn <= 0xffffff && m->ready.mtu <= 4096);
		require(!m->ready.qpn || m->ready.mtu >= 256);
		break;
	case PEER_GO:
	case PEER_SENT:
		check_text(m->step.error);
		require(m->step.frames <= PEER_FRAMES);
		break;
	case PEER_SEEN:
		require(m->seen.full <= 1 && m->seen.arrival_known <= 1);
		for (unsigned int i = 0; i < PEER_FRAMES; i++)
			require(m->seen.arrived[i] <= 1);
		break;
	case PEER_BYE:
	case PEER_TYPES:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[PEER_HEAD + PEER_BODY];
	struct peer_message m;
	enum peer_type type;
	uint32_t version;
	size_t body;

	while (size >= PEER_HEAD && peer_head_get(data, &type, &body, &version) == PEER_GOOD) {
		uint8_t *exact = NULL;

		require(type < PEER_TYPES && body <= PEER_BODY);
		if (size < PEER_HEAD + body)
			break;
		/* Memory of just that size: a byte behind the message is an error. */
		exact = malloc(body ? body : 1);
		memcpy(exact, data + PEER_HEAD, body);
		if (peer_body_get(&m, type, exact) == PEER_GOOD) {
			require(m.type == type);
			check_message(&m);
			require(peer_message_put(again, &m) == PEER_HEAD + body);
			require(memcmp(again, data, PEER_HEAD + body) == 0);
		}
		free(exact);
		data += PEER_HEAD + body;
		size -= PEER_HEAD + body;
	}
	return 0;
}

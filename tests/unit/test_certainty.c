/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How certain findings are, where the capture is incomplete; Q_Keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

/* --- certainty: what holds whatever was not captured ------------------------------------------ */

/* The capture's loss, as its file reports it. */
static void lose(struct scene *s, uint64_t frames)
{
	rd_analysis_file_end(s->a, frames, true, NULL);
}

/* Packet 2 is captured as a retransmission only. */
static struct scene gap(bool nak)
{
	struct scene s = begin();

	sends(&s, 0, 1);
	if (nak)
		respond(&s, ACK, 1, OK);
	sends(&s, 3, 5);
	if (nak)
		respond(&s, ACK, 2, NAK_SEQ);
	sends(&s, 2, 5);
	if (nak)
		respond(&s, ACK, 5, OK);
	return s;
}

static void sure_of_loss(void **state)
{
	struct scene s;

	(void)state;
	s = gap(true);
	assert_certainty(&s, "lost-upstream", RD_LIKELY); /* a mirror port may have dropped it */
	end(&s);
	s = gap(true);
	lose(&s, 1);
	assert_certainty(&s, "lost-upstream", RD_POSSIBLE);
	assert_certainty(&s, "capture-lost", RD_CERTAIN);
	end(&s);
	s = gap(false);
	assert_certainty(&s, "lost-upstream", RD_POSSIBLE);
	end(&s);
}

static void sure_of_unreliable_loss(void **state)
{
	(void)state;
	for (uint64_t lost = 0; lost < 2; lost++) {
		struct scene s = begin();

		request(&s, UC_ONLY, 0);
		request(&s, UC_ONLY, 3);
		lose(&s, lost);
		assert_certainty(&s, "unreliable-lost", lost ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

static void sure_of_response_loss(void **state)
{
	(void)state;
	for (uint64_t lost = 0; lost < 2; lost++) {
		struct scene s = begin();

		read_request(&s, 0, 3072);
		respond(&s, RESP_FIRST, 0, OK);
		respond(&s, RESP_LAST, 2, OK);
		s.ns += 1000000;
		read_request(&s, 1, 2048);
		respond(&s, RESP_FIRST, 1, OK);
		respond(&s, RESP_LAST, 2, OK);
		lose(&s, lost);
		assert_certainty(&s, "responses-lost-upstream", lost ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* One direction: the sender goes back and makes progress, so it gets responses. */
static void sure_of_no_response(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 0; psn < 40; psn += 10) {
		sends(&s, psn, psn + 9);
		s.ns += 600000000;
		sends(&s, psn + 5, psn + 9);
	}
	assert_null(finding(&s, "no-response"));
	assert_null(finding(&s, "timeout-long"));
	assert_certainty(&s, "one-sided", RD_LIKELY);
	end(&s);

	s = begin(); /* one round, and the capture ends */
	sends(&s, 0, 2);
	s.ns += 20000000;
	sends(&s, 0, 2);
	assert_certainty(&s, "no-response", RD_POSSIBLE);
	end(&s);
}

static void sure_of_time(void **state)
{
	(void)state;
	for (uint64_t lost = 0; lost < 2; lost++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 20; psn += 10) {
			sends(&s, psn, psn + 1);
			respond(&s, ACK, psn + 1, OK);
			sends(&s, psn + 2, psn + 9);
			s.ns += 700000000;
			sends(&s, psn + 2, psn + 9);
			respond(&s, ACK, psn + 9, OK);
		}
		request(&s, SEND_ONLY, 20);
		s.ns += 300000000;
		respond(&s, ACK, 20, OK);
		lose(&s, lost);
		assert_certainty(&s, "timeout-long", lost ? RD_POSSIBLE : RD_LIKELY);
		assert_certainty(&s, "stall", lost ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

static void sure_of_order(void **state)
{
	(void)state;
	for (unsigned int responses = 0; responses < 2; responses++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		request(&s, SEND_ONLY, 5);
		request(&s, SEND_ONLY, 4);
		s.ip_id--;
		request(&s, SEND_ONLY, 4);
		sends(&s, 6, 9);
		if (responses)
			respond(&s, ACK, 9, OK);
		assert_certainty(&s, "reordered", responses ? RD_LIKELY : RD_POSSIBLE);
		assert_certainty(&s, "duplicated", RD_LIKELY); /* also by a mirror session */
		end(&s);
	}
}

/* Wrong CRCs: `wrong` of a flow's 20 frames, where another flow's frames are right. */
static struct scene damage(uint32_t wrong)
{
	const struct rd_analysis_config config = {.qp = RD_QP_UNKNOWN};
	struct scene s = begin_with(&config);

	s.valid_icrc = true;
	for (uint32_t psn = 0; psn < 30; psn++)
		respond(&s, ACK, psn, OK);
	for (uint32_t psn = 0; psn < 20; psn++) {
		s.valid_icrc = psn < 20 - wrong;
		request(&s, SEND_ONLY, psn);
	}
	return s;
}

static void sure_of_damage(void **state)
{
	struct scene s;

	(void)state;
	s = damage(2);
	assert_certainty(&s, "damaged", RD_LIKELY);
	end(&s);
	s = damage(19); /* captured before its NIC computed them */
	assert_certainty(&s, "damaged", RD_POSSIBLE);
	end(&s);
	s = damage(20); /* no frame of it is valid: any traffic on UDP port 4791 */
	assert_null(finding(&s, "damaged"));
	assert_certainty(&s, "damaged-unknown-qp", RD_POSSIBLE);
	end(&s);
}

/* A NAK is what it is, unless not one CRC shows that the packets are RoCE. */
static void sure_of_nak(void **state)
{
	(void)state;
	for (unsigned int check = 0; check < 2; check++) {
		const struct rd_analysis_config config = {.qp = RD_QP_UNKNOWN, .skip_icrc = !check};
		struct scene s = begin_with(&config);

		sends(&s, 0, 1);
		respond(&s, ACK, 1, NAK_ACCESS);
		assert_certainty(&s, "remote-access", check ? RD_LIKELY : RD_CERTAIN);
		end(&s);
	}
}

static void sure_of_nothing(void **state)
{
	const struct rd_analysis_config config = {.skip_icrc = true, .qp = 0x777};
	struct rd_findings list = {0};
	struct scene s = begin();

	(void)state;
	assert_certainty(&s, "no-rdma", RD_CERTAIN); /* no frames */
	end(&s);
	s = begin();
	s.cut = 30;
	sends(&s, 0, 3);
	assert_null(finding(&s, "no-rdma"));
	assert_certainty(&s, "not-understood", RD_CERTAIN);
	end(&s);
	s = begin_with(&config);
	sends(&s, 0, 3);
	assert_null(finding(&s, "no-rdma"));
	/* It may be the one that sends: its packets name the other QP only. */
	assert_certainty(&s, "no-such-qp", RD_LIKELY);
	end(&s);
	assert_int_equal(rd_findings_add(&list)->certainty, RD_POSSIBLE);
	rd_findings_free(&list);
}

/* --- Q_Keys of UD ----------------------------------------------------------------------------- */

static void datagram(struct scene *s, bool back, uint32_t src_qp, uint32_t qkey)
{
	uint8_t deth[8];

	rd_put_be32(deth, qkey);
	rd_put_be32(deth + 4, src_qp);
	put(s, back, UD_ONLY, 0, deth, 8 + 64);
}

static void qkey(void **state)
{
	struct scene s = begin();
	const struct rd_finding *f;

	(void)state;
	datagram(&s, false, 0x11, 0x1234);
	datagram(&s, false, 0x12, 0x1234); /* two senders, the same Q_Key */
	datagram(&s, true, 0x11, 0x9999);  /* another QP */
	assert_null(finding(&s, "qkey"));
	end(&s);

	s = begin();
	datagram(&s, false, 0x11, 0x1234);
	for (unsigned int i = 0; i < 3; i++)
		datagram(&s, false, 0x12, 0x4321);
	datagram(&s, false, 0x11, 0x1234);
	f = finding(&s, "qkey");
	assert_non_null(f);
	assert_int_equal(f->certainty, RD_POSSIBLE); /* it may be a new QP with this number */
	assert_int_equal(f->evidence.count, 3);
	assert_int_equal(f->evidence.frames[0], 2);
	assert_non_null(strstr(f->where, "QP 0x12 ->"));
	assert_non_null(strstr(f->detail, "0x00004321"));
	end(&s);

	s = begin(); /* the sender changes it, and back */
	datagram(&s, false, 0x11, 0x1234);
	datagram(&s, false, 0x11, 0x4321);
	datagram(&s, false, 0x11, 0x1234);
	assert_int_equal(finding(&s, "qkey")->evidence.count, 1);
	end(&s);

	s = begin();
	s.qp = 1;
	datagram(&s, false, 1, 0x80010000);
	datagram(&s, true, 1, 0x80010000);
	assert_null(finding(&s, "qkey"));
	end(&s);

	s = begin();
	s.qp = 1;
	datagram(&s, false, 1, 0x80010001);
	assert_certainty(&s, "qkey", RD_LIKELY);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sure_of_loss),
		cmocka_unit_test(sure_of_unreliable_loss),
		cmocka_unit_test(sure_of_response_loss),
		cmocka_unit_test(sure_of_no_response),
		cmocka_unit_test(sure_of_time),
		cmocka_unit_test(sure_of_order),
		cmocka_unit_test(sure_of_damage),
		cmocka_unit_test(sure_of_nak),
		cmocka_unit_test(sure_of_nothing),
		cmocka_unit_test(qkey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

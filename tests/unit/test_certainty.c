/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How certain findings are, where the capture is incomplete; Q_Keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

/* --- certainty: what is true even if frames are missing ------------------------------------------
 */

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

		request(&s, UC_FIRST, 0);
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

	s = begin(); /* a NAK that ends the connection is a response, too */
	sends(&s, 0, 2);
	s.ns += 20000000;
	sends(&s, 0, 2);
	respond(&s, ACK, 0, NAK_ACCESS);
	assert_null(finding(&s, "no-response"));
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

/* READs that come again far sooner than their responses usually do: no timer is so short. */
static void sure_of_time_of_reads(void **state)
{
	(void)state;
	for (unsigned int soon = 0; soon < 2; soon++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 12; psn++) {
			read_request(&s, psn, 1024);
			if (psn >= 6) {
				s.ns += soon ? 0 : 2000000;
				read_request(&s, psn, 1024);
			}
			s.ns += 100000;
			respond(&s, RESP_ONLY, psn, OK);
		}
		assert_certainty(&s, "timeout", soon ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

/* Responses to atomics alone show that the receiver responds, as ACKs do. */
static void sure_of_time_of_atomics(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 0; psn < 12; psn++) {
		request(&s, FETCH_ADD, psn);
		if (psn >= 6) {
			s.ns += 2000000;
			request(&s, FETCH_ADD, psn);
		}
		respond(&s, ATOMIC_ACK, psn, OK);
	}
	assert_certainty(&s, "timeout", RD_LIKELY);
	end(&s);
}

/* So they do where each of them was retransmitted first, so that none has a latency. */
static void sure_of_responses_to_atomics(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 0; psn < 6; psn++) {
		request(&s, FETCH_ADD, psn);
		s.ns += 2000000;
		request(&s, FETCH_ADD, psn);
		s.ns += 5000000;
		respond(&s, ATOMIC_ACK, psn, OK);
	}
	assert_certainty(&s, "timeout", RD_LIKELY);
	end(&s);
}

/* Where packets were reordered, what seems to be a round may be one that came late. */
static void sure_of_time_in_order(void **state)
{
	(void)state;
	for (unsigned int reordered = 0; reordered < 2; reordered++) {
		struct scene s = begin();

		sends(&s, 0, 3);
		request(&s, SEND_ONLY, reordered ? 5 : 4);
		request(&s, SEND_ONLY, reordered ? 4 : 5);
		respond(&s, ACK, 5, OK);
		for (uint32_t psn = 6; psn < 12; psn++) {
			request(&s, SEND_ONLY, psn);
			s.ns += 2000000;
			request(&s, SEND_ONLY, psn);
			s.ns += 100000;
			respond(&s, ACK, psn, OK);
		}
		assert_int_equal(count(result(&s), RD_INC_REORDERED), reordered);
		assert_certainty(&s, "timeout", reordered ? RD_POSSIBLE : RD_LIKELY);
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
		/* Or only the capture merged queues in this order: no NAK excludes it. */
		assert_certainty(&s, "reordered", RD_POSSIBLE);
		assert_certainty(&s, "duplicated", RD_LIKELY); /* also by a mirror session */
		end(&s);
	}
}

/* A request without an IP identification. */
static void plain(struct scene *s, uint32_t psn)
{
	s->ip_id = UINT16_MAX;
	request(s, SEND_ONLY, psn);
}

/* A late packet behind a NAK may be the rest of a round whose first packet was lost. */
static void sure_of_late(void **state)
{
	(void)state;
	for (unsigned int nak = 0; nak < 2; nak++) {
		struct scene s = begin();

		plain(&s, 0);
		respond(&s, ACK, 0, OK);
		plain(&s, 1);
		plain(&s, 5);
		if (nak)
			respond(&s, ACK, 2, NAK_SEQ);
		plain(&s, 3);
		for (uint32_t psn = 6; psn < 9; psn++)
			plain(&s, psn);
		assert_certainty(&s, "reordered", RD_POSSIBLE);
		assert_int_equal(s.r->conversations[0].side[0].late_doubtful, nak);
		end(&s);
	}
}

/* After a millisecond of silence a packet of a gap may be a retransmission. */
static void sure_of_late_after_silence(void **state)
{
	(void)state;
	for (unsigned int silent = 0; silent < 2; silent++) {
		struct scene s = begin();

		plain(&s, 0);
		respond(&s, ACK, 0, OK);
		plain(&s, 1);
		plain(&s, 3);
		plain(&s, 4);
		if (silent)
			s.ns += 2000000;
		plain(&s, 2);
		plain(&s, 5);
		respond(&s, ACK, 5, OK);
		assert_certainty(&s, "reordered", RD_POSSIBLE);
		assert_int_equal(s.r->conversations[0].side[0].late_doubtful, silent);
		assert_int_equal(s.r->conversations[0].side[0].reorder_depth, silent ? 0 : 2);
		end(&s);
	}
}

/* In a file that is not in the order of its times, a packet out of order is no reason for a NAK. */
static void sure_of_nak_out_of_order(void **state)
{
	struct scene s = begin();

	(void)state;
	request(&s, SEND_ONLY, 0);
	respond(&s, ACK, 0, OK);
	s.ns += 20000;
	request(&s, SEND_ONLY, 2);
	s.ns -= 30000;
	request(&s, SEND_ONLY, 1);
	s.ns += 30000;
	request(&s, SEND_ONLY, 3);
	respond(&s, ACK, 1, NAK_SEQ);
	sends(&s, 1, 3);
	respond(&s, ACK, 3, OK);
	assert_certainty(&s, "time-backwards", RD_CERTAIN);
	assert_certainty(&s, "lost-downstream", RD_POSSIBLE);
	end(&s);
}

/* Without identifications, copies are identified by time; beside rounds, some may be of a round.
 */
static void sure_of_copies(void **state)
{
	(void)state;
	for (unsigned int again = 0; again < 2; again++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 9; psn++) {
			plain(&s, psn);
			s.ns -= 9000;
			plain(&s, psn);
			respond(&s, ACK, psn, OK);
		}
		sends(&s, 9, 12);
		s.ns += 20000000;
		if (again)
			sends(&s, 9, 12);
		respond(&s, ACK, 12, OK);
		assert_certainty(&s, "duplicated", again ? RD_POSSIBLE : RD_LIKELY);
		if (again)
			assert_certainty(&s, "timeout", RD_POSSIBLE);
		end(&s);
	}
}

/* Where a clock's steps are as long as a timer, the same time is no proof of a copy. */
static void sure_of_copies_by_coarse_clock(void **state)
{
	struct scene s = begin();

	(void)state;
	s.ns -= 10000;
	for (uint32_t psn = 0; psn < 9; psn++) {
		s.ns += 1000000 - 10000;
		plain(&s, psn);
		s.ns -= 10000;
		plain(&s, psn);
		s.ns -= 10000;
		respond(&s, ACK, psn, OK);
	}
	assert_certainty(&s, "duplicated", RD_POSSIBLE);
	end(&s);
}

/* Two directions that cannot be paired: neither is known to lack the other. */
static void sure_of_one_direction(void **state)
{
	(void)state;
	for (unsigned int back = 0; back < 2; back++) {
		struct scene s = begin();

		sends(&s, 100, 120);
		for (uint32_t psn = 0; back && psn < 20; psn++)
			respond(&s, ACK, 9000000 + psn, OK);
		assert_certainty(&s, "one-sided", back ? RD_POSSIBLE : RD_LIKELY);
		assert_int_equal(!strstr(s.r->verdict.what, "was captured"), back);
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

/* Each rule keeps its first findings, and the rest of the places are for the first ones of all. */
static void findings_are_cut(void **state)
{
	static const char *const rules[] = {"a", "a", "b", "a", "b", "c", "a"};
	static const struct {
		size_t most, each;
		const char *kept;
	} rows[] = {{7, 0, "aababca"}, {9, 1, "aababca"}, {6, 0, "aababc"}, {5, 1, "aabac"},
		{4, 1, "aabc"}, {3, 1, "abc"}, {1, 1, "abc"}, {4, 2, "aabbc"}, {0, 0, ""}};

	(void)state;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct rd_findings list = {0};
		size_t all = sizeof(rules) / sizeof(rules[0]), kept = strlen(rows[row].kept);

		for (size_t i = 0; i < all; i++) {
			struct rd_finding *f = rd_findings_add(&list);

			f->rule = rules[i];
			f->severity = i == 6 ? RD_SEV_NOTE : RD_SEV_WARNING;
			f->evidence.count = i;
			rd_finding_title(f, "%s", rules[i]);
		}
		assert_true(rd_findings_cut(&list, rows[row].most, rows[row].each));
		assert_int_equal(list.n, kept);
		for (size_t i = 0; i < kept; i++) {
			assert_int_equal(list.finding[i].rule[0], rows[row].kept[i]);
			assert_true(!i || list.finding[i].evidence.count >
						  list.finding[i - 1].evidence.count);
		}
		assert_int_equal(rd_findings_left_out(&list, NULL, RD_SEV_NOTE), all - kept);
		assert_int_equal(rd_findings_left_out(&list, NULL, RD_SEV_WARNING),
			all - kept - (kept < all));
		rd_findings_free(&list);
	}
}

/* --- packets that are in the file more than once ------------------------------------------------
 */

/* Where the copies of the frames are: at another interface, or outside of a tunnel. */
static void elsewhere(struct scene *s, bool tunnels, bool there)
{
	if (tunnels)
		s->tunnelled = !there;
	else
		s->iface = there;
}

/* Requests, a lost one, its NAK and retransmission; each frame is captured at two places. */
static struct scene at_two_places(bool tunnels)
{
	static const struct {
		bool back;
		uint32_t psn;
		enum syndrome syndrome;
	} frames[] = {{false, 0, OK}, {true, 0, OK}, {false, 1, OK}, {false, 3, OK},
		{true, 2, NAK_SEQ}, {false, 2, OK}, {false, 3, OK}, {true, 3, OK}};
	struct scene s = begin();

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		for (int there = 0; there < 2; there++) {
			elsewhere(&s, tunnels, there);
			s.ns += 700000 * (uint64_t)there; /* another clock */
			s.ip_id = 0;			  /* no identifications */
			if (frames[i].back)
				respond(&s, ACK, frames[i].psn, frames[i].syndrome);
			else
				request(&s, SEND_ONLY, frames[i].psn);
		}
	return s;
}

static void two_places(void **state)
{
	(void)state;
	for (int tunnels = 0; tunnels < 2; tunnels++) {
		struct scene s = at_two_places(tunnels);
		const struct rd_conversation *c = result(&s);

		assert_int_equal(s.r->n_conversations, 1);
		assert_int_equal(c->side[0].requests, 5);
		assert_int_equal(c->side[0].acks, 2);
		assert_int_equal(s.r->totals.rdma_frames, 8);
		assert_int_equal(s.r->totals.copies_left, tunnels ? 0 : 8);
		assert_int_equal(s.r->totals.tunnels_left, tunnels ? 8 : 0);
		assert_int_equal(s.r->totals.moved, 0);
		assert_null(finding(&s, "duplicated"));
		assert_null(finding(&s, "timeout"));
		assert_null(finding(&s, "one-sided"));
		assert_certainty(&s, "lost-upstream", RD_LIKELY);
		assert_certainty(
			&s, tunnels ? "tunnels-left-out" : "several-interfaces", RD_LIKELY);
		end(&s);
	}
}

/* Requests in a tunnel or at one port, responses outside or at another one: no frame is a copy. */
static void two_directions(void **state)
{
	(void)state;
	for (int tunnels = 0; tunnels < 2; tunnels++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 20; psn++) {
			elsewhere(&s, tunnels, false);
			request(&s, SEND_ONLY, psn);
			elsewhere(&s, tunnels, true);
			respond(&s, ACK, psn, OK);
		}
		assert_int_equal(result(&s)->side[0].acks, 20);
		assert_null(finding(&s, "one-sided"));
		assert_int_equal(s.r->totals.copies_left + s.r->totals.tunnels_left, 0);
		end(&s);
	}
}

/* A bond that sends the packets of one QP through both ports in turn. */
static void round_robin(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 0; psn < 600; psn++) {
		s.iface = psn % 2;
		request(&s, SEND_ONLY, psn);
		s.iface = psn / 2 % 2;
		respond(&s, ACK, psn, OK);
	}
	assert_int_equal(result(&s)->side[0].requests, 600);
	assert_int_equal(s.r->conversations[0].side[0].acks, 600);
	assert_int_equal(s.r->totals.copies_left + s.r->totals.moved, 0);
	end(&s);
}

/* A bond whose other port takes over after copies were seen: the findings are less certain.
 */
static void failover(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 0; psn < 600; psn++)
		for (s.iface = psn >= 100; s.iface < 2; s.iface++) {
			s.ip_id = (uint16_t)(2 * psn);
			request(&s, SEND_ONLY, psn);
			respond(&s, ACK, psn, OK);
		}
	assert_int_equal(result(&s)->side[0].requests, 501); /* not the 99 that it took to know */
	assert_true(s.r->totals.moved > 0);
	assert_certainty(&s, "unseen", RD_POSSIBLE);
	end(&s);
}

/* Traffic to UDP port 4791 that is no RoCE is none in a tunnel either. */
static void foreign_in_tunnels(void **state)
{
	(void)state;
	for (int never = 0; never < 2; never++) {
		const struct rd_analysis_config config = {
			.qp = RD_QP_UNKNOWN, .tunnels = never ? RD_TUNNELS_NEVER : RD_TUNNELS_AUTO};
		const char *rule = never ? "tunnels-left-out" : "in-tunnels";
		struct scene s = begin_with(&config);

		s.tunnelled = true;
		s.reserved = 0x3f;
		sends(&s, 0, 9);
		assert_null(finding(&s, rule));
		assert_non_null(finding(&s, "foreign-udp"));
		end(&s);
		s = begin_with(&config);
		s.tunnelled = true;
		sends(&s, 0, 9); /* not proven by an ICRC */
		assert_certainty(&s, rule, RD_LIKELY);
		end(&s);
		s = begin_with(&config);
		s.tunnelled = s.valid_icrc = true;
		sends(&s, 0, 9);
		assert_certainty(&s, rule, RD_CERTAIN);
		if (never) /* the first line of the report must not say that nothing is amiss */
			assert_int_equal(finding(&s, rule)->severity, RD_SEV_WARNING);
		end(&s);
	}
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

/* The conversations of two networks with the same addresses and QPs are two, each with its packets.
 */
static void assert_two_networks(struct scene *s, uint64_t requests)
{
	assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	assert_int_equal(s->r->n_conversations, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct rd_conversation *c = &s->r->conversations[i];

		assert_int_equal(c->network, 7 + c->id / 2); /* two flows have numbers 1 and 2 */
		assert_int_not_equal(c->pairing, RD_PAIR_NONE);
		assert_int_equal(c->side[0].requests, requests);
		for (unsigned int kind = 0; kind < RD_INC_COUNT; kind++)
			assert_int_equal(count(c, (enum rd_incident_kind)kind), 0);
	}
	assert_int_equal(s->r->findings.n, 1);
	assert_string_equal(s->r->findings.finding[0].rule, "in-tunnels");
}

/* Two tenants use the same addresses and QPs, and one has its PSNs a little later. */
static void two_networks(void **state)
{
	(void)state;
	for (uint32_t behind = 0; behind < 3; behind++) {
		struct scene s = begin();

		for (uint32_t psn = 10; psn < 20; psn++) {
			s.vni = 7;
			request(&s, SEND_ONLY, psn);
			s.vni = 8;
			request(&s, SEND_ONLY, psn - behind);
			s.msn = (uint8_t)(psn - 9);
			respond(&s, ACK, psn - behind, OK);
			s.vni = 7;
			respond(&s, ACK, psn, OK);
		}
		assert_two_networks(&s, 10);
		end(&s);
	}
}

/* Where both ends of a tunnel route, the way back has another VNI. */
static void network_of_each_direction(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	s.vni = 7;
	s.vni_back = 8;
	for (uint32_t psn = 0; psn < 10; psn++) {
		request(&s, SEND_ONLY, psn);
		s.msn = (uint8_t)(psn + 1);
		respond(&s, ACK, psn, OK);
	}
	c = result(&s);
	assert_int_equal(s.r->n_conversations, 1);
	assert_int_equal(c->pairing, RD_PAIR_PSN);
	assert_int_equal(c->side[0].requests, 10);
	end(&s);
}

/* A connection that goes on in another network: that its other direction is missing is not sure. */
static void network_changes(void **state)
{
	struct scene s = begin();

	(void)state;
	s.vni = 7;
	sends(&s, 0, 9);
	respond(&s, ACK, 9, OK);
	s.vni = 8;
	sends(&s, 10, 29);
	assert_certainty(&s, "one-sided", RD_POSSIBLE);
	assert_non_null(strstr(finding(&s, "one-sided")->where, "(network 8)"));
	end(&s);
}

/* The first responses to the first READ are lost, before the path MTU is known. */
static void first_read_response_is_lost(void **state)
{
	(void)state;
	for (uint32_t lost = 1; lost < 4; lost++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		request(&s, SEND_ONLY, 9);
		respond(&s, ACK, 9, OK);
		for (uint32_t from = lost;; from = 0) {
			read_request(&s, 10, 8 * 1024);
			for (uint32_t n = from; n < 8; n++)
				respond(&s,
					!n	 ? RESP_FIRST
					: n == 7 ? RESP_LAST
						 : RESP_MIDDLE,
					10 + n, OK);
			if (!from)
				break;
		}
		request(&s, SEND_ONLY, 18);
		respond(&s, ACK, 18, OK);
		c = result(&s);
		assert_int_equal(count(c, RD_INC_RESPONSE_GAP), 1);
		assert_int_equal(count(c, RD_INC_RESPONSE_REPEATED), 8 - lost);
		assert_int_equal(count(c, RD_INC_ROUND_READ), 1);
		assert_int_equal(count(c, RD_INC_ROUND_TIMEOUT), 0);
		assert_int_equal(count(c, RD_INC_LOST_UPSTREAM), 0);
		assert_int_equal(count(c, RD_INC_RETRANSMITTED), 1);
		end(&s);
	}
}

/* A receiver dies, and a bond takes its other port: retransmissions there look like copies. */
static void failover_to_dead(void **state)
{
	(void)state;
	for (unsigned int copied = 0; copied < 2; copied++) {
		struct scene s = begin();

		for (uint32_t psn = 0; psn < 20; psn++) {
			plain(&s, psn);
			s.iface = 1;
			if (copied)
				plain(&s, psn);
			s.iface = 0;
		}
		s.iface = 1;
		for (uint32_t psn = 0; psn < 20 && !copied; psn++)
			plain(&s, psn);
		assert_certainty(&s, "several-interfaces", copied ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sure_of_loss),
		cmocka_unit_test(sure_of_unreliable_loss),
		cmocka_unit_test(sure_of_response_loss),
		cmocka_unit_test(sure_of_no_response),
		cmocka_unit_test(sure_of_time),
		cmocka_unit_test(sure_of_time_of_reads),
		cmocka_unit_test(sure_of_time_of_atomics),
		cmocka_unit_test(sure_of_responses_to_atomics),
		cmocka_unit_test(sure_of_time_in_order),
		cmocka_unit_test(sure_of_order),
		cmocka_unit_test(sure_of_late),
		cmocka_unit_test(sure_of_late_after_silence),
		cmocka_unit_test(sure_of_nak_out_of_order),
		cmocka_unit_test(sure_of_copies),
		cmocka_unit_test(sure_of_copies_by_coarse_clock),
		cmocka_unit_test(sure_of_one_direction),
		cmocka_unit_test(sure_of_damage),
		cmocka_unit_test(sure_of_nak),
		cmocka_unit_test(sure_of_nothing),
		cmocka_unit_test(findings_are_cut),
		cmocka_unit_test(two_places),
		cmocka_unit_test(two_directions),
		cmocka_unit_test(round_robin),
		cmocka_unit_test(failover),
		cmocka_unit_test(foreign_in_tunnels),
		cmocka_unit_test(qkey),
		cmocka_unit_test(two_networks),
		cmocka_unit_test(network_of_each_direction),
		cmocka_unit_test(network_changes),
		cmocka_unit_test(first_read_response_is_lost),
		cmocka_unit_test(failover_to_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

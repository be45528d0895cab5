/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of the trigger of stalls: which conversations wait, and for how long. Time is that of
 * the frames, so that no test depends on how fast it runs. */
#include "recorder/trigger.h"
#include "test.h"
#include "test_packet_make.h"

#define SEND	    0x04
#define READ	    0x0c
#define READ_FIRST  0x0d
#define READ_MIDDLE 0x0e
#define READ_LAST   0x0f
#define ACK	    0x11
#define UC_SEND	    0x24
#define MS	    UINT64_C(1000000)
#define SECOND	    (1000 * MS)
#define TRIGGERS    3

/* Two QPs: requests of QP `a` of one host to QP `b` of another. */
struct ends {
	uint8_t a_host, b_host;
	uint32_t a, b;
	uint16_t port; /* UDP source port of requests */
	uint16_t back; /* ... of answers */
};

static const struct ends one = {1, 2, 0x11, 0x12, 50001, 50001};

static struct {
	struct trigger trigger[TRIGGERS];
	struct stall stall;
	uint64_t ns;
	char text[200];
	uint64_t at; /* of the newest firing */
} w;

static int unwatch(void **state)
{
	stall_fini(&w.stall);
	for (unsigned int i = 0; i < TRIGGERS; i++)
		trigger_free(&w.trigger[i]);
	return 0;
}

static void watch_texts(const char *const *texts)
{
	unsigned int n = 0;

	unwatch(NULL);
	memset(&w, 0, sizeof(w));
	w.ns = 1000 * SECOND;
	for (; texts[n]; n++)
		if (trigger_parse(&w.trigger[n], texts[n], &failure) < 0)
			fail_msg("%s", failure.text);
	same(stall_init(&w.stall, w.trigger, n), 0, w.stall.n, n);
}
#define watch(...) watch_texts((const char *const[]){__VA_ARGS__, NULL})

static void packet(const struct ends *e, bool back, unsigned int opcode, uint32_t psn, bool ask,
	const void *body, uint32_t len)
{
	struct make m = {0};
	struct rd_packet p;
	struct rd_frame f;

	make_packet(&m, MAKE_V2_IPV4, opcode, back ? e->a : e->b, 64, 0);
	assert_true(rd_packet_parse(RD_LINK_ETHERNET, m.b, m.n, m.n, &p));
	m.b[p.l3 + 15] = back ? e->b_host : e->a_host;
	m.b[p.l3 + 19] = back ? e->a_host : e->b_host;
	rd_put_be16(m.b + p.l4, back ? e->back : e->port);
	rd_put_be32(m.b + p.bth + 8, (ask ? 0x80000000 : 0) | psn);
	if (len)
		memcpy(m.b + p.bth + 12, body, len);
	f = make_frame(&m);
	f.ts_ns = w.ns;
	assert_true(rd_packet_parse(RD_LINK_ETHERNET, m.b, m.n, m.n, &p));
	stall_packet(&w.stall, &p, &f);
}

static void request(const struct ends *e, uint32_t psn)
{
	packet(e, false, SEND, psn, true, NULL, 0);
}

static void answer(const struct ends *e, uint32_t psn, uint8_t syndrome)
{
	const uint8_t aeth[4] = {syndrome, 0, 0, 1};

	packet(e, true, ACK, psn, false, aeth, 4);
}

static void ack(const struct ends *e, uint32_t psn)
{
	answer(e, psn, 0x1f);
}

/* What fires, now that all frames up to this time were received. */
static unsigned int fires(void)
{
	unsigned int n = 0;

	stall_received(&w.stall, w.ns);
	while (stall_next(&w.stall, &w.at, w.text, sizeof(w.text)))
		n++;
	return n;
}

/* Time passes: a packet of another conversation, which waits for nothing. */
static unsigned int after_ms(uint64_t ms)
{
	static const struct ends other = {8, 9, 0x88, 0x99, 40000, 40000};

	w.ns += ms * MS;
	packet(&other, false, UC_SEND, 1, false, NULL, 0);
	return fires();
}

/* Answered requests with these PSNs. */
static void talk(const struct ends *e, uint32_t first, unsigned int n)
{
	for (uint32_t psn = first; psn < first + n; psn++) {
		request(e, psn & 0xffffff);
		ack(e, psn & 0xffffff);
	}
}

/* Answers from another port belong to the requests that two of them in a row fit. */
TEST(other_port)
{
	static const struct ends e = {1, 2, 0x11, 0x12, 50001, 60001};

	for (unsigned int n = 1; n <= 3; n++) {
		watch("stall>1s");
		talk(&e, 1, n);
		request(&e, n + 1);
		assert_int_equal(after_ms(1500), n >= 2);
	}
}

TEST(one)
{
	watch("stall>1s");
	talk(&one, 0xffffff, 3);
	assert_int_equal(after_ms(5000), 0);
	request(&one, 2);
	expect("0 0 1", after_ms(999), after_ms(1), after_ms(2));
	same(w.text,
		"QP 0x000011 of 10.0.0.1 waits for QP 0x000012 of 10.0.0.2: PSN 2 to 2, no packet "
		"for 1.002 s",
		w.at, w.ns - 2 * MS);
	/* Once, as long as nothing is sent. */
	assert_int_equal(after_ms(60000), 0);
	/* Sent once more: it waits once more. */
	request(&one, 2);
	assert_int_equal(after_ms(1001), 1);
	ack(&one, 2);
	assert_int_equal(after_ms(60000), 0);
}

/* None of these waits for longer than a second. */
TEST(none)
{
	static const uint8_t rnr[4] = {0x2e, 0, 0, 1};
	struct ends never = one, uc = one;

	watch("stall>1s");
	never.b = 0x13;
	uc.b = 0x14;
	talk(&one, 10, 3);
	/* Its answers were never seen: perhaps nothing can see them. */
	request(&never, 70);
	packet(&uc, false, UC_SEND, 5, true, NULL, 0);
	/* No answer is asked for. */
	packet(&one, false, SEND, 13, false, NULL, 0);
	assert_int_equal(after_ms(5000), 0);
	/* An acknowledgement of a later one is enough. */
	request(&one, 14);
	request(&one, 15);
	ack(&one, 15);
	assert_int_equal(after_ms(5000), 0);
	/* Packets of both QPs: repetitions, RNR NAKs. */
	for (unsigned int i = 0; i < 10; i++) {
		request(&one, 16);
		assert_int_equal(after_ms(900), 0);
		packet(&one, true, ACK, 16, false, rnr, 4);
		assert_int_equal(after_ms(900), 0);
	}
	assert_int_equal(after_ms(200), 1);
	/* Repeated although it had been answered: the responder repeats its newest answer. */
	ack(&one, 16);
	talk(&one, 17, 3);
	request(&one, 17);
	ack(&one, 19);
	assert_int_equal(after_ms(5000), 0);
	/* This NAK ends the QP: it waits for nothing. */
	request(&one, 20);
	answer(&one, 20, 0x62);
	assert_int_equal(after_ms(5000), 0);
}

/* A sequence error: what follows it is expected again. */
TEST(sequence_error)
{
	watch("stall>1s");
	talk(&one, 10, 3);
	for (uint32_t psn = 13; psn < 17; psn++)
		request(&one, psn);
	answer(&one, 15, 0x60);
	assert_int_equal(after_ms(1001), 1);
	assert_non_null(strstr(w.text, "PSN 15 to 16"));
}

static void read_request(uint32_t psn, uint32_t len)
{
	uint8_t reth[16] = {0};

	rd_put_be32(reth + 12, len);
	packet(&one, false, READ, psn, false, reth, sizeof(reth));
}

/* The answer to a READ has several packets; without the last one it waits. */
TEST(reads)
{
	static const uint8_t aeth[4] = {0x1f, 0, 0, 1};

	watch("stall>1s");
	talk(&one, 10, 3);
	read_request(13, 4 * 1024);
	packet(&one, true, READ_FIRST, 13, false, aeth, 4);
	packet(&one, true, READ_MIDDLE, 14, false, NULL, 0);
	packet(&one, true, READ_MIDDLE, 15, false, NULL, 0);
	packet(&one, true, READ_LAST, 16, false, aeth, 4);
	assert_int_equal(after_ms(5000), 0);
	read_request(17, 4 * 1024);
	packet(&one, true, READ_FIRST, 17, false, aeth, 4);
	assert_int_equal(after_ms(900), 0);
	packet(&one, true, READ_MIDDLE, 18, false, NULL, 0);
	expect("0 1", after_ms(900), after_ms(200));
	/* The next one after it begins where the READ ends. */
	packet(&one, true, READ_MIDDLE, 19, false, NULL, 0);
	packet(&one, true, READ_LAST, 20, false, aeth, 4);
	request(&one, 21);
	ack(&one, 21);
	assert_int_equal(after_ms(5000), 0);
}

/* Nothing is received at all: ticks pass the time, and never more than has certainly passed. */
TEST(idle)
{
	uint64_t now = 77 * SECOND;
	unsigned int fired = 0, ticks = 0;

	watch("stall>1s");
	talk(&one, 10, 3);
	request(&one, 13);
	stall_received(&w.stall, now);
	for (; !fired && ticks < 100; ticks++) {
		now += SECOND / 4;
		stall_tick(&w.stall, now, 5 * MS);
		fired += stall_next(&w.stall, &w.at, w.text, sizeof(w.text)) != NULL;
	}
	/* 1.25 s is the first tick above, and it is certain at the next one. */
	same(ticks, 6, w.at, w.ns + SECOND);
	/* A lane that was stopped for a minute, with the answer waiting in the ring. */
	request(&one, 14);
	stall_received(&w.stall, now);
	now += 60 * SECOND;
	stall_tick(&w.stall, now, 5 * MS);
	assert_null(stall_next(&w.stall, &w.at, w.text, sizeof(w.text)));
	ack(&one, 14);
	stall_received(&w.stall, now + MS);
	stall_tick(&w.stall, now + 2 * MS, 5 * MS);
	assert_null(stall_next(&w.stall, &w.at, w.text, sizeof(w.text)));
}

/* Before the first frame there is no time of frames that could pass. */
TEST(no_frame_yet)
{
	watch("stall>1s");
	for (uint64_t i = 0; i < 8; i++)
		stall_tick(&w.stall, 5000 * SECOND + i * SECOND / 4, 5 * MS);
	talk(&one, 10, 3);
	request(&one, 13);
	expect("0 1", after_ms(999), after_ms(2));
}

TEST(scopes)
{
	struct ends other = {3, 4, 0x21, 0x22, 50002, 50002};

	watch("stall>2s,qp=0x11", "stall>100ms,host=10.0.0.2", "stall>1s,host=10.0.0.9");
	talk(&one, 10, 3);
	talk(&other, 10, 3);
	request(&one, 13);
	request(&other, 13);
	expect("1 0 1", after_ms(500), after_ms(1000), after_ms(1000));
	assert_non_null(strstr(w.text, "QP 0x000011"));
}

/* --- which answers belong to which requests --------------------------------------------------- */

static void talk_both(const struct ends *a, const struct ends *b)
{
	for (uint32_t psn = 0; psn < 4; psn++) {
		request(a, psn);
		request(b, psn);
		ack(b, psn);
		ack(a, psn);
	}
}

/* PSNs of two QPs between the same hosts are the same: their UDP ports tell them apart, and without
 * these neither is judged. */
TEST(same_psns)
{
	struct ends a = one, b = {1, 2, 0x21, 0x22, 50002, 50002};

	watch("stall>1s");
	talk_both(&a, &b);
	request(&a, 4);
	request(&b, 4);
	ack(&a, 4);
	assert_int_equal(after_ms(1001), 1);
	assert_non_null(strstr(w.text, "QP 0x000021"));

	watch("stall>1s");
	a.back = b.back = 49152;
	talk_both(&a, &b);
	request(&a, 4);
	assert_in_range(after_ms(1001), 0, 1);
	ack(&a, 4);
	assert_int_equal(after_ms(5000), 0);
}

/* The same QP number at the responder, another one at the requester. */
TEST(connected_again)
{
	struct ends again = one;

	again.a = 0x77;
	again.port = again.back = 50077;
	for (uint32_t start = 0x1000; start < 0x1000000; start += 0x3ff000) {
		watch("stall>1s");
		talk(&one, 10, 5);
		for (uint32_t psn = start; psn < start + 5; psn++) {
			request(&again, psn);
			w.ns += 10 * MS;
			ack(&again, psn);
			assert_int_equal(after_ms(2000), 0);
		}
		request(&again, start + 5);
		assert_int_equal(after_ms(1001), 1);
		assert_non_null(strstr(w.text, "QP 0x000077"));
	}
}

/* --- many ------------------------------------------------------------------------------------- */

#define MANY 300

/* A conversation as it really is. */
struct truth {
	struct ends ends;
	uint32_t sent, acked; /* next PSN of requests, and the first that is not acknowledged */
	bool frozen, pending, fired;
	uint64_t last_ns;
};

static void step(struct truth *t)
{
	unsigned int what = (unsigned int)rand() % 100;

	if (what < 3)
		t->frozen = !t->frozen;
	if (t->frozen)
		return;
	t->last_ns = w.ns;
	if (what < 50 || t->sent == t->acked) {
		request(&t->ends, t->sent++ & 0xffffff);
		t->pending = true;
	} else if (what < 60) {
		request(&t->ends, (t->sent - 1) & 0xffffff);
		t->pending = true;
	} else {
		t->acked += 1 + (uint32_t)rand() % (t->sent - t->acked);
		ack(&t->ends, (t->acked - 1) & 0xffffff);
		t->pending = t->sent != t->acked;
	}
	t->fired = false;
}

/* How many conversations should fire now. */
static unsigned int expected(struct truth *t)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < MANY; i++) {
		if (!t[i].pending || t[i].fired || w.ns - t[i].last_ns <= SECOND)
			continue;
		t[i].fired = true;
		n++;
	}
	return n;
}

TEST(many)
{
	struct truth *t = calloc(MANY, sizeof(*t));
	unsigned int sum = 0;

	assert_non_null(t);
	srand(1);
	watch("stall>1s");
	for (unsigned int i = 0; i < MANY; i++) {
		uint16_t port = (uint16_t)(49152 + i);

		t[i].ends = (struct ends){(uint8_t)(1 + i % 7), (uint8_t)(100 + i % 3), 0x1000 + i,
			0x2000 + i, port, port};
		t[i].sent = t[i].acked = (uint32_t)rand() & 0xffffff;
		talk(&t[i].ends, t[i].sent, 1);
		t[i].sent = t[i].acked += 1;
	}
	for (unsigned int round = 0; round < 3000; round++) {
		unsigned int want, got;

		for (unsigned int i = 0; i < 20; i++)
			step(&t[rand() % MANY]);
		got = after_ms(10);
		want = expected(t);
		if (got != want)
			fail_msg("round %u: %u fire, not %u: %s", round, got, want, w.text);
		sum += got;
	}
	assert_in_range(sum, 100, 1000000);
	free(t);
}

/* More than there is room for, all of them waiting: some are forgotten, none is wrong. */
TEST(too_many)
{
	struct ends e = one;
	unsigned int fired;

	watch("stall>1s");
	for (uint32_t i = 0; i < STALL_FLOWS * 2; i++) {
		e.a = 0x10000 + i;
		e.b = 0x80000 + i;
		e.a_host = (uint8_t)i;
		e.port = e.back = (uint16_t)(49152 + i / 256);
		talk(&e, i * 10, 1);
		if (i % 2)
			request(&e, (i * 10 + 1) & 0xffffff);
	}
	fired = after_ms(1001);
	assert_in_range(fired, STALL_FLOWS / 2, STALL_FLOWS);
	assert_int_equal(after_ms(5000), 0);
}

/* A new one takes the place of an old one: the lists of the hosts of both stay whole. */
TEST(places_of_others)
{
	struct ends e = one;

	choose_hash_key(1); /* of some keys, one set has more than it holds */
	watch("stall>1s");
	for (uint32_t i = 0; i < STALL_FLOWS * 2; i++) {
		e.a = 0x10000 + i;
		e.b = 0x80000 + i;
		e.a_host = (uint8_t)i;
		e.port = (uint16_t)(49152 + i / 256);
		e.back = i + 512 < STALL_FLOWS * 2 ? e.port : 40000;
		talk(&e, i * 10, e.back == 40000 ? 2 : 1);
		if (e.back == 40000)
			request(&e, i * 10 + 2);
	}
	assert_int_equal(after_ms(1001), 512);
}

/*
 * Few of many conversations of two hosts are looked at for one response: that of an older one is
 * not found, and that of a newer one is.
 */
TEST(many_candidates)
{
	struct ends e = one;

	watch("stall>1s");
	for (uint32_t i = 0; i < 300; i++) {
		e.a = 0x10000 + i;
		e.b = 0x80000 + i;
		e.port = e.back = (uint16_t)(50000 + i);
		request(&e, i * 10);
	}
	e = (struct ends){1, 2, 0x10000 + 299, 0x80000 + 299, 50299, 50299};
	ack(&e, 2990);
	request(&e, 2991);
	e = (struct ends){1, 2, 0x10000, 0x80000, 50000, 50000};
	ack(&e, 0);
	request(&e, 1);
	assert_int_equal(after_ms(1001), 1);
	assert_non_null(strstr(w.text, "QP 0x01012b"));
}

ALL_TESTS_WITH(NULL, unwatch)

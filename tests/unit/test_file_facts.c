/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the facts of a capture file add to its packets: counters, owners of QPs, links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define S UINT64_C(1000000000)

static void facts(struct scene *s, const char *json)
{
	rd_analysis_facts(s->a, json, strlen(json));
}

/* A device at 10.0.0.<host>, whose node GUID is `guid`. */
static void device(struct scene *s, const char *guid, unsigned int host)
{
	char text[400];

	snprintf(text, sizeof(text),
		"{\"kind\":\"device\",\"device\":\"rxe0\",\"port\":1,\"driver\":\"rdma_rxe\","
		"\"node_guid\":\"%s\",\"lid\":7,"
		"\"gids\":[{\"index\":1,\"gid\":\"::ffff:10.0.0.%u\"}]}",
		guid, host);
	facts(s, text);
}

/* A reading at a time in ns, without a GUID as in files of older versions. */
static void reading(struct scene *s, const char *when, uint64_t ns, const char *counters)
{
	char text[600];

	snprintf(text, sizeof(text),
		"{\"kind\":\"counters\",\"when\":\"%s\",\"time_ns\":%llu,\"device\":\"rxe0\","
		"\"port\":1,\"counters\":{%s}}",
		when, (unsigned long long)ns, counters);
	facts(s, text);
}

static void next_file(struct scene *s)
{
	rd_analysis_file_end(s->a, 0, true, NULL);
	assert_int_equal(rd_analysis_file(s->a, "next", "made", NULL, NULL), 0);
}

static const struct rd_comparison *check_of(
	const struct scene *s, const char *counter, unsigned int nth)
{
	for (size_t i = 0; i < s->r->n_comparisons; i++)
		if (!strcmp(s->r->comparisons[i].counter, counter) && !nth--)
			return &s->r->comparisons[i];
	return NULL;
}

static void assert_counted(
	const struct scene *s, const char *counter, unsigned int nth, uint64_t packets, uint64_t n)
{
	const struct rd_comparison *c = check_of(s, counter, nth);

	assert_non_null(c);
	assert_int_equal(c->packets, packets);
	assert_int_equal(c->device_count, n);
	assert_int_equal(c->agrees, packets == n);
}

#define SENT(n) "\"hw_counters/sent_pkts\":" #n

/* --- readings --------------------------------------------------------------------------------- */

/* Frames before the first reading and after the last one are not compared. */
static void between_readings(void **state)
{
	(void)state;
	for (unsigned int last_is_early = 0; last_is_early < 2; last_is_early++) {
		struct scene s = begin();

		device(&s, "1", 2);
		reading(&s, "start", 2 * S, SENT(100));
		if (last_is_early)
			reading(&s, "end", 3 * S, SENT(106));
		sends(&s, 0, 4);
		s.ns = 2 * S;
		sends(&s, 5, 10);
		if (last_is_early) {
			s.ns = 3 * S;
			sends(&s, 11, 12);
		} else {
			reading(&s, "end", 3 * S, SENT(106));
		}
		result(&s);
		assert_counted(&s, "sent_pkts", 0, 6, 6);
		assert_null(finding(&s, "counters-differ"));
		end(&s);
	}
}

/* Two captures of one host: what it sent between them is of neither. */
static void two_captures(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	reading(&s, "start", S, SENT(0));
	sends(&s, 0, 3);
	reading(&s, "end", 2 * S, SENT(4));
	next_file(&s);
	s.ns = 10 * S;
	device(&s, "1", 2);
	reading(&s, "start", 10 * S, SENT(1000));
	sends(&s, 500, 501);
	reading(&s, "end", 11 * S, SENT(1002));
	result(&s);
	assert_counted(&s, "sent_pkts", 0, 6, 6);
	end(&s);
}

/* Files of a series begin with readings of their own. */
static void series(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	reading(&s, "start", S, SENT(0));
	sends(&s, 0, 3);
	next_file(&s);
	device(&s, "1", 2);
	reading(&s, "start", 2 * S, SENT(4));
	sends(&s, 4, 5);
	reading(&s, "end", 3 * S, SENT(6));
	result(&s);
	assert_counted(&s, "sent_pkts", 0, 6, 6);
	end(&s);
}

/* Devices of the same name on two hosts: each has its own counters. */
static void two_hosts(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	reading(&s, "start", S, SENT(0));
	sends(&s, 0, 3);
	reading(&s, "end", 2 * S, SENT(4));
	next_file(&s);
	device(&s, "2", 1);
	reading(&s, "start", 3 * S, SENT(5000));
	s.ns = 3 * S;
	respond(&s, ACK, 3, OK);
	reading(&s, "end", 4 * S, SENT(5001));
	result(&s);
	assert_int_equal(s.r->n_comparisons, 2);
	assert_counted(&s, "sent_pkts", 0, 4, 4);
	assert_counted(&s, "sent_pkts", 1, 1, 1);
	end(&s);
}

/* Counters of a file that does not say whose they are belong to no other file. */
static void nobody_knows(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	reading(&s, "start", S, SENT(0));
	sends(&s, 0, 3);
	next_file(&s);
	reading(&s, "end", 4 * S, SENT(5001));
	result(&s);
	assert_int_equal(s.r->n_comparisons, 0);
	end(&s);
}

/* --- differences ------------------------------------------------------------------------------ */

/* An address that the port got later: its frames may be what the device counted. */
static void later_address(void **state)
{
	(void)state;
	for (uint64_t counted = 4; counted < 6; counted++) {
		struct scene s = begin();

		device(&s, "1", 77);
		reading(&s, "start", S, SENT(0));
		sends(&s, 0, 3);
		reading(&s, "end", 2 * S, counted == 4 ? SENT(4) : SENT(5));
		result(&s);
		assert_int_equal(check_of(&s, "sent_pkts", 0)->packets, 0);
		assert_int_equal(finding(&s, "counters-differ") != NULL, counted == 5);
		end(&s);
	}
}

/* What a host sends to a group that it is in it may receive itself. */
static void own_group(void **state)
{
	(void)state;
	for (unsigned int extra = 0; extra < 2; extra++) {
		struct scene s = begin();

		s.group = true;
		device(&s, "1", 2);
		reading(&s, "start", S, "\"hw_counters/rcvd_pkts\":0");
		for (uint32_t psn = 0; psn < 3; psn++)
			put(&s, false, UD_ONLY, psn, NULL, 8 + 256);
		reading(&s, "end", 9 * S,
			extra ? "\"hw_counters/rcvd_pkts\":4" : "\"hw_counters/rcvd_pkts\":3");
		result(&s);
		assert_int_equal(check_of(&s, "rcvd_pkts", 0)->packets, 0);
		assert_int_equal(finding(&s, "counters-differ") != NULL, extra);
		end(&s);
	}
}

/* Traffic that runs when the counters are read is partly on the other side of the reading. */
static void running_traffic(void **state)
{
	(void)state;
	for (unsigned int near = 0; near < 2; near++) {
		struct scene s = begin();

		device(&s, "1", 2);
		reading(&s, "start", S - S / 100, SENT(0));
		for (uint32_t psn = 0; psn < 200000; psn++)
			request(&s, SEND_ONLY, psn);
		reading(&s, "end", s.ns + S / 100, near ? SENT(200900) : SENT(190000));
		result(&s);
		assert_certainty(&s, "counters-differ", near ? RD_POSSIBLE : RD_LIKELY);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_readings),
		cmocka_unit_test(two_captures),
		cmocka_unit_test(series),
		cmocka_unit_test(two_hosts),
		cmocka_unit_test(nobody_knows),
		cmocka_unit_test(later_address),
		cmocka_unit_test(own_group),
		cmocka_unit_test(running_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

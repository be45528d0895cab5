/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose QP it was while the frames of a conversation were captured, by times in the facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_scene.h"

#define MS  UINT64_C(1000000)
#define AT  UINT64_C(1795234971000000000)
#define END 9000 /* of the capture; it begins at AT */

static void facts(struct scene *s, const char *json)
{
	rd_analysis_facts(s->a, json, strlen(json));
}

/* A device at 10.0.0.<host>, whose node GUID is `guid`. */
static void device(struct scene *s, const char *guid, unsigned int host)
{
	char text[200];

	snprintf(text, sizeof(text),
		"{\"kind\":\"device\",\"device\":\"rxe0\",\"port\":1,\"node_guid\":\"%s\","
		"\"gids\":[{\"index\":1,\"gid\":\"::ffff:10.0.0.%u\"}]}",
		guid, host);
	facts(s, text);
}

/* Times are in milliseconds after AT. */
struct span {
	uint32_t pid; /* 0: no such owner, or the kernel if there is a span */
	int64_t started, first, last;
};

struct held {
	const char *name;
	const char *how; /* further members of the object */
	struct span by[3];
	int64_t from, to; /* the frames */
	uint32_t pid;	  /* expected; 0: unknown, or the kernel */
	enum rd_owner_state state;
};

#define EVENTS	"\"events_lost\":0,\"clock_error_ns\":20000000"
#define SAMPLES "\"clock_error_ns\":20000000"

static uint64_t ns(int64_t ms)
{
	return (uint64_t)((int64_t)AT + ms * (int64_t)MS);
}

static int owner_text(char *to, size_t capacity, const struct span *o)
{
	int n = snprintf(to, capacity, "%s{\"pid\":%u,\"comm\":\"%s\"", to[-1] == '[' ? "" : ",",
		o->pid, o->pid ? "x" : "nvme_rdma");

	if (o->pid)
		n += snprintf(to + n, capacity - (size_t)n, ",\"start_ticks\":%u,\"start_ns\":%llu",
			o->pid, (unsigned long long)ns(o->started));
	return n + snprintf(to + n, capacity - (size_t)n,
			   ",\"qps\":[{\"lqpn\":512,\"first_ns\":%llu,\"last_ns\":%llu}]}",
			   (unsigned long long)ns(o->first), (unsigned long long)ns(o->last));
}

static void owners(struct scene *s, const char *guid, const char *how, const struct span *by)
{
	char text[1200];
	size_t n = (size_t)snprintf(text, sizeof(text),
		"{\"kind\":\"owners\",\"device\":\"rxe0\",\"port\":1,\"node_guid\":\"%s\","
		"\"since_ns\":%llu,\"time_ns\":%llu,\"interval_ns\":%llu,%s,\"owners\":[",
		guid, (unsigned long long)AT, (unsigned long long)ns(END),
		(unsigned long long)(500 * MS), how);

	for (unsigned int i = 0; i < 3; i++)
		if (by[i].last)
			n += (size_t)owner_text(text + n, sizeof(text) - n, &by[i]);
	snprintf(text + n, sizeof(text) - n, "]}");
	facts(s, text);
}

/* A request when it begins, and its response when it ends. */
static void traffic(struct scene *s, int64_t from, int64_t to)
{
	s->ns = ns(from);
	request(s, SEND_ONLY, 0);
	s->ns = ns(to);
	respond(s, ACK, 0, OK);
}

static void assert_owner(struct scene *s, const struct held *h)
{
	const struct rd_conversation *c = result(s);

	if (c->owner_state[0] != h->state ||
		(c->owner[0] != NULL) != (h->state == RD_OWNER_KNOWN) ||
		(c->owner[0] && c->owner[0]->pid != h->pid))
		fail_msg("%s: state %d, pid %u", h->name, c->owner_state[0],
			c->owner[0] ? c->owner[0]->pid : 0);
}

static const struct held cases[] = {
	{"the first of two", EVENTS, {{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}}, 1000, 1900, 1,
		RD_OWNER_KNOWN},
	{"the second of two", EVENTS, {{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}}, 3100, 3900, 2,
		RD_OWNER_KNOWN},
	{"whatever their order", EVENTS, {{2, 2900, 3000, 4000}, {1, 0, 1000, 2000}}, 1100, 1900, 1,
		RD_OWNER_KNOWN},
	{"the last of three", EVENTS,
		{{1, 0, 1000, 2000}, {2, 2100, 2200, 3000}, {3, 3100, 3200, 5000}}, 3300, 4900, 3,
		RD_OWNER_KNOWN},
	{"the requester repeats when its peer's process has ended", EVENTS,
		{{1, 0, 1000, 2000}, {2, 6000, 6100, 7000}}, 1100, 5000, 1, RD_OWNER_KNOWN},
	{"frames of both", EVENTS, {{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}}, 1100, 3100, 0,
		RD_OWNER_SEVERAL},
	{"within the error of the clocks both had it", EVENTS,
		{{1, 0, 1000, 2000}, {2, 2000, 2010, 3000}}, 1100, 1995, 0, RD_OWNER_SEVERAL},
	{"at the same time, which cannot be", EVENTS, {{1, 0, 1000, 3000}, {2, 0, 2000, 4000}},
		2100, 2900, 0, RD_OWNER_SEVERAL},
	{"between them", EVENTS, {{1, 0, 1000, 2000}, {2, 2900, 4000, 5000}}, 3000, 3500, 0,
		RD_OWNER_OTHER_TIME},
	{"frames began before its QP was made", EVENTS, {{1, 0, 1000, 2000}, {2, 2900, 4000, 5000}},
		3000, 4500, 0, RD_OWNER_OTHER_TIME},
	{"of one, before it", EVENTS, {{1, 0, 1000, 2000}}, 500, 900, 0, RD_OWNER_OTHER_TIME},
	{"of one, after it", EVENTS, {{1, 0, 1000, 2000}}, 2100, 2900, 0, RD_OWNER_OTHER_TIME},
	{"samples: at the time of one", SAMPLES, {{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}}, 1000,
		1900, 1, RD_OWNER_KNOWN},
	{"samples: the other may have begun", SAMPLES, {{1, 0, 1000, 2000}, {2, 1000, 2500, 4000}},
		1100, 2100, 0, RD_OWNER_SEVERAL},
	{"samples: a third one may have had it", SAMPLES,
		{{1, 0, 1000, 2000}, {2, 5000, 5500, 7000}}, 2050, 2200, 0, RD_OWNER_OTHER_TIME},
	{"samples: one alone, before its first sample", SAMPLES, {{1, 0, 1000, 2000}}, 600, 900, 1,
		RD_OWNER_KNOWN},
	{"samples: one alone that had not started", SAMPLES, {{1, 900, 1000, 2000}}, 600, 850, 0,
		RD_OWNER_OTHER_TIME},
	{"samples: one alone, long before", SAMPLES, {{1, 0, 2000, 3000}}, 600, 1400, 0,
		RD_OWNER_OTHER_TIME},
	{"lost events are samples", "\"events_lost\":1,\"clock_error_ns\":20000000",
		{{1, 0, 1000, 2000}, {2, 1000, 2400, 4000}}, 1100, 1990, 0, RD_OWNER_SEVERAL},
	{"the kernel's are not reported", EVENTS, {{0, 0, 1000, 2000}, {2, 0, 2400, 4000}}, 2200,
		2300, 0, RD_OWNER_OTHER_TIME},
	{"an error of the clock that is larger", "\"events_lost\":0,\"clock_error_ns\":2000000000",
		{{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}}, 1000, 1900, 0, RD_OWNER_SEVERAL},
	{"a clock of its own: not by time", "\"events_lost\":0",
		{{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}}, 1000, 1900, 0, RD_OWNER_SEVERAL},
	{"... one alone", "\"events_lost\":0", {{1, 0, 1000, 2000}}, 3000, 4000, 1, RD_OWNER_KNOWN},
	{"frames that were not captured then", EVENTS, {{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}},
		END + 100, END + 200, 0, RD_OWNER_SEVERAL},
};

static void by_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();

		device(&s, "1", 2);
		traffic(&s, cases[i].from, cases[i].to);
		owners(&s, "1", cases[i].how, cases[i].by);
		assert_owner(&s, &cases[i]);
		end(&s);
	}
}

static const struct held two = {
	"two", EVENTS, {{1, 0, 1000, 2000}, {2, 2900, 3000, 4000}}, 1100, 1900, 1, RD_OWNER_KNOWN};

/* Another host's capture has its clock. */
static void other_clocks(void **state)
{
	struct held unknown = two;

	(void)state;
	unknown.pid = 0;
	unknown.state = RD_OWNER_SEVERAL;
	for (unsigned int same_file = 0; same_file < 2; same_file++) {
		struct scene s = begin();

		device(&s, "1", 2);
		owners(&s, "1", two.how, two.by);
		traffic(&s, two.from, two.to);
		if (!same_file) {
			rd_analysis_file_end(s.a, 0, true, NULL);
			assert_int_equal(rd_analysis_file(s.a, "next", "made", NULL, NULL), 0);
		}
		device(&s, "2", 1);
		unknown.name = same_file ? "merged" : "another file";
		assert_owner(&s, &unknown);
		end(&s);
	}
}

/* Files of one capture, and of a recorder: the later ones have what was collected until then. */
static void more_files(void **state)
{
	struct span later[3] = {{2, 2900, 3000, 4000}};
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	traffic(&s, two.from, two.to);
	owners(&s, "1", two.how, two.by);
	rd_analysis_file_end(s.a, 0, true, NULL);
	assert_int_equal(rd_analysis_file(s.a, "next", "made", NULL, NULL), 0);
	device(&s, "1", 2);
	owners(&s, "1", two.how, later);
	assert_owner(&s, &two);
	end(&s);
}

/* A list without times may be of any time. */
static void without_times(void **state)
{
	struct held unknown = two;
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	facts(&s, "{\"kind\":\"qps\",\"device\":\"rxe0\",\"port\":1,\"node_guid\":\"1\",\"qps\":["
		  "{\"lqpn\":512,\"pid\":3,\"comm\":\"y\"}]}");
	traffic(&s, two.from, two.to);
	owners(&s, "1", two.how, two.by);
	unknown.name = "a list";
	unknown.state = RD_OWNER_SEVERAL;
	assert_owner(&s, &unknown);
	end(&s);
}

/* More processes than are kept: any of them may have had it. */
static void too_many(void **state)
{
	struct held unknown = two;
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	traffic(&s, two.from, two.to);
	owners(&s, "1", two.how, two.by);
	for (uint32_t i = 0; i < 100; i++) {
		struct span more[3] = {{10 + i, 5000, 5000 + i, 5000 + i}};

		owners(&s, "1", two.how, more);
	}
	unknown.name = "too many";
	unknown.state = RD_OWNER_SEVERAL;
	assert_owner(&s, &unknown);
	end(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_time),
		cmocka_unit_test(other_clocks),
		cmocka_unit_test(more_files),
		cmocka_unit_test(without_times),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters: growth over wraps and resets, the table's rows, what is judged. */
#include "test.h"
#include <rdmadump/counters.h>

#define G100 UINT64_C(100000000000)
#define NONE UINT64_MAX /* of a value: the counter is absent */
#define MOST UINT64_C(0xffffffff)

/* Before, after, width, what lies between, growth. */
TEST(growth)
{
	static const struct {
		uint64_t before, after;
		unsigned int bits; /* 0: a counter that the table does not know */
		unsigned int flags;
		enum rd_unit unit;
		struct rd_span span;
		uint64_t amount;
		enum rd_growth_verdict verdict;
		bool wrapped;
	} cases[] = {
		{5, 9, 32, 0, RD_UNIT_PACKETS, {1, G100}, 4, RD_GROWTH_EXACT, false},
		{5, 5, 32, 0, RD_UNIT_PACKETS, {1, G100}, 0, RD_GROWTH_EXACT, false},
		{0, UINT64_MAX - 1, 64, 0, RD_UNIT_PACKETS, {1, G100}, UINT64_MAX - 1,
			RD_GROWTH_EXACT, false},
		/* A wrap that the port can have made in that time */
		{MOST - 1, 3, 32, 0, RD_UNIT_PACKETS, {1, G100}, 5, RD_GROWTH_EXACT, true},
		{MOST, 0, 32, 0, RD_UNIT_PACKETS, {1, G100}, 1, RD_GROWTH_EXACT, true},
		{MOST - 999999999, 0, 32, 0, RD_UNIT_PACKETS, {1, G100}, 1000000000,
			RD_GROWTH_EXACT, true},
		{MOST - 1, 3, 32, 0, RD_UNIT_PACKETS, {0, 0}, 5, RD_GROWTH_EXACT, true},
		/* One that it cannot have made */
		{MOST - 999999999, 0, 32, 0, RD_UNIT_PACKETS, {1, G100 / 100}, 0, RD_GROWTH_RESET,
			false},
		{MOST - 999999999, 0, 32, 0, RD_UNIT_WORDS, {0.5, G100 / 100}, 0, RD_GROWTH_RESET,
			false},
		{MOST - 999999999, 0, 32, 0, RD_UNIT_WORDS, {100, G100 / 100}, 1000000000,
			RD_GROWTH_EXACT, true},
		/* A reset, however long the time between */
		{100, 5, 32, 0, RD_UNIT_PACKETS, {1, G100}, 0, RD_GROWTH_RESET, false},
		{100, 5, 32, 0, RD_UNIT_PACKETS, {86400, 4 * G100}, 0, RD_GROWTH_RESET, false},
		{100, 5, 32, 0, RD_UNIT_PACKETS, {0, 0}, 0, RD_GROWTH_RESET, false},
		{100, 0, 64, 0, RD_UNIT_PACKETS, {1, G100}, 0, RD_GROWTH_RESET, false},
		{UINT64_MAX - 1, 3, 64, 0, RD_UNIT_PACKETS, {1, G100}, 0, RD_GROWTH_RESET, false},
		{65000, 3, 16, 0, RD_UNIT_PACKETS, {1, G100}, 539, RD_GROWTH_EXACT, true},
		/* Wider than the table says */
		{MOST + 2, 3, 32, 0, RD_UNIT_PACKETS, {1, G100}, 0, RD_GROWTH_RESET, false},
		{MOST - 1, MOST + 9, 32, 0, RD_UNIT_PACKETS, {1, G100}, 10, RD_GROWTH_EXACT, false},
		/* Of a width that is learnt */
		{MOST - 1, 3, 0, 0, 0, {1, G100}, 5, RD_GROWTH_EXACT, true},
		{MOST + 2, 3, 0, 0, 0, {1, G100}, 0, RD_GROWTH_RESET, false},
		{100, 5, 0, 0, 0, {1, G100}, 0, RD_GROWTH_RESET, false},
		/* Counters that stop at their largest value do not wrap */
		{9, 65535, 16, RD_COUNTER_SATURATES, RD_UNIT_ERRORS, {1, G100}, 65526,
			RD_GROWTH_AT_LEAST, false},
		{65535, 65535, 16, RD_COUNTER_SATURATES, RD_UNIT_ERRORS, {1, G100}, 0,
			RD_GROWTH_AT_LEAST, false},
		{9, 65534, 16, RD_COUNTER_SATURATES, RD_UNIT_ERRORS, {1, G100}, 65525,
			RD_GROWTH_EXACT, false},
		{65535, 3, 16, RD_COUNTER_SATURATES, RD_UNIT_ERRORS, {1, G100}, 0, RD_GROWTH_RESET,
			false},
		{0, MOST, 32, RD_COUNTER_SATURATES, RD_UNIT_TICKS, {1, G100}, MOST,
			RD_GROWTH_AT_LEAST, false},
		{NONE, 5, 32, 0, RD_UNIT_PACKETS, {1, G100}, 0, RD_GROWTH_MISSING, false},
		{5, NONE, 32, 0, RD_UNIT_PACKETS, {1, G100}, 0, RD_GROWTH_MISSING, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct rd_counter_kind kind = {
			.bits = cases[i].bits, .flags = cases[i].flags, .unit = cases[i].unit};
		struct rd_growth g = rd_counter_growth(cases[i].bits ? &kind : NULL,
			cases[i].before == NONE ? NULL : &cases[i].before,
			cases[i].after == NONE ? NULL : &cases[i].after, &cases[i].span);

		if (g.amount != cases[i].amount || g.verdict != cases[i].verdict ||
			g.wrapped != cases[i].wrapped)
			fail_msg("case %zu: %llu, verdict %d, %swrapped", i,
				(unsigned long long)g.amount, (int)g.verdict,
				g.wrapped ? "" : "not ");
		assert_int_equal(!rd_growth_reason(&g), g.verdict == RD_GROWTH_EXACT);
	}
}

/* What was unknown once stays unknown; what was a lower bound stays one. */
TEST(growth_add)
{
	static const struct rd_growth steps[] = {{3, RD_GROWTH_EXACT, false},
		{4, RD_GROWTH_EXACT, true}, {5, RD_GROWTH_AT_LEAST, false},
		{6, RD_GROWTH_EXACT, false}, {0, RD_GROWTH_RESET, false},
		{7, RD_GROWTH_EXACT, false}};
	static const uint64_t sums[] = {3, 7, 12, 18, 0, 0};
	struct rd_growth sum = {0};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		rd_growth_add(&sum, &steps[i]);
		same(sum.amount, sums[i], sum.wrapped, i > 0, rd_growth_known(&sum), i < 4);
	}
	assert_int_equal(sum.verdict, RD_GROWTH_RESET);
}

static struct rd_counters make(const char *driver, const char *name, uint64_t value)
{
	struct rd_counters c = {0};

	strcpy(c.driver, driver);
	assert_int_equal(rd_counters_add(&c, value, "%s", name), 0);
	return c;
}

static struct rd_loss_counters loss_of(uint64_t value, uint64_t time_ns)
{
	struct rd_loss_counters c = {.time_ns = time_ns, .n = 1};

	c.counter[0].kind = rd_counter_kind("mlx5_core", "hw_counters/out_of_buffer");
	c.counter[0].name = "out_of_buffer";
	c.counter[0].value = value;
	return c;
}

/* Readings in the middle show a reset that first and last value hide. */
TEST(loss)
{
	static const struct {
		uint64_t value;
		uint64_t sum, least;
		enum rd_growth_verdict verdict;
	} readings[] = {{4294967290, 90, 90, RD_GROWTH_EXACT}, {4, 100, 100, RD_GROWTH_EXACT},
		{104, 200, 200, RD_GROWTH_EXACT}, {5, 0, 205, RD_GROWTH_RESET},
		{4294967295, 0, UINT64_C(4294967495), RD_GROWTH_RESET}};
	struct rd_loss loss = {.last = loss_of(4294967200, 0)};
	struct rd_loss_counters none = {.time_ns = 1};

	for (size_t i = 0; i < sizeof(readings) / sizeof(*readings); i++) {
		struct rd_loss_counters now =
			loss_of(readings[i].value, (i + 1) * UINT64_C(1000000000));

		rd_loss_update(&loss, &now, G100);
		same(loss.growth[0].amount, readings[i].sum, loss.growth[0].verdict,
			readings[i].verdict, loss.least[0], readings[i].least);
	}
	loss = (struct rd_loss){.last = loss_of(1, 0)};
	rd_loss_update(&loss, &none, G100);
	assert_int_equal(loss.growth[0].verdict, RD_GROWTH_MISSING);
}

/* A counter of the same set shows a reset after which the other one passed its old value. */
TEST(loss_witness)
{
	static const struct {
		uint64_t before, after;
		enum rd_growth_verdict verdict;
	} cases[] = {
		{5000, 5000, RD_GROWTH_EXACT}, {5000, 5001, RD_GROWTH_EXACT},
		{5000, 3, RD_GROWTH_RESET}, {4294967000, 3, RD_GROWTH_EXACT}, /* a wrap */
		{4200000000, 3, RD_GROWTH_RESET}, /* 95 millions in 0.16 s */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_loss loss = {.last = loss_of(100, 0)};
		struct rd_loss_counters now = loss_of(300, UINT64_C(100000000));

		loss.last.n_witnesses = now.n_witnesses = 1;
		loss.last.witness[0].kind = now.witness[0].kind =
			rd_counter_kind("mlx5_core", "hw_counters/rx_write_requests");
		loss.last.witness[0].value = cases[i].before;
		now.witness[0].value = cases[i].after;
		rd_loss_update(&loss, &now, G100);
		same(loss.growth[0].verdict, cases[i].verdict, loss.least[0], 200);
		/* Each reset is seen once. */
		now.counter[0].value = 301;
		rd_loss_update(&loss, &now, G100);
		same(loss.growth[0].verdict, cases[i].verdict, loss.least[0], 201);
	}
}

/* More than a port can receive between two readings is no wrap. */
TEST(loss_wrap)
{
	static const struct {
		uint64_t before;
		unsigned int ms, lifespan_ms;
		enum rd_growth_verdict verdict;
	} cases[] = {
		{4294000000, 100, 10, RD_GROWTH_EXACT},
		{4200000000, 100, 10, RD_GROWTH_RESET}, /* 95 millions in 0.16 s */
		{4200000000, 1000, 10, RD_GROWTH_EXACT},
		{4200000000, 100, 1000, RD_GROWTH_EXACT},
		/* The program was stopped for long: a wrap is possible from anywhere */
		{4100000000, 5000, 10, RD_GROWTH_EXACT},
		{4000000000, 5000, 10, RD_GROWTH_RESET},
		{2500000000, 60000, 10, RD_GROWTH_RESET},
		{2500000000, 100, 10000, RD_GROWTH_RESET},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_loss loss = {.last = loss_of(cases[i].before, 0)};
		struct rd_loss_counters now = loss_of(0, cases[i].ms * UINT64_C(1000000));

		now.lifespan_ms = cases[i].lifespan_ms;
		rd_loss_update(&loss, &now, G100);
		assert_int_equal(loss.growth[0].verdict, cases[i].verdict);
		assert_int_equal(loss.last.lifespan_ms, cases[i].lifespan_ms);
	}
}

/* Only counters whose row has the flag are kept. */
TEST(kinds)
{
	struct rd_counters c = {.driver = "mlx5_core", .flags = RD_COUNTER_RELATED};

	expect("1 1 0", rd_counters_want(&c, "ethtool/rx_discards_phy"),
		rd_counters_want(&c, "ethtool/rx_prio3_pause"),
		rd_counters_want(&c, "ethtool/tx_discards_phy"));
	assert_false(rd_counters_want(&c, "hw_counters/out_of_buffer"));
	assert_false(rd_counters_want(&c, "ethtool/never_heard_of"));
	c.flags = 0;
	assert_true(rd_counters_want(&c, "ethtool/never_heard_of"));
}

/* What mlx5, mlx4 and bnxt_en call the pause frames that a port sends; not those it receives. */
TEST(pause)
{
	static const char *const sent[] = {"tx_prio3_pause", "tx_global_pause", "tx_pause_ctrl_phy",
		"tx_pause", "tx_pause_prio_3", "tx_pause_frames", "tx_pfc_frames",
		"tx_pause_storm_warning_events", "tx_pause_storm_error_events",
		"outbound_pci_stalled_wr", "outbound_pci_stalled_wr_events"};
	static const char *const other[] = {"rx_prio3_pause", "rx_global_pause",
		"rx_pause_ctrl_phy", "tx_global_pause_duration", "tx_global_pause_transition",
		"tx_pause_duration", "rx_pause", "rx_pause_frames", "outbound_pci_stalled_rd"};
	struct rd_counters c = {.driver = "mlx5_core", .flags = RD_COUNTER_PAUSE};
	char name[64];

	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++) {
		snprintf(name, sizeof(name), "ethtool/%s", sent[i]);
		assert_true(rd_counters_want(&c, name));
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		snprintf(name, sizeof(name), "ethtool/%s", other[i]);
		assert_false(rd_counters_want(&c, name));
	}
}

/* Rows of the table decide: 65535, then 3, is a reset of what stops at its end. */
TEST(compare)
{
	static const struct {
		const char *name;
		uint64_t before, after, amount;
		enum rd_growth_verdict verdict;
	} cases[] = {
		{"counters/symbol_error", 65535, 3, 0, RD_GROWTH_RESET},
		{"counters/symbol_error", 65530, 65535, 5, RD_GROWTH_AT_LEAST},
		{"hw_counters/out_of_buffer", 0xfffffff0, 4, 20, RD_GROWTH_EXACT},
		{"hw_counters/out_of_buffer", 100, 5, 0, RD_GROWTH_RESET},
		{"hw_counters/np_cnp_sent", 0xfffffff0, 4, 0, RD_GROWTH_RESET},
		{"hw_counters/never_heard_of", 9, 4, 0, RD_GROWTH_RESET},
		{"device/mr_cache/2/cur", 9, 4, 4, RD_GROWTH_EXACT}, /* goes up and down */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_counters before = make("mlx5_core", cases[i].name, cases[i].before);
		struct rd_counters after = make("mlx5_core", cases[i].name, cases[i].after);
		struct rd_counters other = make("mlx5_core", "hw_counters/other", 1);
		struct rd_growth *growth = rd_counters_compare(&before, &after);

		assert_non_null(growth);
		same(growth[0].amount, cases[i].amount, growth[0].verdict, cases[i].verdict);
		free(growth);
		growth = rd_counters_compare(&other, &before);
		assert_non_null(growth);
		assert_int_equal(growth[0].verdict,
			strstr(cases[i].name, "mr_cache") ? RD_GROWTH_EXACT : RD_GROWTH_MISSING);
		free(growth);
		rd_counters_free(&before);
		rd_counters_free(&after);
		rd_counters_free(&other);
	}
}

/* Half of a range in a second: more than the port can receive, so no wrap. */
TEST(compare_times)
{
	struct rd_counters before = make("mlx5_core", "hw_counters/out_of_buffer", 0x90000000);
	struct rd_counters after = make("mlx5_core", "hw_counters/out_of_buffer", 0);

	after.speed = 100000000000;
	for (unsigned int seconds = 0; seconds < 5; seconds = 3 * seconds + 1) {
		struct rd_growth *growth;

		before.time_ns = 1000000000;
		after.time_ns = before.time_ns + seconds * UINT64_C(1000000000);
		growth = rd_counters_compare(&before, &after);
		assert_non_null(growth);
		same(growth[0].verdict, seconds == 1 ? RD_GROWTH_RESET : RD_GROWTH_EXACT,
			growth[0].amount, seconds == 1 ? 0 : 0x70000000);
		free(growth);
	}
	rd_counters_free(&before);
	rd_counters_free(&after);
}

/* Counters of a folder are reset together: one that cannot wrap shows that the other did not. */
TEST(compare_set)
{
	static const struct {
		const char *name;
		uint64_t before, after;
		enum rd_growth_verdict verdict;
	} cases[] = {
		{"hw_counters/out_of_sequence", 100, 0, RD_GROWTH_RESET},
		{"hw_counters/out_of_sequence", 100, 100, RD_GROWTH_EXACT},
		{"counters/port_rcv_packets", 100, 0, RD_GROWTH_EXACT},
		{"hw_counters/never_heard_of", 9, 4, RD_GROWTH_EXACT}, /* may go up and down */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_counters before = make("mlx5_core", "hw_counters/out_of_buffer", MOST);
		struct rd_counters after = make("mlx5_core", "hw_counters/out_of_buffer", 4);
		struct rd_growth *growth;

		assert_int_equal(rd_counters_add(&before, cases[i].before, "%s", cases[i].name), 0);
		assert_int_equal(rd_counters_add(&after, cases[i].after, "%s", cases[i].name), 0);
		growth = rd_counters_compare(&before, &after);
		assert_non_null(growth);
		assert_int_equal(growth[0].verdict, cases[i].verdict);
		assert_int_equal(growth[0].amount, cases[i].verdict == RD_GROWTH_EXACT ? 5 : 0);
		free(growth);
		rd_counters_free(&before);
		rd_counters_free(&after);
	}
}

/* A wrap looks like a reset: what grew by it is no certain growth. */
TEST(judge_wrap)
{
	for (unsigned int wrapped = 0; wrapped < 2; wrapped++) {
		struct rd_counters c = make("mlx5_core", "hw_counters/out_of_buffer", 4);
		struct rd_growth growth = {.amount = 20, .wrapped = wrapped};
		struct rd_findings f;

		expect("0 1", rd_counters_judge(&f, &c, &growth, 1), f.n);
		assert_int_equal(f.finding[0].certainty, wrapped ? RD_LIKELY : RD_CERTAIN);
		rd_findings_free(&f);
		rd_counters_free(&c);
	}
}

static size_t findings_of(const char *name, uint64_t value, bool grew, enum rd_severity *first)
{
	struct rd_counters c = make("mlx5_core", name, value);
	struct rd_growth growth = {.amount = grew ? value : 0};
	struct rd_findings f;
	size_t n;

	assert_int_equal(rd_counters_judge(&f, &c, grew ? &growth : NULL, 1), 0);
	n = f.n;
	*first = n ? f.finding[0].severity : RD_SEV_NONE;
	rd_findings_free(&f);
	rd_counters_free(&c);
	return n;
}

TEST(judge)
{
	enum rd_severity s;

	same(findings_of("hw_counters/out_of_buffer", 1, false, &s), 1, s, RD_SEV_PROBLEM,
		findings_of("hw_counters/rx_write_requests", 1000, true, &s), 0);
	/* A few errors since the link came up are no finding; a new one is. */
	assert_int_equal(findings_of("counters/symbol_error", 9, false, &s), 0);
	assert_int_equal(findings_of("counters/symbol_error", 10, false, &s), 1);
	same(findings_of("counters/symbol_error", 1, true, &s), 1, s, RD_SEV_WARNING,
		findings_of("counters/symbol_error", 65535, false, &s), 2);
	assert_int_equal(findings_of("hw_counters/unheard_of", 65535, true, &s), 0);
	/* Without np_cnp_sent, nothing is known about it. */
	assert_int_equal(findings_of("hw_counters/np_ecn_marked_roce_packets", 5, true, &s), 1);
}

TEST(relation)
{
	struct rd_counters c = make("mlx5_core", "hw_counters/np_ecn_marked_roce_packets", 5);
	struct rd_growth growth[2] = {{.amount = 5}, {0}};
	struct rd_findings f;

	expect("0 0 2", rd_counters_add(&c, 0, "hw_counters/np_cnp_sent"),
		rd_counters_judge(&f, &c, NULL, 0), f.n);
	assert_int_equal(f.finding[0].severity, RD_SEV_PROBLEM);
	assert_non_null(strstr(f.finding[0].detail, "no notification is sent"));
	rd_findings_free(&f);
	c.counter[1].value = 1;
	same(rd_counters_judge(&f, &c, NULL, 0), 0, f.n, 2, f.finding[0].severity, RD_SEV_WARNING);
	rd_findings_free(&f);
	/* Nothing follows from a counter whose growth is not known. */
	c.counter[1].value = 0;
	growth[1].verdict = RD_GROWTH_RESET;
	expect("0 1", rd_counters_judge(&f, &c, growth, 1), f.n);
	assert_int_equal(f.finding[0].severity, RD_SEV_WARNING);
	rd_findings_free(&f);
	rd_counters_free(&c);
	/* The other relations, too. */
	c = make("mlx5_core", "hw_counters/rp_cnp_ignored", 5);
	expect("0 0 1", rd_counters_add(&c, 0, "hw_counters/rp_cnp_handled"),
		rd_counters_judge(&f, &c, NULL, 0), f.n > 0);
	assert_non_null(strstr(f.finding[0].detail, "none is acted on"));
	rd_findings_free(&f);
	rd_counters_free(&c);
}

/* Every row can be reached, is whole, and fits where findings are printed. */
TEST(table)
{
	size_t n = 0;

	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++, n++) {
		char driver[64] = "";

		assert_non_null(strchr(k->name, '/'));
		assert_true(k->meaning && *k->meaning && strlen(k->meaning) < 100);
		assert_true(!k->cause || strlen(k->cause) < 150);
		assert_true(k->bits > 0 && k->bits <= 64 && k->unit < RD_UNITS);
		assert_true(!(k->flags & RD_COUNTER_SATURATES) || k->bits < 64);
		/* The table's contract for RD_COUNTER_LOSS: one driver, in hw_counters, exact. */
		if (k->flags & RD_COUNTER_LOSS) {
			assert_non_null(k->drivers);
			assert_null(strpbrk(k->drivers, " "));
			assert_int_equal(strncmp(k->name, "hw_counters/", 12), 0);
		}
		if (strpbrk(k->name, "*?["))
			continue;
		if (k->drivers)
			memcpy(driver, k->drivers, strcspn(k->drivers, " "));
		if (rd_counter_kind(driver, k->name) != k)
			fail_msg("'%s' is hidden by '%s'", k->name,
				rd_counter_kind(driver, k->name)->name);
	}
	assert_true(n > 200);
	assert_null(rd_counter_kind("mlx5_core", "hw_counters/sent_pkts"));
	assert_non_null(rd_counter_kind("rdma_rxe", "hw_counters/sent_pkts"));
	assert_null(rd_counter_kind("mlx5", "hw_counters/out_of_buffer"));
	assert_non_null(rd_counter_kind("", "hw_counters/out_of_buffer"));
	assert_non_null(rd_counter_kind("irdma", "hw_counters/Nak Sequence Error"));
	/* Where names of units mislead */
	same(rd_counter_kind("", "ethtool/outbound_pci_stalled_rd_events")->unit, RD_UNIT_SECONDS,
		rd_counter_kind("", "ethtool/rx_prio3_pause_transition")->unit, RD_UNIT_EVENTS);
}

TEST(names)
{
	struct rd_counters c = {0};

	assert_int_equal(rd_counters_add(&c, 1, "hw_counters/%s", "a\nb\033[2J\xff"), 0);
	assert_string_equal(c.counter[0].name, "hw_counters/a?b?[2J?");
	assert_ptr_equal(rd_counters_find(&c, "hw_counters/a?b?[2J?"), &c.counter[0]);
	assert_null(rd_counters_find(&c, "hw_counters/a"));
	rd_counters_free(&c);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of triggers: what texts mean, and which frames fire. */
#include "recorder/recorder.h"
#include "recorder/trigger.h"
#include "test.h"
#include "test_packet_make.h"
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>

#define SEND	 0x04
#define READ	 0x0c
#define ACK	 0x11
#define UD	 0x64
#define CNP	 0x81
#define TRIGGERS 4
#define SECOND	 UINT64_C(1000000000)

/* --- texts ----------------------------------------------------------------------------------- */

static void refused(const char *text, const char *why)
{
	struct trigger t;

	if (trigger_parse(&t, text, &failure) == 0)
		fail_msg("'%s' is accepted", text);
	assert_int_equal(failure.class, RD_CLASS_USAGE);
	if (!strstr(failure.text, why) || !strstr(failure.text, text))
		fail_msg("'%s': %s", text, failure.text);
	trigger_free(&t);
}

/* describes TEXT WORDS: what it waits for */
static void means(const char *text, const char *words)
{
	struct trigger t;
	char out[300];

	if (trigger_parse(&t, text, &failure) < 0)
		fail_msg("%s", failure.text);
	trigger_describe(&t, out, sizeof(out));
	if (!strstr(out, words))
		fail_msg("'%s' is %s", text, out);
	trigger_free(&t);
}

TEST(texts)
{
	means("nak", "a NAK of any code");
	means("nak=access", "a NAK 'remote access error'");
	means("nak=3", "a NAK 'remote operational error'");
	means("nak=sequence,qp=0x12", "to QP 0x000012");
	means("rnr,host=10.0.0.1", "from or to 10.0.0.1");
	means("rnr,qp=7,host=fd00::1", "QP 0x000007; from or to fd00::1");
	means("cnp>1000/s", "more than 1000 within a second");
	means("cnp>10k/s", "more than 10000 within a second");
	means("retransmission", "sent before");
	means("stall>500ms", "no packet of both QPs is seen for longer than 0.5 s");
	means("stall>2,qp=0x12,host=10.0.0.1",
		"longer than 2 s; of QP 0x000012; from or to 10.0.0.1");
	means("port-down", "the port goes down");
	means("event=sm_change", "event sm_change");
	means("kmsg=mlx5_core*,error", "matches 'mlx5_core*,error'");
	means("fifo=/run/a,b=c>d", "a line written to /run/a,b=c>d");
	means("log=/var/log/a.log", "a new line of /var/log/a.log that tells of a completion");
	means("log=/a,b=c>d:e,match=x,match=*y", "of /a,b=c>d:e that matches *x,match=*y*");
	means("out_of_buffer", "out_of_buffer grows by more than 0 since the start");
	means("out_of_buffer>100/s", "grows by more than 100 within a second");
	means("hw_counters/packet_seq_err>5", "hw_counters/packet_seq_err grows by more than 5");
	means("out_of_buffer>1,device=mlx5_1:2", "of mlx5_1:2 grows by more than 1");
}

TEST(refused)
{
	refused("", "neither");
	refused("=5", "neither");
	refused("a b", "neither");
	refused("nak=", "needs a value");
	refused("nak=32", "0 to 31");
	refused("nak=acess", "0 to 31");
	refused("rnr=1", "takes no value");
	refused("kmsg", "needs a value");
	/* Near a name: refused before a device is opened. */
	refused("nack", "did you mean 'nak'?");
	refused("nack>5/s", "did you mean 'nak'?");
	refused("retransmision", "did you mean 'retransmission'?");
	refused("qp_error", "did you mean 'qp-error'?");
	refused("kmsg=", "needs a value");
	refused("fifo=", "needs a value");
	refused("log=,match=x", "log=PATH,match=PATTERN");
	refused("log=/a,match=", "log=PATH,match=PATTERN");
	refused("log", "needs a value");
	refused("event", "needs a value");
	refused("event=port_up", "no event of that name");
	refused("cnp>5", "must be a rate");
	refused("cnp>5/m", "number and /s");
	refused("cnp>", "must be a number");
	refused("cnp>-1/s", "must be a number");
	refused("stall", "stall>TIME");
	refused("stall>0", "from 1ms to 1h");
	refused("stall>61m", "from 1ms to 1h");
	refused("stall>2/s", "from 1ms to 1h");
	refused("stall>", "from 1ms to 1h");
	refused("stall>1s,device=mlx5_0", "for counters");
	refused("port-down>1", "triggers of frames and counters");
	refused("nak,", "after a comma");
	refused("nak,qp", "after a comma");
	refused("nak,qp=0x1000000", "from 0 to 0xffffff");
	refused("nak,host=mlx5", "IPv4 or IPv6");
	refused("nak,device=mlx5_0", "for counters");
	refused("out_of_buffer,qp=1", "for counters");
	refused("out_of_buffer,device=", "for counters");
	refused("nak,peer=1", "no other key");
}

/* --- frames ------------------------------------------------------------------------------ */

static struct {
	struct trigger trigger[TRIGGERS];
	struct wire wire;
	uint64_t ns;
	uint8_t direction;
} w;

static int unwatch(void **state)
{
	wire_fini(&w.wire);
	for (unsigned int i = 0; i < TRIGGERS; i++)
		trigger_free(&w.trigger[i]);
	return 0;
}

/* Up to four texts, then NULL. Those before it end. */
static void watch_texts(const char *const *texts)
{
	unsigned int n = 0;

	unwatch(NULL);
	memset(&w, 0, sizeof(w));
	w.ns = 1000 * SECOND;
	w.direction = RD_DIR_IN;
	for (; texts[n]; n++)
		if (trigger_parse(&w.trigger[n], texts[n], &failure) < 0)
			fail_msg("%s", failure.text);
	assert_int_equal(wire_init(&w.wire, w.trigger, n), 0);
}
#define watch(...) watch_texts((const char *const[]){__VA_ARGS__, NULL})

/* The number of the trigger that a packet fires; -1: none. body: of the packet, after the BTH. */
static int frame(enum make_outer outer, unsigned int opcode, uint32_t qp, uint32_t psn,
	const uint8_t *body, uint32_t len)
{
	struct make m = {0};
	struct rd_packet p;
	struct rd_frame f;
	const struct trigger *t;

	make_packet(&m, outer, opcode, qp, len, 0);
	assert_true(rd_packet_parse(make_link(outer), m.b, m.n, m.n, &p));
	rd_put_be32(m.b + p.bth + 8, psn);
	memcpy(m.b + p.bth + 12, body, len);
	f = make_frame(&m);
	f.ts_ns = w.ns;
	f.direction = w.direction;
	t = wire_frame(&w.wire, make_link(outer), &f);
	return t ? (int)(t - w.trigger) : -1;
}

static int response(uint32_t qp, uint8_t syndrome)
{
	const uint8_t aeth[4] = {syndrome, 0, 0, 1};

	return frame(MAKE_V2_IPV4, ACK, qp, 5, aeth, 4);
}

static int request(enum make_outer outer, uint32_t qp, uint32_t psn)
{
	static const uint8_t body[16];

	return frame(outer, SEND, qp, psn, body, sizeof(body));
}

static int congestion(void)
{
	static const uint8_t zeros[16];

	return frame(MAKE_V2_IPV4, CNP, 7, 0, zeros, sizeof(zeros));
}

TEST(naks)
{
	watch("nak=access,qp=7", "nak", "rnr");
	expect("-1 0 1 1 2 -1", response(7, 0x1f), response(7, 0x62), response(8, 0x62),
		response(7, 0x60), response(7, 0x2e), request(MAKE_V2_IPV4, 7, 1));
	/* Both match the second packet: the first one names the frame, both count it. */
	expect("1 3 1", w.trigger[0].fired, w.trigger[1].fired, w.trigger[2].fired);
}

TEST(errors)
{
	watch("qp-error", "icrc-error", "cnp");
	/* "ICRC" is no ICRC. */
	expect("1 0 1 1", response(7, 0x60), response(7, 0x61), congestion(), w.trigger[2].fired);
}

TEST(hosts)
{
	static const uint8_t rnr[4] = {0x2e}, nak[4] = {0x62};

	watch("nak,host=10.0.0.1", "nak,host=10.0.0.9", "rnr,host=fd00::1");
	expect("0 0 -1 2", response(7, 0x62), w.trigger[1].fired, response(7, 0x2e),
		frame(MAKE_V2_IPV6, ACK, 7, 0, rnr, 4));
	expect("2 -1", frame(MAKE_IB_GRH, ACK, 7, 0, rnr, 4), frame(MAKE_IB, ACK, 7, 0, nak, 4));
}

TEST(cm_reject)
{
	uint8_t body[8 + 256] = {0};

	watch("cm-reject");
	body[8] = 1;
	body[9] = RD_MAD_CM;
	body[10] = 2;
	body[11] = 3;
	body[8 + 17] = RD_CM_REQ;
	assert_int_equal(frame(MAKE_V2_IPV4, UD, 1, 0, body, sizeof(body)), -1);
	body[8 + 17] = RD_CM_REJ;
	assert_int_equal(frame(MAKE_V2_IPV4, UD, 1, 0, body, sizeof(body)), 0);
	assert_int_equal(frame(MAKE_V2_IPV4, UD, 2, 0, body, sizeof(body)), -1);
}

/* --- retransmissions --------------------------------------------------------------------- */

TEST(retransmissions)
{
	watch("retransmission");
	/* Across the end of the PSNs; a READ takes several. */
	expect("-1 -1 -1 -1", request(MAKE_V2_IPV4, 7, 0xfffffe),
		request(MAKE_V2_IPV4, 7, 0xffffff), request(MAKE_V2_IPV4, 7, 0),
		request(MAKE_V2_IPV4, 7, 10));
	/* Other QPs, addresses and directions have their own. */
	expect("-1 -1", request(MAKE_V2_IPV4, 8, 5), request(MAKE_V2_IPV6, 7, 5));
	w.direction = RD_DIR_OUT;
	assert_int_equal(request(MAKE_V2_IPV4, 7, 10), -1);
	w.direction = RD_DIR_IN;
	/* The same packet, an older one, the one after it, and then a new one. */
	expect("0 0 0 -1", request(MAKE_V2_IPV4, 7, 10), request(MAKE_V2_IPV4, 7, 0xffffff),
		request(MAKE_V2_IPV4, 7, 0), request(MAKE_V2_IPV4, 7, 11));
	/* Far away: the QP was connected again. */
	expect("-1 -1 0", request(MAKE_V2_IPV4, 7, 0xc00000), request(MAKE_V2_IPV4, 7, 0xc00001),
		request(MAKE_V2_IPV4, 7, 0xc00001));
}

/* The eighth time in a row, whatever is sent after it in each round; and only once. */
TEST(gave_up)
{
	watch("gave-up");
	for (unsigned int round = 1; round <= 10; round++) {
		assert_int_equal(request(MAKE_V2_IPV4, 7, 20), round == 8 ? 0 : -1);
		assert_int_equal(request(MAKE_V2_IPV4, 7, 21), -1);
	}
	/* Packets in sequence continue a round, also one that begins behind the oldest packet. */
	for (uint32_t psn = 20; psn <= 23; psn++)
		assert_int_equal(request(MAKE_V2_IPV4, 11, psn), -1);
	for (unsigned int round = 1; round <= 7; round++)
		same(request(MAKE_V2_IPV4, 11, 21), round == 7 ? 0 : -1,
			request(MAKE_V2_IPV4, 11, 22), -1, request(MAKE_V2_IPV4, 11, 23), -1);
	/* Seven rounds that begin at different packets are none. */
	for (uint32_t i = 0; i < 7; i++) {
		expect("-1 -1", request(MAKE_V2_IPV4, 9, 20 + i), request(MAKE_V2_IPV4, 9, 20 + i));
	}
}

/* As many flows as are promised have room but for a few; what is idle longest is replaced, and
 * counted, and none is confused with another. */
TEST(many_flows)
{
	const uint32_t n = WIRE_FLOWS / 2;
	uint64_t before;
	unsigned int known = 0;

	watch("retransmission");
	for (uint32_t qp = 0; qp < n; qp++)
		assert_int_equal(request(MAKE_V2_IPV4, qp, 100), -1);
	assert_in_range(w.wire.forgotten, 0, n / 50);
	before = w.wire.forgotten;
	for (uint32_t qp = 0; qp < n; qp++)
		known += request(MAKE_V2_IPV4, qp, 100) == 0;
	assert_in_range(known, n - before - (w.wire.forgotten - before), n - before);
	/* Busy ones stay, whatever comes. */
	for (uint32_t qp = 0; qp < 8 * WIRE_FLOWS; qp++) {
		request(MAKE_V2_IPV4, 1000000 + qp, 100);
		if (qp % 1000 == 0)
			assert_int_equal(request(MAKE_V2_IPV4, 999999, 100), qp ? 0 : -1);
	}
	/* The memory is used up to the last place, by the newest. */
	known = 0;
	for (uint32_t qp = 8 * WIRE_FLOWS - n; qp < 8 * WIRE_FLOWS; qp++)
		known += request(MAKE_V2_IPV4, 1000000 + qp, 100) == 0;
	assert_in_range(known, n - n / 10, n);
	known = 0;
	for (uint32_t qp = 0; qp < n; qp++)
		known += request(MAKE_V2_IPV4, qp, 100) == 0;
	assert_int_equal(known, 0);
}

/* --- rates
 * ----------------------------------------------------------------------------------------- */

TEST(rates)
{
	unsigned int fired = 0;

	watch("cnp>10/s");
	/* Ten within a second are not more than ten. */
	for (unsigned int i = 0; i < 100; i++, w.ns += SECOND / 10)
		assert_int_equal(congestion(), -1);
	/* Twenty: once, at the time when the rate passes the limit. */
	for (unsigned int i = 0; i < 60; i++, w.ns += SECOND / 20)
		fired += congestion() == 0;
	assert_int_equal(fired, 1);
	/* Again after it had fallen. */
	w.ns += 5 * SECOND;
	for (unsigned int i = 0; i < 11; i++)
		assert_int_equal(congestion(), i == 10 ? 0 : -1);
}

TEST(describe)
{
	struct make m = {0};
	struct rd_frame f;
	char out[200];

	watch("nak=access");
	make_packet(&m, MAKE_V2_IPV4, ACK, 7, 4, 0);
	m.b[14 + 20 + 8 + 12] = 0x62;
	f = make_frame(&m);
	wire_describe(&w.trigger[0], RD_LINK_ETHERNET, &f, out, sizeof(out));
	assert_non_null(strstr(out, "trigger nak=access: "));
	assert_non_null(strstr(out, "10.0.0.2"));
	assert_non_null(strstr(out, "remote access error"));
}

/* Files that are complete faster than they can be analysed: those over the limit are counted. */
TEST(too_many_files)
{
	static struct rd_recorder r;

	r.config.command = "true";
	assert_non_null(r.files = calloc(RD_RECORDER_FILES, sizeof(*r.files)));
	r.follow.running = true; /* but no thread takes any */
	for (; r.n_files < RD_RECORDER_FILES + 3; r.n_files++)
		follow_make_room(&r);
	expect("3 3 0", r.follow.next, r.counts.commands_failed, r.counts.not_analysed);
	free(r.files);
}

/* A report that could not be created was not written, whatever became of the analysis. */
TEST(no_sidecar)
{
	assert_false(sidecar_finish(&(struct sidecar){.out.fd = -1}, true));
}

/* What the other host has sent when the recording ends counts. */
TEST(confirmed_at_the_end)
{
	static struct rd_recorder r;
	int in[2], out[2];

	expect("0 0", pipe(in), pipe(out));
	r.tell = (struct tell){
		strdup("b"), .in = in[1], .out = out[0], .waiting = 1, .child = fork()};
	if (!r.tell.child)
		_exit(0);
	assert_int_equal(write(out[1], "+", 1), 1);
	tell_close(&r);
	expect("1 0 0", r.counts.confirmed, close(in[0]), close(out[1]));
}

/* --- the end, while a command is started ------------------------------------------------------ */

static struct rd_recorder ended;
static atomic_bool is_starting, waits_no_more;

/* In place of libc's: the command is started when the recorder has just decided not to wait. */
int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	is_starting = true;
	while (!waits_no_more)
		sched_yield();
	/* Without the lock, the end would not see this command. */
	if (pthread_mutex_trylock(&ended.follow.child_lock) == 0) {
		pthread_mutex_unlock(&ended.follow.child_lock);
		while (!ended.follow.stop)
			sched_yield();
	}
	return posix_spawn(pid, "/bin/sleep", actions, attr, argv, env);
}

static bool wait_no_more(void *ctx, bool commands)
{
	while (!is_starting)
		sched_yield();
	waits_no_more = true;
	return false;
}

/* It gets its signal nevertheless: else the end would wait for it. */
/* After a quarter of the time that the service manager allows. */
TEST(watchdog)
{
	struct rd_recorder r = {.notified_ns = rd_monotonic_ns() - 900 * SECOND};
	const uint64_t before = r.notified_ns;

	setenv("WATCHDOG_USEC", "4000000000", 1);
	notify_alive(&r);
	assert_int_equal(r.notified_ns, before);
	r.notified_ns -= 100 * SECOND;
	notify_alive(&r);
	assert_true((int64_t)(r.notified_ns - before) >= (int64_t)(900 * SECOND));
	unsetenv("WATCHDOG_USEC");
}

TEST(end_while_command_starts)
{
	ended.config.command = "sleep";
	ended.config.waiting = wait_no_more;
	pthread_mutex_init(&ended.lock, NULL);
	assert_non_null(ended.files = calloc(RD_RECORDER_FILES, sizeof(*ended.files)));
	ended.files[ended.n_files++].dump.path = "3600";
	follow_start(&ended);
	assert_true(ended.follow.running);
	follow_finish(&ended);
	expect("0 1", ended.follow.child, ended.counts.commands_failed);
	free(ended.files);
	pthread_mutex_destroy(&ended.lock);
}

/* --- when a trigger fired -------------------------------------------------------------------- */

static bool locked;

uint64_t __wrap_rd_session_now(const struct rd_session *s);
uint64_t __wrap_rd_session_now(const struct rd_session *s)
{
	(void)s;
	locked = pthread_mutex_trylock(&ended.lock) != 0;
	if (!locked)
		pthread_mutex_unlock(&ended.lock);
	return SECOND;
}

enum rd_triggered __wrap_rd_session_trigger(struct rd_session *s, uint64_t ns);
enum rd_triggered __wrap_rd_session_trigger(struct rd_session *s, uint64_t ns)
{
	(void)s;
	return ns == SECOND ? RD_TRIGGER_HELD : RD_TRIGGER_CLOSED;
}

/* A file that begins between the two has skipped the frames before its own trigger's. */
TEST(no_other_trigger_between_its_time_and_its_window)
{
	struct trigger t = {.text = "signal"};

	pthread_mutex_init(&ended.lock, NULL);
	recorder_fire(&ended, &t, NULL, "");
	expect("1 1", locked, ended.counts.held);
	pthread_mutex_destroy(&ended.lock);
}

ALL_TESTS_WITH(NULL, unwatch)

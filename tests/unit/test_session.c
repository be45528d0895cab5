/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture as a library: from a file source to a file, refused, and stopped by another thread. */
#include "test.h"
#include <pthread.h>
#include <rdmadump/identity.h>
#include <rdmadump/session.h>

#include "test_directory.h"

#define N_FRAMES    1000
#define FRAME_BYTES 100
#define RECORD	    (16 + FRAME_BYTES)

static const char input[] = "in.pcap", output[] = "out.pcap";

static void put32(FILE *f, uint32_t n)
{
	fwrite(&n, sizeof(n), 1, f);
}

/* A classic pcap file's header, then its frames. */
static void put_header(FILE *f)
{
	static const uint16_t version[2] = {2, 4};

	put32(f, 0xa1b23c4d); /* nanoseconds */
	fwrite(version, sizeof(version), 1, f);
	put32(f, 0);
	put32(f, 0);
	put32(f, 65535);
	put32(f, 1); /* Ethernet */
}

static void put_frames(FILE *f, unsigned int from, unsigned int n)
{
	uint8_t data[FRAME_BYTES] = {[12] = 0x88, [13] = 0xb5};

	for (unsigned int i = from; i < from + n; i++) {
		put32(f, 1700000000 + i);
		put32(f, i);
		put32(f, FRAME_BYTES);
		put32(f, FRAME_BYTES);
		data[14] = (uint8_t)i;
		fwrite(data, sizeof(data), 1, f);
	}
}

static int setup(void **state)
{
	FILE *f = directory_enter(state) ? NULL : fopen(input, "w");

	if (!f)
		return -1;
	put_header(f);
	put_frames(f, 0, N_FRAMES);
	return fclose(f);
}

static int teardown(void **state)
{
	unlink(input);
	unlink(output);
	return directory_leave(state);
}

static struct rd_session_config config_of(const char *from, const char *to)
{
	return (struct rd_session_config){.read = from,
		.out.path = to,
		.device.log2_buffers = 4,
		.out.buffer = 1 << 20,
		/* Privileges stay where there are any: other tests follow. */
		.user = geteuid() == 0 ? "root" : NULL,
		.cut = {.writable = true}};
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

struct calls {
	unsigned int ready, ended;
	unsigned int frames;
};

static void count_ready(void *ctx)
{
	((struct calls *)ctx)->ready++;
}

static void count_ended(void *ctx)
{
	((struct calls *)ctx)->ended++;
}

static void count_frames(
	void *ctx, const struct rd_source *source, const struct rd_frame *frames, unsigned int n)
{
	((struct calls *)ctx)->frames += n;
}

TEST(file_to_file)
{
	struct calls calls = {0};
	struct rd_session_config config = config_of(input, output);
	const struct rd_session_result *r;
	struct rd_session *s;
	unsigned int n;

	config.calls.ctx = &calls;
	config.calls.ready = count_ready;
	config.calls.frames = count_frames;
	config.calls.ended = count_ended;
	expect("0 1", rd_session_open(&s, &config, &failure), rd_session_offline(s));
	assert_non_null(rd_session_sources(s, &n));
	expect("1 -1 0", n, size_of(output), rd_session_run(s));
	r = rd_session_result(s);
	same(r->ran, true, r->end, RD_END_SOURCE, r->error.class, RD_CLASS_NONE,
		rd_tally_delivered(&r->total), N_FRAMES);
	same(r->total.encoded, N_FRAMES, r->written.written, N_FRAMES);
	expect("1 0", r->written.files, r->dropped);
	same(r->bytes, N_FRAMES * FRAME_BYTES, r->account.direction[RD_DIR_UNKNOWN], N_FRAMES,
		size_of(output), 24 + N_FRAMES * RECORD, r->written.file_bytes, size_of(output));
	rd_session_close(s);
	same(calls.ready, 1, calls.ended, 1, calls.frames, N_FRAMES);
}

TEST(limit_and_filter)
{
	struct rd_session_config config = config_of(input, output);
	const struct rd_session_result *r;
	struct rd_session *s;

	config.count = 10;
	config.filter.expression = "ether[14] & 1 == 0";
	expect("0 ether[14] & 1 == 0 0", rd_session_open(&s, &config, &failure),
		rd_session_filter_text(s), rd_session_run(s));
	r = rd_session_result(s);
	same(r->end, RD_END_COUNT, r->written.written, 10, size_of(output), 24 + 10 * RECORD);
	rd_session_close(s);
}

/* The output is the input, under another name: nothing is touched. */
TEST(refused)
{
	struct rd_session_config config;
	const struct rd_session_result *r;
	struct calls calls = {0};
	off_t size = size_of(input);
	struct rd_session *s;
	static const char other[] = "other.pcap";

	assert_int_equal(link(input, other), 0);
	config = config_of(input, other);
	config.calls.ctx = &calls;
	config.calls.ready = count_ready;
	config.calls.ended = count_ended;
	expect("0 -1", rd_session_open(&s, &config, &failure), rd_session_run(s));
	r = rd_session_result(s);
	same(r->ran, false, r->error.class, RD_CLASS_USAGE);
	assert_non_null(strstr(r->error.text, "would overwrite a file that is read"));
	rd_session_close(s);
	same(calls.ready + calls.ended, 0, size_of(input), size);
	unlink(other);
}

/* The name decides which groups the user has. */
TEST(user)
{
	struct rd_identity id;

	expect("0 1 1 0 root -1", rd_identity_choose(&id, "root", &failure), id.change, id.keep,
		id.uid, id.name, rd_identity_choose(&id, "no such user", &failure));
	assert_int_equal(failure.class, RD_CLASS_USAGE);
}

TEST(no_source)
{
	const struct rd_session_config config = config_of("/nonexistent/file", output);
	struct rd_session *s = NULL;

	assert_int_equal(rd_session_open(&s, &config, &failure), -1);
	assert_null(s);
	assert_int_not_equal(failure.class, RD_CLASS_NONE);
}

/* --- stopped --------------------------------------------------------------------------- */

struct stopper {
	struct rd_session *s;
	pthread_t thread;
	unsigned int frames;
	bool started;
};

static void *stop(void *arg)
{
	struct stopper *stopper = arg;

	rd_session_stop(stopper->s);
	return NULL;
}

/* Once all frames have come, from another thread; the input stays open, and ends nothing. */
static void stop_after_three(
	void *ctx, const struct rd_source *source, const struct rd_frame *frames, unsigned int n)
{
	struct stopper *stopper = ctx;

	(void)source, (void)frames;
	stopper->frames += n;
	if (stopper->frames == 3)
		assert_int_equal(pthread_create(&stopper->thread, NULL, stop, stopper), 0);
}

TEST(stopped)
{
	struct stopper stopper = {.frames = 0};
	struct rd_session_config config;
	const struct rd_session_result *r;
	int ends[2];
	char path[32];
	FILE *f;

	assert_int_equal(pipe(ends), 0);
	f = fdopen(ends[1], "w");
	put_header(f);
	put_frames(f, 0, 3);
	fflush(f);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	config = config_of(path, output);
	config.calls.ctx = &stopper;
	config.calls.frames = stop_after_three;
	expect("0 0", rd_session_open(&stopper.s, &config, &failure), rd_session_run(stopper.s));
	pthread_join(stopper.thread, NULL);
	r = rd_session_result(stopper.s);
	same(r->end, RD_END_WATCH, r->written.written, 3);
	assert_int_equal(size_of(output), 24 + 3 * RECORD);
	rd_session_close(stopper.s);
	fclose(f);
	close(ends[0]);
}

static void stop_while_waiting(void *ctx)
{
	struct stopper *stopper = ctx;

	if (!stopper->started)
		assert_int_equal(pthread_create(&stopper->thread, NULL, stop, stopper), 0);
	stopper->started = true;
}

/* Also while it waits for the reader of a FIFO. */
TEST(stopped_before_reader)
{
	struct rd_session_config config = config_of(input, output);
	const struct rd_session_result *r;
	struct stopper stopper = {.started = false};

	unlink(output);
	assert_int_equal(mkfifo(output, 0600), 0);
	config.calls.ctx = &stopper;
	config.calls.waiting_for_reader = stop_while_waiting;
	expect("0 -1", rd_session_open(&stopper.s, &config, &failure), rd_session_run(stopper.s));
	pthread_join(stopper.thread, NULL);
	r = rd_session_result(stopper.s);
	same(r->ran, false, r->error.class, RD_CLASS_OUTPUT);
	assert_non_null(strstr(r->error.text, "had a reader"));
	rd_session_close(stopper.s);
}

static void close_reader(void *ctx)
{
	close(*(const int *)ctx);
}

/* A session into a FIFO, whose reader is there until ready() is called. */
static bool breaks(
	rlim_t bytes, bool reader_goes, const struct rd_session_result **r, struct rd_session **s)
{
	struct rd_session_config config = config_of(input, output);
	int reader, rc;

	unlink(output);
	if (reader_goes)
		assert_int_equal(mkfifo(output, 0600), 0);
	reader = reader_goes ? open(output, O_RDONLY | O_NONBLOCK) : -1;
	config.calls.ctx = &reader;
	config.calls.ready = reader_goes ? close_reader : NULL;
	assert_int_equal(rd_session_open(s, &config, &failure), 0);
	limit_files(bytes);
	rc = rd_session_run(*s);
	limit_files(RLIM_INFINITY);
	*r = rd_session_result(*s);
	return rc < 0;
}

/* A reader that goes before the header is no error; a header that cannot be written is one. */
TEST(no_header)
{
	const struct rd_session_result *r;
	struct rd_session *s;

	signal(SIGPIPE, SIG_IGN);
	expect("0 1", breaks(RLIM_INFINITY, true, &r, &s), r->broken_pipe);
	rd_session_close(s);
	same(breaks(10, false, &r, &s), 1, r->broken_pipe, 0, r->error.class, RD_CLASS_OUTPUT);
	rd_session_close(s);
}

ALL_TESTS_WITH(setup, teardown)

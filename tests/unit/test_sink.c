/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of the writer: rotation, limits, and that every frame is written or accounted for. */
#include "sink/writer.h"
#include "test.h"
#include <rdmadump/sink.h>

#include "test_directory.h"
#include "test_feed_wait.h"
#include "test_format.h"

#define FRAME	  1000
#define RECORD	  1032 /* in pcapng */
#define BUFFER	  ((size_t)1 << 20)
#define FILES_MAX 40

static struct rd_section section;
static struct rd_iface ifaces[2];

/* A sink, the notes given to its files, and what was put into it. */
struct place {
	struct rd_encoder encoder;
	struct rd_sink_config config;
	struct rd_sink_ending ending;
	struct rd_sink *sink;
	struct rd_tally tally[RD_IFACES_MAX];
	unsigned int begun, ended, last;
	uint64_t first_ns; /* of a chunk, if it is not the time of its first frame */
	struct rd_file_account account[FILES_MAX + 1];
	struct rd_sink_stats stats;
	struct rd_error err;
	bool quiet;
	uint64_t number;
	const struct rd_facts *(*facts)(void *ctx, unsigned int file, bool end);
};

static void on_begin(void *ctx)
{
	struct place *p = ctx;

	section.comment = "begun";
	p->begun++;
}

static void on_fill(void *ctx, const struct rd_file_account *account, struct rd_iface_stats *stats)
{
	struct place *p = ctx;

	section.comment = "ended"; /* of the same length */
	assert_int_equal(account->number, p->begun);
	p->account[account->number % FILES_MAX] = *account;
	p->ended++;
	p->last += account->last;
	for (unsigned int i = 0; i < 2; i++)
		stats[i].delivered = account->written[i];
}

static bool on_waiting(void *ctx, bool commands)
{
	return true;
}

/* The only function that opens a sink. */
static int sink_open(struct place *p, const char *path, const char *format)
{
	for (unsigned int i = 0; i < 2; i++)
		ifaces[i] = (struct rd_iface){
			.name = "test", .link = RD_LINK_ETHERNET, .max_frame = FRAME};
	if (rd_encoder_init(&p->encoder, format, path, &section, ifaces,
		    p->config.feeds > 1 ? 2 : 1, &p->err) < 0)
		fail_msg("%s", p->err.text);
	p->config.path = path;
	p->config.encoder = &p->encoder;
	p->config.max_frame = FRAME;
	if (!p->config.buffer)
		p->config.buffer = BUFFER;
	p->ending = (struct rd_sink_ending){.begin = on_begin,
		.fill = on_fill,
		.waiting = on_waiting,
		.ctx = p,
		.facts = p->facts};
	return rd_sink_open(&p->sink, &p->config, &p->ending, &p->err);
}

static int sink_begin(struct place *p, const char *path, const char *format)
{
	if (sink_open(p, path, format) < 0)
		return -1;
	if (rd_sink_start(p->sink, &p->err) == 0)
		return 0;
	rd_sink_abandon(p->sink);
	return -1;
}

/* A chunk of n frames with timestamps from ns on into feed i; their number is their content. */
static void put(struct place *p, unsigned int i, unsigned int n, uint64_t ns, bool turn)
{
	struct rd_feed *f = rd_sink_feed(p->sink, i);
	struct rd_chunk *c = feed_chunk(f);
	uint8_t data[FRAME] = {0};
	size_t used;

	for (unsigned int k = 0; k < n; k++) {
		struct rd_frame frame = {.data = data,
			.caplen = FRAME,
			.len = FRAME,
			.ts_ns = ns + k,
			.iface = (uint16_t)i};

		memcpy(data, &p->number, sizeof(p->number));
		p->number++;
		assert_int_equal(p->encoder.format->frames(&p->encoder, &frame, 1,
					 c->data + c->used, c->capacity - c->used, &used),
			1);
		c->used += used;
	}
	c->frames = n;
	c->rotate = turn;
	c->first_ns = p->first_ns ? p->first_ns : ns;
	c->last_ns = ns + n - 1;
	p->tally[i].encoded += n;
	memcpy(c->tally, p->tally, sizeof(c->tally));
	rd_feed_put(f, c);
}

static int sink_end(struct place *p)
{
	int rc = rd_sink_close(p->sink, p->tally, &p->stats, &p->quiet, &p->err);

	p->sink = NULL;
	return rc;
}

/* Frames in a file, which are numbered from `first` on, and its statistics say so. */
static unsigned int file_holds(const char *path, uint64_t first)
{
	struct memory m = {0};
	struct rd_iface_stats stats;
	struct rd_frame frames[64];
	struct rd_reader *r;
	unsigned int n = 0;
	int got;

	memory_add_file(&m, path);
	r = memory_open(&m);
	while ((got = rd_reader_next(r, frames, 64, &failure)) > 0) {
		for (int i = 0; i < got; i++, n++) {
			uint64_t number;

			memcpy(&number, frames[i].data, sizeof(number));
			assert_int_equal(number, first + n);
		}
	}
	expect("0 ended 1", got, rd_reader_section(r)->comment, rd_reader_stats(r, 0, &stats));
	assert_int_equal(stats.delivered, n);
	rd_reader_close(r);
	memory_free(&m);
	return n;
}

/* The files base, base1, base2 ... hold these numbers of frames, all of them in order. */
static void files_hold(const char *base, const unsigned int *want, uint64_t first)
{
	char path[100];

	snprintf(path, sizeof(path), "%s", base);
	for (unsigned int i = 0; want[i]; i++) {
		if (i)
			snprintf(path, sizeof(path), "%s%u", base, i);
		assert_int_equal(file_holds(path, first), want[i]);
		first += want[i];
		unlink(path);
	}
}

/* --- one file --------------------------------------------------------------------------- */

TEST(one_file)
{
	struct place p = {.config = {.buffer = BUFFER}};
	struct stat st;

	assert_int_equal(sink_begin(&p, "one", "pcapng"), 0);
	for (unsigned int i = 0; i < 50; i++)
		put(&p, 0, 1 + i % 40, 1000 + 100 * i, false);
	expect("0 0 0600", sink_end(&p), stat("one", &st), st.st_mode & 0777);
	same(p.stats.written, p.number, p.stats.unwritten, 0, p.stats.beyond, 0, p.stats.files, 1);
	same(p.stats.file_bytes, st.st_size, p.ended, 1, p.last, 1, p.account[1].first_ns, 1000);
	same(p.account[1].last_ns, 1000 + 4900 + 9, p.account[1].written[0], p.number,
		p.account[1].tally[0].encoded, p.number);
	files_hold("one", (unsigned int[]){(unsigned int)p.number, 0}, 0);
}

/* By the file's number and whether it ends; NULL for none. */
static const struct rd_facts *some_facts(void *ctx, unsigned int file, bool end)
{
	static char begun[] = "{\"kind\":\"begun\"}", ended[] = "{\"kind\":\"ended\"}";
	static struct rd_fact fact;
	static const struct rd_facts facts = {.fact = &fact, .n = 1};

	if (file > 1 && !end)
		return NULL;
	fact.json = end ? ended : begun;
	fact.len = strlen(fact.json);
	return &facts;
}

/* Whether the file has these bytes, once. */
static bool file_has(const char *path, const char *text)
{
	static char bytes[BUFFER];
	FILE *f = fopen(path, "rb");
	const char *found;
	size_t len;

	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	found = memmem(bytes, len, text, strlen(text));
	if (found)
		assert_null(
			memmem(found + 1, len - (size_t)(found + 1 - bytes), text, strlen(text)));
	return found != NULL;
}

/* Facts of the start are in the first file, those of the end in the last one. */
TEST(facts)
{
	struct place p = {.config = {.rotation = {.frames = 10}}, .facts = some_facts};

	assert_int_equal(sink_begin(&p, "facts", "pcapng"), 0);
	put(&p, 0, 25, 1000, false);
	expect("0 1 0 0 0", sink_end(&p), file_has("facts", "begun\"}"),
		file_has("facts", "ended\"}"), file_has("facts1", "begun\"}"),
		file_has("facts1", "ended\"}"));
	expect("0 1", file_has("facts2", "begun\"}"), file_has("facts2", "ended\"}"));
	files_hold("facts", (unsigned int[]){10, 10, 5, 0}, 0);
}

/* A capture that stays in memory until its end. */
TEST(hold)
{
	struct place p = {.config = {.hold = true}};

	assert_int_equal(sink_begin(&p, "hold", "pcapng"), 0);
	for (unsigned int i = 0; i < 4; i++)
		put(&p, 0, 10, 1000, false);
	rd_sink_read_stats(p.sink, &p.stats);
	expect("0 0 40", p.stats.written, sink_end(&p), p.stats.written);
	files_hold("hold", (unsigned int[]){40, 0}, 0);
}

/* --- rotation --------------------------------------------------------------------------- */

TEST(rotate_frames)
{
	struct place p = {.config = {.rotation = {.frames = 10}}};

	assert_int_equal(sink_begin(&p, "frames", "pcapng"), 0);
	put(&p, 0, 9, 1000, false);
	/* One frame too many for the first file; and one chunk may span several. */
	put(&p, 0, 2, 2000, false);
	put(&p, 0, 24, 3000, false);
	expect("0 4 35 4 1", sink_end(&p), p.stats.files, p.stats.written, p.ended, p.last);
	/* The timestamps are those of each file's own frames. */
	for (unsigned int i = 1; i <= 4; i++) {
		static const uint64_t stamps[4][2] = {
			{1000, 2000}, {2001, 3008}, {3009, 3018}, {3019, 3023}};

		same(p.account[i].written[0], i < 4 ? 10 : 5, p.account[i].first_ns,
			stamps[i - 1][0], p.account[i].last_ns, stamps[i - 1][1]);
	}
	files_hold("frames", (unsigned int[]){10, 10, 10, 5, 0}, 0);
}

/* The limit just reached at the end makes no empty file. */
TEST(rotate_frames_exactly)
{
	struct place p = {.config = {.rotation = {.frames = 10}}};

	assert_int_equal(sink_begin(&p, "exact", "pcapng"), 0);
	put(&p, 0, 10, 1000, false);
	put(&p, 0, 10, 2000, false);
	expect("0 2", sink_end(&p), p.stats.files);
	files_hold("exact", (unsigned int[]){10, 10, 0}, 0);
}

TEST(rotate_bytes)
{
	struct place p = {.config = {.rotation = {.bytes = 10 * RECORD}}};
	struct stat st;
	char path[20];

	assert_int_equal(sink_begin(&p, "bytes", "pcapng"), 0);
	put(&p, 0, 3, 1000, false);
	put(&p, 0, 40, 2000, false);
	assert_int_equal(sink_end(&p), 0);
	/* The header counts; a file gets the record that reaches the limit. */
	assert_int_equal(p.stats.files, 5);
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), i ? "bytes%u" : "bytes", i);
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size >= 10 * RECORD && st.st_size < 12 * RECORD);
	}
	files_hold("bytes", (unsigned int[]){10, 10, 10, 10, 3, 0}, 0);
}

/* A header longer than the file size limit: each file still gets a frame. */
TEST(rotate_bytes_tiny)
{
	struct place p = {.config = {.rotation = {.bytes = 1}}};

	assert_int_equal(sink_begin(&p, "tiny", "pcapng"), 0);
	put(&p, 0, 3, 1000, false);
	assert_int_equal(sink_end(&p), 0);
	files_hold("tiny", (unsigned int[]){1, 1, 1, 0}, 0);
}

/* A slice of time; one without a frame makes no file, and the first makes no second one. */
TEST(rotate_time)
{
	struct place p = {.config = {.rotation = {.timed = true}}};

	assert_int_equal(sink_begin(&p, "time", "pcapng"), 0);
	put(&p, 0, 3, 1000, true);
	put(&p, 0, 4, 2000, false);
	put(&p, 0, 5, 3000, true);
	put(&p, 0, 6, 4000, true);
	expect("0 3 2003 3000 5", sink_end(&p), p.stats.files, p.account[1].last_ns,
		p.account[2].first_ns, p.account[2].tally[0].encoded);
	files_hold("time", (unsigned int[]){7, 5, 6, 0}, 0);
}

/* A file begins at the time that orders its first frame, whose own timestamp is older here. */
TEST(first_time)
{
	struct place p = {.first_ns = 1500};

	assert_int_equal(sink_begin(&p, "first", "pcapng"), 0);
	put(&p, 0, 3, 1499, false);
	expect("0 1500 1501", sink_end(&p), p.account[1].first_ns, p.account[1].last_ns);
	files_hold("first", (unsigned int[]){3, 0}, 0);
}

/* A sink that is not used leaves no file that it created, and an earlier one as it was. */
TEST(abandon)
{
	struct place p = {.config = {.buffer = BUFFER}};
	struct stat st;

	for (int earlier = 0; earlier < 2; earlier++) {
		if (earlier) {
			FILE *f = fopen("unused", "w");

			assert_non_null(f);
			fputs("earlier", f);
			fclose(f);
		}
		assert_int_equal(sink_open(&p, "unused", "pcapng"), 0);
		rd_sink_abandon(p.sink);
		assert_int_equal(stat("unused", &st), earlier ? 0 : -1);
		if (earlier)
			assert_int_equal(st.st_size, 7);
	}
	unlink("unused");
	/* Of standard output it has a descriptor. */
	assert_int_equal(sink_open(&p, "-", "pcapng"), 0);
	rd_sink_abandon(p.sink);
}

/* The time in which line rate fills half of the buffer, and no more than a millisecond. */
TEST(patience)
{
	static const unsigned int rows[][2] = {{8 << 20, 83886}, {1 << 27, 1000000}};

	for (int i = 0; i < 2; i++) {
		struct place p = {.config = {.buffer = rows[i][0]}};

		same(sink_open(&p, "unused", "pcapng"), 0, p.sink->patience, rows[i][1]);
		rd_sink_abandon(p.sink);
	}
}

TEST(ring_of_files)
{
	struct place p = {.config = {.rotation = {.frames = 5, .ring = 2}}};

	assert_int_equal(sink_begin(&p, "ring", "pcapng"), 0);
	put(&p, 0, 23, 1000, false);
	expect("0 5 3 5", sink_end(&p), p.stats.files, file_holds("ring0", 20),
		file_holds("ring1", 15));
	unlink("ring0");
	unlink("ring1");
}

/* After the last file the rest is counted, and the engine is notified. */
TEST(files_limit)
{
	struct place p = {.config = {.rotation = {.frames = 5, .files = 2}}};

	assert_int_equal(sink_begin(&p, "limit", "pcapng"), 0);
	put(&p, 0, 10, 1000, false);
	put(&p, 0, 7, 2000, false);
	FEED_AWAIT(rd_feed_ended, rd_sink_feed(p.sink, 0));
	assert_false(rd_feed_failed(rd_sink_feed(p.sink, 0)));
	put(&p, 0, 1, 3000, false);
	expect("0 10 8 0", sink_end(&p), p.stats.written, p.stats.beyond, p.stats.unwritten);
	files_hold("limit", (unsigned int[]){5, 5, 0}, 0);
}

/* --- several feeds ---------------------------------------------------------------------- */

/* Chunks in the feeds at the end are written in order, even without watermarks. */
TEST(merged)
{
	struct place p = {.config = {.feeds = 3, .buffer = 8 * BUFFER}};
	uint64_t n = 0;
	struct rd_iface_stats stats;
	struct rd_frame frames[64];
	struct rd_reader *r;
	struct memory m = {0};
	uint64_t last = 0;
	int got;

	assert_int_equal(sink_begin(&p, "merged", "pcapng"), 0);
	for (unsigned int i = 0; i < 6; i++) {
		put(&p, 0, 2, 1000 + i * 30, false);
		put(&p, 1, 3, 1010 + i * 30, false);
	}
	expect("0 30 0 12 18", sink_end(&p), p.stats.written, p.stats.late, p.account[1].written[0],
		p.account[1].written[1]);
	memory_add_file(&m, "merged");
	r = memory_open(&m);
	while ((got = rd_reader_next(r, frames, 64, &p.err)) > 0)
		for (int i = 0; i < got; i++, n++) {
			assert_true(frames[i].ts_ns >= last);
			last = frames[i].ts_ns;
		}
	assert_int_equal(n, 30);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(rd_reader_stats(r, i, &stats));
		assert_int_equal(stats.delivered, i ? 18 : 12);
	}
	rd_reader_close(r);
	memory_free(&m);
	unlink("merged");
}

/* An idle lane is asked for a watermark, which releases the others' frames. */
TEST(merged_asks)
{
	struct place p = {.config = {.feeds = 2}};

	assert_int_equal(sink_begin(&p, "asks", "pcapng"), 0);
	put(&p, 0, 2, 1000, false);
	FEED_AWAIT(rd_feed_requested, rd_sink_feed(p.sink, 1));
	assert_int_equal(rd_feed_requested(rd_sink_feed(p.sink, 1)), 1000);
	rd_feed_watermark(rd_sink_feed(p.sink, 1), 1000);
	do {
		usleep(100);
		rd_sink_read_stats(p.sink, &p.stats);
	} while (p.stats.written < 1);
	put(&p, 1, 1, 990, false);
	rd_feed_watermark(rd_sink_feed(p.sink, 1), UINT64_MAX);
	expect("0 3 1", sink_end(&p), p.stats.written, p.stats.late);
	unlink("asks");
}

static bool sync_fails, close_fails;
static unsigned int syncs;

/* --- failure ---------------------------------------------------------------------------- */

static void await_failure(const struct place *p)
{
	FEED_AWAIT(rd_feed_failed, rd_sink_feed(p->sink, 0));
}

/* What the user reads of a file that cannot be written. */
static void ends_with(struct place *p, const char *part)
{
	expect("-1", sink_end(p));
	limit_files(RLIM_INFINITY);
	sync_fails = close_fails = false;
	assert_int_equal(p->err.class, RD_CLASS_OUTPUT);
	assert_non_null(strstr(p->err.text, part));
}

/* The disk is full: frames in the file count as written, all others as not written. */
TEST(no_room)
{
	struct place p = {.config = {.write_mode = RD_WRITE_BUFFERED}};

	assert_int_equal(sink_begin(&p, "full", "pcapng"), 0);
	limit_files(50 * RECORD);
	for (unsigned int i = 0; i < 10; i++)
		put(&p, 0, 10, 1000 + 100 * i, false);
	await_failure(&p);
	assert_true(rd_feed_ended(rd_sink_feed(p.sink, 0)));
	ends_with(&p, "writing 'full' failed after");
	assert_false(p.quiet);
	same(p.stats.written > 40 && p.stats.written < 50, true,
		p.stats.written + p.stats.unwritten, 100, p.account[1].unwritten[0],
		p.stats.unwritten);
	files_hold("full", (unsigned int[]){(unsigned int)p.stats.written, 0}, 0);
}

/* What was written of the last block is counted for the interface of each frame. */
TEST(no_room_for_two)
{
	struct place p = {.config = {.write_mode = RD_WRITE_BUFFERED, .feeds = 2}};

	assert_int_equal(sink_begin(&p, "full", "pcapng"), 0);
	limit_files(50 * RECORD);
	put(&p, 0, 40, 1000, false);
	put(&p, 1, 40, 1000, false);
	for (unsigned int i = 0; i < 2; i++)
		rd_feed_watermark(rd_sink_feed(p.sink, i), UINT64_MAX);
	await_failure(&p);
	assert_int_equal(sink_end(&p), -1);
	limit_files(RLIM_INFINITY);
	assert_in_range(p.stats.written, 40, 50);
	/* Both have the same times: their frames alternate. */
	for (unsigned int i = 0; i < 2; i++) {
		assert_in_range(p.account[1].written[i], p.stats.written / 2,
			p.stats.written / 2 + p.stats.written % 2);
		assert_int_equal(p.account[1].written[i] + p.account[1].unwritten[i], 40);
	}
	unlink("full");
}

/* The disk becomes full at any byte of a block: the statistics are still written. */
TEST(no_room_for_statistics)
{
	enum { BLOCK = 100 };
	const rlim_t first = 256 + BLOCK * RECORD;

	for (rlim_t size = first; size < first + 2 * RECORD; size += 97) {
		struct place p = {.config = {.write_mode = RD_WRITE_BUFFERED}};

		assert_int_equal(sink_begin(&p, "full", "pcapng"), 0);
		limit_files(size);
		put(&p, 0, BLOCK, 1000, false);
		put(&p, 0, BLOCK, 2000, false);
		await_failure(&p);
		assert_int_equal(sink_end(&p), -1);
		limit_files(RLIM_INFINITY);
		assert_true(p.stats.written >= BLOCK - 3);
		files_hold("full", (unsigned int[]){(unsigned int)p.stats.written, 0}, 0);
	}
}

/* The disk becomes full with the very last block: that is an error, too. */
TEST(no_room_at_the_end)
{
	struct place whole = {.config = {.write_mode = RD_WRITE_BUFFERED}}, p = whole;
	struct stat st;

	assert_int_equal(sink_begin(&whole, "full", "pcapng"), 0);
	put(&whole, 0, 10, 1000, false);
	expect("0 0 0", sink_end(&whole), stat("full", &st), sink_begin(&p, "full", "pcapng"));
	limit_files((rlim_t)st.st_size - 1);
	put(&p, 0, 10, 1000, false);
	ends_with(&p, "'full'");
	expect("10 0", p.stats.written, unlink("full"));
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
	syncs++;
	if (!sync_fails)
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}

/* The disk reports its error when the file is finished. */
TEST(not_on_the_disk)
{
	struct place p = {.config = {.write_mode = RD_WRITE_BUFFERED, .sync = RD_SYNC_FILE}};

	assert_int_equal(sink_begin(&p, "disk", "pcapng"), 0);
	sync_fails = true;
	put(&p, 0, 10, 1000, false);
	ends_with(&p, "cannot finish 'disk': Input/output error");
	files_hold("disk", (unsigned int[]){10, 0}, 0);
}

/* Each 32 MiB are forced to the disk while the capture runs, and its error ends the capture. */
TEST(sync_periodically)
{
	enum { BLOCK = 100 };
	const unsigned int blocks = ((32 << 20) / RECORD) / BLOCK + 1;

	for (int fails = 0; fails < 2; fails++) {
		struct place p = {
			.config = {.write_mode = RD_WRITE_BUFFERED, .sync = RD_SYNC_PERIODIC}};

		assert_int_equal(sink_begin(&p, "disk", "pcapng"), 0);
		syncs = 0;
		sync_fails = fails;
		for (unsigned int i = 0; i < blocks; i++)
			put(&p, 0, BLOCK, 1000, false);
		if (fails)
			await_failure(&p);
		assert_int_equal(sink_end(&p), fails ? -1 : 0);
		sync_fails = false;
		if (fails)
			assert_int_equal(p.err.errnum, EIO);
		else
			assert_int_equal(syncs, 2); /* the second one: as the file is finished */
		unlink("disk");
	}
}

int __real_close(int fd);
int __wrap_close(int fd)
{
	struct stat st;
	bool fails = close_fails && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	int rc = __real_close(fd);

	if (!fails)
		return rc;
	errno = EIO;
	return -1;
}

/* A network file system reports its error when the file is closed. */
TEST(not_closed)
{
	struct place p = {.config = {.write_mode = RD_WRITE_BUFFERED}};

	assert_int_equal(sink_begin(&p, "remote", "pcapng"), 0);
	close_fails = true;
	put(&p, 0, 10, 1000, false);
	ends_with(&p, "cannot finish 'remote': Input/output error");
	files_hold("remote", (unsigned int[]){10, 0}, 0);
}

static unsigned int lowest_free_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return (unsigned int)fd;
}

/* An input as the output: it stays as it is, and no descriptor stays open. */
TEST(output_is_input)
{
	struct rd_inputs inputs = {.n = 0};
	struct place p = {.config = {.inputs = &inputs}};
	struct rd_outfile out;
	unsigned int before = lowest_free_descriptor();
	FILE *f = fopen("input", "w");
	struct stat st;

	assert_non_null(f);
	fputs("frames", f);
	fclose(f);
	rd_inputs_add(&inputs, "input");
	same(sink_open(&p, "input", "pcapng"), -1, p.err.class, RD_CLASS_USAGE);
	expect("-1 -1", rd_outfile_open(&out, "input", &inputs, &p.err), out.fd);
	same(lowest_free_descriptor(), before, stat("input", &st), 0, st.st_size, 6);
	unlink("input");
}

TEST(no_directory)
{
	struct place p = {.number = 0};

	same(sink_begin(&p, "none/file", "pcapng"), -1, p.err.class, RD_CLASS_OUTPUT);
	assert_non_null(strstr(p.err.text, "none/file"));
}

/* The next file cannot be created: writing ends, and every frame is accounted for. */
TEST(no_next_file)
{
	struct place p = {.config = {.rotation = {.frames = 5}}};

	expect("0 0", mkdir("next1", 0700), sink_begin(&p, "next", "pcapng"));
	put(&p, 0, 12, 1000, false);
	assert_int_equal(sink_end(&p), -1);
	assert_non_null(strstr(p.err.text, "next1"));
	expect("5 7", p.stats.written, p.stats.unwritten);
	files_hold("next", (unsigned int[]){5, 0}, 0);
	rmdir("next1");
}

/* The reader of a pipe has closed it: no fault of the disk. */
TEST(closed_pipe)
{
	struct place p = {.number = 0};
	int out = dup(STDOUT_FILENO), pipes[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDOUT_FILENO);
	close(pipes[1]);
	assert_int_equal(sink_begin(&p, "-", "pcapng"), 0);
	close(pipes[0]);
	put(&p, 0, 10, 1000, false);
	assert_int_equal(sink_end(&p), -1);
	dup2(out, STDOUT_FILENO);
	close(out);
	expect("1 10", p.quiet, p.stats.unwritten);
}

ALL_TESTS_WITH(directory_enter, directory_leave)

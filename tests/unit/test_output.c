/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The output's back ends: no byte is lost, records are whole wherever a write fails. */
#include "sink/file.h"
#include "test.h"
#include "test_format.h"
#include <rdmadump/sink.h>
#include <sys/resource.h>

#define FRAME 1000
#define PIECE ((size_t)700 << 10)
#define MIB   (1 << 20)

/* What the wrapped calls do: the `at`-th one from now fails, 0: none. */
static unsigned int at;
static int result_errno; /* 0: it writes half */
static bool again;	 /* and then the next pwrite() is interrupted */

static bool strikes(void)
{
	return at && --at == 0;
}

ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset)
{
	if (again && !at) {
		again = false;
		errno = EINTR;
		return -1;
	}
	if (!strikes())
		return __real_pwrite(fd, data, len, offset);
	if (!result_errno)
		return __real_pwrite(fd, data, len / 2, offset);
	errno = result_errno;
	return -1;
}

struct place {
	char path[64];
	struct rd_iface iface;
	struct rd_section section;
	struct rd_encoder encoder;
	struct file file;
	uint64_t frames; /* accepted by the output */
	uint8_t *piece;
};

static void begin(struct place *p, enum rd_write_mode mode, const char *format)
{
	struct rd_sink_config config = {.encoder = &p->encoder, .write_mode = mode};
	int fd;

	*p = (struct place){.path = "rdmadump-output.XXXXXX",
		.iface = {.name = "test", .link = RD_LINK_ETHERNET, .max_frame = FRAME}};
	config.path = p->path;
	fd = mkstemp(p->path);
	assert_true(fd >= 0);
	close(fd);
	p->piece = malloc(PIECE);
	assert_non_null(p->piece);
	assert_int_equal(
		rd_encoder_init(&p->encoder, format, p->path, &p->section, &p->iface, 1, &failure),
		0);
	if (file_init(&p->file, &config, PIECE, &failure) < 0 ||
		output_open(&p->file.out, p->path, NULL, &failure) < 0 ||
		file_begin(&p->file, NULL, &failure) < 0)
		fail_msg("%s", failure.text);
}

/* Writes `size` bytes of numbered frames. */
static int put(struct place *p, size_t size)
{
	uint8_t data[FRAME] = {0};
	struct rd_frame frame = {.data = data, .caplen = FRAME, .len = FRAME};
	size_t used = 0, n;
	struct records records;

	while (used + FRAME + 100 < size) {
		memcpy(data, &p->frames, sizeof(p->frames));
		p->frames++;
		assert_int_equal(p->encoder.format->frames(
					 &p->encoder, &frame, 1, p->piece + used, PIECE - used, &n),
			1);
		used += n;
	}
	records = records_walk(&p->encoder, p->piece, used, UINT64_MAX, UINT64_MAX);
	assert_int_equal(records.len, used);
	return file_write(&p->file, p->piece, &records);
}

/* The file holds the first p->file.frames.all frames and, if it should, the statistics. */
static void check(struct place *p, bool statistics)
{
	struct memory m = {0};
	struct rd_iface_stats stats;
	struct rd_frame frames[64];
	struct rd_reader *r;
	uint64_t n = 0, number;
	uint8_t buf[65536];
	FILE *f = fopen(p->path, "rb");
	size_t len;
	int got;

	assert_non_null(f);
	while ((len = fread(buf, 1, sizeof(buf), f)) > 0)
		memory_add(&m, buf, len);
	fclose(f);
	r = memory_open(&m);
	while ((got = rd_reader_next(r, frames, 64, &failure)) > 0) {
		for (int i = 0; i < got; i++, n++) {
			memcpy(&number, frames[i].data, sizeof(number));
			assert_int_equal(number, n);
		}
	}
	if (got < 0)
		fail_msg("%s", failure.text);
	same(n, p->file.frames.all, n, p->file.frames.of[0], rd_reader_stats(r, 0, &stats),
		statistics);
	rd_reader_close(r);
	memory_free(&m);
}

static void leave(struct place *p)
{
	file_fini(&p->file);
	unlink(p->path);
	free(p->piece);
}

static void end(struct place *p, bool failed, bool statistics)
{
	static const char comment[] = {[0 ... RD_NOTE_MAX - 2] = 'c', '\0'};
	const struct rd_iface_stats stats = {.comment = comment};

	expect("0 0", file_end(&p->file, NULL, &stats, failed),
		output_close(&p->file.out, &failure));
	check(p, statistics);
	leave(p);
}

static const enum rd_write_mode modes[] = {RD_WRITE_AUTO, RD_WRITE_BUFFERED, RD_WRITE_DIRECT};
#define for_each_mode(m)                                                                           \
	for (const enum rd_write_mode *m = modes; m < modes + sizeof(modes) / sizeof(modes[0]); m++)

/* Pieces of all lengths, flushed at times, behind or not; pieces larger than the undo limit. */
TEST(whole)
{
	for_each_mode(m)
	{
		struct place p;
		uint32_t x = 7;

		begin(&p, *m, "pcapng");
		for (unsigned int i = 0; i < 3 * FILE_MARKS; i++) {
			x = x * 1664525 + 1013904223;
			output_set_behind(&p.file.out, i % 50 > 40);
			assert_int_equal(put(&p, i % 16 ? 2000 + x % 60000 : PIECE), 0);
			if (x % 20 == 0) {
				assert_int_equal(file_flush(&p.file, false), 0);
				assert_true(output_is_flushed(&p.file.out));
				check(&p, false);
			}
		}
		same(p.file.frames.all, p.frames, file_flush(&p.file, true), 0);
		end(&p, false, true);
	}
}

/* What is synced each 32 MiB is in the file by then, also what a back end had in memory. */
TEST(sync)
{
	const uint64_t every = 32 * MIB;

	for_each_mode(m)
	{
		struct place p;
		struct stat st;

		begin(&p, *m, "pcapng");
		p.file.out.sync = RD_SYNC_PERIODIC;
		while (p.file.out.offset < every)
			assert_int_equal(put(&p, PIECE), 0);
		expect("1 0", output_is_flushed(&p.file.out), fstat(p.file.out.fd, &st));
		same(st.st_size, p.file.out.offset, p.file.out.synced, p.file.out.offset);
		/* Not with each write. */
		assert_int_equal(put(&p, PIECE), 0);
		assert_int_not_equal(p.file.out.synced, p.file.out.offset);
		assert_int_equal(file_flush(&p.file, true), 0);
		end(&p, false, true);
	}
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void no_room(enum rd_write_mode mode, const char *format, rlim_t limit, size_t piece)
{
	struct place p;
	int rc = 0;

	begin(&p, mode, format);
	limit_files(limit);
	for (size_t i = 0; i < 10 * PIECE / piece && !rc; i++)
		rc = put(&p, piece);
	if (!rc)
		rc = file_flush(&p.file, false);
	same(rc, EFBIG,
		p.file.out.offset + 2 * FRAME + p.file.text_room + (piece < PIECE ? piece : 0) >=
			limit,
		true);
	end(&p, true, strcmp(format, "pcapng") == 0);
	limit_files(RLIM_INFINITY);
}

/* A full disk at any byte: as many complete records as leave room for the trailer. */
TEST(limit)
{
	static const rlim_t limits[] = {5000, 700000, 2 * MIB - 4096, 2 * MIB - 1, 2 * MIB,
		2 * MIB + 1, 2 * MIB + 5000, 3 * MIB + 12345, 4 * MIB - 1000, 4 * MIB + 300, 0};

	signal(SIGXFSZ, SIG_IGN);
	for_each_mode(m)
	{
		for (const rlim_t *limit = limits; *limit; limit++) {
			no_room(*m, "pcapng", *limit, PIECE);
			no_room(*m, "pcap", *limit, PIECE);
		}
		/* Blocks shorter than the trailer: several of them are removed for it. */
		for (rlim_t limit = 100000; limit < 102200; limit += 45)
			no_room(*m, "pcapng", limit, 2 * FRAME);
	}
}

/* A failing disk: the error is reported, not hidden in the page cache; what is kept is whole. */
static void fail_disk(enum rd_write_mode mode, unsigned int nth, size_t piece)
{
	struct place p;
	int rc = 0;

	begin(&p, mode, "pcapng");
	at = nth;
	result_errno = EIO;
	for (size_t put_bytes = 0; put_bytes < 30 * PIECE && !rc; put_bytes += piece)
		rc = put(&p, piece);
	if (!rc)
		rc = file_flush(&p.file, false);
	same(rc, EIO, at, 0, p.file.frames.all < p.frames, 1);
	end(&p, true, true);
}

TEST(error)
{
	for_each_mode(m)
	{
		for (unsigned int nth = 1; nth < 8 && *m != RD_WRITE_BUFFERED; nth++) {
			fail_disk(*m, nth, PIECE);
			/* More of them are buffered than there are marks */
			fail_disk(*m, nth, 2000);
		}
	}
}

/* Half a write, one that the file system refuses, one that an interrupt ends: nothing is lost. */
TEST(recovery)
{
	static const int reasons[] = {0, EINVAL, EINTR};

	for_each_mode(m)
	{
		for (unsigned int i = 0; i < 3; i++) {
			struct place p;

			if (*m == RD_WRITE_BUFFERED)
				continue;
			begin(&p, *m, "pcapng");
			at = 3;
			result_errno = reasons[i];
			again = !reasons[i];
			for (int k = 0; k < 20; k++)
				assert_int_equal(put(&p, PIECE), 0);
			expect("0 0 0", at, again, file_flush(&p.file, true));
			assert_int_equal(p.file.frames.all, p.frames);
			end(&p, false, true);
		}
	}
}

/* Another program cuts the file between two writes: the next one makes it as long as before. */
TEST(cut_meanwhile)
{
	static const off_t sizes[] = {0, 1000, 100000, 1500000};

	for_each_mode(m)
	{
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			struct place p;

			begin(&p, *m, "pcapng");
			for (int k = 0; k < 12; k++) {
				expect("0 0", put(&p, PIECE), file_check(&p.file));
			}
			assert_int_equal(truncate(p.path, sizes[i]), 0);
			for (int k = 0; k < 12; k++)
				assert_int_equal(put(&p, PIECE), 0);
			/* Elsewhere than on the usual file systems it cannot be seen. */
			if (p.file.out.knows_holes)
				same(file_check(&p.file), ESTALE, p.file.frames.all, 0);
			assert_int_equal(output_close(&p.file.out, &failure), 0);
			leave(&p);
		}
	}
}

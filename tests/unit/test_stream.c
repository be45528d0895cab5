/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of streams (plain, gzip, zstd; whole, cut, damaged, in pipes) and of file sources. */
#include "file/stream.h"
#include "test.h"
#include "test_format.h"
#include <rdmadump/annotate.h>
#include <rdmadump/format.h>
#include <rdmadump/rewrite.h>
#include <rdmadump/source.h>
#include <zlib.h>
#include <zstd.h>

#define TEXT_LEN 400000u

static char path[] = "/tmp/rdmadump-stream.XXXXXX";
static uint8_t text[TEXT_LEN], got[TEXT_LEN * 4], packed[TEXT_LEN * 4];

static unsigned int signal_at; /* the read from now that a signal interrupts; 0: none */

ssize_t __real_read(int fd, void *buf, size_t capacity);
ssize_t __wrap_read(int fd, void *buf, size_t capacity)
{
	if (!signal_at || --signal_at)
		return __real_read(fd, buf, capacity);
	errno = EINTR;
	return -1;
}

static int setup(void **state)
{
	uint32_t x = 1;
	int fd = mkstemp(path);

	/* Half of it compresses, so that blocks of both kinds occur. */
	for (size_t i = 0; i < TEXT_LEN; i++) {
		x = x * 1664525 + 1013904223;
		text[i] = i % 20000 < 10000 ? (uint8_t)(i / 100) : (uint8_t)(x >> 24);
	}
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	return unlink(path);
}

static void store(const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	same(fd >= 0, true, write(fd, data, len), len);
	close(fd);
}

/* Reads to the end or a fault, at most `room` bytes at a time. Returns the number of bytes. */
static size_t read_all(struct stream *s, size_t capacity, struct rd_error *err)
{
	size_t n = 0;
	ssize_t rc;

	err->class = RD_CLASS_NONE;
	while ((rc = stream_read(s, got + n,
			capacity < sizeof(got) - n ? capacity : sizeof(got) - n, err)) > 0)
		n += (size_t)rc;
	assert_int_equal(rc, err->class == RD_CLASS_NONE ? 0 : -1);
	return n;
}

/* What `path` gives: always the first *len bytes of `text`, as often repeated. */
static size_t read_path(size_t capacity, struct rd_error *err)
{
	struct stream *s;
	size_t n;

	assert_int_equal(stream_open(&s, path, err), 0);
	n = read_all(s, capacity, err);
	for (size_t i = 0; i < n; i += TEXT_LEN)
		assert_memory_equal(got + i, text, n - i < TEXT_LEN ? n - i : TEXT_LEN);
	stream_close(s);
	return n;
}

/* --- compressors ------------------------------------------------------------------------ */

/* One member, with a flush after `flushed` bytes of the text; returns its length. */
static size_t pack_gzip(uint8_t *to, size_t capacity, size_t flushed, size_t *flushed_at)
{
	z_stream z = {0};

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = to;
	z.avail_out = (uInt)capacity;
	z.next_in = text;
	z.avail_in = (uInt)flushed;
	assert_int_equal(deflate(&z, Z_SYNC_FLUSH), Z_OK);
	if (flushed_at)
		*flushed_at = z.total_out;
	z.avail_in = (uInt)(TEXT_LEN - flushed);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

static size_t pack_zstd(uint8_t *to, size_t capacity, size_t flushed, size_t *flushed_at)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_outBuffer out = {to, capacity, 0};
	ZSTD_inBuffer first = {text, flushed, 0}, rest = {text + flushed, TEXT_LEN - flushed, 0};

	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	assert_int_equal(ZSTD_compressStream2(c, &out, &first, ZSTD_e_flush), 0);
	if (flushed_at)
		*flushed_at = out.pos;
	assert_int_equal(ZSTD_compressStream2(c, &out, &rest, ZSTD_e_end), 0);
	ZSTD_freeCCtx(c);
	return out.pos;
}

static const struct pack {
	const char *name;
	size_t (*pack)(uint8_t *to, size_t capacity, size_t flushed, size_t *flushed_at);
} packs[] = {{"gzip", pack_gzip}, {"zstd", pack_zstd}};
#define N_PACKS (sizeof(packs) / sizeof(packs[0]))

/* --- streams ---------------------------------------------------------------------------- */

TEST(plain)
{
	uint64_t done, size;
	struct stream *s;

	store(text, TEXT_LEN);
	for (size_t capacity = 1; capacity <= TEXT_LEN * 2; capacity = capacity * 37 + 1)
		assert_int_equal(read_path(capacity, &failure), TEXT_LEN);
	expect("0 1", stream_open(&s, path, &failure),
		!*stream_compression(s) && stream_fd(s) == -1);
	read_all(s, 4096, &failure);
	stream_progress(s, &done, &size);
	assert_true(done == TEXT_LEN && size == TEXT_LEN);
	stream_close(s);
}

TEST(refused)
{
	struct stream *s;

	same(stream_open(&s, "/nonexistent/file", &failure), -1, failure.class, RD_CLASS_DEVICE);
	assert_non_null(strstr(failure.text, "'/nonexistent/file'"));
	store("", 0);
	assert_int_equal(stream_open(&s, path, &failure), -1);
	assert_non_null(strstr(failure.text, "is empty"));
}

TEST(members)
{
	static const uint8_t skippable[] = {0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};

	for (size_t i = 0; i < N_PACKS; i++) {
		size_t len = 0;

		for (unsigned int k = 0; k < 3; k++) {
			if (i == 1) {
				memcpy(packed + len, skippable, sizeof(skippable));
				len += sizeof(skippable);
			}
			len += packs[i].pack(packed + len, sizeof(packed) - len, 1000, NULL);
		}
		if (i == 0) { /* padding of a tape block is no damage */
			memset(packed + len, 0, 700);
			len += 700;
		}
		store(packed, len);
		for (size_t capacity = 100; capacity <= sizeof(got); capacity = capacity * 91 + 7)
			same(read_path(capacity, &failure), 3 * TEXT_LEN, failure.class,
				RD_CLASS_NONE);
	}
}

/* All data flushed before a cut are returned, in reads of any size, then the fault, repeatedly. */
TEST(cut)
{
	struct stream *s;

	for (size_t i = 0; i < N_PACKS; i++) {
		size_t at, len;

		len = packs[i].pack(packed, sizeof(packed), 300000, &at);
		for (size_t cut = 4; cut < len; cut += cut < 40 ? 1 : 4999) {
			store(packed, cut);
			assert_true(read_path(TEXT_LEN, &failure) >= (cut >= at ? 300000 : 0));
			assert_int_equal(failure.class, RD_CLASS_PARTIAL);
			assert_non_null(strstr(failure.text, "cut short"));
		}
		store(packed, at);
		for (size_t capacity = 100; capacity <= sizeof(got); capacity = capacity * 91 + 7)
			assert_int_equal(read_path(capacity, &failure), 300000);
		same(stream_open(&s, path, &failure), 0, stream_compression(s), packs[i].name);
		read_all(s, 1 << 20, &failure);
		same(read_all(s, 1 << 20, &failure), 0, failure.class, RD_CLASS_PARTIAL);
		stream_close(s);
	}
}

/* The data before the fault are right as far as the decompressor can detect. */
TEST(damaged)
{
	for (size_t i = 0; i < N_PACKS; i++) {
		size_t len, whole;

		whole = packs[i].pack(packed, sizeof(packed), 1000, NULL);
		len = whole + packs[i].pack(packed + whole, sizeof(packed) - whole, 1000, NULL);
		/* The second one's header: the first is all there. */
		packed[whole + 2] ^= 0xff;
		store(packed, len);
		same(read_path(1 << 20, &failure), TEXT_LEN, failure.class, RD_CLASS_PARTIAL);
		assert_non_null(strstr(failure.text, "damaged"));
		packed[whole + 2] ^= 0xff;
		/* Its checksum: all bytes are there, and the fault too. */
		packed[len - (i == 0 ? 8 : 4)] ^= 1;
		store(packed, len);
		same(read_path(1 << 20, &failure), 2 * TEXT_LEN, failure.class, RD_CLASS_PARTIAL);
	}
}

/* Damage in the middle: the blocks before it are returned, with large and small reads. */
TEST(damaged_block)
{
	static const size_t rooms[] = {sizeof(got), 65536, 777, 1};
	struct stream *s;
	size_t at, len;

	len = packs[1].pack(packed, sizeof(packed), 200000, &at);
	packed[at] |= 0x06; /* the reserved kind of block */
	store(packed, len);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		memset(got, 0, sizeof(got));
		expect("0 200000", stream_open(&s, path, &failure),
			read_all(s, rooms[i], &failure));
		assert_memory_equal(got, text, 200000);
		assert_int_equal(failure.class, RD_CLASS_PARTIAL);
		stream_close(s);
	}
}

/* A signal during a read is no fault. */
TEST(interrupted)
{
	store(text, TEXT_LEN);
	for (unsigned int i = 1; i <= 3; i++) {
		signal_at = i;
		same(read_path(sizeof(got), &failure), TEXT_LEN, failure.class, RD_CLASS_NONE);
		signal_at = 0;
	}
}

/* Opens a pipe that already holds `len` bytes; *in is its end for more. */
static struct stream *open_pipe(const void *data, size_t len, int *in)
{
	struct stream *s;
	char name[32];
	int fds[2];

	same(pipe(fds), 0, write(fds[1], data, len), len);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[0]);
	assert_int_equal(stream_open(&s, name, &failure), 0);
	close(fds[0]);
	*in = fds[1];
	return s;
}

TEST(pipe)
{
	uint8_t buf[100];
	struct stream *s;
	int in;

	s = open_pipe("abcdef", 6, &in);
	assert_true(stream_fd(s) >= 0);
	stream_never_wait(s);
	expect("4 2", stream_read(s, buf, 4, &failure), stream_read(s, buf, 100, &failure));
	assert_int_equal(stream_read(s, buf, 100, &failure), RD_READ_LATER);
	expect("3 3", write(in, "ghi", 3), stream_read(s, buf, 100, &failure));
	assert_memory_equal(buf, "ghi", 3);
	assert_int_equal(stream_read(s, buf, 100, &failure), RD_READ_LATER);
	close(in);
	assert_int_equal(stream_read(s, buf, 100, &failure), 0);
	stream_close(s);
}

TEST(pipe_compressed)
{
	for (size_t i = 0; i < N_PACKS; i++) {
		size_t len, n = 0, at = 5;
		struct rd_error err;
		struct stream *s;
		int in;

		len = packs[i].pack(packed, sizeof(packed), 1000, NULL);
		s = open_pipe(packed, at, &in);
		stream_never_wait(s);
		while (at < len || n < TEXT_LEN) {
			ssize_t rc = stream_read(s, got + n, sizeof(got) - n, &err);
			size_t more = len - at < 777 ? len - at : 777;

			assert_true(rc == RD_READ_LATER || rc > 0);
			n += rc > 0 ? (size_t)rc : 0;
			if (rc == RD_READ_LATER && more) {
				assert_int_equal(write(in, packed + at, more), more);
				at += more;
			}
		}
		assert_memory_equal(got, text, TEXT_LEN);
		close(in);
		assert_int_equal(stream_read(s, got, sizeof(got), &err), 0);
		stream_close(s);
	}
}

/* --- file sources ----------------------------------------------------------------------- */

static const uint8_t payload[300];

static size_t file_len;
static struct rd_encoder e;
static struct rd_source *s;
static struct rd_frame frames[RD_BATCH];

#define LATE_IFACES   4
#define LATE_SECTIONS 60

/* Appends, until the file is opened, a section with these interfaces. */
static void begin_section(const char *format, const struct rd_section *section,
	const struct rd_iface *ifaces, unsigned int n)
{
	assert_int_equal(rd_encoder_init(&e, format, NULL, section, ifaces, n, &failure), 0);
	file_len += e.format->header(&e, packed + file_len, sizeof(packed) - file_len);
}

static void add_frame(unsigned int iface, uint64_t ts_ns, const struct rd_note *note)
{
	const struct rd_frame f = {.data = payload,
		.caplen = 100,
		.len = 300,
		.ts_ns = ts_ns,
		.direction = RD_DIR_IN,
		.iface = (uint16_t)iface};

	file_len += e.format->noted(&e, &f, note, packed + file_len, sizeof(packed) - file_len);
}

static void open_as(bool all_links)
{
	const struct rd_file_config config = {.path = path, .all_links = all_links};

	store(packed, file_len);
	expect("0 0", rd_file_open(&s, &config, &failure), s->ops->start(s, &failure));
	file_len = 0;
}

static void open_file(void)
{
	open_as(false);
}

static int next_batch(void)
{
	return s->ops->receive(s, frames, RD_BATCH, &failure);
}

static const struct rd_note nothing;

TEST(file_tells_all)
{
	const struct rd_iface ifaces[] = {
		{.link = RD_LINK_ETHERNET, .name = "a", .hardware = "nic", .filter = "udp"},
		{.link = RD_LINK_ETHERNET, .name = "b", .description = "second"}};
	const struct rd_section section = {.hardware = "machine", .comment = "incident"};
	const struct rd_note note = {.dropped = 7, .comment = "port down"};
	const struct rd_iface_stats in[2] = {{.start_ns = 50, .end_ns = 90, .dropped = 9}};
	struct rd_source_stats stats;
	struct rd_iface_stats out;
	struct rd_note found;

	begin_section("pcapng", &section, ifaces, 2);
	add_frame(1, 60, &nothing);
	add_frame(0, 61, &note);
	add_frame(1, 62, &nothing);
	file_len += e.format->trailer(&e, in, packed + file_len, sizeof(packed) - file_len);
	open_file();
	expect("2 nic udp second machine incident", s->n_ifaces, s->ifaces[0].hardware,
		s->ifaces[0].filter, s->ifaces[1].description, s->section->hardware,
		s->section->comment);
	expect("1 1 0 2 0", next_batch(), frames[0].iface, s->batch_has_notes, next_batch(),
		frames[0].iface);
	assert_int_equal(frames[0].direction, RD_DIR_IN);
	expect("300 1 1 7 port down 0", frames[0].len, s->batch_has_notes,
		s->ops->note(s, 0, &found), found.dropped, found.comment,
		s->ops->note(s, 1, &found));
	assert_int_equal(next_batch(), RD_SOURCE_END);
	s->ops->stats(s, &stats);
	expect("9 1 50 9 1 60 62", stats.lost, s->ops->iface_stats(s, 0, &out), out.start_ns,
		out.dropped, s->ops->iface_stats(s, 1, &out), out.start_ns, out.end_ns);
	s->ops->close(s);
}

/* Later interfaces map to an equal one; an unknown is announced once; another link left out. */
TEST(file_sections)
{
	const struct rd_iface first[] = {{.link = RD_LINK_ETHERNET, .name = "a", .snaplen = 96},
		{.link = RD_LINK_ETHERNET, .name = "b", .snaplen = 96}};
	const struct rd_iface second[] = {{.link = RD_LINK_ETHERNET, .name = "c"},
		{.link = RD_LINK_ETHERNET, .name = "b", .hardware = "other"}};
	const struct rd_iface third = {.link = RD_LINK_INFINIBAND, .name = "ib"};
	const struct rd_note note = {.dropped = 3, .comment = "own"};
	struct rd_source_stats stats;
	struct rd_note found;

	begin_section("pcapng", NULL, first, 2);
	add_frame(0, 1, &nothing);
	begin_section("pcapng", NULL, second, 2);
	add_frame(1, 2, &nothing);
	add_frame(0, 3, &note);
	add_frame(0, 4, &nothing);
	begin_section("pcapng,dlt=247", NULL, &third, 1);
	add_frame(0, 5, &note);
	begin_section("pcapng", NULL, first, 2);
	add_frame(1, 6, &note);
	open_file();
	expect("2 96 1 4 1 0 1 3", s->n_ifaces, s->ifaces[1].snaplen, next_batch(), next_batch(),
		frames[0].iface, frames[1].iface, s->ops->note(s, 1, &found), found.dropped);
	assert_non_null(strstr(found.comment, "interface 'c'"));
	assert_non_null(strstr(found.comment, "; own"));
	expect("0 6 1 1 own", s->ops->note(s, 2, &found), frames[3].ts_ns, frames[3].iface,
		s->ops->note(s, 3, &found), found.comment);
	s->ops->stop(s);
	assert_int_equal(next_batch(), RD_SOURCE_END);
	s->ops->stats(s, &stats);
	expect("1 6", stats.left_out, stats.lost);
	s->ops->close(s);
}

/* Many interfaces after the first frames, of any link type: each frame keeps its own. */
TEST(file_late_interfaces)
{
	static struct rd_iface late[LATE_IFACES];
	const struct rd_iface first = {.link = RD_LINK_ETHERNET, .name = "a"};
	unsigned int frame = 0;
	int n;

	for (unsigned int i = 0; i < LATE_IFACES; i++)
		late[i] = (struct rd_iface){.link = RD_LINK_INFINIBAND, .name = "ib"};
	begin_section("pcapng", NULL, &first, 1);
	add_frame(0, 1, &nothing);
	for (unsigned int i = 0; i < LATE_SECTIONS; i++) {
		begin_section("pcapng,dlt=247", NULL, late, LATE_IFACES);
		add_frame(i % LATE_IFACES, 2 + i, &nothing);
	}
	open_as(true);
	assert_int_equal(s->n_ifaces, 1);
	while ((n = next_batch()) > 0)
		for (int i = 0; i < n; i++, frame++) {
			unsigned int nth = frame - 1;

			same(frames[i].ts_ns, 1 + frame, frames[i].iface,
				frame ? 1 + nth * LATE_IFACES + nth % LATE_IFACES : 0);
			assert_int_equal(s->ifaces[frames[i].iface].link,
				frame ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET);
		}
	same(n, RD_SOURCE_END, frame, 1 + LATE_SECTIONS, s->n_ifaces,
		1 + LATE_SECTIONS * LATE_IFACES);
	s->ops->close(s);
}

/* Interfaces before the first frame that cannot be in one file with it are not shown. */
TEST(file_link_of_first_frame)
{
	const struct rd_iface ib = {.link = RD_LINK_INFINIBAND, .name = "ib"};
	const struct rd_iface eth[] = {{.link = RD_LINK_ETHERNET, .name = "a"},
		{.link = RD_LINK_ETHERNET, .name = "b", .snaplen = 50}};

	begin_section("pcapng,dlt=247", NULL, &ib, 1);
	begin_section("pcapng", NULL, &eth[1], 1);
	begin_section("pcapng", NULL, &eth[0], 1);
	add_frame(0, 1, &nothing);
	open_file();
	expect("2 b", s->n_ifaces, s->iface.name);
	/* One limit for all, and it must not be shorter than any. */
	expect("0 0 1 1", s->ifaces[0].snaplen, s->ifaces[1].snaplen, next_batch(),
		frames[0].iface);
	s->ops->close(s);
}

/* A pipe whose writer stops within a frame does not block the reader. */
TEST(file_in_pipe)
{
	struct rd_file_config config = {0};
	char name[32];
	int fds[2];
	size_t half;

	begin_section("pcap", NULL, &(const struct rd_iface){.link = RD_LINK_ETHERNET}, 1);
	add_frame(0, 1, &nothing);
	half = file_len + 40;
	add_frame(0, 2, &nothing);
	assert_int_equal(pipe(fds), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[0]);
	config.path = name;
	assert_int_equal(write(fds[1], packed, half), half);
	expect("0 1 1 0 0 0", rd_file_open(&s, &config, &failure), s->frame_fd >= 0, next_batch(),
		next_batch(), s->ops->arm(s, &failure), next_batch());
	assert_int_equal(write(fds[1], packed + half, file_len - half), file_len - half);
	file_len = 0;
	expect("1 2 0", next_batch(), frames[0].ts_ns, next_batch());
	close(fds[1]);
	close(fds[0]);
	assert_int_equal(next_batch(), RD_SOURCE_END);
	s->ops->close(s);
}

TEST(file_without_frames)
{
	begin_section("pcapng", NULL, NULL, 0);
	open_file();
	same(s->n_ifaces, 1, next_batch(), RD_SOURCE_END);
	s->ops->close(s);
}

/* --- copies of files -------------------------------------------------------------------------- */

#define LARGE_FRAMES 280 /* of 256 KiB: enough for one call of progress() */
#define LARGE_FRAME  (256u << 10)

static unsigned int calls;

static void take_progress(void *ctx, uint64_t done, uint64_t size)
{
	uint64_t all = 24 + LARGE_FRAMES * (16 + (uint64_t)LARGE_FRAME);

	calls++;
	same(size, all, done >= 64u << 20 && done < all, true);
}

static int take_bytes(void *ctx, const void *data, size_t n)
{
	*(uint64_t *)ctx += n;
	return 0;
}

static bool keep_frame(
	void *ctx, enum rd_link link, uint8_t *data, uint32_t caplen, uint32_t len, uint32_t extra)
{
	(void)ctx, (void)link, (void)data, (void)caplen, (void)len, (void)extra;
	return true;
}

/* A file with holes for the frames' bytes. */
static void store_large(void)
{
	const uint32_t head[] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, LARGE_FRAME, 1};
	const uint32_t record[] = {1, 0, LARGE_FRAME, LARGE_FRAME};
	const off_t first = (off_t)sizeof(head), step = (off_t)sizeof(record) + LARGE_FRAME;
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	for (unsigned int i = 0; i < LARGE_FRAMES; i++)
		assert_int_equal(
			pwrite(fd, record, sizeof(record), first + i * step), sizeof(record));
	assert_int_equal(ftruncate(fd, first + LARGE_FRAMES * step), 0);
	close(fd);
}

/* The caller learns how far the copy is. */
TEST(copies)
{
	struct rd_annotation a = {.application = "test", .put = take_bytes};
	struct rd_rewrite w = {.frame = keep_frame};
	uint64_t bytes = 0;

	store_large();
	a.put_ctx = &bytes;
	assert_int_equal(rd_annotate_file(&a, path, &failure), 0); /* nobody asks how far it is */
	a.progress = take_progress;
	expect("0 1", rd_annotate_file(&a, path, &failure), calls);
	same(a.frames, 2 * LARGE_FRAMES, bytes > 2 * (uint64_t)LARGE_FRAMES * LARGE_FRAME, true,
		rd_rewrite_file(&w, path, &failure), 0, w.frames, LARGE_FRAMES);
	same(rd_annotate_file(&a, "/nonexistent", &failure), -1,
		rd_rewrite_file(&w, "/nonexistent", &failure), -1);
}

ALL_TESTS_WITH(setup, teardown)

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames from capture files, held in memory as they will be delivered. libpcap reads the files; it
 * is loaded when one is needed, because every process below the launcher carries this library.
 */
#include <dlfcn.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "frames_impl.h"

enum { ERF_HEAD = 16, ERF_TYPE_IB = 21 };

struct entry {
	size_t offset;
	uint32_t len;
	uint64_t ts_ns;
};

struct file_frames {
	struct frames base;
	uint8_t *mem;
	size_t used, capacity;
	struct entry *entries;
	size_t count, slots;
	size_t at;
};

struct pcap_calls {
	void *lib;
	pcap_t *(*open)(const char *, u_int, char *);
	int (*datalink)(pcap_t *);
	int (*next)(pcap_t *, struct pcap_pkthdr **, const u_char **);
	char *(*error)(pcap_t *);
	void (*close)(pcap_t *);
};

static bool pcap_calls_load(struct pcap_calls *c)
{
	c->lib = dlopen("libpcap.so.0.8", RTLD_NOW | RTLD_LOCAL);
	if (!c->lib)
		c->lib = dlopen("libpcap.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!c->lib)
		return false;
	*(void **)&c->open = dlsym(c->lib, "pcap_open_offline_with_tstamp_precision");
	*(void **)&c->datalink = dlsym(c->lib, "pcap_datalink");
	*(void **)&c->next = dlsym(c->lib, "pcap_next_ex");
	*(void **)&c->error = dlsym(c->lib, "pcap_geterr");
	*(void **)&c->close = dlsym(c->lib, "pcap_close");
	return c->open && c->datalink && c->next && c->error && c->close;
}

static bool file_add(void *ctx, const uint8_t *p, uint32_t len, uint64_t ts)
{
	struct file_frames *f = ctx;
	size_t need = f->used + ((size_t)len + 63) / 64 * 64;

	if (need > f->capacity) {
		size_t capacity = need + f->capacity / 2 + (1 << 20);
		void *mem = realloc(f->mem, capacity);

		if (!mem)
			return false;
		f->mem = mem;
		f->capacity = capacity;
	}
	if (f->count == f->slots) {
		size_t slots = f->slots * 2 + 1024;
		void *mem = realloc(f->entries, slots * sizeof(*f->entries));

		if (!mem)
			return false;
		f->entries = mem;
		f->slots = slots;
	}
	memcpy(f->mem + f->used, p, len);
	f->entries[f->count++] = (struct entry){f->used, len, ts};
	f->used = need;
	return true;
}

static bool file_next(struct frames *base, struct frame *out)
{
	struct file_frames *f = (struct file_frames *)base;
	const struct entry *e;

	if (f->at == f->count)
		return false;
	e = &f->entries[f->at++];
	out->data = f->mem + e->offset;
	out->len = e->len;
	out->ts_ns = e->ts_ns;
	return true;
}

static void file_close(struct frames *base)
{
	struct file_frames *f = (struct file_frames *)base;

	free(f->mem);
	free(f->entries);
	free(f);
}

static bool file_read(const struct pcap_calls *c, pcap_t *pc, int dlt, frame_visitor *visit,
	void *ctx, char *err, size_t errlen)
{
	struct pcap_pkthdr *h;
	const u_char *p;
	int rc;

	while ((rc = c->next(pc, &h, &p)) == 1) {
		uint64_t ts = (uint64_t)h->ts.tv_sec * 1000000000u + (uint64_t)h->ts.tv_usec;
		uint32_t len = h->caplen, skip = 0;

		if (dlt == DLT_ERF) {
			if (len < ERF_HEAD || (p[8] & 0x7f) != ERF_TYPE_IB)
				continue;
			skip = ERF_HEAD;
			for (uint32_t at = 8; p[at] & 0x80 && skip + 8 <= len; at = skip, skip += 8)
				;
		}
		if (!visit(ctx, p + skip, len - skip, ts))
			return true;
	}
	if (rc == -1)
		snprintf(err, errlen, "%s", c->error(pc));
	return rc != -1;
}

bool frames_visit(
	const char *path, int *linktype, frame_visitor *visit, void *ctx, char *err, size_t errlen)
{
	char pcap_err[PCAP_ERRBUF_SIZE] = "";
	struct pcap_calls c = {0};
	pcap_t *pc;
	bool good;

	if (!pcap_calls_load(&c)) {
		snprintf(err, errlen, "cannot load libpcap to read '%s'", path);
		return false;
	}
	pc = c.open(path, PCAP_TSTAMP_PRECISION_NANO, pcap_err);
	if (!pc) {
		snprintf(err, errlen, "%s", pcap_err);
		return false;
	}
	*linktype = c.datalink(pc);
	good = file_read(&c, pc, *linktype, visit, ctx, err, errlen);
	c.close(pc);
	return good;
}

struct frames *frames_load(const char *path, bool ib, char *err, size_t errlen)
{
	struct file_frames *f = calloc(1, sizeof(*f));
	int dlt, want = ib ? DLT_ERF : DLT_EN10MB;

	if (!f)
		return NULL;
	f->base = (struct frames){file_next, file_close};
	if (!frames_visit(path, &dlt, file_add, f, err, errlen))
		goto fail;
	if (dlt != want) {
		snprintf(err, errlen, "'%s' has link type %d, an %s port needs %d", path, dlt,
			ib ? "InfiniBand" : "Ethernet", want);
		goto fail;
	}
	return &f->base;
fail:
	file_close(&f->base);
	return NULL;
}

bool frames_next(struct frames *f, struct frame *out)
{
	return f->next(f, out);
}

void frames_close(struct frames *f)
{
	if (f)
		f->close(f);
}

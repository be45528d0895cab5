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

/* Two ports of one file: what passes between them is there twice, but nothing is there too often.
 */
static void two_ports(void **state)
{
	(void)state;
	for (unsigned int counted = 4; counted < 10; counted += 5) {
		struct scene s = begin();

		device(&s, "1", 2);
		reading(&s, "start", S, SENT(0));
		device(&s, "2", 1);
		sends(&s, 0, 3);
		sends(&s, 0, 3);
		device(&s, "1", 2);
		reading(&s, "end", 2 * S, counted == 4 ? SENT(4) : SENT(9));
		result(&s);
		assert_int_equal(check_of(&s, "sent_pkts", 0)->packets, 8);
		assert_int_equal(finding(&s, "counters-differ") != NULL, counted == 9);
		end(&s);
	}
}

/* The last reading is stored behind the frames: those after its time are not in the counters. */
static void frames_after(void **state)
{
	(void)state;
	for (unsigned int counted = 0; counted < 2; counted++) {
		struct scene s = begin();

		device(&s, "1", 2);
		reading(&s, "start", S, SENT(0));
		s.ns = 2 * S;
		sends(&s, 0, 5);
		s.ns = 20 * S;
		sends(&s, 6, 9);
		reading(&s, "end", 10 * S, counted ? SENT(6) : SENT(5));
		result(&s);
		assert_int_equal(finding(&s, "counters-differ") != NULL, !counted);
		end(&s);
	}
}

/* Counters are of all frames; a filter can only choose fewer. */
static void filtered(void **state)
{
	(void)state;
	for (unsigned int counted = 3; counted < 10; counted += 6) {
		struct scene s = begin();

		rd_analysis_filtered(s.a);
		device(&s, "1", 2);
		reading(&s, "start", S, SENT(0));
		sends(&s, 0, 3);
		reading(&s, "end", 2 * S, counted == 3 ? SENT(3) : SENT(9));
		result(&s);
		assert_int_equal(finding(&s, "counters-differ") != NULL, counted == 3);
		end(&s);
	}
}

/* Rounds that the packets show are an estimate. */
static void estimated(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	reading(&s, "start", S, "\"hw_counters/completer_retry_err\":0");
	sends(&s, 0, 1);
	respond(&s, ACK, 0, OK);
	for (unsigned int i = 0; i < 3; i++) {
		s.ns += 20000000;
		request(&s, SEND_ONLY, 1);
	}
	respond(&s, ACK, 1, OK);
	reading(&s, "end", 9 * S, "\"hw_counters/completer_retry_err\":7");
	result(&s);
	assert_certainty(&s, "counters-differ", RD_POSSIBLE);
	end(&s);
}

/*
 * Traffic that runs when the counters are read is partly on the other side of the reading; traffic
 * that ended long before is not.
 */
static void running_traffic(void **state)
{
	static const struct {
		uint64_t behind;
		const char *counted;
		enum rd_certainty certainty;
	} cases[] = {{S / 100, SENT(210000), RD_LIKELY}, {S / 100, SENT(200900), RD_POSSIBLE},
		{20 * S, SENT(210000), RD_LIKELY},
		/* What the device did not send may be of another sender, or a copy. */
		{S / 100, SENT(190000), RD_POSSIBLE}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();

		device(&s, "1", 2);
		reading(&s, "start", S - S / 100, SENT(0));
		for (uint32_t psn = 0; psn < 200000; psn++)
			request(&s, SEND_ONLY, psn);
		reading(&s, "end", s.ns + cases[i].behind, cases[i].counted);
		result(&s);
		assert_certainty(&s, "counters-differ", cases[i].certainty);
		end(&s);
	}
}

/* --- refused requests ------------------------------------------------------------------------- */

static void write_request(struct scene *s, uint32_t psn, uint32_t length)
{
	uint8_t reth[16] = {0};

	rd_put_be64(reth, 0x7f0012345000);
	rd_put_be32(reth + 8, 0xabcd);
	rd_put_be32(reth + 12, length);
	put(s, false, WRITE_FIRST, psn, reth, 16 + 1024);
}

/* The finding has what the request asked for; data that was refused is no goodput. */
static void refused_write(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;
	const struct rd_finding *f;

	(void)state;
	sends(&s, 0, 1);
	respond(&s, ACK, 1, OK);
	write_request(&s, 2, 2048);
	request(&s, WRITE_LAST, 3);
	request(&s, SEND_ONLY, 4);
	respond(&s, ACK, 2, NAK_ACCESS);
	request(&s, SEND_ONLY, 5);
	c = result(&s);
	f = finding(&s, "remote-access");
	assert_non_null(strstr(f->detail, "WRITE of 2048 bytes at address 0x00007f0012345000 with "
					  "rkey 0x0000abcd, frame 4, PSN 2"));
	assert_int_equal(c->side[0].refusal->rkey, 0xabcd);
	assert_int_equal(c->side[0].goodput_bytes, 2 * 1024);
	end(&s);
}

/* A NAK within a message is for that message; its beginning may not have been captured. */
static void refused_later_packet(void **state)
{
	(void)state;
	for (unsigned int seen = 0; seen < 2; seen++) {
		struct scene s = begin();

		sends(&s, 0, 1);
		if (seen)
			write_request(&s, 2, 3072);
		request(&s, WRITE_MIDDLE, 3);
		request(&s, WRITE_LAST, 4);
		respond(&s, ACK, 4, 0x61);
		assert_non_null(strstr(finding(&s, "invalid-request")->detail,
			seen ? "rkey 0x0000abcd, frame 3, PSN 4" : "was not seen"));
		end(&s);
	}
}

/* READs and atomics name their region in headers of their own. */
static void refused_others(void **state)
{
	(void)state;
	for (unsigned int atomic = 0; atomic < 2; atomic++) {
		struct scene s = begin();
		uint8_t head[28] = {0};

		sends(&s, 0, 1);
		respond(&s, ACK, 1, OK);
		rd_put_be64(head, 0x1000);
		rd_put_be32(head + 8, 0x77);
		rd_put_be32(head + 12, 2048);
		put(&s, false, atomic ? FETCH_ADD : READ, 2, head, atomic ? 28 : 16);
		respond(&s, ACK, 2, NAK_ACCESS);
		assert_non_null(strstr(finding(&s, "remote-access")->detail,
			atomic ? "ATOMIC of 8 bytes at address 0x0000000000001000 with rkey "
				 "0x00000077"
			       : "READ of 2048 bytes at address 0x0000000000001000 with rkey "
				 "0x00000077"));
		end(&s);
	}
}

/* A NAK for what was acknowledged before is no news: nothing is taken back. */
static void late_nak(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	sends(&s, 0, 3);
	respond(&s, ACK, 3, OK);
	respond(&s, ACK, 1, NAK_ACCESS);
	sends(&s, 4, 5);
	c = result(&s);
	assert_int_equal(c->side[0].goodput_bytes, 6 * 1024);
	assert_null(c->side[0].refusal);
	end(&s);
}

/* --- owners ----------------------------------------------------------------------------------- */

static void owner(struct scene *s, unsigned int qp, unsigned int pid, const char *comm)
{
	char text[200];

	snprintf(text, sizeof(text),
		"{\"kind\":\"qps\",\"device\":\"rxe0\",\"port\":1,\"qps\":[{\"lqpn\":%u,"
		"\"pid\":%u,\"comm\":\"%s\"}]}",
		qp, pid, comm);
	facts(s, text);
}

static void owners(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	device(&s, "1", 2);
	owner(&s, REQUESTER, 4711, "ib_write_bw");
	owner(&s, RESPONDER, 1, "not of this port");
	owner(&s, REQUESTER, 4711, "ib_write_bw");
	sends(&s, 0, 1);
	respond(&s, ACK, 0, OK);
	respond(&s, ACK, 1, NAK_ACCESS);
	c = result(&s);
	assert_string_equal(c->owner[0]->comm, "ib_write_bw");
	assert_int_equal(c->owner[0]->pid, 4711);
	assert_null(c->owner[1]);
	assert_non_null(strstr(
		finding(&s, "remote-access")->detail, "QP 0x200 is of ib_write_bw (pid 4711)"));
	end(&s);
}

/* Two processes had QPs of one number: the owner of the traffic is unknown. */
static void owner_changed(void **state)
{
	struct scene s = begin();

	(void)state;
	device(&s, "1", 2);
	owner(&s, REQUESTER, 1, "one");
	owner(&s, REQUESTER, 2, "two");
	sends(&s, 0, 3);
	respond(&s, ACK, 3, OK);
	assert_null(result(&s)->owner[0]);
	end(&s);
}

/* What was sampled: "who" is the rest of an owner's object. */
static void sampled(struct scene *s, const char *who, unsigned int qp, unsigned int peer)
{
	char text[700];

	snprintf(text, sizeof(text),
		"{\"kind\":\"owners\",\"device\":\"rxe0\",\"port\":1,\"owners\":[{%s,"
		"\"qps\":[{\"lqpn\":%u,\"rqpn\":%u}]}]}",
		who, qp, peer);
	facts(s, text);
}

#define TRAINER                                                                                    \
	"\"pid\":4711,\"comm\":\"python3\",\"start_ticks\":50,\"start_ns\":1000,"                  \
	"\"cgroup\":\"/x\",\"pod\":\"c0ffee\",\"job\":{\"SLURM_PROCID\":\"9\","                    \
	"\"PMIX_RANK\":\"3\",\"SLURM_JOB_ID\":\"77\",\"LOCAL_RANK\":\"x\",\"HOME\":\"1\"}"

/* A process with its rank, known at both ends, of two hosts whose files are read together. */
static void owner_details(void **state)
{
	static const char both[] =
		"QP 0x200 is of python3 (pid 4711, rank 3, SLURM job 77, pod c0ffee); "
		"QP 0x100 is of nvmet_rdma in the kernel";
	struct scene s = begin();
	const struct rd_conversation *c;
	json_t *job;

	(void)state;
	device(&s, "1", 2);
	owner(&s, REQUESTER, 4711, "its name before");
	sampled(&s, TRAINER, REQUESTER, RESPONDER);
	sampled(&s, TRAINER, REQUESTER, RESPONDER);
	owner(&s, REQUESTER, 4711, "its name after");
	sends(&s, 0, 1);
	respond(&s, ACK, 0, OK);
	respond(&s, ACK, 1, NAK_ACCESS);
	next_file(&s);
	device(&s, "2", 1);
	sampled(&s, "\"pid\":0,\"comm\":\"nvmet_rdma\"", RESPONDER, REQUESTER);
	c = result(&s);
	assert_int_equal(c->pairing, RD_PAIR_RESOURCE);
	assert_int_equal(c->owner_state[0], RD_OWNER_KNOWN);
	assert_int_equal(c->owner[0]->rank, 3);
	job = json_object_get(c->owner[0]->details, "job");
	assert_int_equal(json_object_size(job), 3);
	assert_null(json_object_get(job, "HOME"));
	assert_true(json_is_null(json_object_get(c->owner[0]->details, "container")));
	assert_non_null(strstr(finding(&s, "remote-access")->detail, both));
	end(&s);
}

/* The connection manager makes the QPs of a kernel module, and is not another owner. */
static void owner_of_manager(void **state)
{
	static const char *const who[] = {"\"pid\":0,\"comm\":\"rdma_cm\"",
		"\"pid\":0,\"comm\":\"nvme_rdma\",\"service_port\":4420"};

	(void)state;
	for (unsigned int first = 0; first < 2; first++) {
		struct scene s = begin();
		const struct rd_conversation *c;
		char text[RD_OWNER_TEXT_MAX];

		device(&s, "1", 2);
		owner(&s, REQUESTER, 0, first ? "nvme_rdma" : "rdma_cm");
		sampled(&s, who[first], REQUESTER, RESPONDER);
		sampled(&s, who[!first], REQUESTER, RESPONDER);
		sends(&s, 0, 1);
		respond(&s, ACK, 1, OK);
		c = result(&s);
		assert_int_equal(c->owner_state[0], RD_OWNER_KNOWN);
		assert_string_equal(rd_owner_text(text, c->owner[0]),
			"nvme_rdma in the kernel (service port 4420)");
		end(&s);
	}
}

/* A pid that was used again, and a QP that is in none of the lists. */
static void owner_unknown(void **state)
{
	struct scene s = begin();
	const struct rd_conversation *c;

	(void)state;
	device(&s, "1", 2);
	sampled(&s, "\"pid\":1,\"comm\":\"x\",\"start_ticks\":5", 77, 78);
	sends(&s, 0, 1);
	respond(&s, ACK, 0, OK);
	respond(&s, ACK, 1, NAK_ACCESS);
	c = result(&s);
	assert_null(c->owner[0]);
	assert_int_equal(c->owner_state[0], RD_OWNER_NOT_LISTED);
	assert_int_equal(c->owner_state[1], RD_OWNER_NO_FACTS);
	assert_non_null(
		strstr(finding(&s, "remote-access")->detail, "the owner of QP 0x200 is unknown"));
	end(&s);

	s = begin();
	device(&s, "1", 2);
	sampled(&s, "\"pid\":1,\"comm\":\"x\",\"start_ticks\":5", REQUESTER, RESPONDER);
	sampled(&s, "\"pid\":1,\"comm\":\"x\",\"start_ticks\":6", REQUESTER, RESPONDER);
	sends(&s, 0, 1);
	respond(&s, ACK, 1, OK);
	c = result(&s);
	assert_null(c->owner[0]);
	assert_int_equal(c->owner_state[0], RD_OWNER_SEVERAL);
	end(&s);
}

/* --- what counters show about conversations
 * ------------------------------------------------------- */

#define GAVE_UP "\"hw_counters/retry_exceeded_err\":"

/* The sender repeats a request and stops: its device knows whether it gave up. */
static void gave_up(void **state)
{
	(void)state;
	for (unsigned int grew = 0; grew < 3; grew++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		device(&s, "1", 2);
		reading(&s, "start", S, GAVE_UP "7");
		sends(&s, 0, 1);
		respond(&s, ACK, 0, OK);
		for (unsigned int i = 0; i < 3; i++) {
			s.ns += 20000000;
			request(&s, SEND_ONLY, 1);
		}
		s.ns += S;
		put(&s, false, UD_ONLY, 1, NULL, 8 + 64); /* the capture went on */
		/* The third time the counters are read before it can have given up. */
		reading(&s, "end", grew == 2 ? S + 1 : 9 * S,
			grew == 1 ? GAVE_UP "8" : GAVE_UP "7");
		c = result(&s);
		assert_int_equal(c->side[0].ending, grew ? RD_ENDING_RETRY : RD_ENDING_OPEN);
		assert_int_equal(finding(&s, "gave-up") != NULL, grew > 0);
		assert_int_equal(finding(&s, "counter") != NULL, grew == 1);
		if (grew == 1) {
			assert_non_null(strstr(finding(&s, "gave-up")->detail, "counted 1 such"));
			assert_non_null(strstr(finding(&s, "counter")->title,
				"retry_exceeded_err grew by at least 1"));
		}
		end(&s);
	}
}

/* The device was reset: that a counter has its former value again does not show that it rested. */
static void gave_up_and_reset(void **state)
{
	static const struct {
		const char *first, *last;
		enum rd_ending ending;
	} cases[] = {
		{GAVE_UP "7," SENT(100), GAVE_UP "7," SENT(3), RD_ENDING_RETRY},
		{GAVE_UP "7," SENT(100), GAVE_UP "7," SENT(100), RD_ENDING_OPEN},
		{GAVE_UP "7,\"hw_counters/unheard_of\":100",
			GAVE_UP "7,\"hw_counters/unheard_of\":3", RD_ENDING_OPEN},
		{GAVE_UP "7,\"counters/port_rcv_packets\":100",
			GAVE_UP "7,\"counters/port_rcv_packets\":3", RD_ENDING_OPEN},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		struct scene s = begin();

		device(&s, "1", 2);
		reading(&s, "start", S, cases[k].first);
		sends(&s, 0, 1);
		respond(&s, ACK, 0, OK);
		for (unsigned int i = 0; i < 3; i++) {
			s.ns += 20000000;
			request(&s, SEND_ONLY, 1);
		}
		s.ns += S;
		put(&s, false, UD_ONLY, 1, NULL, 8 + 64); /* the capture went on */
		reading(&s, "end", 9 * S, cases[k].last);
		assert_int_equal(result(&s)->side[0].ending, cases[k].ending);
		end(&s);
	}
}

/* The request is repeated long after its ACK was captured, which the device counted. */
static void early_timer(void **state)
{
	(void)state;
	for (unsigned int counted = 0; counted < 2; counted++) {
		struct scene s = begin();

		device(&s, "1", 2);
		reading(&s, "start", S, "\"hw_counters/rcvd_pkts\":0");
		for (uint32_t psn = 0; psn < 4; psn++) {
			request(&s, SEND_ONLY, psn);
			respond(&s, ACK, psn, OK);
			s.ns += 20000000;
			request(&s, SEND_ONLY, psn);
			respond(&s, ACK, psn, OK);
		}
		reading(&s, "end", 9 * S,
			counted ? "\"hw_counters/rcvd_pkts\":8" : "\"hw_counters/rcvd_pkts\":4");
		assert_int_equal(finding(&s, "timeout-early") != NULL, counted);
		assert_int_equal(finding(&s, "responses-lost-downstream") != NULL, !counted);
		end(&s);
	}
}

/* --- links ------------------------------------------------------------------------------------ */

static void comment(struct scene *s, const char *text, uint64_t ns)
{
	const struct rd_frame next = {.ts_ns = ns};

	rd_analysis_comment(s->a, text, &next, 0);
}

static void link_down(void **state)
{
	struct scene s = begin();
	const struct rd_finding *f;

	(void)state;
	sends(&s, 0, 2);
	respond(&s, ACK, 1, OK);
	s.ns += S;
	comment(&s, "user's remark: port down; port down; port up", s.ns + 10000);
	sends(&s, 2, 2);
	respond(&s, ACK, 2, OK);
	f = finding(&s, "link-down");
	assert_non_null(f);
	assert_int_equal(f->evidence.count, 1);
	assert_int_equal(f->evidence.frames[0], 5);
	assert_int_equal(f->certainty, RD_CERTAIN);
	assert_non_null(strstr(finding(&s, "timeout")->detail, "the link of a capturing port"));
	end(&s);

	s = begin();
	comment(&s, "the port down the road", S);
	sends(&s, 0, 2);
	assert_null(finding(&s, "link-down"));
	end(&s);
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
		cmocka_unit_test(two_ports),
		cmocka_unit_test(frames_after),
		cmocka_unit_test(filtered),
		cmocka_unit_test(estimated),
		cmocka_unit_test(running_traffic),
		cmocka_unit_test(refused_write),
		cmocka_unit_test(refused_later_packet),
		cmocka_unit_test(refused_others),
		cmocka_unit_test(late_nak),
		cmocka_unit_test(owners),
		cmocka_unit_test(owner_changed),
		cmocka_unit_test(owner_details),
		cmocka_unit_test(owner_of_manager),
		cmocka_unit_test(owner_unknown),
		cmocka_unit_test(gave_up),
		cmocka_unit_test(gave_up_and_reset),
		cmocka_unit_test(early_timer),
		cmocka_unit_test(link_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

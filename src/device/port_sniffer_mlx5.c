/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SET_PORT_SNIFFER, four words: gvmi (15:0); attach (16) and receive (0); port (31:24); number of
 * the queue pair (23:0). The function's own gvmi is 0.
 */
#include "port_sniffer_mlx5.h"
#include <rdmadump/array.h>

#define SET_PORT_SNIFFER 0xc002
#define WORDS		 4
#define ATTACH		 0x10000U
#define RECEIVE		 1U
#define CHIP_ID		 0xf0014

/* mstflint lists this adapter, but no register of its command interface. */
#define CONNECTX_10 0x1027

/* ConnectX-8 moved the segment of the command interface: what is at the old place is not known. */
#define UNLOCK	   0x23f0
#define UNLOCK_CX8 0x1a023f0

/*
 * From mstflint 4.36 (mtcr_ul_icmd_cif.c, mstfwreset.py, ibdump.c), device by device. A BlueField-4
 * has the id of a ConnectX-9, except in recovery mode.
 */
static const struct sniffer_chip chips[] = {
	{0x1ff, 0x1ff, "Connect-IB", {0x1011}, 0xb0004, UNLOCK},
	{0x209, 0x209, "ConnectX-4", {0x1013}, 0xb0004, UNLOCK},
	{0x20b, 0x20b, "ConnectX-4 Lx", {0x1015}, 0xb0004, UNLOCK},
	{0x20d, 0x20d, "ConnectX-5", {0x1017, 0x1019}, 0xb5e04, UNLOCK},
	{0x20f, 0x20f, "ConnectX-6", {0x101b}, 0xb5f04, UNLOCK},
	{0x211, 0x211, "BlueField", {0xa2d2}, 0xb5e04, UNLOCK},
	{0x212, 0x212, "ConnectX-6 Dx", {0x101d}, 0xb5f04, UNLOCK},
	{0x214, 0x214, "BlueField-2", {0xa2d6}, 0xb5f04, UNLOCK},
	{0x216, 0x216, "ConnectX-6 Lx", {0x101f}, 0xb5f04, UNLOCK},
	{0x218, 0x218, "ConnectX-7", {0x1021}, 0xb5f04, UNLOCK},
	{0x21c, 0x21c, "BlueField-3", {0xa2dc, 0xa2d9}, 0xb5f04, UNLOCK},
	{0x21e, 0x21e, "ConnectX-8", {0x1023}, 0xa0304, UNLOCK_CX8},
	{0x224, 0x224, "ConnectX-9", {0x1025}, 0xa0304, UNLOCK_CX8},
	{0x224, 0x220, "BlueField-4", {0xa2df}, 0xa0304, UNLOCK_CX8},
};

const struct sniffer_chip *sniffer_chip_find(uint32_t part_id)
{
	for (size_t i = 0; part_id && i < RD_COUNT(chips); i++)
		for (size_t k = 0; k < RD_COUNT(chips[i].pci); k++)
			if (chips[i].pci[k] == part_id)
				return &chips[i];
	return NULL;
}

bool sniffer_chip_in_recovery(uint32_t part_id)
{
	return RD_ANY(c, chips, RD_COUNT(chips), c->recovery == part_id);
}

bool sniffer_chip_undocumented(uint32_t part_id)
{
	return part_id == CONNECTX_10;
}

/* --- the command -------------------------------------------------------------------------- */

/* Firmware may protect itself again at any time: the register is written before each command. */
static int set(struct mlx5_sniffer *s, bool attach, unsigned int rule, enum icmd_status *status,
	struct rd_error *err)
{
	const uint32_t mailbox[WORDS] = {0,
		(attach ? ATTACH : 0) | (rule == RD_SNIFF_IN ? RECEIVE : 0),
		(uint32_t)s->record.port << 24, s->record.qpn & 0xffffff};

	*err = (struct rd_error){0};
	return icmd_run(&s->icmd, SET_PORT_SNIFFER, mailbox, WORDS, status, err);
}

/* Prefixes the error with the operation that failed. */
static int fail_set(
	const struct mlx5_sniffer *s, bool attach, unsigned int rule, struct rd_error *err)
{
	struct rd_error why = *err;

	return rd_fail(err, RD_CLASS_DEVICE, 0, NULL,
		"cannot %s the sniffer of %s frames of port %u: %s", attach ? "attach" : "detach",
		rule == RD_SNIFF_IN ? "received" : "sent", s->record.port, why.text);
}

static const unsigned int order[] = {RD_SNIFF_OUT, RD_SNIFF_IN};

/* Whether the firmware got the command and only found nothing to detach. */
static bool is_nothing_there(enum icmd_status status)
{
	return status == ICMD_OPERATIONAL_ERROR || status == ICMD_BAD_PARAMETER;
}

static void forget(struct mlx5_sniffer *s, unsigned int rule)
{
	s->record.rules &= ~rule;
	sniffer_record_write(&s->record);
}

/* `any`: it is not known whether the rule is attached. */
static int detach_rule(struct mlx5_sniffer *s, unsigned int rule, bool any, struct rd_error *err)
{
	enum icmd_status status;

	if (set(s, false, rule, &status, err) < 0 && !(any && is_nothing_there(status)))
		return fail_set(s, false, rule, err);
	if (err->class)
		s->absent |= rule;
	*err = (struct rd_error){0};
	forget(s, rule);
	return 0;
}

/* Tries both; the first error is the one that is reported. */
static int detach_rules(struct mlx5_sniffer *s, unsigned int rules, bool any, struct rd_error *err)
{
	struct rd_error later = {0};
	int rc = 0;

	for (size_t i = 0; i < RD_COUNT(order); i++)
		if (rules & order[i] && detach_rule(s, order[i], any, rc ? &later : err) < 0)
			rc = -1;
	return rc;
}

/* Before anything is attached: a later capture undoes only what is recorded. */
static int record(const struct mlx5_sniffer *s, struct rd_error *err)
{
	int rc = sniffer_record_write(&s->record);

	if (!rc)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, rc,
		"make room in /run: without a record, nothing would detach the sniffer of a "
		"killed capture",
		"cannot record the sniffer of %s", s->gateway.pci);
}

/* Whether the firmware certainly did nothing: it did not read the command's arguments. */
static bool is_untouched(enum icmd_status status)
{
	return status == ICMD_INVALID_OPCODE || status == ICMD_INVALID_COMMAND ||
	       status == ICMD_WRITE_PROTECTED;
}

static int attach_rule(struct mlx5_sniffer *s, unsigned int rule, struct rd_error *err)
{
	enum icmd_status status;

	/* From here on it may be attached, even if the command fails. */
	s->record.rules |= rule;
	if (record(s, err) < 0) {
		s->record.rules &= ~rule;
		return -1;
	}
	if (set(s, true, rule, &status, err) == 0)
		return 0;
	fail_set(s, true, rule, err);
	if (is_untouched(status))
		forget(s, rule);
	return -1;
}

int mlx5_sniffer_attach(struct mlx5_sniffer *s, uint32_t qpn, struct rd_error *err)
{
	struct rd_error later = {0};
	unsigned int done = 0;

	if (detach_rules(s, s->record.rules, true, err) < 0)
		return -1;
	s->record.qpn = qpn;
	for (size_t i = 0; i < RD_COUNT(order); i++) {
		if (attach_rule(s, order[i], err) == 0) {
			done |= order[i];
			continue;
		}
		/* What is attached for certain is not detached by an error. */
		detach_rules(s, done, false, &later);
		detach_rules(s, s->record.rules & ~done, true, &later);
		return -1;
	}
	return 0;
}

int mlx5_sniffer_detach(struct mlx5_sniffer *s, struct rd_error *err)
{
	return detach_rules(s, s->record.rules, false, err);
}

int mlx5_sniffer_close(struct mlx5_sniffer *s, struct rd_error *err)
{
	int rc = icmd_close(&s->icmd, err);

	return gateway_close(&s->gateway, err) < 0 ? -1 : rc;
}

/* --- opening ------------------------------------------------------------------------------ */

static int check_chip(struct mlx5_sniffer *s, struct rd_error *err)
{
	uint32_t id;

	if (gateway_read(&s->gateway, GATEWAY_REGISTERS, CHIP_ID, &id, err) < 0)
		return -1;
	if ((id & 0xffff) == s->chip->id)
		return 0;
	return rd_fail(err, RD_CLASS_DEVICE, 0,
		"report this with 'rdmadump info -v'; until then mirror the port on the switch",
		"%s has chip id 0x%x, but a %s has 0x%x: its registers are not known",
		s->gateway.pci, id & 0xffff, s->chip->name, s->chip->id);
}

int mlx5_sniffer_open(struct mlx5_sniffer *s, const struct rd_device *device, int fd,
	unsigned int port, struct rd_error *err)
{
	s->chip = sniffer_chip_find(device->part_id);
	s->gateway = (struct gateway){
		.pci = device->pci, .fd = fd, .record = &s->record, .orphan = s->record.ticket};
	s->icmd = (struct icmd){.gateway = &s->gateway,
		.not_ready = s->chip->not_ready,
		.unlock = s->chip->unlock,
		.record = &s->record};
	if (record(s, err) < 0 || gateway_open(&s->gateway, err) < 0 || check_chip(s, err) < 0 ||
		detach_rules(s, s->record.rules, true, err) < 0)
		return -1;
	s->record.port = port;
	return detach_rules(s, RD_SNIFF_BOTH, true, err);
}

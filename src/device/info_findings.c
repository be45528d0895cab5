/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Findings about a device: faults, and settings below its best performance. */
#include <ctype.h>
#include <rdmadump/array.h>
#include <rdmadump/info.h>
#include <rdmadump/printable.h>
#include <string.h>

struct judging {
	struct rd_findings *findings;
	const struct rd_info *info;
	bool out_of_memory;
};

/* Adds a warning with certainty "certain": it is read from the device, not derived. Returns it, or
 * NULL if out of memory. */
__attribute__((format(printf, 4, 5))) static struct rd_finding *found(
	struct judging *j, const char *rule, const char *next, const char *fmt, ...)
{
	struct rd_finding *f = rd_findings_add(j->findings);
	char title[320];

	if (!f) {
		j->out_of_memory = true;
		return NULL;
	}
	RD_FORMAT(title, sizeof(title), fmt);
	f->rule = rule;
	f->severity = RD_SEV_WARNING;
	f->certainty = RD_CERTAIN;
	f->next = next;
	rd_finding_where(f, "%s", j->info->device->name);
	rd_finding_title(f, "%s", title);
	return f;
}

static void judge_pci(struct judging *j)
{
	const struct rd_pci_link *pci = &j->info->pci;

	if (pci->width && pci->width < pci->max_width)
		found(j, "pci-width", "look at slot, riser and bifurcation",
			"the PCI link has %u of %u lanes", pci->width, pci->max_width);
	if (isdigit((unsigned char)*pci->speed) && isdigit((unsigned char)*pci->max_speed) &&
		rd_version_compare(pci->speed, pci->max_speed) < 0)
		found(j, "pci-speed", "look at slot and BIOS",
			"the PCI link runs at %s, its maximum is %s", pci->speed, pci->max_speed);
}

static const struct rd_firmware_version *find_version(const struct rd_info *info, int kind)
{
	return RD_FIND(f, info->firmware, info->n_firmware,
		(int)f->kind == kind && !strcmp(f->name, "fw.version"));
}

static void judge_firmware(struct judging *j)
{
	const struct rd_info *info = j->info;
	const struct rd_firmware_version *stored = find_version(info, RD_FW_STORED);
	const struct rd_firmware_version *running = find_version(info, RD_FW_RUNNING);
	const struct rd_device *d = info->device;

	if (stored && running && rd_version_compare(stored->value, running->value))
		found(j, "firmware-pending", "reset the device or reboot, to start the stored one",
			"firmware %s runs, %s is stored", running->value, stored->value);
	if (*d->fw && *info->verbs_fw && rd_version_compare(d->fw, info->verbs_fw))
		found(j, "firmware-differs", NULL, "sysfs reports firmware %s, the device %s",
			d->fw, info->verbs_fw);
	if (*info->mlx5.psid && *d->board_id && strcmp(info->mlx5.psid, d->board_id))
		found(j, "psid-differs", NULL, "sysfs reports PSID %s, the device %s", d->board_id,
			info->mlx5.psid);
}

static void judge_modules(struct judging *j)
{
	const struct rd_module *a = &j->info->modules[0], *b = &j->info->modules[1];

	if (a->loaded && *b->name && !b->loaded)
		found(j, "module-missing", "load it with modprobe", "%s is loaded, %s is not",
			a->name, b->name);
	if (a->origin && b->origin && a->origin != b->origin)
		found(j, "modules-mixed", "install both from the same source",
			"%s and %s have different origins", a->name, b->name);
}

static void judge_ports(struct judging *j)
{
	const struct rd_device *d = j->info->device;

	for (unsigned int i = 0; i < d->n_ports; i++) {
		const struct rd_port *port = &d->ports[i];

		if (*port->state && strcmp(port->state, "active"))
			found(j, "port-inactive", NULL, "port %u is %s%s%s", port->num, port->state,
				*port->phys_state ? ", physically " : "", port->phys_state);
	}
}

/* The actual priority of RoCE depends on the senders: these findings are at most "possible". */
static void judge_dcb(struct judging *j, const struct rd_dcb *dcb)
{
	uint8_t unmapped = rd_dcb_pfc_unmapped(dcb), roce = rd_dcb_roce_without_pfc(dcb);
	char pfc[RD_DCB_PRIORITIES_LEN], other[RD_DCB_PRIORITIES_LEN];
	struct rd_finding *f;

	rd_dcb_priorities_text(pfc, dcb->pfc.pfc_en);
	if (unmapped) {
		f = found(j, "pfc-unmapped",
			"compare with the DSCP of RoCE: 'mlnx_qos -i NETDEV' or 'dcb app show dev "
			"NETDEV' shows the table",
			"%s trusts DSCP and has PFC on %s, to which no DSCP is mapped", dcb->netdev,
			rd_dcb_priorities_text(other, unmapped));
		if (f)
			f->certainty = RD_POSSIBLE;
	}
	if (roce) {
		f = found(j, "pfc-not-roce",
			"if RoCE is to be lossless, enable PFC on its priority on hosts and "
			"switches",
			"%s has PFC on %s, but RoCE has %s in its application table", dcb->netdev,
			pfc, rd_dcb_priorities_text(other, roce));
		if (f)
			f->certainty = RD_POSSIBLE;
	}
}

int rd_info_judge(struct rd_findings *findings, const struct rd_info *info)
{
	struct judging j = {findings, info, false};

	*findings = (struct rd_findings){0};
	judge_pci(&j);
	judge_firmware(&j);
	judge_modules(&j);
	judge_ports(&j);
	for (unsigned int i = 0; i < info->device->n_ports; i++)
		for (unsigned int k = 0; k < info->ports[i].n_dcb; k++)
			judge_dcb(&j, &info->ports[i].dcb[k]);
	if (j.out_of_memory || !rd_findings_are_complete(findings)) {
		rd_findings_free(findings);
		return -1;
	}
	rd_findings_sort(findings, NULL);
	return 0;
}

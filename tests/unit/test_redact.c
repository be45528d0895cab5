/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Redaction: addresses that belong together, forms in text, frames of each type, checksums. */
#include "test.h"
#include "test_bits.h"
#include "test_packet_make.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <rdmadump/redact.h>
#include <rdmadump/wire.h>

#define ARRAY(a) (sizeof(a) / sizeof(*(a)))

/* Both passes over one text. */
static char *both(struct rd_redact *r, const char *text)
{
	free(rd_redact_text(r, text, strlen(text), NULL));
	rd_redact_begin(r);
	return rd_redact_text(r, text, strlen(text), NULL);
}

/* --- text ------------------------------------------------------------------------------------- */

/* What is between < and > is replaced; the same form is left: x is a digit, a letter a word. */
static void check_text(const char *marked)
{
	struct rd_redact *r = rd_redact_new();
	char plain[512], *to;
	size_t n = 0;

	for (const char *c = marked; *c; c++)
		if (*c != '<' && *c != '>')
			plain[n++] = *c;
	plain[n] = '\0';
	to = both(r, plain);
	assert_non_null(to);
	for (const char *c = marked; (c = strchr(c, '<')); c++) {
		char original[256];

		snprintf(original, sizeof(original), "%.*s", (int)strcspn(c + 1, ">"), c + 1);
		if (strstr(to, original))
			fail_msg("'%s' is still in '%s'", original, to);
	}
	/* All else is there, in its order. */
	for (const char *c = marked, *at = to; *c;) {
		char part[256];
		size_t len = strcspn(c, "<");

		snprintf(part, sizeof(part), "%.*s", (int)len, c);
		at = strstr(at, part);
		if (!at)
			fail_msg("'%s' is not in '%s'", part, to);
		at += len;
		c += len;
		if (*c)
			c += strcspn(c, ">") + 1;
	}
	if (!strchr(marked, '<'))
		assert_string_equal(to, plain);
	free(to);
	rd_redact_free(r);
}

TEST(forms)
{
	static const char *const rows[] = {
		"inet <192.168.7.9>/24 brd <192.168.7.255> scope global",
		"addr:<10.1.2.3>  Bcast:255.255.255.255  Mask:255.255.255.0",
		"from <10.1.2.3>:4791 to <10.1.2.4>.",
		"range <10.0.0.1>-<10.0.0.9>",
		"MLNX_OFED_LINUX-5.8-2.0.3.0: version 1.2.3, 1.2.3.4.5, libfoo 2.1.0.7-1",
		"5.8-9.0.3.0 and 9.0.3.0-1, but 5.8-<10.0.3.0> and <10.0.3.1>-1",
		"<2.0.3.0> at 5.8 <2.0.3.0>, <2.0.0.1>-<2.0.0.9>, 5-<3.0.0.1>, x-<3.0.0.2>",
		"range <10.0.0.1>-24 10.2-<10.0.0.1> eth1.2-<172.16.0.9> dump.<10.9.8.7>.pcap",
		"0.0.0.0 127.0.0.1 224.0.0.18 239.255.255.250",
		"::1 :: ff02::1 fe80:: std::string 12:34:56 2026-11-22",
		"link-local <fe80::5054:ff:fe12:3456>%eth0, [<2001:db8::7>]:80, <fd00:1::2>/64",
		"GID <fe80:0000:0000:0000:0e42:a1ff:feb3:1234>",
		"GID <0000:0000:0000:0000:0000:ffff:0a01:0203>",
		"mac <0c:42:a1:b3:12:34> <0c-42-a1-b3-12-34> <0c42.a1b3.1234> <0C:42:A1:B3:12:35>",
		"<0c42-a1b3-12aa>, <0c42a1-b312bb>: mac; dev_<0c_42_a1_b3_12_cc>",
		"26_12_01_11_15_24 2026-1130-1234, 7f9c8d-abcde1",
		"arp <0c:42:a1:b3:12:34>: reply, <0c-42-a1-b3-12-34>- and <0c:42:a1:b3:12:34>:",
		"ff:ff:ff:ff:ff:ff 00:00:00:00:00:00 01:80:c2:00:00:0e 33:33:00:00:00:01",
		"node_guid: <0c42:a103:00b3:1234> and <0x0c42a10300b31234>, in fe80:0000:0000:0000",
		"node_guid <0c42:a103:00b3:1234>\nswitchid <3412b30003a1420c> <3412b30003a1420c>01",
		"<0x0c42a10300b31234> 0x00007f1234567890 0xffff888012345678 0x0000000000000001",
		"Base GUID: <0c42a10300b31234> 4; version 0c42a10300b3123",
		"Base MAC: <0c42a1b31234> 4",
		"{\"speed\": 100000000000, \"mac\": \"<0c:42:a1:b3:12:34>\", \"guid\": "
		"1234567890123456}",
		"WWPN <50014380ab1234cd>; no address 0c:42:a1:b3:12:34:5 0c:42:a1:b3:12:34:567",
		"Device Serial Number <0c-42-a1-03-00-b3-12-34>",
		"3: <enx0c42a1b31234>: mtu 9000; link/infiniband "
		"80:00:10:8b:<fe:80:00:00:00:00:00:00:0c:42:a1:03:00:b3:12:34> brd",
		"root=UUID=<2f8a4c1e-90ab-4cde-8123-456789abcdef> "
		"00000000-0000-0000-0000-000000000000",
		"pod<2f8a4c1e-90ab-4cde-8123-456789abcdef>/x "
		"burstable-pod<2f8a4c1e_90ab_4cde_8123_456789abcdef>.slice",
		"machine <0123456789abcdef0123456789abcdef> <01234567:89abcdef:01234567:89abcde0>",
		"BOOTIF=01-<0c-42-a1-b3-12-34> ip=:off:1500:<0c:42:a1:b3:12:36> 99:12:34:56",
		"<0c:42:a1:b3:12:35>, <0c-42-a1-b3-12-35>-01",
		"node_guid <0xc42a1b31234>, node_guid: 0x1",
		"0000:3b:00.0 15b3:1017 16.35.2000 MT_0000000012 0x1017",
		"version 1.3.30.0, firmware_version: 1.68.0.2, but <1.3.31.7> and server "
		"<10.3.30.0>",
		"mail <jdoe@acme.co.uk>, <x_y+z@a.example>.pcap. getty@tty1.service a@b.7 a@b "
		"@c.ef d@.ef root@node a@b.c",
		"{\"by\": \"\\n<jdoe@acme.com>\\n\", \"jdoe@acme.example\": 1}",
	};

	for (size_t i = 0; i < ARRAY(rows); i++)
		check_text(rows[i]);
}

/*
 * A page has its data in one line: what a number means there, the words of its own object say, and
 * not those of all others. In a short line all words count.
 */
TEST(long_line)
{
	static const char guid[] = "{\"node_guid\":\"0c42a10300b31234\"}",
			  address[] = "{\"detail\":\"refused at 0x00007f3b0c77d000\"}";
	struct rd_redact *r = rd_redact_new();
	char text[4096] = "", *to;

	for (unsigned int i = 0; i < 20; i++) {
		strcat(text, i % 2 ? guid : address);
		strcat(text, ",{\"n\":[1,2,3]},");
	}
	to = both(r, text);
	assert_null(strstr(to, "0c42a10300b31234"));
	assert_non_null(strstr(to, address));
	assert_int_equal(strlen(to), strlen(text));
	free(to);
	rd_redact_free(r);
	r = rd_redact_new();
	to = both(r, "{\"guid\":{\"value\":\"0x00007f3b0c77d000\"}}");
	assert_null(strstr(to, "7f3b"));
	free(to);
	rd_redact_free(r);
}

TEST(labels)
{
	static const char *const rows[] = {
		"[SN] Serial number: <MT2116X09341>\n again <MT2116X09341>",
		"Vendor SN       : <MT2116VS01234>\nlower <mt2116vs01234>",
		"serial_number <MT2116X09341>\nCable SN: <MT2116VS01234>, Asset tag : <A0012345>",
		"\"serial\": \"<MT2116X09341>\",",
		"the serial number is not available",
		"serial number: a12 is too short for one",
		"exe=/home/<alice>/bin/train, owner <alice>, <alice>_job, alicia",
		"USER=<bob7> ran; hostname: <node17.rack3>\n see <node17.rack3.example>",
		"serial number: None serial number: 0",
		"sn=<MT2116X09341> SN: <MT2116X09342> [SN] <MT2116X09343> S/N <PHYF1234>",
		"psn: 12345 PSN=0x123456 sn: 12 SN is 12345",
		"Running on host 12AB; Hostname set to <node17.rack3>, a hostname is set",
		"a username is not set, no host name was",
		"[{\"nodeHostname\":\"<node17.rack3>\", \"node17\": 1}]",
		"[    2.5] <node17>: hostname: <node17>",
		"NQN \"nqn.<2020-01.com.acme:db7>\", nqn.<2020-01.com.acme:db7>. "
		"iqn.<2003-01.x:s/1>",
		"nqn.2014-08.org.nvmexpress:uuid:<2f8a4c1e-90ab-4cde-8123-456789abcdef>.",
		"NFS: server <filer01> not responding. Hostname set to <node17.rack3>. "
		"<node17.rack3>",
		"modalias x\n    alias <uplink, leaf 7>\n    altname enp59s0",
		"http://x/?token=<s3cr3t>&a=1 password=<hunter2>",
		/* sshd, su, sudo, cron, logind */
		"publickey for <bwayne> from <10.1.2.3> port 5 ssh2: RSA SHA256:"
		"<uN3vNmb0cXgZ4mJm3YkT0pT0b1nq0p8sVh3xkq2Wv1c>\n<bwayne>_job\n"
		"password for root from <10.1.2.3> port 1 ssh2; reply for MAD from mlx5_0 port 1",
		"invalid user <ckent> from <10.1.2.3> port 1\nInvalid user <llane> from, invalid "
		"user  from x",
		"by authenticating user <ckent> <10.1.2.3> port 9\nUser <llane> from <10.1.2.3> "
		"not allowed",
		"session opened for user <ckent>(uid=1000) by <llane>(uid=0)\nsession closed for "
		"user <bwayne>",
		"New session 12 of user <ckent>.\nUser Slice of UID 1000. Slice: User Slice of "
		"<llane>.",
		"su: (to <bwayne>) <ckent> on pts/1\nSuccessful su for root by <llane>",
		"sudo:   <ckent> : TTY=pts/0 ; USER=root\nsudo: <llane> : 3 incorrect password "
		"attempts",
		"logname=<ckent> uid=1000 ruser= rhost=<desk17.x>  "
		"user=<llane>\nUserId=<bwayne>(1000)",
		"(<ckent>) CMD (x)\n(<llane>) LIST (<llane>)\nLOGIN ON tty1 BY "
		"<bwayne>\nproctitle=<2F62696E2F61>",
		"session opened for user root(uid=0) by root(uid=0); for user space, by user "
		"request",
		/* servers */
		"CIFS: Attempting to mount \\\\<filer01>\\<proj-x>\nVFS: \\\\<filer02> Send error, "
		"//<filer03>/<q7>",
		"http://<bob9>:<pw1234>@<proxy1>:3128/ https://<wiki>/x http://www.kernel.org/doc "
		"a//b/c",
		"scp <kent9>@<filer01>:/x ssh <lane>@<10.1.2.3>, HOSTID=\"<wk8>\" x@1.2.3",
		"LNet: peer <mds01>@o2ib0 <10.1.2.3>@tcp1 <acmefs>-OST0000-osc\nmount "
		"<mds02>@o2ib:/<xfs7> /l",
		"mount -t nfs <filer01>:/vol\nlockd: server <filer02> OK, nfs: server not "
		"found\nPATH=a:/usr/bin:/sbin",
		"ip=<10.0.0.5>::<10.0.0.1>:255.255.255.0:<node17>:eth0:off nfsroot=<10.0.0.9>:/srv",
		"Linux version 5.15.0-91-generic (<jdoe>@<buildbox>) (gcc 11.4.0) #101-Ubuntu SMP",
		"option domain_name '<acme.x>'; hostname changed from \"<node17>\" to \"<node18>\"",
		"ACCESS_KEY=<ab/c1> COMM_ID=<wk9>:2 iscsi:<bob8>:<pw567>@x root=nfs4:<filer3>:/r",
		"<db3.acme.com>, <gw.corp.acme.local>. <gpu7.novalocal>.pcap and <eth0.x.org> "
		"eth0 up, docs.nvidia.com",
		/* switches, clusters, containers */
		"SysName:  <leaf-7.pod3>\nSysDescr: Linux 5.3.0\nSystem Name "
		"TLV\n\t<leaf-8>\nPortDescr: <to x p1>\nTTL: 9",
		"PortDescr: swp17\nPort Description TLV\n\t<to x node17>\nChassisID: local "
		"<leaf-9>\nChassisID: mac <0c:42:a1:b3:12:34>",
		"\"MF0;<sw-rack12>:MQM8700/U1\" node=\"<worker-3>\" pod=\"<acme/trainer-0>\" "
		"NodeList=<node[01-10>]",
		"docker/<3f4e5d6c7b8a1122334455667788990011223344556677889900aabbccddeeff> "
		"<3f4e5d6c7b8a>, container <0123456789ab>",
		"<3600a098038303053453f463045727a6f> dm-2; hash 0123456789ab, container id 5, "
		"id=123456789012",
		/* certificates, serial numbers, secrets */
		"subject=CN = <node17>, O = <Acme Corp>, C = DE\n/C=US/ST=<Bavaria>/O=<Acme "
		"Inc>/emailAddress=<p@acme.com>",
		"X.509 cert '<Acme Signing>: <14df0c>'\nX.509 cert 'Canonical Ltd. Live Patch "
		"Signing: <14df0d>'; O=2 DC=1",
		"Vendor SN   <MT2116VS01234>\nnvme0: SN <S4XXNX0R123456>\nBoard Serial: "
		"<PHX1234567>, Part serial <PHX7654321>",
		"SN: 16.35.2000, SN 0x1234567890, SN 12345678, serial8250: ttyS0 at 0x3f8\nSerial: "
		"8250/16550 driver",
		"PSID: MT_0000000223, fw 22.36.1010, syndrome (0x8f1c2d3e), lqpn 0x19, "
		"0000:3b:00.0 12:25:21",
		"token=<abc12345x>: <abc12345x>, user=info user=localhost host name: cpu7",
		"psk=<topsecret> api_key=<abc> Bearer: x\nAuthorization: Bearer <eyJhbGci.abc>",
		"SECRET_KEY=<k1> ACCESS_KEY_ID=<AKIA1> pass=<pw1> ?sig=<a%2Fb1>&x "
		"sig=0x606a6 pass=3 fail=0",
		"node_desc: <rack3 node17>\nNode Description:..<rack4, node18>\n <rack3 node17>",
	};

	for (size_t i = 0; i < ARRAY(rows); i++)
		check_text(rows[i]);
}

static void name_each(struct rd_redact *r, enum rd_redact_kind kind, const char *names)
{
	for (; *names; names += strcspn(names, " "), names += *names == ' ')
		rd_redact_name(r, kind, names, strcspn(names, " "));
}

/*
 * Words that are known to be names, and what a text becomes: -1 for the first name that is put in
 * place of others, -2 for the second one.
 */
TEST(words)
{
	static const struct {
		const char *hosts, *users, *text, *want;
	} rows[] = {
		/* What may be any word is replaced where it is labelled, and a word elsewhere. */
		{"", "", "token=link password=up user=ab: link up ab {\"token\": 5}",
			"token=secret-1 password=secret-2 user=user-3: link up ab {\"token\": 5}"},
		/* The same name, in any case, by the same one. */
		{"node7 node7.lab.example localhost", "root",
			"Node7 node7, node70; node7-ib0 (node7.lab.example) localhost root",
			"host-1 host-1, node70; host-1-ib0 (host-2) localhost root"},
		/* Other hosts of a known domain; a name with a digit also without the domain.
		 * site7site is none, and neither is what people are called. */
		{"lab.example ab.de site7site", "pat.smith",
			"nfs3.lab.example:/x, db.LAB.example. NFS3! nfs30 db; nfs3.lab.examples "
			"/r-nfs3 ib0.lab.example ib0 nfs.ab.de d.site7site d.pat.smith",
			"host-1:/x, host-2. host-3! nfs30 db; host-1s /r-host-3 host-4 ib0 host-5 "
			"d.host-6 d.user-7"},
		/* Readers look for keys: a host that is named like one is replaced elsewhere. */
		{"ports", "", "{\"ports\": \"ports\"}", "{\"ports\": \"host-1\"}"},
		{"ports", "", "[1.0] <ports>: \"ports\": is no key of JSON",
			"[1.0] <host-1>: \"host-1\": is no key of JSON"},
		{"ports", "", "{\"user=jdoe7\": 1}", "{\"user=jdoe7\": 1}"},
	};

	for (size_t i = 0; i < ARRAY(rows); i++) {
		struct rd_redact *r = rd_redact_new();
		char *to, numbers[8][9];
		size_t n = 0, k;

		name_each(r, RD_REDACT_HOST, rows[i].hosts);
		name_each(r, RD_REDACT_USER, rows[i].users);
		to = both(r, rows[i].text);
		for (char *c = to; (c = strchr(c, '-')); c++) {
			if (strspn(c + 1, "0123456789abcdef") != 8)
				continue;
			snprintf(numbers[n], sizeof(numbers[n]), "%s", c + 1);
			for (k = 0; strcmp(numbers[k], numbers[n]) != 0;)
				k++;
			n += k == n;
			c[1] = (char)('1' + k);
			memmove(c + 2, c + 9, strlen(c + 9) + 1);
		}
		same(to, rows[i].want);
		free(to);
		rd_redact_free(r);
	}
}

TEST(long_secret)
{
	struct rd_redact *r = rd_redact_new();
	char text[3000], *to;

	memset(text, 'a', sizeof(text)); /* longer than any name */
	memcpy(text, "token=", 6);
	memcpy(text + sizeof(text) - 9, "9 user=x", 9);
	to = both(r, text);
	assert_int_equal(strlen(to), strlen("token=secret-00000000 user=x"));
	assert_memory_equal(to, "token=secret-", 13);
	free(to);
	rd_redact_free(r);
}

/* In a capture a name is replaced where its label is; the blanks behind it are none of it. */
TEST(foreign_labels)
{
	static const char text[] =
		"node_desc: rack5 node19 \t\nnode_desc: rack5 node19\n"
		"mlx5_0 port 1 on host peer19, from; fifo=x: sent by peer19: nak";
	struct rd_redact *r = rd_redact_new();
	char *to, *first, *second;

	rd_redact_begin(r);
	to = rd_redact_foreign(r, text, strlen(text), NULL);
	first = strchr(to, ' ') + 1;
	second = strchr(strchr(to, '\n'), ' ') + 1;
	assert_null(strstr(to, "node19"));
	assert_null(strstr(to, "peer19"));
	assert_non_null(strstr(first, " \t\n"));
	assert_memory_equal(first, second, strcspn(second, "\n"));
	free(to);
	rd_redact_free(r);
}

TEST(path)
{
	struct rd_redact *r = rd_redact_new();
	char *to;

	rd_redact_name(r, RD_REDACT_HOST, "ports", 5);
	to = rd_redact_path(r, "infiniband/mlx5_0/ports");
	assert_string_equal(to, "infiniband/mlx5_0/ports");
	free(to);
	rd_redact_free(r);
}

/* --- addresses that belong together ----------------------------------------------------------- */

TEST(related)
{
	static const char text[] = "02:11:22:aa:bb:cc fe80::11:22ff:feaa:bbcc ff02::1:ffaa:bbcc "
				   "10.20.30.40 ::ffff:10.20.30.40 10.20.30.41 10.20.99.41 "
				   "0x0c42a10300b31234 fe80::c42:a103:b3:1234 2001:db8:5::1 "
				   "2001:db8:5::2 2001:db8:6::1";
	struct rd_redact *r = rd_redact_new();
	char *to = both(r, text), *word[16] = {NULL}, *save = NULL;
	uint8_t mac[6], a[16], b[16];
	unsigned int m[6], n = 0;

	for (char *w = strtok_r(to, " ", &save); w; w = strtok_r(NULL, " ", &save))
		word[n++] = w;
	expect("12 6", n,
		sscanf(word[0], "%x:%x:%x:%x:%x:%x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]));
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)m[i];
	same(inet_pton(AF_INET6, word[1], a), 1, a[0], 0xfe, a[8], mac[0] ^ 2);
	assert_memory_equal(a + 9, mac + 1, 2);
	assert_int_equal(rd_be16(a + 11), 0xfffe);
	assert_memory_equal(a + 13, mac + 3, 3);
	assert_int_equal(inet_pton(AF_INET6, word[2], b), 1);
	assert_memory_equal(b, "\xff\x02\0\0\0\0\0\0\0\0\0\x01\xff", 13);
	assert_memory_equal(b + 13, mac + 3, 3);
	assert_string_equal(word[4] + 7, word[3]);
	expect("1 1", inet_pton(AF_INET, word[3], a), inet_pton(AF_INET, word[5], b));
	assert_memory_equal(a, b, 3);
	assert_int_equal(inet_pton(AF_INET, word[6], b), 1);
	assert_memory_equal(a, b, 2);
	assert_int_not_equal(a[2], b[2]);
	expect("1 1 1 1", inet_pton(AF_INET6, word[8], a),
		strtoull(word[7], NULL, 16) == rd_be64(a + 8), inet_pton(AF_INET6, word[9], a),
		inet_pton(AF_INET6, word[10], b));
	assert_memory_equal(a, b, 8);
	assert_int_equal(inet_pton(AF_INET6, word[11], b), 1);
	assert_memory_equal(a, b, 4);
	assert_memory_not_equal(a, b, 8);
	free(to);
	rd_redact_free(r);
}

/* Every address of a network: all different, none an original. */
TEST(no_original)
{
	struct rd_redact *r = rd_redact_new();
	uint8_t ip[4], to[254][4];
	bool seen[256] = {false};

	for (int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 1; i < 255; i++) {
			rd_put_be32(ip, 0x0a000000 | i);
			rd_redact_ipv4(r, ip);
			memcpy(to[i - 1], ip, 4);
		}
		if (!pass)
			rd_redact_begin(r);
	}
	for (unsigned int i = 0; i < 254; i++) {
		assert_memory_equal(to[i], to[0], 3);
		assert_memory_not_equal(to[i], "\x0a\0\0", 3);
		assert_false(seen[to[i][3]]);
		seen[to[i][3]] = true;
	}
	rd_redact_free(r);
}

/* A network stays in its half, so that its class or netmask is still right. */
TEST(halves)
{
	static const uint8_t first[] = {1, 126, 128, 223};

	for (unsigned int n = 0; n < 64; n++) {
		struct rd_redact *r = rd_redact_new();
		uint8_t ip[sizeof(first)][4];

		for (int pass = 0; pass < 2; pass++) {
			for (size_t i = 0; i < sizeof(first); i++) {
				memcpy(ip[i], (const uint8_t[]){first[i], 1, 2, 3}, 4);
				rd_redact_ipv4(r, ip[i]);
			}
			if (!pass)
				rd_redact_begin(r);
		}
		for (size_t i = 0; i < sizeof(first); i++) {
			assert_int_equal(ip[i][0] >> 7, first[i] >> 7);
			assert_in_range(ip[i][0], 1, 223);
			assert_int_not_equal(ip[i][0], 127);
		}
		rd_redact_free(r);
	}
}

/* Networks that differ stay different, also those that only the second pass finds. */
TEST(distinct)
{
	for (int found_late = 0; found_late < 2; found_late++) {
		struct rd_redact *r = rd_redact_new();
		bool ipv4[256] = {false}, ipv6[65536] = {false};

		for (int pass = found_late; pass < 2; pass++) {
			if (pass)
				rd_redact_begin(r);
			for (unsigned int i = 11; i < 111; i++) {
				uint8_t ip[4] = {(uint8_t)i, 1, 2, 3};
				uint8_t ip6[16] = {0x20, (uint8_t)i};

				rd_redact_ipv4(r, ip);
				rd_redact_ipv6(r, ip6);
				if (!pass)
					continue;
				expect("0 0", ipv4[ip[0]], ipv6[rd_be16(ip6)]);
				ipv4[ip[0]] = ipv6[rd_be16(ip6)] = true;
			}
		}
		rd_redact_free(r);
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

static struct make m;
static uint8_t to[4096];

/* Both passes over a frame; `to` gets the result, and has room for what is not captured. */
static void redact(enum rd_link link)
{
	static const uint8_t behind[16] = "not captured";
	struct rd_redact *r = rd_redact_new();

	/* Wherever it is cut, nothing outside is written. */
	for (uint32_t n = 0; n <= m.n; n++) {
		memcpy(to, m.b, n);
		memcpy(to + n, behind, sizeof(behind));
		assert_true(rd_redact_frame(r, link, to, n, m.n, 0));
		assert_memory_equal(to + n, behind, sizeof(behind));
	}
	memcpy(to, m.b, m.n);
	rd_redact_begin(r);
	expect("1 0", rd_redact_frame(r, link, to, m.n, m.n, 0), rd_redact_failed(r));
	assert_memory_equal(to + m.n, behind, sizeof(behind));
	rd_redact_free(r);
}

/* Payload of make_write(): zeros, as far as it is there. */
static void check_zeros(const uint8_t *b, uint32_t n, uint32_t from, uint32_t end)
{
	for (uint32_t i = from; i < end && i < n; i++)
		assert_int_equal(b[i], 0);
}

static bool has(const uint8_t *in, size_t n, const void *what, size_t len)
{
	return memmem(in, n, what, len) != NULL;
}

static uint16_t sum(const uint8_t *p, uint32_t n, uint32_t start)
{
	uint32_t s = start;

	for (uint32_t i = 0; i < n; i += 2)
		s += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)s;
}

/* RoCE v2 with a payload of 0xab, and checksums of all layers. */
static void make_write(struct make *w, bool v6, uint32_t payload)
{
	uint32_t length = 8 + RD_BTH_LEN + 16 + payload + RD_ICRC_LEN, ip = 14, computed, stored;
	uint32_t udp = ip + (v6 ? 40 : 20);

	*w = (struct make){.n = 0};
	make_ethernet(w, v6 ? 0x86dd : 0x0800);
	if (v6)
		make_ipv6(w, 17, length);
	else
		make_ipv4(w, 17, length);
	make_udp(w, 4791, length - 8);
	make_be32(w, 0x0a40ffff); /* RC WRITE only */
	make_be32(w, 0x11);
	make_be32(w, 0x22);
	make_fill(w, 0x33, 16);
	make_fill(w, 0xab, payload);
	make_fill(w, 0, RD_ICRC_LEN);
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, w->b, w->n, &computed, &stored), 0);
	rd_put_le32(w->b + w->n - 4, computed);
	if (!v6)
		rd_put_be16(w->b + ip + 10, (uint16_t)~sum(w->b + ip, 20, 0));
	rd_put_be16(w->b + udp + 6, (uint16_t)~sum(w->b + ip + (v6 ? 8 : 12), v6 ? 32 : 8,
					    (uint32_t)sum(w->b + udp, length, 17 + length)));
}

static uint16_t udp_rest(const uint8_t *b, uint32_t n, bool v6)
{
	uint32_t udp = v6 ? 54 : 34;

	return sum(b + 14 + (v6 ? 8 : 12), v6 ? 32 : 8, sum(b + udp, n - udp, 17 + n - udp));
}

TEST(checksums)
{
	uint32_t computed, stored;

	for (int v6 = 0; v6 < 2; v6++) {
		make_write(&m, v6, 64);
		redact(RD_LINK_ETHERNET);
		same(rd_icrc(RD_LINK_ETHERNET, to, m.n, &computed, &stored), 0, computed, stored);
		expect("0xffff 0xffff", v6 ? 0xffff : sum(to + 14, 20, 0), udp_rest(to, m.n, v6));
		check_zeros(to, m.n, v6 ? 90 : 70, m.n - 4);
		assert_false(has(to, m.n, m.b, 6));
		assert_false(has(to, m.n, m.b + (v6 ? 22 : 26), v6 ? 16 : 4));
		/* The headers of the transport are as they were. */
		assert_memory_equal(to + (v6 ? 62 : 42), m.b + (v6 ? 62 : 42), 28);
	}
}

/* Each checksum that is wrong stays wrong, alone. */
TEST(damaged)
{
	uint32_t computed, stored;

	make_write(&m, false, 64);
	m.b[m.n - 2] ^= 0x10;
	redact(RD_LINK_ETHERNET);
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, to, m.n, &computed, &stored), 0);
	assert_int_equal(computed ^ stored, 0x100000);
	make_write(&m, false, 64);
	m.b[80] ^= 0x01; /* payload: the ICRC and the UDP checksum are wrong */
	redact(RD_LINK_ETHERNET);
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, to, m.n, &computed, &stored), 0);
	assert_int_not_equal(computed, stored);
	assert_int_equal(sum(to + 14, 20, 0), 0xffff);
	assert_int_not_equal(udp_rest(to, m.n, false), 0xffff);
	make_write(&m, false, 64);
	m.b[25] ^= 0x01;
	redact(RD_LINK_ETHERNET);
	assert_int_not_equal(sum(to + 14, 20, 0), 0xffff);
	make_write(&m, false, 64);
	m.b[40] = m.b[41] = 0; /* no UDP checksum */
	redact(RD_LINK_ETHERNET);
	assert_int_equal(rd_be16(to + 40), 0);
}

/* A frame that was cut anywhere: nothing outside is written, no address of it is left. */
TEST(cut)
{
	struct make whole;

	for (int v6 = 0; v6 < 2; v6++) {
		make_write(&whole, v6, 64);
		for (uint32_t n = 0; n < whole.n; n++) {
			struct rd_redact *r = rd_redact_new();
			uint8_t *copy = malloc(n + 1);

			for (int pass = 0; pass < 2; pass++) {
				memcpy(copy, whole.b, n);
				copy[n] = 0x5a;
				expect("1 0x5a",
					rd_redact_frame(r, RD_LINK_ETHERNET, copy, n, whole.n, 0),
					copy[n]);
				rd_redact_begin(r);
			}
			assert_false(has(copy, n, "\x52\x54\0\0\0", 5));
			assert_false(has(copy, n, whole.b + (v6 ? 22 : 26), v6 ? 16 : 4));
			/* What is left of the ICRC would tell whether a guess is right. */
			check_zeros(copy, n, v6 ? 90 : 70, whole.n);
			free(copy);
			rd_redact_free(r);
		}
	}
}

TEST(arp)
{
	m.n = 0;
	make_ethernet(&m, 0x0806);
	make_bytes(&m, "\0\x01\x08\0\x06\x04\0\x02", 8);
	make_bytes(&m, "\x52\x54\0\0\0\x02\x0a\0\0\x02\x52\x54\0\0\0\x01\x0a\0\0\x01", 20);
	make_fill(&m, 0x77, 18); /* padding */
	redact(RD_LINK_ETHERNET);
	assert_memory_equal(to + 22, to + 6, 6);
	assert_memory_equal(to + 32, to, 6);
	assert_memory_equal(to + 14, m.b + 14, 8);
	expect("0 0", has(to, m.n, "\x52\x54\0\0\0", 5), has(to, m.n, "\x0a\0\0\x02", 4));
	check_zeros(to, m.n, 42, m.n);
}

/* A frame within VXLAN within a frame; and one that an ICMP error quotes. */
TEST(within)
{
	uint32_t computed, stored;
	struct make inner;

	make_write(&inner, false, 32);
	make_udp_frame(&m, 4789, 8 + inner.n);
	make_bytes(&m, "\x08\0\0\0\0\x12\x34\0", 8);
	make_bytes(&m, inner.b, inner.n);
	redact(RD_LINK_ETHERNET);
	same(rd_icrc(RD_LINK_ETHERNET, to + 50, inner.n, &computed, &stored), 0, computed, stored);
	assert_memory_equal(to + 50, to, 12); /* the same addresses */
	check_zeros(to, m.n, 50 + 70, m.n - 4);
	assert_memory_equal(to + 42, m.b + 42, 8);

	m.n = 0;
	make_ethernet(&m, 0x0800);
	make_ipv4(&m, 1, 8 + inner.n - 14);
	make_bytes(&m, "\x03\x04\0\0\0\0\x05\xdc", 8);
	make_bytes(&m, inner.b + 14, inner.n - 14);
	rd_put_be16(m.b + 36, (uint16_t)~sum(m.b + 34, m.n - 34, 0));
	redact(RD_LINK_ETHERNET);
	assert_int_equal(sum(to + 34, m.n - 34, 0), 0xffff);
	assert_memory_equal(to + 42 + 12, to + 26, 8);
	assert_memory_equal(to + 42 + 20, m.b + 42 + 20, 4); /* ports */
	check_zeros(to, m.n, 42 + 56, m.n - 4);

	make_write(&inner, true, 32);
	for (uint8_t type = 1; type <= 4; type++) {
		m.n = 0;
		make_ethernet(&m, 0x86dd);
		make_ipv6(&m, 58, 8 + inner.n - 14);
		make_bytes(&m, "\0\0\0\0\0\0\0\0", 8);
		m.b[54] = type;
		make_bytes(&m, inner.b + 14, inner.n - 14);
		redact(RD_LINK_ETHERNET);
		assert_memory_equal(to + 62 + 8, to + 22, 32);	     /* the same addresses */
		assert_memory_equal(to + 62 + 40, m.b + 62 + 40, 4); /* ports */
	}
}

/* A recorded route in the options of an IPv4 header, whole and as far as it was captured. */
TEST(ipv4_options)
{
	static const char route[] = "\x07\x0b\x0c\x0a\x09\x08\x07\x0a\x09\x08\x06";

	m.n = 0;
	make_ethernet(&m, 0x0800);
	make_ipv4(&m, 17, sizeof(route) + 8 + 32);
	m.b[14] = 0x40 | (20 + sizeof(route)) / 4;
	make_bytes(&m, route, sizeof(route));
	make_udp(&m, 53, 32);
	make_bytes(&m, route, sizeof(route));
	for (uint32_t n = m.n; n >= 14 + 20 + sizeof(route) - 2; n -= 3) {
		m.n = n;
		redact(RD_LINK_ETHERNET);
		expect("0 1", has(to, n, "\x0a\x09\x08", 3), to[34]);
	}
}

/* IPv6 extension headers keep type and length, or nothing, wherever the frame is cut. */
TEST(ipv6_extensions)
{
	/* hop-by-hop options, routing, destination options, fragment, authentication */
	static const char chain[] = "\x2b\0......\x3c\0\2\1....\x2c\0......\x33\0\0\0\1\2\3\4"
				    "\x11\2\0\0\1\2\3\4\5\6\7\x8....";
	const uint32_t n = sizeof(chain) - 1;

	m.n = 0;
	make_ethernet(&m, 0x86dd);
	make_ipv6(&m, 0, n + 8 + 32);
	make_bytes(&m, chain, n);
	make_udp(&m, 53, 32);
	make_fill(&m, 0xab, 32);
	redact(RD_LINK_ETHERNET);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(to[54 + i], chain[i] == '.' ? 0 : chain[i]);
	for (m.n = 54 + n; m.n > 54; m.n--) {
		redact(RD_LINK_ETHERNET);
		assert_null(memchr(to + 54, '.', m.n - 54));
	}
}

/* An address in an option of TCP (MPTCP ADD_ADDR), whole and as far as it was captured. */
TEST(tcp_options)
{
	static const uint8_t option[12] = {30, 10, 0x30, 1, 10, 9, 8, 7, 0x12, 0xb7, 1, 1};

	m.n = 0;
	make_ethernet(&m, 0x0800);
	make_ipv4(&m, 6, 20 + sizeof(option) + 10);
	make_be32(&m, 0x9c401ff8);
	make_be32(&m, 1);
	make_be32(&m, 2);
	make_be32(&m, 0x80100400);
	make_be32(&m, 0);
	make_bytes(&m, option, sizeof(option));
	make_fill(&m, 0xab, 10);
	rd_put_be16(m.b + 50,
		(uint16_t)~sum(m.b + 26, 8, (uint32_t)sum(m.b + 34, m.n - 34, 6 + m.n - 34)));
	redact(RD_LINK_ETHERNET);
	assert_int_equal(sum(to + 26, 8, (uint32_t)sum(to + 34, m.n - 34, 6 + m.n - 34)), 0xffff);
	assert_memory_equal(to + 34, m.b + 34, 16);
	for (uint32_t n = m.n; n > 34 + 20; n--) {
		m.n = n;
		redact(RD_LINK_ETHERNET);
		expect("0 1", has(to, n, "\x0a\x09", 2), to[54]);
	}
}

/* What is not understood becomes zeros: LLDP, text in UDP and TCP. */
TEST(payload)
{
	static const char secret[] = "alice@node7 secret";

	m.n = 0;
	make_ethernet(&m, 0x88cc);
	make_bytes(&m, secret, sizeof(secret));
	redact(RD_LINK_ETHERNET);
	assert_false(has(to, m.n, "alice", 5));
	make_udp_frame(&m, 53, sizeof(secret));
	make_bytes(&m, secret, sizeof(secret));
	redact(RD_LINK_ETHERNET);
	assert_false(has(to, m.n, "alice", 5));
	assert_memory_equal(to + 34, m.b + 34, 8);
	for (unsigned int v6 = 0; v6 < 2; v6++) { /* of a ping */
		m.n = 0;
		make_ethernet(&m, v6 ? 0x86dd : 0x0800);
		if (v6)
			make_ipv6(&m, 58, 8 + sizeof(secret));
		else
			make_ipv4(&m, 1, 8 + sizeof(secret));
		make_bytes(&m, v6 ? "\x80\0\0\0\0\1\0\1" : "\x08\0\0\0\0\1\0\1", 8);
		make_bytes(&m, secret, sizeof(secret));
		redact(RD_LINK_ETHERNET);
		check_zeros(to, m.n, m.n - (uint32_t)sizeof(secret), m.n);
	}
	assert_false(rd_redact_frame(NULL, RD_LINK_RAW, to, m.n, m.n, 0));
	assert_false(rd_redact_frame(NULL, RD_LINK_UNKNOWN, to, m.n, m.n, 0));
}

/* --- MADs ------------------------------------------------------------------------------------- */

/* A UD SEND to QP 1 with a MAD of which `bytes` are at `at`. */
static void make_mad(unsigned int class, unsigned int attribute)
{
	uint32_t length = 8 + RD_BTH_LEN + 8 + 256 + RD_ICRC_LEN;

	make_udp_frame(&m, 4791, length - 8);
	make_be32(&m, 0x6440ffff);
	make_be32(&m, 1);
	make_be32(&m, 0);
	make_be32(&m, 0x80010000);
	make_be32(&m, 1);
	make_fill(&m, 0xc3, 256);
	m.b[62] = 1;
	m.b[63] = (uint8_t) class;
	rd_put_be16(m.b + 62 + 16, (uint16_t)attribute);
	make_fill(&m, 0, RD_ICRC_LEN);
}

#define MAD 62

static uint8_t *const mad = m.b + MAD;
static const uint8_t *const got = to + MAD;

TEST(cm)
{
	make_mad(RD_MAD_CM, RD_CM_REQ);
	memcpy(mad + 24 + 8, "\0\0\0\0\x01\x06\x12\x34", 8);
	memcpy(mad + 24 + 56, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x02", 16);
	memcpy(mad + 24 + 72, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16);
	memset(mad + 24 + 100, 0, 32);
	memcpy(mad + 24 + 140, "\0\x40\x99\x99", 4);
	memset(mad + 24 + 144, 0, 32);
	memcpy(mad + 24 + 144 + 12, "\x0a\0\0\x02", 4);
	memcpy(mad + 24 + 160 + 12, "\x0a\0\0\x01", 4);
	redact(RD_LINK_ETHERNET);
	/* GIDs and private data have the addresses of the IP header. */
	assert_memory_equal(got + 24 + 56 + 12, to + 26, 4);
	assert_memory_equal(got + 24 + 72 + 12, to + 30, 4);
	assert_memory_equal(got + 24 + 144 + 12, to + 26, 4);
	assert_memory_equal(got + 24 + 160 + 12, to + 30, 4);
	assert_memory_equal(got + 24 + 140, "\0\x40\x99\x99", 4);
	assert_memory_equal(got + 32, "\0\0\0\0\x01\x06\x12\x34", 8); /* names nobody */
	assert_memory_equal(got + 24 + 28, mad + 24 + 28, 24);	      /* Q_Key to path MTU */
	assert_memory_not_equal(got + 24 + 16, mad + 24 + 16, 8);     /* the CA's GUID */
	for (unsigned int i = 24 + 176; i < 256; i++)
		assert_int_equal(got[i], 0);
	make_mad(RD_MAD_CM, RD_CM_REJ);
	redact(RD_LINK_ETHERNET);
	assert_memory_equal(got, mad, 24 + 12);
	assert_false(has(got + 36, 220, "\xc3", 1));
}

TEST(smp)
{
	make_mad(RD_MAD_SMP, 0x11);
	redact(RD_LINK_ETHERNET);
	assert_memory_equal(got + 64, mad + 64, 4);
	assert_memory_not_equal(got + 68, mad + 68, 8);
	assert_memory_equal(got + 68, got + 76, 8);
	assert_memory_equal(got + 92, mad + 92, 12); /* P_Keys, device id, revision, port */
	assert_memory_equal(got + 24, "\0\0\0\0\0\0\0\0", 8);
	assert_false(has(got + 36, 28, "\xc3", 1)); /* reserved */
	make_mad(RD_MAD_SMP_DIRECTED, 0x10);
	memset(mad + 64, 0, 64);
	memcpy(mad + 64, "leaf7 HCA-1", 11);
	redact(RD_LINK_ETHERNET);
	assert_false(has(to, m.n, "leaf7", 5));
	assert_memory_equal(got + 64, "node-", 5);
	make_mad(RD_MAD_SMP_DIRECTED, 0x10);
	memset(mad + 64, 0, 64);
	memcpy(mad + 64, "mlx5_0", 6);
	redact(RD_LINK_ETHERNET);
	assert_memory_equal(got + 64, "mlx5_0", 7);
	make_mad(0x04, 0x12);
	redact(RD_LINK_ETHERNET);
	assert_false(has(got + 24, 40, "\xc3", 1));
	assert_memory_equal(got + 64, mad + 64, 192); /* counters */
	make_mad(0x0a, 0x77);			      /* a vendor's */
	redact(RD_LINK_ETHERNET);
	assert_false(has(got + 24, 232, "\xc3", 1));
}

/* A congestion notification has only reserved bytes behind the BTH. */
TEST(cnp)
{
	make_udp_frame(&m, 4791, RD_BTH_LEN + 16 + RD_ICRC_LEN);
	make_be32(&m, 0x8140ffff);
	make_be32(&m, 1);
	make_be32(&m, 0);
	make_fill(&m, 0xc3, 16);
	make_fill(&m, 0, RD_ICRC_LEN);
	redact(RD_LINK_ETHERNET);
	assert_false(has(to, m.n, "\xc3\xc3", 2));
}

TEST(sa)
{
	make_mad(RD_MAD_SA, 0x35);
	mad[26] = 0;
	redact(RD_LINK_ETHERNET);
	assert_memory_equal(got + 56, got + 72, 8); /* a service of SRP is a GUID */
	assert_memory_not_equal(got + 64, mad + 64, 16);
	assert_memory_equal(got + 64, got + 80, 16);
	assert_memory_equal(got + 96, mad + 96, 24);
	assert_false(has(got + 120, 136, "\xc3", 1));
	/* A table: three records of 64 bytes, and the beginning of another. */
	make_mad(RD_MAD_SA, 0x35);
	memcpy(mad + 24, "\x01\x01\x03\0\0\0\0\x01", 8);
	rd_put_be16(mad + 44, 8);
	redact(RD_LINK_ETHERNET);
	assert_memory_equal(got + 64, got + 64 + 128, 32);
	assert_memory_not_equal(got + 64, mad + 64, 16);
	assert_false(has(got + 248, 8, "\xc3", 1));
	memcpy(mad + 28, "\0\0\0\x02", 4); /* the second segment begins anywhere in a record */
	redact(RD_LINK_ETHERNET);
	assert_false(has(got + 56, 200, "\xc3", 1));
	/* A segment of records without a length. */
	memcpy(mad + 28, "\0\0\0\x01", 4);
	rd_put_be16(mad + 44, 0);
	redact(RD_LINK_ETHERNET);
	assert_memory_not_equal(got + 64, mad + 64, 16);
	assert_false(has(got + 120, 136, "\xc3", 1));
}

/* --- InfiniBand, and what follows frames ------------------------------------------------- */

TEST(infiniband)
{
	uint32_t length = 40 + RD_BTH_LEN + 20 + RD_ICRC_LEN, computed, stored;
	uint16_t now, was;

	m.n = 0;
	make_lrh(&m, 3, length);
	make_ipv6(&m, 0x1b, length - 40);
	make_be32(&m, 0x0440ffff); /* SEND only */
	make_be32(&m, 0x11);
	make_be32(&m, 0x22);
	make_fill(&m, 0xab, 20);
	make_fill(&m, 0, RD_ICRC_LEN);
	rd_icrc(RD_LINK_INFINIBAND, m.b, m.n, &computed, &stored);
	rd_put_le32(m.b + m.n - 4, computed);
	make_fill(&m, 0, 2);
	assert_int_equal(rd_vcrc(m.b, m.n, &now, &was), 0);
	rd_put_le16(m.b + m.n - 2, now);
	redact(RD_LINK_INFINIBAND);
	same(rd_icrc(RD_LINK_INFINIBAND, to, m.n, &computed, &stored), 0, computed, stored,
		rd_vcrc(to, m.n, &now, &was), 0, now, was);
	assert_memory_equal(to, m.b, 8); /* LIDs stay */
	assert_memory_not_equal(to + 16, m.b + 16, 8);
	m.b[m.n - 1] ^= 0x40;
	redact(RD_LINK_INFINIBAND);
	expect("0 0x4000", rd_vcrc(to, m.n, &now, &was), now ^ was);
}

/* An FCS within the captured bytes, and behind them. */
TEST(fcs)
{
	for (int extra = 0; extra < 2; extra++) {
		struct rd_redact *r = rd_redact_new();
		uint32_t n;

		make_write(&m, false, 64);
		n = m.n;
		make_fill(&m, 0, 4);
		rd_put_le32(m.b + n, crc32_of(0, m.b, n));
		for (int pass = 0; pass < 2; pass++) {
			memcpy(to, m.b, m.n);
			rd_redact_frame(r, RD_LINK_ETHERNET, to, extra ? n : m.n, extra ? n : m.n,
				extra ? 4 : 0);
			rd_redact_begin(r);
		}
		assert_int_equal(rd_le32(to + n), crc32_of(0, to, n));
		assert_memory_not_equal(to + n, m.b + n, 4);
		rd_redact_free(r);
	}
	/* What is no FCS is padding. */
	make_write(&m, false, 64);
	make_fill(&m, 0x77, 6);
	redact(RD_LINK_ETHERNET);
	assert_memory_equal(to + m.n - 6, "\0\0\0\0\0\0", 6);
}

/* --- the map ---------------------------------------------------------------------------------- */

TEST(map)
{
	struct rd_redact *r = rd_redact_new();
	char *text = both(r, "10.1.2.3 10.1.2.3 127.0.0.1 0c:42:a1:b3:12:34 /home/alice/x "
			     "node_guid 0x0c42a10300b31235");
	json_t *map = rd_redact_map(r);

	assert_int_equal(json_array_size(map), 4);
	for (size_t i = 0; i < json_array_size(map); i++) {
		const json_t *row = json_array_get(map, i);

		assert_non_null(
			strstr(text, json_string_value(json_object_get(row, "replacement"))));
		assert_null(strstr(text, json_string_value(json_object_get(row, "original"))));
	}
	json_decref(map);
	free(text);
	rd_redact_free(r);
}

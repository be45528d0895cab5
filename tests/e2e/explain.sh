#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdmadump explain: what codes, names and lines of logs mean.
. "${srcdir:-.}/tests/tap.sh"

explain() { said explain "$@" 2>&1; }
# codes: "kind number" of each answer of the document on standard input, in order
codes() { jq -r '[.answers[].codes[] | "\(.kind) \(.number // "")" | sub(" $"; "")] | join(", ")'; }

is "a number: each kind of code" "$(explain --json 12 | codes)" 'completion-status 12, async-event 12, errno 12, errno 12, errno 12, errno 12, errno 12, errno 12, errno 12, cm-reject 12, cm-event 12, mad-status 12, mlx5-health 12, rnr-timer 12, ack-timeout 12, aeth-syndrome 12'
is "a status with its vendor error" "$(explain --json 12/0x81 | codes)" 'completion-status 12, vendor-error 129'
is "a name" "$(explain --json ibv_wc_rem_access_err | codes)" 'completion-status 10'
is "an exit status" "$(explain --json exit status 4 | codes)" 'exit-status 4'
is "findings without a title have a meaning" "$(explain --list | awk -F'\t' '$1 == "finding" && $3 == $4')" ""
for words in 12/0x81 local_ack_timeout_err device/mr_cache/2/miss lost-downstream notified-not-slowed rx_prio3_pause \
	'wc status 12, QP 0x11, remote qpn 18, remote 10.0.0.2'; do explain "$words"; done >"$tmp/out"
has "as text: as_said, below, compares them" "$tmp/out" '^  means '
is "lines fit 80 columns" "$(awk 'length > 80' "$tmp/out")" ""
has "alike: a suggestion" <(explain IBV_WC_RETRY_EXC_ERX) "did you mean 'IBV_WC_RETRY_EXC_ERR'"
has "... the word as it was typed" <(explain Quark) "nothing in 'Quark' is known"
explain quark >"$tmp/out"
exits "unknown" 1 "$tmp/out" "nothing in 'quark' is known; 'rdmadump explain --list'"
for more in quark '-w FILE'; do
	# shellcheck disable=SC2086 # words
	"$RDMADUMP" explain --list $more >"$tmp/out" 2>&1
	exits "--list $more" 1 "$tmp/out" '--list lists everything: no WORD, no --with'
done
is "an unknown vendor error is not guessed" "$(explain --json 12/0x99 | jq -c '.answers[0].codes[1] | [.number, .meaning]')" '[153,null]'

is "ordinary text has no codes but those that it names" \
	"$("$RDMADUMP" explain --json - <"$srcdir/COPYING" | jq -c '.answers[].codes')" ""
explain --list >"$tmp/list"
is "each code has a meaning" "$(awk -F'\t' 'NF != 4 || $4 == ""' "$tmp/list")" ""
is "ACKs: receives posted" "$(awk -F'\t' '$1 == "aeth-syndrome" {print $4}' "$tmp/list" | grep -oE '^an ACK; receives posted: at least [0-9]+' | grep -oE '[0-9]+$' | xargs)" \
	'0 1 2 3 4 6 8 12 16 24 32 48 64 96 128 192 256 384 512 768 1024 1536 2048 3072 4096 6144 8192 12288 16384 24576 32768'
is "no number is two codes of a kind" \
	"$(awk -F'\t' '$2 != "-" && $1 != "errno" && $1 != "vendor-error" {print $1, $2}' "$tmp/list" | sort | uniq -d)" ""
unknown=
for name in port_active port_error lid_change pkey_change gid_added gid_removed gid_change sm_change client_reregister \
	device_fatal down init armed active 'active defer' polling disabled 'port configuration training' 'link up' \
	'link error recovery' sleep 'phy test'; do
	explain "$name" >/dev/null || unknown+=" $name"
done
is "names of events and states, as other commands print them, are known" "$unknown" ""
cat >"$tmp/ordinary" <<'END'
main.c:1:10: fatal error: foo.h: No such file or directory
eth0: Link up at 1000 Mbps, port active
usb usb1-port1: port down, port error
ls: cannot access '/root': Permission denied
pcieport 0000:00:01.0: AER: [20] UnsupReq, Unsupported Request
db: stale connection closed: Connection reset by peer
sshd: error: Bind to port 22 failed: Address already in use
CPU3: high temperature, cpu clock throttled; lid change
npm: connect error, route error, CRC errors in the archive
usb 1-1: new device, vendor 5, product 2
eth0: tx_bytes 5, rx_dropped 3
END
is "phrases of other subjects count only where the line is about RDMA" "$(explain --json - <"$tmp/ordinary" | codes)" ""
# The lines of tests/data/explain: each with the codes that are in it.
while IFS=$'\t' read -r want line; do
	got=$(printf '%s\n' "$line" | explain --json - 2>&1 | codes)
	is "$line" "${got:-nothing}" "$want"
done < <(grep -v '^#' "$srcdir/tests/data/explain/lines")

# where LINE: device, port, addresses and QPs of it
where() { explain --json -- "$1" | jq -c '.answers[0] | [.program, .host, .device, .port, .address, .qpn, .peer, .peer_qpn]'; }
is "where, NCCL: the GIDs" "$(where "$(grep -m1 remoteGidsfd00 "$srcdir/tests/data/explain/lines" | cut -f2)")" \
	'["NCCL","kp-ddp-worker-0",null,null,"fd00:1148:9000:5000:4:200:3:ff22",null,"fd00:1148:9000:5000:4:200:3:ff1f",null]'
is "where, UCX" "$(where "$(grep -m1 'Remote QP on' "$srcdir/tests/data/explain/lines" | cut -f2)")" \
	'["UCX","sh03-01n01","mlx5_0",1,null,null,null,null]'
is "where, a device of a second PCI domain" "$(where "$(grep -m1 'on dev roceP' "$srcdir/tests/data/explain/lines" | cut -f2)" | jq -c '.[2:4]')" '["roceP2p1s0f0",1]'
is "where, the kernel" "$(where "$(grep -m1 mlx5_poll_one "$srcdir/tests/data/explain/lines" | cut -f2)")" \
	'[null,null,"rocep33s0f0",null,null,null,null,null]'
is "where, QPs" "$(where 'Failed: QP 0x11, wc status 12, remote qpn 18, remote 10.0.0.2')" '[null,null,null,null,null,17,"10.0.0.2",18]'
is "where, QPs in hexadecimal, which 0x need not say" \
	"$(for qp in 1a3f a1 000123 0 10 qp_bad 'e' 12g; do where "wc status 12, qpn $qp, remote qpn 0x1a3f" | jq -c '[.[5], .[7]]'; done | tr '\n' ' ')" \
	'[6719,6719] [161,6719] [291,6719] [0,6719] [10,6719] [null,6719] [null,6719] [null,6719] '
is "the word of RDMA comes last" "$(printf '%s\n' 'port error on mlx5_0' 'connect error of rdma_cm' 'port error on usb1' | explain --json - | codes)" 'async-event 10, cm-event 6'

{
	echo 'node1:12:13 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47534> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.0.0.1'
	echo 'node3:12:13 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<47534> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.0.0.3'
	echo 'nothing here'
	printf '\033]0;title\007 node3 transport retry counter exceeded\n'
	head -c 100000 /dev/zero | tr '\0' x
	echo
} >"$tmp/log"
explain --json - <"$tmp/log" >"$tmp/json"
is "a log: lines with the same codes are one answer" "$(jq -c '[.lines, .with_codes, .cut, [.answers[] | [.line, .count]]]' "$tmp/json")" '[5,3,1,[[1,2],[4,1]]]'
is "who reports, and who is only named" "$(jq -c '[.machines[] | [.host, .address, .reports, .named]]' "$tmp/json")" \
	'[["node1","10.0.0.1",1,0],[null,"10.0.0.2",0,2],["node3","10.0.0.3",1,0]]'
explain - <"$tmp/log" >"$tmp/out"
is "no escape sequence of a log is printed" "$(tr -d '[:print:]\n\t' <"$tmp/out" | wc -c)" 0
seq 4200 | awk '{printf "n%d:1:1 [0] NCCL WARN NET/IB : Got completion from peer 10.1.%d.%d<1> with status=%d vendor err %d\n", $1, $1 / 256, $1 % 256, 1 + $1 % 20, $1 % 250}' |
	explain - >"$tmp/out"
is "what there is no room for" "$(grep -E '^(.* and .* more: see|only the first .* machines|.* further lines)' "$tmp/out")" "  and 2040 more: see --json
only the first 4096 machines are listed
1952 further lines with other codes: too many different ones"
for host in 2:b 3:a 1:c; do
	echo "2024-01-02 03:04:0${host%:*}.5 ${host#*:} app[1]: completion with error 12"
done | explain - >"$tmp/out" # the first is c
for time in '2024-01-02 03:04:02.5 b' 'Jan  2 03:04:01 a'; do echo "$time app[1]: completion with error 12"; done | explain - >"$tmp/out" # here it is b
# machines: who reports or is named, as host, address, reports, named
machines() { "$RDMADUMP" explain --json - | jq -c '[.machines[] | [.host, .address, .reports, .named]]'; }
wc='NCCL WARN NET/IB : Got completion from peer 9.9.9.9<1> with status'
is "a machine that tells its address later is not another one" \
	"$(printf '%s\n' "n1:1:1 [0] $wc=12" "n2:1:1 [0] $wc=12 localGid ::ffff:10.0.0.2 remoteGids::ffff:10.0.0.1" \
		"n4:1:1 [0] $wc=12" "n1:1:1 [0] $wc=12 localGid ::ffff:10.0.0.1" | machines)" \
	'[["n1","10.0.0.1",2,1],[null,"9.9.9.9",0,3],["n2","10.0.0.2",1,0],["n4",null,1,0]]'
is "a machine of two addresses" \
	"$(printf '%s\n' "n1:1:1 [0] $wc=12 localGid ::ffff:10.0.0.1" "n1:1:1 [0] $wc=12 localGid ::ffff:10.0.1.1" \
		"n2:1:1 [0] $wc=12 remoteGids::ffff:10.0.1.1" | machines)" '[["n1","10.0.0.1",2,1],[null,"9.9.9.9",0,2],["n2",null,1,0]]'
printf '%s\n' "b:1:1 [0] $wc=5" "c:1:1 [0] $wc=12" | explain - >"$tmp/out"
printf '%s\n' '3: [1502987696.853057] [host-3:36589:4] UCX ERROR retry exceeded error' '[1,3]<stderr>:host-4:11:22 [3] NCCL WARN retry exceeded error' |
	explain --json - >"$tmp/json2"
is "labels of ranks" "$(jq -c '[.machines[] | [.host, .first_time]]' "$tmp/json2")" '[["host-3","1502987696.853057"],["host-4",null]]'
printf '[  12.1] mlx5_0: syndrome\0 transport retry counter exceeded\n' | explain --json - >"$tmp/json2"
is "a NUL does not end a line" "$(jq -r '.answers[0].text' "$tmp/json2")" '[  12.1] mlx5_0: syndrome? transport retry counter exceeded'
explain "$(grep -m1 'status=12.*err 129' "$srcdir/tests/data/explain/lines" | cut -f2)" >"$tmp/out"
[ "$(wc -l <"$tmp/out")" -le 24 ]
ok "a line of NCCL is explained on one screen" "$tmp/out"
cat >"$tmp/dump" <<'END'
mlx5: node: got completion with error:
00000000 00000000 00000000 00000000
00000000 00000000 00000000 00000000
00000001 00000000 00000000 00000000
00000000 00008813 0800012d 000c2de3
END
is "a dump of a CQE" "$(explain --json - <"$tmp/dump" | jq -c '[.answers[0].qpn, [.answers[0].codes[] | [.kind, .number]]]')" \
	'[301,[["completion-status",10],["vendor-error",136]]]'
{
	sed 's/^/0: /' "$tmp/dump" | tail -n 4 >"$tmp/0"
	sed 's/^/1: /; s/0800012d/0800012e/' "$tmp/dump" | tail -n 4 >"$tmp/1"
	paste -d '\n' "$tmp/0" "$tmp/1"
	echo 'a line between them'
	echo '[   12.1] 00000030: 00 00 00 00 00 00 88 13 08 00 01 2f 00 0c 2d e3'
} | explain --json - >"$tmp/json2"
is "dumps of several ranks, and the kernel's" "$(jq -c '[.answers[] | [.qpn, .count, .line]]' "$tmp/json2")" '[[301,3,7]]'
fits "JSON by docs/schema/explain.json" explain "$tmp/json"
is "what is listed has no names of values" "$(explain --list | grep -c "[{}]")" 0
# peak LINES: memory that a log of so many lines needs, each with another machine and peer, and one very long line; kB.
# A sanitizer keeps what was freed, unless it is asked not to.
peak() {
	awk -v n="$1" 'BEGIN {for (i = 0; i < n; i++) print "h" i ":1:1 [0] NCCL WARN Got completion from peer 10." int(i / 65536) "." int(i / 256) % 256 "." i % 256 " with status=" i % 24
		for (i = 0; i < n; i++) printf "%s", "transport retry counter exceeded, QP 0x11, peer 10.0.0.2 "; print ""}' |
		python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
			env ASAN_OPTIONS="${ASAN_OPTIONS-}:quarantine_size_mb=0:thread_local_quarantine_size_kb=0" "$RDMADUMP" explain --json -
}
short=$(peak 10000) long=$(peak 60000)
echo "kB of memory: 10000 lines $short, 60000 lines $long" >"$tmp/peak"
[ "$long" -gt 0 ] && [ $((long - short)) -lt 2048 ]
ok "a log of any length, and its lines, in bounded memory" "$tmp/peak"
# A long log on a terminal: how far it is, and where its end is not known, how much was read. Without one nothing.
seq 70000 >"$tmp/long"
script -qec "'$RDMADUMP' explain - <'$tmp/long'" /dev/null </dev/null >"$tmp/out" 2>&1
has "progress: of a file" "$tmp/out" 'reading standard input: 9[0-9] %'
script -qec "cat '$tmp/long' | '$RDMADUMP' explain -" /dev/null </dev/null >"$tmp/out" 2>&1
has "progress: of a pipe" "$tmp/out" 'reading standard input: [0-9.]+ kB, 65536 lines'
is "progress: none without a terminal" "$(explain - <"$tmp/long" 2>&1)" "No line has a code that is known."
as_said explain
tap_done

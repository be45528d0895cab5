#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump counters`: copied trees against the output kept with them, live growth on the model, hostile trees.
# UPDATE_GOLDEN=1 rewrites the kept output.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq python3

export TZ=UTC LC_ALL=C
kept=$TEST_DATA/sysfs/counters
here=$(cd "${srcdir:-.}/tests/e2e" && pwd)
pack=$here/../pack
schema=$(cd "${srcdir:-.}" && pwd)/docs/schema/counters.json
counters() { "$RDMADUMP" counters "$@"; }
valid() { # NAME FILE of one or many objects: it fits the schema
	jq -c . "$2" >"$tmp/valid"
	fits "$1" counters - <"$tmp/valid"
}
keep() { # NAME FILE: compares with what is kept
	[ -z "${UPDATE_GOLDEN-}" ] || cp "$tmp/out" "$2"
	holds "$1" diff -u "$2" "$tmp/out"
}

# Copied trees: text, JSON, Prometheus
"$RDMADUMP" explain --list >"$tmp/explained"
# Where the names of counters mislead
while read -r name says; do
	"$RDMADUMP" explain --json "$name" | jq -r '.answers[].codes[].meaning' >"$tmp/out"
	has "$name" "$tmp/out" "$says"
done <<'END'
ethtool/outbound_pci_stalled_rd_events ^seconds .* more than 30 %
ethtool/outbound_pci_stalled_wr_events ^seconds .* more than 30 %
ethtool/rx_global_pause_transition Xoff to Xon
ethtool/rx_prio3_pause_transition Xoff to Xon
hw_counters/roce_slow_restart_cnps that slow restarts and timeouts generate
hw_counters/rp_cnp_handled and timeouts
hw_counters/roce_adp_retrans the device's own timers
hw_counters/resp_remote_access_errors 0 is no evidence
hw_counters/resp_cqe_error 0 is no evidence
hw_counters/req_cqe_flush_error 0 is no evidence
hw_counters/roce_adp_retrans_to timeouts of queue pairs
counters/port_rcv_data LRH included
END
for tree in mlx5-eth mlx5-ib irdma rxe bnxt_re efa hns; do
	mkdir "$tmp/$tree"
	for archive in "$TEST_DATA/sysfs/$tree.tar.gz" "$kept/$tree.tar.gz"; do
		[ -e "$archive" ] || continue
		tar -xzf "$archive" -C "$tmp/$tree"
		last=$archive
	done
	counters --sysroot "$tmp/$tree" >"$tmp/out" 2>&1
	keep "$tree: text" "$tmp/$tree/counters.txt"
	counters --sysroot "$tmp/$tree" --all >"$tmp/out" 2>&1
	keep "$tree: all" "$tmp/$tree/counters-all.txt"
	counters --sysroot "$tmp/$tree" --json >"$tmp/json" 2>&1
	grep -vE '^  +"(program|start_ns|time_ns)": ' "$tmp/json" >"$tmp/out"
	keep "$tree: JSON" "$tmp/$tree/counters.json"
	[ -z "${UPDATE_GOLDEN-}" ] || { rm -rf "$tmp/kept" && "$pack" unpack "$last" "$tmp/kept" && cp "$tmp/$tree"/counters{,-all}.* "$tmp/kept" && "$pack" pack "$tmp/kept" "$last"; }
	mv "$tmp/json" "$tmp/out"
	jq -r '.ports[].counters[] | select(.unit) | "\(.name | sub(".*/"; ""))\t\(.meaning)"' "$tmp/out" |
		awk -F '\t' 'NR == FNR { names[$3]; all[$3, $4]; next } $1 in names && !(($1, $2) in all)' "$tmp/explained" - >"$tmp/unlike"
	is "$tree: explain has each meaning" "$(<"$tmp/unlike")" ""
	valid "$tree: JSON fits the schema" "$tmp/out"
	jq -r '.ports[].counters[] | select(.severity) | "\(.severity): \(.name)"' "$tmp/out" >>"$tmp/severities"
	counters --sysroot "$tmp/$tree" --prometheus >"$tmp/prometheus" 2>&1
	if has_tool promtool "$tree: promtool"; then
		promtool check metrics <"$tmp/prometheus" >"$tmp/promtool" 2>&1 && [ ! -s "$tmp/promtool" ]
		ok "$tree: promtool" "$tmp/promtool"
	fi
	# Each counter of the JSON is a sample, except those that share one name
	holds "$tree: Prometheus has them all" [ "$(grep -vc '^#' "$tmp/prometheus")" = "$(jq '[.ports[].counters[]] | length' "$tmp/out")" ]
done
# A line of names for each severity; the rest has "none"
sort -u "$tmp/severities" | awk -F ': ' '{ of[$1] = of[$1] " " $2 }
	END { n = split("problem warning note", s, " "); for (i = 1; i <= n; i++) print s[i] ":" of[s[i]] }' | fold -s -w 140 | sed "s, $,," >"$tmp/out"
keep "how bad growth is" "$kept/severities.txt"
is "words are bytes for Prometheus" "$(counters --sysroot "$tmp/mlx5-ib" --prometheus | grep '^rdmadump_port_rcv_data_bytes_total')" \
	"rdmadump_port_rcv_data_bytes_total{device=\"mlx5_0\",port=\"1\",netdev=\"ib0\"} $(($(cat "$tmp"/mlx5-ib/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data) * 4))"
data=$tmp/mlx5-ib/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data
cp "$data" "$tmp/data" && echo 9223372036854775808 >"$data"
is "more words than 64 bits hold bytes of: the most that they do" "$(counters --sysroot "$tmp/mlx5-ib" --prometheus |
	sed -n 's/^rdmadump_port_rcv_data_bytes_total.*} //p') $(counters --sysroot "$tmp/mlx5-ib" --json |
	jq '.ports[0].counters[] | select(.name == "counters/port_rcv_data") | .bytes > 18446744073709550000')" "18446744073709551615 true"
cp "$tmp/data" "$data"
is "words that begin after a digit" "$(counters --sysroot "$tmp/irdma" --prometheus | grep -c '^rdmadump_hw_ip4_in_pkts_total{')" \
	"$(find "$tmp"/irdma/sys/class/infiniband/*/ports/*/hw_counters/ip4InPkts | wc -l)"
counters --sysroot "$tmp/mlx5-eth" mlx5_0:1 --json >"$tmp/out"
is "one port" "$(jq -r '.ports[].device' "$tmp/out")" mlx5_0
counters --sysroot "$tmp/mlx5-eth" enp59s0f1np1 --json >"$tmp/out"
is "by its netdev" "$(jq -r '.ports[].device' "$tmp/out")" mlx5_1
counters --sysroot "$tmp/mlx5-eth" --all mlx5_1 >"$tmp/out"
is "--all" "$(grep -c '^    ' "$tmp/out")" "$(counters --sysroot "$tmp/mlx5-eth" mlx5_1 --json | jq '.ports[0].counters | length')"
mkdir -p "$tmp/bare/sys"
counters --sysroot "$tmp/bare" 2>"$tmp/err"
exits "no device" 2 "$tmp/err" "no RDMA ports; copy sys/class/infiniband"

# Replaced at once, readable by others, nothing left behind
mkdir "$tmp/collector"
counters --sysroot "$tmp/mlx5-eth" --prometheus -o "$tmp/collector/rdma.prom"
is "-o: exit status and mode" "$? $(stat -c %a "$tmp/collector/rdma.prom") $(find "$tmp/collector" -type f | wc -l)" "0 644 1"
counters --sysroot "$tmp/mlx5-eth" --prometheus -o "$tmp/nowhere/rdma.prom" 2>"$tmp/err"
exits "-o: no such directory" 3 "$tmp/err" "cannot create a file in the directory of .*: No such file or directory; the directory must exist"
for target in /dev/null /proc/self/fd/1; do
	ln -sfn "$target" "$tmp/device"
	counters --sysroot "$tmp/mlx5-eth" --prometheus -o "$tmp/device" 2>"$tmp/err"
	exits "-o $target: not replaced" 3 "$tmp/err" "device' is a device or an open file; it was not replaced; give the name of a file"
	is "... the link is there" "$(readlink "$tmp/device")" "$target"
done
counters --sysroot "$tmp/mlx5-eth" --prometheus -o "$tmp/collector" 2>"$tmp/err"
is "-o: a directory; nothing left behind" "$? $(find "$tmp" -maxdepth 1 -name 'collector.*' | wc -l)" "3 0"
counters --sysroot "$tmp/mlx5-eth" >/dev/full 2>"$tmp/err"
is "no room" "$?" 3

# Between two files: wrapped, reset, saturated, new
ports=$tmp/mlx5-eth/sys/class/infiniband/mlx5_0/ports/1
set_counter() { rm -f "$ports/$1"; echo "$2" >"$ports/$1"; }
set_counter hw_counters/out_of_sequence 100
set_counter counters/link_downed 100
counters --sysroot "$tmp/mlx5-eth" mlx5_0 --json -o "$tmp/before.json"
set_counter hw_counters/out_of_buffer 10
set_counter hw_counters/duplicate_request 13
set_counter counters/link_downed 255
set_counter hw_counters/np_cnp_sent 9
set_counter hw_counters/np_ecn_marked_roce_packets 5121
set_counter counters/port_rcv_data 2000000250000
set_counter hw_counters/brand_new 4
counters --sysroot "$tmp/mlx5-eth" mlx5_0 --json -o "$tmp/after.json"
counters --sysroot "$tmp/mlx5-eth" mlx5_0 --json="$tmp/beside.json" >"$tmp/out"
cmp <(jq 'del(.start_ns, .ports[].time_ns)' "$tmp/beside.json") <(jq 'del(.start_ns, .ports[].time_ns)' "$tmp/after.json") &&
	cmp "$tmp/out" <(counters --sysroot "$tmp/mlx5-eth" mlx5_0)
ok "--json=FILE: JSON beside the text"
counters --diff "$tmp/before.json" "$tmp/after.json" --json >"$tmp/out"
valid "--diff: fits the schema" "$tmp/out"
delta() { jq -r --arg n "$1" '.ports[0].counters[] | select(.name == $n) | [.delta // "null", .wrapped // false, .reset // false, .new // false, .at_least // false, .reason] | join(" ")' "$tmp/out"; }
is "--diff: wrapped at 32 bits" "$(delta hw_counters/out_of_buffer)" "16 true false false false "
is "--diff: grew" "$(delta hw_counters/duplicate_request)" "10 false false false false "
is "--diff: new" "$(delta hw_counters/brand_new)" "null false false true false is missing in one of the readings"
is "--diff: saturated: it may have grown" "$(delta counters/symbol_error)" "0 false false false true stopped at its largest value"
is "--diff: saturated meanwhile: grew by at least this" "$(delta counters/link_downed)" "155 false false false true stopped at its largest value"
is "--diff: no rate of what is not known" "$(jq -c '[.ports[0].counters[] | select(.delta == null) | .per_second] | unique' "$tmp/out")" "[null]"
is "--diff: a wrap may be a reset: likely" "$(jq -r '.ports[0].findings[] | select(.counter == "hw_counters/out_of_buffer") | .certainty' "$tmp/out")" likely
is "--diff: judges growth" "$(jq -r '.ports[0].findings[] | select(.severity == "problem") | .counter' "$tmp/out" | tr '\n' ' ')" \
	"counters/link_downed hw_counters/out_of_buffer "
jq --slurpfile before "$tmp/before.json" '.ports[0].time_ns = $before[0].ports[0].time_ns + 2e9' "$tmp/after.json" >"$tmp/later.json"
counters --diff "$tmp/before.json" "$tmp/later.json" >"$tmp/out"
has "--diff: text" "$tmp/out" "^!! out_of_buffer grew by at least 16 in 2.0 s: packets that found no receive buffer"
has "--diff: text, bytes" "$tmp/out" "port_rcv_data  *\+ *1.0 MB"
has "--diff: text, a rate" "$tmp/out" "^ !  *np_ecn_marked_roce_packets  *\+ *100  *50/s  *5 121  packets$"
for columns in 80 90; do
	script -qec "stty cols $columns; '$RDMADUMP' counters --diff $tmp/before.json $tmp/later.json" /dev/null </dev/null | tr -d '\r' >"$tmp/text"
	is "... $columns columns: rows with a unit" "$(grep -c '  packets$' "$tmp/text")" $((columns == 90 ? 3 : 0))
done
has "--diff: text, saturated" "$tmp/out" "^!!  *link_downed  *\+ *>=155 .* saturated: may have grown by more$"
set_counter hw_counters/packet_seq_err 3
set_counter hw_counters/out_of_sequence 5
counters --sysroot "$tmp/mlx5-eth" mlx5_0 --json -o "$tmp/after.json"
counters --diff "$tmp/before.json" "$tmp/after.json" --json >"$tmp/out"
is "--diff: was reset" "$(delta hw_counters/packet_seq_err)" "null false true false false was reset"
is "--diff: fell, and is no wrap however long it took" "$(delta hw_counters/out_of_sequence)" "null false true false false was reset"
is "--diff: what wrapped beside it was reset, too" "$(delta hw_counters/out_of_buffer)" "null false true false false was reset"
is "--diff: no rate of a reset" "$(jq -c '[.ports[0].counters[] | select(.delta == null) | .per_second] | unique' "$tmp/out")" "[null]"
counters --diff "$tmp/before.json" "$tmp/after.json" >"$tmp/out"
has "--diff: text, a reset" "$tmp/out" "^   *out_of_sequence  *unknown  *5  packets  was reset, growth unknown$"

# Between two readings of a tree: the same, live
mkfifo "$tmp/lines"
counters --sysroot "$tmp/mlx5-eth" mlx5_0 --interval 0.1 --json >"$tmp/lines" 2>"$tmp/err" &
reader=$!
python3 - "$tmp/lines" "$ports/hw_counters/duplicate_request" >"$tmp/out" <<'PY'
import json, os, sys
def change(line):
    counters = json.loads(line)["ports"][0]["counters"]
    return [(c["delta"], c.get("reset"), c["value"]) for c in counters if c["name"] == "hw_counters/duplicate_request"]
def put(value):
    with open(sys.argv[2] + ".new", "w") as f:
        f.write(value)
    os.rename(sys.argv[2] + ".new", sys.argv[2])
steps, n = ["100", "5", "9"], 0
for line in open(sys.argv[1]):
    found = change(line)
    if n and found:
        print(*found[0])
    if n == len(steps):
        break
    if not n or found:
        put(steps[n])
        n += 1
PY
wait "$reader"
is "--interval: a counter that falls was reset, and grows from there" "$(<"$tmp/out")" "87 None 100
None True 5
4 None 9"
counters --diff "$tmp/later.json" "$tmp/before.json" >"$tmp/out" 2>"$tmp/err"
exits "--diff of a later one and an earlier one: no growth" 1 "$tmp/err" "'.*/before.json' was read before '.*/later.json'; exchange them"
jq '.ports[0].device = "mlx5_9"' "$tmp/later.json" >"$tmp/other.json"
counters --diff "$tmp/before.json" "$tmp/other.json" >"$tmp/out" 2>"$tmp/err"
has "--diff: a port that is gone" "$tmp/err" "'.*/other.json' has no mlx5_0 port 1, which '.*/before.json' has"
for file in "$tmp/nothing" /dev/null "$schema" "$RDMADUMP"; do
	counters --diff "$tmp/before.json" "$file" >"$tmp/out" 2>"$tmp/err"
	is "--diff ${file##*/}: refused" "$? $(wc -l <"$tmp/err")" "2 1"
done

for form in '' --json; do
	is "--explain $form says what explain says" "$(counters --explain out_of_buffer $form)" "$("$RDMADUMP" explain out_of_buffer $form)"
done
is "-o - is standard output" "$(cd "$tmp" && counters --sysroot mlx5-eth --prometheus -o - | grep -c '^# TYPE') $(find "$tmp" -maxdepth 1 -name -)" \
	"$(counters --sysroot "$tmp/mlx5-eth" --prometheus | grep -c '^# TYPE') "

# Usage
while read -r line; do
	# shellcheck disable=SC2086 # a command line
	counters $line >"$tmp/out" 2>"$tmp/err"
	is "refused: $line" "$? $(wc -c <"$tmp/out")" "1 0"
done <<'LIST'
--diff
--diff one
--diff one two three
--json --prometheus
--count 3
--interval 0
--interval x
--interval nan
mlx5_0 mlx5_1
--interval 1 -o file
--json=
--explain out_of_buffer mlx5_0
--prometheus --explain out_of_buffer
--explain out_of_buffer --diff one two
--diff one two --sysroot /
LIST
counters --sysroot "$tmp/mlx5-eth" nosuch 2>"$tmp/err"
is "no such device" "$?" 2
counters --sysroot "$tmp/nothing" 2>"$tmp/err"
is "no such tree" "$?" 2

# Live: what the model received is what the counters grew by
live() { rm -f "$tmp/live.pcapng"; model --gen count=100000000,size=256,seed=3 --rate 8000 --at-end idle -- bash -c "
	'$RDMADUMP' -d mlx5_0 -q -w $tmp/live.pcapng & capture=\$!
	wait_for larger $tmp/live.pcapng 5000
	$1
	kill -INT \$capture; wait \$capture" 2>"$tmp/err"; }
packets() { jq -s '[.[].ports[].counters[] | select(.name == "counters/port_rcv_packets") | .delta] | add // 0' "$tmp/out"; }
grew() { [ "$(packets)" -gt 0 ]; }
# Signals are caught, and blocked only while it does not wait for one
waits() { grep -qi '^SigCgt:.*[2367abef]$' "/proc/$1/status" && grep -qi '^SigBlk:.*[014589cd]$' "/proc/$1/status"; }
export -f packets grew waits
live "'$RDMADUMP' counters mlx5_0 --json -o $tmp/b.json; '$RDMADUMP' counters mlx5_0 --interval 0.3 --json >$tmp/out & counters=\$!
	wait_for grew; kill \$counters; wait \$counters; echo \$? >$tmp/ended
	'$RDMADUMP' counters mlx5_0 --json -o $tmp/a.json"
valid "--interval: fits the schema" "$tmp/out"
is "--interval: a signal ends it well" "$(<"$tmp/ended")" 0
sum=$(packets)
counters --diff "$tmp/b.json" "$tmp/a.json" --json >"$tmp/out"
total=$(packets)
echo "# $sum of $total packets within the intervals"
[ "$sum" -gt 0 ] && [ "$sum" -le "$total" ]
ok "--interval, --diff: real growth" "$tmp/err"
is "--count: one line each" "$(counters --sysroot "$tmp/mlx5-eth" --interval 0.01 --count 3 --json | wc -l)" 3
live "'$RDMADUMP' counters mlx5_0 --interval 86400 --all >$tmp/text & counters=\$!
	wait_for waits \$counters; wait_for larger $tmp/live.pcapng 50000; kill \$counters; wait \$counters"
has "... and shows the interval that it comes in" "$tmp/text" "^[0-9:]{8}  mlx5_0 port 1: .* counters in [0-9]+\.[0-9] s"
has "--interval: text" "$tmp/text" '^ +port_rcv_packets +[+] +[0-9 ]+ +[0-9.]+/s +[0-9 ]+  packets$'
lacks "... fits a terminal, but for the unit" "$tmp/text" '^.{91}'
# A driver's own statistics: a veth has some
if unshare -n true 2>/dev/null; then
	unshare -n bash -c "ip link add v0 type veth peer name v1 2>/dev/null && ip link set v0 up && ip link set v1 up && ethtool -S v0" >"$tmp/ethtool" 2>/dev/null
fi
if [ -s "$tmp/ethtool" ]; then
	unshare -n bash -c "ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up; '${ETHTOOL_TOOL:?}' v0; ethtool -S v0 >'$tmp/ethtool'" >"$tmp/out"
	sed -n 's/^ *\([^ ]*\): \([0-9]*\)$/ethtool\/\1 \2/p' "$tmp/ethtool" | sort >"$tmp/want"
	sort "$tmp/out" >"$tmp/got"
	[ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/got" >"$tmp/diff"
	ok "a veth's statistics are ethtool's" "$tmp/diff"
else
	skip "a veth's statistics" "$(lack ip "$(lack ethtool "no right to make a network namespace with a veth pair")")"
fi

# Hostile trees
hostile=$tmp/hostile
base=$hostile/sys/class/infiniband/bad0
mkdir -p "$base/ports/1/hw_counters" "$base/ports/1/counters" "$base/mr_cache/2" "$base/ports/2"
echo InfiniBand >"$base/ports/1/link_layer"
cd "$base/ports/1/hw_counters" || exit 1
head -c 1000000 /dev/zero | tr '\0' 9 >megabyte
head -c 1000000 /dev/zero >zeros
: >empty
echo -1 >negative
echo 18446744073709551615 >largest
echo 18446744073709551616 >too_large
echo 0x10 >hexadecimal
printf '7\n8\n' >two_lines
echo '1 2' >two_numbers
printf '\033[31m5' >coloured
mkdir directory fifo_dir
mkfifo fifo
ln -s loop loop
ln -s /dev/zero device
echo 5 >$'new\nline'
echo 6 >$'esc\033[2Jape'
echo 7 >$'\377\376'
echo 8 >'quo"te\back'
echo 9 >"$(printf '%0250d' 0)"
echo 1 >unreadable
chmod 0 unreadable
ln -s . "$base/mr_cache/3"
ln -s .. "$base/ports/1/counters/up"
ln -s ../1 "$base/ports/2/counters"
cd "$tmp" || exit 1
for mode in "" --all --json --prometheus "--all --interval 0.01 --count 2"; do
	# shellcheck disable=SC2086 # options
	counters --sysroot "$hostile" $mode >"$tmp/out" 2>"$tmp/err"
	is "hostile tree, ${mode:-text}: exit status" "$? $(<"$tmp/err")" "0 "
	LC_ALL=C grep -qP '[^\x20-\x7e\n]' "$tmp/out"
	is "hostile tree, ${mode:-text}: clean" "$?" 1
	case $mode in
	--json) valid "hostile tree: JSON fits the schema" "$tmp/out"
		is "hostile tree: largest number" "$(jq '.ports[0].counters[] | select(.name == "hw_counters/largest").value > 1.8e19' "$tmp/out")" true ;;
	--prometheus) has_tool promtool "hostile tree: promtool parses it" || continue
		promtool check metrics <"$tmp/out" 2>&1 | grep -i 'error\|expected\|invalid' >"$tmp/promtool"
		is "hostile tree: promtool parses it" "$(<"$tmp/promtool")" "" ;;
	esac
done
counters --sysroot "$hostile" --json >"$tmp/b.json"
counters --diff "$tmp/b.json" "$tmp/b.json" >"$tmp/out" 2>"$tmp/err"
is "hostile tree: --diff" "$?" 0
mkdir -p "$tmp/bare/sys/class/infiniband/x0/ports/1"
counters --sysroot "$tmp/bare" >"$tmp/out" 2>&1
is "a port without anything" "$? $(<"$tmp/out")" "0 x0 port 1 (Ethernet, driver unknown): no counters, 0 findings"

tap_done

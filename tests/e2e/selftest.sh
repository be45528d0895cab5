#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest on the model: the table, the archive, what is left by a signal, SIGKILL and a full disk.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar zstd capinfos python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
here=$(cd "${srcdir:-.}/tests/e2e" && pwd)
cd "$tmp" || exit 1
gen="count=100000000,size=60-1400"
host=$(uname -n)
name=selftest-$host-mlx5_0

# selftest ARGUMENTS...: a device with traffic; the archive in $tmp/out
selftest() { model --time virtual --gen $gen --rate 5000 --clock realtime --stats "$tmp/stats" -- "$RDMADUMP" selftest --output "$tmp/out" "$@"; }
fresh() { rm -rf "$tmp/out" && mkdir "$tmp/out"; }


# --- a kind device -------------------------------------------------------------------------

fresh
selftest >"$tmp/table" 2>"$tmp/log"
exits "kind device" 0 "$tmp/log" "the result is in $tmp/out/$name.tar.zst"
is "nothing but the archive" "$(ls "$tmp/out")" "$name.tar.zst"
holds "tar reads the archive" tar -xf "$tmp/out/$name.tar.zst"
is "the archive's files" "$(cd "$name" && find . -type f -size +0 -printf '%P\n' | sort | xargs)" "contents.pcapng oversize.cqes result.json result.txt"
result=$tmp/$name/result.json
is "the version of rdma-core, as its library has it" "$(json "$result" '.probes[0].values.rdma_core.value')" \
	"$(ldd "$RDMADUMP" | sed -n 's/.*=> \(.*libibverbs[^ ]*\) .*/\1/p' | xargs readlink -f | sed 's/.*\.so\.[0-9]*\.[0-9]*\.//')"
is "complete" "$(json "$result" .ended)" complete
# Of the machine, and of how much traffic there was until a probe stopped it, nothing is compared.
values() {
	jq -S '[.probes[] | del(.duration_ms) | .values |= del((.machine, .os, .kernel, .architecture, .rdma_core, .page_size, .cpus).value,
		.cap_net_raw, .cap_ipc_lock, .cap_net_admin, .user_namespace, .node_guid, .netdevs) |
		(.values | .counter_frames, .counter_frames_sent, .real_time_frames, .real_time_frames_sent, .own_frames,
			.missing_least, .missing_most, .growth_at_once, .growth, .wc_byte_len | .value? // empty) |= . > 0]' "$1"
}
[ -z "${UPDATE_GOLDEN-}" ] || selftest --hash-addresses --json >"$here/../../docs/results/model.json" 2>>"$tmp/log"
holds "all probes pass, with the values in docs/results/model.json" diff <(values "$here/../../docs/results/model.json") <(values "$result")
is "the device is left as it was" "$(json "$tmp/stats" '[.devices[].leaked[]] + [.devices[].order_violations] | add')" 0
awk 'length > 80 {wide = 1} END {exit wide}' "$tmp/table"
ok "the table has 80 columns" "$tmp/table"
has "the table" "$tmp/table" '^objects +passed +[0-9.]+ ms \+ [0-9.]+ ms +the device'
fits schema selftest "$result"
holds "the archive is private" [ "$(stat -c %a "$tmp/out/$name.tar.zst")" = 600 ]

holds "the archive has the same table" diff <(tail -n +2 "$name/result.txt") <(sed -n "/^PROBE/,\$p" "$tmp/table")
fresh
selftest --json --probe inventory --probe objects >"$tmp/json" 2>/dev/null
is "--probe, --json" "$(json "$tmp/json" '[.probes[].name] | join(" ")')" "inventory objects"
selftest --probe objects >/dev/null 2>&1
is "an earlier result is not replaced" "$(ls "$tmp/out")" "$name.2.tar.zst
$name.tar.zst"

# --- refusals ------------------------------------------------------------------------------

"$RDMADUMP" selftest --probe nothing >"$tmp/log" 2>&1
exits "--probe nothing" 1 "$tmp/log" "no such probe; --dry-run lists them"
model --time virtual -- "$RDMADUMP" selftest --output "$tmp/none" >"$tmp/log" 2>&1
exits "no directory" 3 "$tmp/log" "name a directory that exists"

# --- --dry-run -----------------------------------------------------------------------------

fresh
model --time virtual -- "$RDMADUMP" selftest --dry-run --output "$tmp/out" >"$tmp/plan" 2>&1
is "--dry-run: exit status" $? 0
is "--dry-run: all probes" "$(grep -cE '^[a-z]+ +[0-9]+ s +[0-9]+ ' "$tmp/plan")" "$(jq '.probes | length' "$here/../../docs/results/model.json")"
model --time virtual -- "$RDMADUMP" selftest --dry-run --json --probe objects >"$tmp/json" 2>&1
is "--dry-run --json" "$(jq -c '[.[0].name, .[0].frames, .[0].limit_s, length]' "$tmp/json")" '["objects",0,20,1]'
is "--dry-run: no file" "$(ls "$tmp/out")" ""
awk 'length > 80 {wide = 1} END {exit wide}' "$tmp/plan"
ok "--dry-run: 80 columns" "$tmp/plan"
if has_tool strace "--dry-run opens no device"; then
	if strace -o /dev/null true 2>/dev/null; then
		model -- strace -f -o "$tmp/calls" -e trace=open,openat,connect,mkdir,mkdirat,execve \
			"$RDMADUMP" selftest --dry-run --output "$tmp/out" >/dev/null 2>&1
		grep -q 'sys/class/infiniband' "$tmp/calls" &&
			! grep -E 'uverbs[0-9]+"|O_WRONLY|O_RDWR\||O_CREAT|mkdir' "$tmp/calls" | grep -vE '/dev/(shm|tty|null)'
		ok "--dry-run opens no device and no file for writing" "$tmp/calls"
	else
		skip "--dry-run opens no device" "strace may not trace here"
	fi
fi

# --- two at once ---------------------------------------------------------------------------

fresh
mkdir "$tmp/second.out"
# The first one does not end: its flow takes longer than the test.
cat >"$tmp/two" <<-END
	"$RDMADUMP" selftest --output "$tmp/out" --probe inventory --probe objects >"$tmp/first" 2>&1 &
	first=\$!
	wait_for grep -q '^inventory' "$tmp/first"
	"$RDMADUMP" selftest --output "$tmp/second.out" >"$tmp/second" 2>&1
	echo \$? >"$tmp/status"
	kill -KILL \$first
END
model --latency create_flow=1000000 --gen $gen --rate 2000 -- bash "$tmp/two" >"$tmp/log" 2>&1
is "two at once: the second one is refused" "$(<"$tmp/status")" 1
has "... and says why" "$tmp/second" 'another selftest is running on mlx5_0; wait until it has ended'
is "... and leaves nothing" "$(ls "$tmp/second.out")" ""

# --- signals, SIGKILL, a full disk, at each probe --------------------------------------------

# left_in DIRECTORY: the archive; else the partial result, which is removed once the archive is there. Not an archive that was
# still being written
left_in() {
	if [ -e "$1/$name.tar.zst" ]; then
		echo "$name.tar.zst"
	else
		find "$1" -mindepth 1 -maxdepth 1 ! -name "*.new" -printf '%f\n'
	fi
}
# document FILE: of an archive, or of a partial result
document() { case $1 in *.json) cat "$1" ;; *) tar -xOf "$1" --wildcards '*/result.json' ;; esac; }
# What is left can be read, or nothing is left
readable() { # DIRECTORY
	local file
	file=$(left_in "$1")
	[ -z "$file" ] || document "$1/$file" 2>&1 | jq '.probes | length' >"$tmp/shown" 2>&1
}
# hit HOW PROBE DELAY: in the middle of that probe. HOW: a signal, or DISK: the file system becomes full.
hit() {
	local at=$tmp/hit/$1.$2 partial=$tmp/hit/$1.$2/out/$name.partial.json
	mkdir -p "$at/out"
	if [ "$1" = DISK ]; then mount -t tmpfs -o size=64k tmpfs "$at/out" 2>/dev/null || return; fi
	# In virtual time: the delay is one of the probe, however busy the machine is
	cat >"$at/run" <<-END
		"$RDMADUMP" selftest --output "$at/out" --probe "$2" >"$at/table" 2>"$at/log" </dev/null &
		until [ -e "$at/out/$name.tar.zst" ] || grep -qs '{' "$partial"; do sleep 0.1; done # pause: in virtual time
		sleep $3 # pause: in virtual time
		case $1 in
		DISK) head -c 100000 /dev/zero >"$at/out/fill" 2>/dev/null ;;
		*) kill -$1 \$! ;;
		esac 2>/dev/null
		wait \$!
	END
	model --time virtual --gen $gen --rate 2000 --latency 2 --stats "$at/stats" -- \
		bash "$at/run" >/dev/null 2>&1
	echo $? >"$at/status"
	[ "$1" != DISK ] || { rm -f "$at/out/fill"; cp -r "$at/out" "$at/left"; umount "$at/out"; }
}
judge_signal() { # SIGNAL PROBE
	local at=$tmp/hit/$1.$2 status
	status=$(<"$at/status")
	is "$1 at $2: an archive, and nothing else" "$(ls "$at/out")" "$name.tar.zst"
	document "$at/out/$name.tar.zst" >"$tmp/json" 2>"$tmp/log"
	is "$1 at $2: exit status, end, the probe" "$status $(json "$tmp/json" .ended) $(json "$tmp/json" '.probes[-1].name')" \
		"$([ "$status" = 0 ] && echo 0 complete || echo 4 interrupted) $2"
	is "$1 at $2: nothing is left on the device" \
		"$(json "$at/stats" '[.devices[].leaked[]] + [.devices[].order_violations] | add')" 0
}
judge_hit() { # HOW PROBE
	local at=$tmp/hit/$1.$2
	case $1 in
	INT | TERM) judge_signal "$@" ;;
	KILL)
		[ -e "$at/out/$name.tar.zst" ] || [ "$(<"$at/status") $(left_in "$at/out")" = "137 $name.partial.json" ]
		ok "KILL at $2: what is left" "$at/log"
		readable "$at/out"
		ok "KILL at $2: it can be read" "$tmp/shown"
		;;
	DISK)
		[ -d "$at/left" ] || { skip "a full disk at $2" "no right to mount a tmpfs"; return; }
		[ "$(<"$at/status")" = 3 ] && grep -q 'No space left on device' "$at/log" || [ -e "$at/left/$name.tar.zst" ]
		ok "a full disk at $2: exit status and message" "$at/log"
		readable "$at/left"
		ok "a full disk at $2: what is left can be read" "$tmp/shown"
		grep -q "^$2 " "$at/table"
		ok "a full disk at $2: the probe was run" "$at/table"
		;;
	esac
}
probes=$(json "$result" '.probes[].name')
hows="KILL INT TERM DISK"
n=0
hits=
for probe in $probes; do
	# SIGINT and SIGTERM have one handler: in turn
	for how in $hows; do
		n=$((n + 1))
		case $how.$((n / 4 % 2)) in
		INT.0 | TERM.1) continue ;;
		esac
		# In a quick run one of the four at each probe
		[ -n "${TEST_FULL-}" ] || [ $((n % 5)) = 0 ] || continue
		hits+="$how $probe"$'\n'
		while [ "$(jobs -rp | wc -l)" -ge 6 ]; do wait -n; done
		hit "$how" "$probe" "0.$((n * 7 % 20 + 10))" &
	done
done
wait
while read -r how probe; do
	[ -z "$how" ] || judge_hit "$how" "$probe"
done <<<"$hits"
for how in $hows; do grep -q "^$how " <<<"$hits" && continue; false; done
ok "each way to end was tried"

# In the middle of a whole run, not in virtual time, which takes no time: the probes so far
for how in KILL INT; do
	mkdir -p "$tmp/whole/$how/out"
	partial=$tmp/whole/$how/out/$name.partial.json
	model --gen $gen --rate 2000 --pidfile "$tmp/whole/$how/pid" -- \
		"$RDMADUMP" selftest --output "$tmp/whole/$how/out" >"$tmp/whole/$how/table" 2>"$tmp/log" &
	has_seven() { [ "$(jq '.probes | length' "$partial" 2>/dev/null || echo 0)" -ge 7 ]; }
	wait_for has_seven
	kill -$how "$(<"$tmp/whole/$how/pid")"
	wait $!
	readable "$tmp/whole/$how/out"
	[ "$(<"$tmp/shown")" -ge 7 ]
	ok "$how after seven probes: the result has them" "$tmp/shown"
done

# Standard output that is closed, or full: the result is written all the same
for options in "" --json; do
	fresh
	# shellcheck disable=SC2086 # an option or none
	{ selftest $options --probe inventory --probe objects 2>"$tmp/log"; echo $? >"$tmp/status"; } | true
	is "SIGPIPE $options: exit status" "$(<"$tmp/status")" 0
	lacks "SIGPIPE $options: quiet" "$tmp/log" 'pipe|cannot|partial'
	is "SIGPIPE $options: the archive" "$(ls "$tmp/out")" "$name.tar.zst"
	# shellcheck disable=SC2086 # an option or none
	selftest $options --probe objects >/dev/full 2>"$tmp/log"
	exits "/dev/full $options" 3 "$tmp/log" 'cannot write to standard output: No space left on device'
done

# A file system that is too small for the result
disk() { # SIZE: a selftest on a file system of that size, its files in $tmp/disk.SIZE
	local at=$tmp/disk.$1
	model --time virtual --gen $gen --rate 5000 --stats "$at.stats" -- "$RDMADUMP" selftest --output "$at" \
		--probe objects --probe contents --probe oversize >"$at.table" 2>"$at.log"
	echo $? >"$at.status"
}
sizes="4k 8k 12k"
for size in $sizes; do
	mkdir "$tmp/disk.$size"
	mount -t tmpfs -o size="$size" tmpfs "$tmp/disk.$size" 2>/dev/null || continue
	while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
	disk "$size" &
done
wait
for size in $sizes; do
	at=$tmp/disk.$size
	mountpoint -q "$at" || { skip "disk of $size" "no right to mount a tmpfs"; continue; }
	is "disk of $size: exit status" "$(<"$at.status")" 3
	has "disk of $size: message" "$at.log" 'No space left on device'
	readable "$at"
	ok "disk of $size: what is left can be read" "$tmp/shown"
	umount "$at"
	has "disk of $size: all probes were run" "$at.table" '^oversize '
done
has "disk of $size: where the partial result is" "$at.log" "the partial result is in $at/$name\\.partial\\.json"

# --- addresses -----------------------------------------------------------------------------

fresh
selftest --hash-addresses >"$tmp/table" 2>"$tmp/log"
archive=$(ls "$tmp/out")
rm -rf "$tmp/hashed" && mkdir "$tmp/hashed" && tar -xf "$tmp/out/$archive" -C "$tmp/hashed"
hashed=$(echo "$tmp"/hashed/*/result.json)
# The addresses of the device, and of all frames that the sniffer saw
jq --arg host "$host" '[{kind: "host", original: $host}] + (.probes[0].values | [{kind: "guid", original: .node_guid.value}] +
	[.netdevs.value[] | {kind: "mac", original: .mac}])' "$result" >"$tmp/device"
"$RDMADUMP" analyze --json "$tmp/$name/contents.pcapng" | jq '[.. | .ip? // .address? // empty | strings] | unique |
	map({kind: (if test(":") then "ipv6" else "ipv4" end), original: .})' >"$tmp/frames"
jq -s add "$tmp/device" "$tmp/frames" >"$tmp/originals"
is "there are originals" "$(jq '[.[].kind] | unique | join(" ")' -r "$tmp/originals")" "guid host ipv4 mac"
cp "$tmp/table" "$tmp/hashed/table"
holds "--hash-addresses: no original is left, as text or bytes" python3 "$here/redacted.py" search "$tmp/originals" "$tmp/hashed"
python3 "$here/redacted.py" search "$tmp/originals" "$tmp/$name" >"$tmp/log"
is "... which are in a result without it" "$(sed 's/.*: \([a-z0-9]*\) .*/\1/' "$tmp/log" | sort -u | paste -sd' ')" "guid host ipv4 mac"
is "--hash-addresses: captures stay" "$(cd "${hashed%/*}" && echo *)" "$(cd "$name" && echo *)"
is "... with as many frames" "$(capinfos -rcMT "${hashed%/*}/contents.pcapng" | cut -f2)" "$(capinfos -rcMT "$tmp/$name/contents.pcapng" | cut -f2)"
! grep -qa rdmadump0 "${hashed%/*}/contents.pcapng" && ! grep -qaP 'rdmadump[\x00-\xff]{4}\x00\x00\x00' "${hashed%/*}/contents.pcapng"
ok "... without their payload"
is "--hash-addresses: other values stay" "$(jq -c '.probes[0].values | [.firmware, .pci, .kernel, .rdma_core]' "$hashed")" \
	"$(jq -c '.probes[0].values | [.firmware, .pci, .kernel, .rdma_core]' "$result")"

tap_done

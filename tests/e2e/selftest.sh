#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# selftest on the model: the table, the archive, what is left by a signal, SIGKILL and a full disk.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar zstd capinfos
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
here=$(cd "${srcdir:-.}/tests/e2e" && pwd)
cd "$tmp" || exit 1
gen="count=100000000,size=60-1400"
host=$(uname -n)
name=selftest-$host-mlx5_0

# selftest ARGUMENTS...: a device with traffic; the archive in $tmp/out
selftest() { model --gen $gen --rate 5000 --clock realtime --stats "$tmp/stats" -- "$RDMADUMP" selftest --output "$tmp/out" "$@"; }
fresh() { rm -rf "$tmp/out" && mkdir "$tmp/out"; }
until_true() { for _ in $(seq 600); do "$@" && return; sleep 0.02; done; false; }

"$RDMADUMP" --version | grep -q '^  libarchive' || skip_all "this build has no libarchive"

# --- a kind device -------------------------------------------------------------------------

fresh
selftest >"$tmp/table" 2>"$tmp/log"
is "kind device: exit status" $? 0
has "the log names the archive" "$tmp/log" "the result is in $tmp/out/$name.tar.zst"
is "nothing but the archive" "$(ls "$tmp/out")" "$name.tar.zst"
tar -xf "$tmp/out/$name.tar.zst" 2>"$tmp/log"
ok "tar reads the archive" "$tmp/log"
is "the archive's files" "$(cd "$name" && echo *)" "contents.pcapng oversize.cqes receive.cqes receive.pcapng result.json"
result=$tmp/$name/result.json
is "what it ran on, by the kernel" "$(json "$result" '.probes[0].values.runs_on.value')" model
is "the version of rdma-core, as its library has it" "$(json "$result" '.probes[0].values.rdma_core.value')" \
	"$(ldd "$RDMADUMP" | sed -n 's/.*=> \(.*libibverbs[^ ]*\) .*/\1/p' | xargs readlink -f | sed 's/.*\.so\.[0-9]*\.[0-9]*\.//')"
is "complete" "$(json "$result" .ended)" complete
is "probes" "$(json "$result" '[.probes[].name] | join(" ")')" \
	"inventory capabilities objects flow second receive send loopback contents peer paths clocks oversize overload idle wakeup recovery stop stall cost link netdev residue"
is "nothing is found" "$(json "$result" '[.probes[] | select(.outcome != "passed") | .name] | join(" ")')" "peer link netdev"
is "what interrupts traffic needs --destructive" "$(json "$result" '.probes[] | select(.name == "link") | .reason')" \
	"it interrupts traffic (--destructive allows it)"
is "frames in the capture" "$(capinfos -rcMT "$tmp/$name/receive.pcapng" | cut -f2)" \
	"$(json "$result" '.probes[] | select(.name == "receive") | .values.frames.value')"
is "frames that were sent, and seen" "$(jq -c '[.probes[] | select(.name == "send") | .values | .raw.value.once, .multicast.value.once, .rc.value.seen]' "$result")" "[32,32,4]"
is "frames within the adapter" "$(jq -c '[.probes[] | select(.name == "loopback") | .values | .rc.value.once, .acks.value, .ud.value.once]' "$result")" "[32,32,32]"
is "frames as they were sent" "$(jq -c '[.probes[] | select(.name == "contents") | .values | .vlan.value.most_before, .qinq.value.most_before, .icrc_right.value, .message_seen.value]' "$result")" \
	"[18,22,16,64]"
is "the device is left as it was" "$(json "$tmp/stats" '[.devices[].leaked[]] + [.devices[].order_violations] | add')" 0
awk 'length > 80 {wide = 1} END {exit wide}' "$tmp/table"
ok "the table has 80 columns" "$tmp/table"
has "the table" "$tmp/table" '^objects +passed +all created +the device'
if has_jsonschema schema; then
	python3 "$here/../unit/schema.py" "$here/../../docs/schema/selftest.json" "$result" >"$tmp/log" 2>&1
	ok "schema" "$tmp/log"
fi
[ "$(stat -c %a "$tmp/out/$name.tar.zst")" = 600 ]
ok "the archive is private"

"$RDMADUMP" selftest --show "$tmp/out/$name.tar.zst" >"$tmp/shown" 2>"$tmp/log"
is "--show: exit status" $? 0
diff <(tail -n +2 "$tmp/shown") "$tmp/table" >"$tmp/log"
ok "--show prints the same table" "$tmp/log"
"$RDMADUMP" selftest --show "$tmp/$name" >"$tmp/shown2" 2>"$tmp/log" && cmp -s "$tmp/shown" "$tmp/shown2"
ok "--show reads a directory" "$tmp/log"
"$RDMADUMP" selftest --show "$result" --json | jq -S . >"$tmp/a"
jq -S . "$result" | diff - "$tmp/a" >"$tmp/log"
ok "--show --json" "$tmp/log"
"$RDMADUMP" selftest --compare "$result" "$tmp/out/$name.tar.zst" >"$tmp/shown"
is "--compare with itself" "$(cat "$tmp/shown")" "no differences"
jq '(.probes[] | select(.name == "stop")) |= (.outcome = "found" | .found = [{"key": "late_frames", "meaning": "-"}])' \
	"$result" >"$tmp/other.json"
"$RDMADUMP" selftest --compare "$result" "$tmp/other.json" >"$tmp/shown"
has "--compare: the outcome" "$tmp/shown" '^stop +outcome +"passed" -> "found"$'
has "--compare: what was found" "$tmp/shown" '^stop +found +\[\] -> \["late_frames"\]$'

fresh
selftest --json --probe objects --probe stop >"$tmp/json" 2>/dev/null
is "--probe, --json" "$(json "$tmp/json" '[.probes[].name] | join(" ")')" "objects stop"
selftest --probe objects >/dev/null 2>&1
is "an earlier result is not replaced" "$(ls "$tmp/out")" "$name.2.tar.zst
$name.tar.zst"

# --- another function of the adapter ---------------------------------------------------------

# The model does not connect devices: both directions are tried, and nothing is said about them.
fresh
cat >"$tmp/vf" <<-END
	ln -s ../0000:3b:00.0 "$tmp/tree/sys/devices/pci0000:00/0000:3b:00.1/physfn"
	"$RDMADUMP" selftest --json --output "$tmp/out" --probe loopback mlx5_0 >"$tmp/json"
END
model --keep "$tmp/tree" --stats "$tmp/stats" --dev name=mlx5_0,pci=0000:3b:00.0 \
	--dev name=mlx5_1,pci=0000:3b:00.1,netdev=enp1s0f0v0,ip=10.77.0.9,mac=02:00:00:00:00:77 -- bash "$tmp/vf" >"$tmp/log" 2>&1
is "a VF: exit status" $? 0
is "a VF: what is known" "$(jq -c '.probes[0] | [.outcome, .value, .values.to_vf.value.error, .values.from_vf.value.error]' "$tmp/json")" \
	'["passed","2 of 4 kinds","EHOSTUNREACH","EHOSTUNREACH"]'
is "a VF: nothing is left" "$(json "$tmp/stats" '[.devices[].leaked[]] + [.devices[].order_violations] | add')" 0

# --- refusals ------------------------------------------------------------------------------

for file in /dev/null "$tmp/none" "$tmp/stats" "$tmp/out"; do
	"$RDMADUMP" selftest --show "$file" >"$tmp/log" 2>&1
	is "--show of ${file##*/}: refused" $? 2
done
for bad in '{"version":1}' '[]' '{' '{"version":1,"program":"","host":"","device":"","ended":"","probes":[{}]}' ''; do
	printf '%s' "$bad" >"$tmp/bad.json"
	"$RDMADUMP" selftest --show "$tmp/bad.json" >"$tmp/log" 2>&1
	is "--show of '$bad': refused" $? 2
done
"$RDMADUMP" selftest --probe nothing >"$tmp/log" 2>&1
is "--probe nothing: refused" $? 1
has "... and says which there are" "$tmp/log" "no such probe; --dry-run lists them"
model -- "$RDMADUMP" selftest --output "$tmp/none" >"$tmp/log" 2>&1
is "no directory: exit status" $? 3
has "no directory: message" "$tmp/log" "name a directory that exists"

model -- "$RDMADUMP" selftest --destructive mlx5_1 --output "$tmp/out" mlx5_0 >"$tmp/log" 2>&1
is "--destructive without the device's name: refused" $? 1
has "... and what to do" "$tmp/log" 'repeat the name of the device that is tested'
model -- "$RDMADUMP" selftest --json --destructive mlx5_0 --probe link --probe netdev --output "$tmp/out" mlx5_0 >"$tmp/json" 2>"$tmp/log"
is "--destructive on a model: no netdev is touched" "$(json "$tmp/json" '[.probes[].reason] | unique | join(" ")')" \
	"the device is a model, its netdev may be another one's"

# --- --dry-run -----------------------------------------------------------------------------

fresh
model -- "$RDMADUMP" selftest --dry-run --output "$tmp/out" >"$tmp/plan" 2>&1
is "--dry-run: exit status" $? 0
is "--dry-run: all probes" "$(grep -cE '^[a-z]+ +[0-9]+ s +[0-9]+ ' "$tmp/plan")" 23
model -- "$RDMADUMP" selftest --dry-run --json --probe stop >"$tmp/json" 2>&1
is "--dry-run --json" "$(jq -c '[.[0].name, .[0].frames, .[0].limit_s, length]' "$tmp/json")" '["stop",0,20,1]'
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
cat >"$tmp/two" <<-END
	"$RDMADUMP" selftest --output "$tmp/out" >"$tmp/first" 2>&1 &
	first=\$!
	until grep -q '^objects' "$tmp/first" || ! kill -0 \$first; do sleep 0.02; done
	"$RDMADUMP" selftest --output "$tmp/out" >"$tmp/second" 2>&1
	echo \$? >"$tmp/status"
	wait \$first
END
model --latency create_flow=60 --gen $gen --rate 2000 -- bash "$tmp/two" >"$tmp/log" 2>&1
is "two at once: the first one" $? 0
is "two at once: the second one is refused" "$(cat "$tmp/status")" 1
has "... and says why" "$tmp/second" 'another selftest is running on mlx5_0; wait until it has ended'
is "... and leaves nothing" "$(ls "$tmp/out")" "$name.tar.zst"

# --- signals, SIGKILL ----------------------------------------------------------------------

# interrupt SIGNAL PROBES: when so many have ended; its files and its exit status in $tmp/SIGNAL.PROBES
interrupt() {
	local at=$tmp/$1.$2 partial
	mkdir "$at" "$at/out"
	partial=$at/out/$name.partial/result.json
	at_least() { [ "$(jq '.probes | length' "$partial" 2>/dev/null || echo 99)" -ge "$1" ] 2>/dev/null && [ -e "$at/pid" ]; }
	model --gen $gen --rate 2000 --latency 2 --stats "$at/stats" --pidfile "$at/pid" -- \
		"$RDMADUMP" selftest --output "$at/out" >"$at/table" 2>"$at/log" &
	local job=$!
	until_true test -e "$partial"
	until_true at_least "$2"
	kill -"$1" "$(cat "$at/pid")"
	wait $job
	echo $? >"$at/status"
}
# judge_kill PROBES, judge_int PROBES: what `interrupt` left
judge_kill() {
	local at=$tmp/KILL.$1 file
	# The partial result is removed once the archive is there.
	file=$(ls "$at/out")
	[ ! -e "$at/out/$name.tar.zst" ] || file=$name.tar.zst
	[ "$(cat "$at/status")" = 137 ] && [ "$file" = "$name.partial" ] || [ "$file" = "$name.tar.zst" ]
	ok "SIGKILL after $1 probes: what is left" "$at/log"
	"$RDMADUMP" selftest --show "$at/out/$file" >"$tmp/shown" 2>&1
	ok "SIGKILL after $1 probes: it can be shown" "$tmp/shown"
	[ "$(grep -cE '^[a-z]+ +(passed|found|skipped|failed) ' "$tmp/shown")" -ge "$1" ]
	ok "SIGKILL after $1 probes: it has these" "$tmp/shown"
}
judge_int() {
	local at=$tmp/INT.$1 status
	status=$(cat "$at/status")
	is "SIGINT after $1 probes: an archive" "$(ls "$at/out")" "$name.tar.zst"
	"$RDMADUMP" selftest --show "$at/out/$name.tar.zst" --json >"$tmp/json"
	is "SIGINT after $1 probes: exit status and end" "$status $(json "$tmp/json" .ended)" \
		"$([ "$status" = 0 ] && echo 0 complete || echo 4 interrupted)"
	is "SIGINT after $1 probes: nothing is left" \
		"$(json "$at/stats" '[.devices[].leaked[]] + [.devices[].order_violations] | add')" 0
}
# Several at once, since a selftest mostly waits
interrupts=$(seq 0 ${TEST_QUICK:+5} $(($(json "$result" '.probes | length') - 1)))
for n in $interrupts; do
	while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
	interrupt KILL "$n" &
	interrupt INT "$n" &
done
wait
for n in $interrupts; do
	judge_kill "$n"
	judge_int "$n"
done

# --- a full disk ---------------------------------------------------------------------------

# What is left can be read, or nothing is left
readable() { # DIRECTORY
	local file
	file=$(ls "$1")
	[ -z "$file" ] || "$RDMADUMP" selftest --show "$1/$file" >"$tmp/shown" 2>&1
}
disk() { # SIZE: a selftest on a file system of that size, its files in $tmp/disk.SIZE
	local at=$tmp/disk.$1
	model --gen $gen --rate 5000 --stats "$at.stats" -- "$RDMADUMP" selftest --output "$at" >"$at.table" 2>"$at.log"
	echo $? >"$at.status"
}
sizes="4k 8k 16k 20k 28k 100k 200k"
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
	is "disk of $size: exit status" "$(cat "$at.status")" 3
	has "disk of $size: message" "$at.log" 'No space left on device'
	readable "$at"
	ok "disk of $size: what is left can be read" "$tmp/shown"
	umount "$at"
	has "disk of $size: all probes were run" "$at.table" '^residue '
done
has "disk of $size: where the partial result is" "$at.log" "the partial result is in $at/$name.partial"

# --- addresses -----------------------------------------------------------------------------

fresh
selftest --hash-addresses >"$tmp/table" 2>"$tmp/log"
archive=$(ls "$tmp/out")
rm -rf "$tmp/hashed" && mkdir "$tmp/hashed" && tar -xf "$tmp/out/$archive" -C "$tmp/hashed"
hashed=$(echo "$tmp"/hashed/*/result.json)
jq -r '.host, (.probes[0].values | .netdevs.value[].mac, .node_guid.value)' "$result" >"$tmp/originals"
is "there are originals" "$(grep -cE '^([0-9a-f]{2}:){5}|^0x[0-9a-f]{16}$|^.' "$tmp/originals")" 3
! grep -rFif "$tmp/originals" "$tmp/hashed" && ! find "$tmp/hashed" "$tmp/out" -printf "%f\n" | grep -Fqif "$tmp/originals"
ok "--hash-addresses: no original is left" "$hashed"
is "--hash-addresses: no capture" "$(find "$tmp/hashed" -name '*.pcapng')" ""
has "... and the reason" "$hashed" 'frames have addresses, which were to be hashed'
is "... raw completions stay" "$(find "$tmp/hashed" -name '*.cqes' | wc -l)" 2
is "--hash-addresses: other values stay" "$(jq -c '.probes[0].values | [.firmware, .pci, .kernel, .rdma_core]' "$hashed")" \
	"$(jq -c '.probes[0].values | [.firmware, .pci, .kernel, .rdma_core]' "$result")"

tap_done

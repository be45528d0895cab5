#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `rdmadump events`: every asynchronous event of a modelled device, as text and as JSON lines, and how it ends.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
need_tool jq

# The model changes no GID: after reading the table again, no change of a GID is reported.
events=(lid_change sm_change pkey_change client_reregister)
faults=(--fault "port=down,after_ms=100" --fault "port=up,after_ms=20")
faults+=(--fault "event=gid_change,after_ms=10" --fault "event=gid_change,after_ms=10")
for event in "${events[@]}"; do faults+=(--fault "event=$event,after_ms=10"); done
# Nothing is read of a device after its fatal event.
faults+=(--fault "fatal,after_ms=20" --fault "event=lid_change,after_ms=10")

model "${faults[@]}" -- "$RDMADUMP" events --json -c 8 -a duration:60 >"$tmp/json" 2>"$tmp/err"
is "ends after -c events" "$?" 0
is "every event, in order, each once" "$(jq -r .event "$tmp/json" | tr '\n' ' ')" \
	"port_error port_active ${events[*]} device_fatal gid_change "
has "it says what it watches" "$tmp/err" '^rdmadump: watching for RDMA devices; now: mlx5_0 \(.*\); Ctrl-C stops$'
is "with device and port" "$(jq -r '.device + ":" + (.port | tostring)' "$tmp/json" | sort -u | tr '\n' ' ')" \
	"mlx5_0:1 mlx5_0:null "
is "times do not go back" "$(jq -s '[.[].time_ns] == ([.[].time_ns] | sort)' "$tmp/json")" true
fits schema events - <"$tmp/json"

model --fault port=down,after_ms=50 -- "$RDMADUMP" events -c 1 -a duration:60 mlx5_0 >"$tmp/text" 2>"$tmp/err"
has "text" "$tmp/text" '^20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8}\.[0-9]{3}  mlx5_0:1 +port down$'

# Two devices: with one named, only its events.
two=(--dev name=mlx5_0 --dev name=mlx5_1 --fault "port=down,after_ms=50,device=0"
	--fault "port=down,after_ms=200,device=1")
model "${two[@]}" -- "$RDMADUMP" events --json -c 2 -a duration:60 >"$tmp/json" 2>"$tmp/err"
has "it names all that it watches" "$tmp/err" '^rdmadump: watching for RDMA devices; now: mlx5_0.*, mlx5_1'
is "all devices" "$(jq -r .device "$tmp/json" | sort | tr '\n' ' ')" "mlx5_0 mlx5_1 "
model "${two[@]}" -- "$RDMADUMP" events --json -c 1 -a duration:60 mlx5_1 >"$tmp/json" 2>"$tmp/err"
is "one device" "$(jq -r .device "$tmp/json" | sort -u | tr '\n' ' ')" "mlx5_1 "

rm -f "$tmp/text"
model --fault port=down,after_ms=50 --pidfile "$tmp/pid" -- "$RDMADUMP" events >"$tmp/text" 2>"$tmp/err" &
job=$!
wait_for test -s "$tmp/text"
kill -INT "$(<"$tmp/pid")"
wait $job
is "SIGINT ends it well" "$?" 0

# A port that gets another netdev: sysfs alone says so. The tree is changed until a reading of it has seen that.
rm -rf "$tmp/text" "$tmp/err" "$tmp/pid"
again=()
for _ in {1..30}; do again+=(--fault "event=gid_change,after_ms=200"); done
model --keep "$tmp/tree" "${again[@]}" --pidfile "$tmp/pid" -- "$RDMADUMP" events -a duration:60 >"$tmp/text" 2>"$tmp/err" &
job=$!
wait_for grep -q watching "$tmp/err"
for file in "$tmp"/tree/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/*; do echo lo >"$file"; done
wait_for grep -q 'netdev attached' "$tmp/text"
kill -INT "$(<"$tmp/pid")"
wait $job
has "a port that gets another netdev" "$tmp/text" '  mlx5_0:1 .*lo.* netdev attached|  mlx5_0:1 +netdev attached'
is "... once" "$(grep -c 'netdev attached' "$tmp/text")" 1

# nohup(1): SIGHUP is still ignored once events are printed, and SIGTERM is caught
rm -f "$tmp/pid" "$tmp/text"
# shellcheck disable=SC2016 # the inner shell's
model --fault port=down,after_ms=50 --pidfile "$tmp/pid" -- bash -c 'trap "" HUP; exec "$@"' - \
	"$RDMADUMP" events >"$tmp/text" 2>"$tmp/err" &
job=$!
wait_for test -s "$tmp/text"
ignored=$(awk '/^SigIgn:/ {print $2}' "/proc/$(<"$tmp/pid")/status")
caught=$(awk '/^SigCgt:/ {print $2}' "/proc/$(<"$tmp/pid")/status")
is "nohup: SIGHUP stays ignored" "$((0x$ignored & 1)) $((0x$caught & 1)) $((0x$caught >> 14 & 1))" "1 0 1"
kill -TERM "$(<"$tmp/pid")"
wait $job
is "nohup: SIGTERM ends it well" "$?" 0

model --fault port=down,after_ms=50 -- "$RDMADUMP" events -c 1 >/dev/full 2>"$tmp/err"
is "no room for the output" "$?" 3
mkfifo "$tmp/gone"
exec 8<>"$tmp/gone"
exec 9>"$tmp/gone" 8<&-
model --fault port=down,after_ms=50 -- "$RDMADUMP" events >&9 2>"$tmp/err"
is "the reader of the output is gone: the command ends, without an error" "$?" 0
exec 9>&-
model --fault verb=open_device,errno=EACCES -- "$RDMADUMP" events -a duration:1 >"$tmp/text" 2>"$tmp/err"
exits "a device that cannot be opened is watched by the rest, until -a duration" 0 "$tmp/err" 'no asynchronous events of mlx5_0: cannot open mlx5_0: Permission denied'

rm -f "$tmp/err"
env --default-signal=INT "$RDMADUMP" events >"$tmp/text" 2>"$tmp/err" &
job=$!
wait_for grep -q 'Ctrl-C stops' "$tmp/err"
kill -INT $job
wait $job
exits "without any device it waits until Ctrl-C" 0 "$tmp/err" '^rdmadump: watching for RDMA devices; (none now|now: .*); Ctrl-C stops$'
model --fault port=down,after_ms=50 --fault verb=open_device,errno=EACCES -- \
	"$RDMADUMP" events --no-async -a duration:1 mlx5_0 >"$tmp/text" 2>"$tmp/err"
is "--no-async: status" "$?" 0
is "--no-async opens no device" "$(<"$tmp/err")" "rdmadump: watching mlx5_0 (enp1s0f0np0)"

while IFS='|' read -r arguments words; do
	# shellcheck disable=SC2086 # several words
	"$RDMADUMP" events $arguments >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ "$status" = 1 ] && grep -qF -- "$words" "$tmp/err"
	ok "refused: events $arguments" "$tmp/err"
done <<'END'
-c 0|--count: '0' is not a whole number, 1 or more
-c many|--count: 'many' is not a whole number
-a size:3|-a: 'size:3' is not
-a duration:|-a: 'duration:' is not
a b|unexpected argument 'b'
END
tap_done

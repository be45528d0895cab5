#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A port's addresses decide the direction of a frame, and may change while it captures.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 jq

count=2500
change=1000
slack=500 # frames until a busy machine reads the event, or that were in the ring then
mine=0c:42:a1:00:00:01
foreign=0c:42:a1:00:00:77

# flags.py FILE: of each frame the direction (0 unknown, 1 in, 2 out), and its addresses
cat >"$tmp/flags.py" <<'PY'
import struct, sys
data, at = open(sys.argv[1], "rb").read(), 0
while at + 12 <= len(data):
    kind, length = struct.unpack_from("<II", data, at)
    if kind == 6:
        caplen = struct.unpack_from("<I", data, at + 20)[0]
        p, o, flags = data[at + 28:at + 28 + caplen], at + 28 + (caplen + 3 & ~3), 0
        while o < at + length - 4:
            code, size = struct.unpack_from("<HH", data, o)
            if code == 0: break
            if code == 2: flags = struct.unpack_from("<I", data, o + 4)[0]
            o += 4 + (size + 3 & ~3)
        print(flags & 3, p[6:12].hex(":"), p[0:6].hex(":"), ".".join(map(str, p[26:30])),
              ".".join(map(str, p[30:34])))
    at += length
PY

# capture OPTIONS...: of the model; directions into $tmp/flags
capture() {
	model --gen "count=$count,size=60-600,qps=4,seed=3" --rate 5000 --at-end sigint "$@" \
		"${command[@]}" >/dev/null 2>"$tmp/log"
	is "$name: exit status" $? 0
	python3 "$tmp/flags.py" "$tmp/out" >"$tmp/flags"
	is "$name: frames" "$(wc -l <"$tmp/flags")" $count
}
command=(-- "$RDMADUMP" -d mlx5_0 --when-full wait -w "$tmp/out")

# wrong FROM TO OWN COLUMN: frames in those lines whose direction is not that of the address
wrong() {
	awk -v from="$1" -v to="$2" -v own="$3" -v src="$4" 'NR >= from && NR <= to {
		out = $src == own; in_ = $(src + 1) == own
		n += $1 != (out == in_ ? 0 : out ? 2 : 1)
	} END { print n + 0 }' "$tmp/flags"
}

for mode in wqe striding; do
	name="new MAC, $mode"
	command=(-- "$RDMADUMP" -d mlx5_0 --when-full wait --rx-mode "$mode" -w "$tmp/out")
	capture --dev mac=$foreign --fault mac=$mine,frame=$change
	is "$name: before, no frame is this port's" \
		"$(head -n $((change - slack)) "$tmp/flags" | grep -vc ^0)" 0
	is "$name: afterwards they have a direction" "$(wrong $((change + slack)) $count $mine 2)" 0
done

# The netdev gets another address: frames on their way still have the former one.
name="former MAC"
capture --dev mac=$mine --fault mac=$foreign,frame=$change
is "$name: the direction stays" "$(wrong 1 $count $mine 2)" 0
[ "$(grep -c ^1 "$tmp/flags")" -gt 100 ] && [ "$(grep -c ^2 "$tmp/flags")" -gt 100 ]
ok "$name: some of both directions"

name="no change"
capture --dev mac=$foreign --fault event=gid_change,frame=$change
is "$name: none has a direction" "$(grep -vc ^0 "$tmp/flags")" 0

# Where no MAC address is known, the GIDs decide
name="new GID"
capture --dev mac=00:00:00:00:00:00,ip=192.0.2.77 --fault ip=10.77.0.1,frame=$change
is "$name: before, no frame is this port's" \
	"$(head -n $((change - slack)) "$tmp/flags" | grep -vc ^0)" 0
is "$name: afterwards they have a direction" "$(wrong $((change + slack)) $count 10.77.0.1 4)" 0
[ "$(grep -c ^1 "$tmp/flags")" -gt 100 ] && [ "$(grep -c ^2 "$tmp/flags")" -gt 100 ]
ok "$name: some of both directions"

# More queues than one: each follows
name="four queues"
command=(-- "$RDMADUMP" -d mlx5_0 --when-full wait --queues 4 -w "$tmp/out")
capture --dev mac=$foreign --fault mac=$mine,frame=$change
is "$name: afterwards they have a direction" "$(wrong $((change + slack)) $count $mine 2)" 0

# Multicasts and broadcasts are received, unless they are from this port
python3 - "$tmp/group.pcap" <<'PY'
import struct, sys
mine, other = bytes.fromhex("0c42a1000001"), bytes.fromhex("0c42a1000009")
third = bytes.fromhex("0c42a100000a")
groups = [bytes.fromhex("ffffffffffff"), bytes.fromhex("01005e000001"), bytes.fromhex("333300000001")]
frames = [(g, s) for g in groups for s in (mine, other)] + [(third, other), (mine, other), (other, mine)]
with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i, (dst, src) in enumerate(frames):
        p = dst + src + b"\x88\xb5" + bytes(46)
        f.write(struct.pack("<IIII", i, 0, len(p), len(p)) + p)
PY
model --dev mac=$mine --pcap "$tmp/group.pcap" --at-end sigint -- "$RDMADUMP" -d mlx5_0 \
	-w "$tmp/out" >/dev/null 2>&1
is "groups: exit status" $? 0
is "groups: directions" "$(python3 "$tmp/flags.py" "$tmp/out" | cut -c1 | tr -d '\n')" 212121012

tap_done

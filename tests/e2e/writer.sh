#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Each write mode: the same frames, valid files if the disk is full or the program is killed.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark capinfos mergecap cmp


modes='auto buffered direct'
mkdir "$tmp/small"
gen=count=40000,size=60-1500,seed=21
want=$("$SOFTHCA_FRAMES" $gen)
"$SOFTHCA_FRAMES" --write "$tmp/in.pcap" $gen >/dev/null
# Frames for as long as it takes
endless=count=100000000000,size=300,seed=22

for mode in $modes; do
	for sync in none periodic; do
		model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait --write-mode "$mode" --sync $sync \
			-w "$tmp/out" 2>"$tmp/log"
		ok "$mode, --sync $sync: exit status" "$tmp/log"
		empty "$mode, --sync $sync: without a word" "$tmp/log"
		is "$mode, --sync $sync: every frame" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" "$want"
	done
	mkdir "$tmp/d"
	"$RDMADUMP" -r "$tmp/in.pcap" -q --write-mode "$mode" --sync file -C 3M -w "$tmp/d/s"
	mapfile -t files < <(find "$tmp/d" -type f | sort -V)
	mergecap -a -F nsecpcap -w "$tmp/all" "${files[@]}"
	is "$mode: a series of ${#files[@]} files" "$("$SOFTHCA_FRAMES" --hash "$tmp/all")" "$want"
	rm -r "$tmp/d"

	# Killed at full speed: what is in the file is the beginning, and no zeros that read as frames
	rm -f "$tmp/out" "$tmp/pid"
	model --gen $endless --pidfile "$tmp/pid" -- "$RDMADUMP" -d mlx5_0 -q --when-full wait --write-mode "$mode" --format pcap \
		-w "$tmp/out" >"$tmp/log" 2>&1 &
	model=$!
	wait_for larger "$tmp/out" 20000000
	kill -9 "$(<"$tmp/pid")"
	wait $model
	mergecap -F nsecpcap -w "$tmp/all" "$tmp/out" 2>/dev/null
	n=$(frames_of "$tmp/all")
	holds "$mode, killed: $n frames are there" [ "$n" -gt 50000 ]
	is "$mode, killed: and they are the first ones" "$("$SOFTHCA_FRAMES" --hash "$tmp/all")" \
		"$("$SOFTHCA_FRAMES" "${endless/count=100000000000/count=$n}")"
	rm -f "$tmp/out" "$tmp/all"

	# A full disk, deep in the file and near its beginning
	for size in 12m 1m; do
		if ! mount -t tmpfs -o size=$size tmpfs "$tmp/small" 2>/dev/null; then
			skip "$mode, disk of $size" "no right to mount a tmpfs"
			continue
		fi
		"$RDMADUMP" -r "$tmp/in.pcap" --json --write-mode "$mode" -w "$tmp/small/out" >"$tmp/report" 2>"$tmp/log"
		exits "$mode, disk of $size" 3 "$tmp/log" 'No space left on device'
		is "$mode, disk of $size: frames in the file are those reported" "$(frames_of "$tmp/small/out")" \
			"$(json "$tmp/report" .frames.written)"
		is "$mode, disk of $size: accounted for" "$(json "$tmp/report" \
			'.frames | .written + .dropped.output + .dropped.buffer_full == .delivered')" true
		capinfos "$tmp/small/out" 2>&1 | grep -q 'Number of stat entries = 1'
		ok "$mode, disk of $size: the statistics are in the file"
		used=$(stat -c %s "$tmp/small/out")
		holds "$mode, disk of $size: it is used ($used bytes)" [ "$used" -gt $((${size%m} * 1048576 - 20000)) ]
		umount "$tmp/small"
	done
done

# Without O_DIRECT: a message if it was requested, buffered writing in all cases
if mount -t ramfs ramfs "$tmp/small" 2>/dev/null; then
	for mode in auto direct; do
		"$RDMADUMP" -r "$tmp/in.pcap" -q --write-mode "$mode" -w "$tmp/small/out" 2>"$tmp/log"
		ok "no O_DIRECT, $mode: exit status" "$tmp/log"
		is "no O_DIRECT, $mode: every frame" "$("$SOFTHCA_FRAMES" --hash "$tmp/small/out")" "$want"
		is "no O_DIRECT, $mode: reported" "$(grep -c 'does not support O_DIRECT' "$tmp/log")" "$([ $mode = direct ] && echo 1 || echo 0)"
	done
	umount "$tmp/small"
else
	skip "no O_DIRECT" "no right to mount a ramfs"
fi

tap_done

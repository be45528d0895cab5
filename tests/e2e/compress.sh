#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compressed captures: the same frames, readable by other programs, also if the file was cut off.
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tshark capinfos mergecap gzip zstd

# A file that was cut off is unpacked as far as it goes
unpack() {
	case $1 in
	gz) gzip -dc "$2" 2>"$tmp/unpack" ;;
	zst) zstd -dqfc "$2" 2>"$tmp/unpack" ;;
	esac
}
# hash_of gz|zst FILE
hash_of() {
	unpack "$1" "$2" >"$tmp/unpacked"
	case $2 in *.erf.*) "$RDMADUMP" -r "$tmp/unpacked" -q --format pcap -w "$tmp/unpacked.pcap" && mv "$tmp/unpacked.pcap" "$tmp/unpacked" ;; esac
	"$SOFTHCA_FRAMES" --hash "$tmp/unpacked"
}
comment_of() { capinfos -k "$1" 2>/dev/null; }

# Endings of other compressions: the file would be plain, and other programs would call it damaged
for ending in xz bz2 lz4 lzma Z br; do
	"$RDMADUMP" -r "$TEST_DATA/roce/20_mixed/a.pcap.zst" -w "$tmp/other.pcap.$ending" 2>"$tmp/log"
	exits ".$ending" 1 "$tmp/log" "'.*/other\.pcap\.$ending': \.$ending cannot be written; this build writes gz, zst; .*--compress"
	holds ".$ending: no file" [ ! -e "$tmp/other.pcap.$ending" ]
done
"$RDMADUMP" record mlx5_0 -w "$tmp/other.pcapng.xz" 2>"$tmp/log"
exits "record, .xz" 1 "$tmp/log" "\.xz cannot be written"
for kind in none gz; do
	holds "--compress $kind: any name" "$RDMADUMP" -q -r "$TEST_DATA/roce/20_mixed/a.pcap.zst" --compress $kind -w "$tmp/other.pcap.xz"
done
rm "$tmp/other.pcap.xz"

n_frames=50000
[ -z "${TEST_FULL-}" ] && n_frames=10000
gen=count=$n_frames,size=60-1500,seed=5
want=$("$SOFTHCA_FRAMES" $gen)
for kind in gz zst; do
	for args in "-w $tmp/a.pcapng.$kind" "-w $tmp/b --compress $kind" "-w $tmp/c.pcap.$kind" \
		"-w $tmp/e.erf.$kind --compress-level 6"; do
		file=$(awk '{print $2}' <<<"$args")
		# shellcheck disable=SC2086
		holds "${args//$tmp\//}: exit status" model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --when-full wait $args
		is "${args//$tmp\//}: frames" "$(hash_of $kind "$file")" "$want"
		case $kind in gz) gzip -t "$file" ;; zst) zstd -tq "$file" ;; esac
		ok "${args//$tmp\//}: sums are right"
	done
	# The same frames from a file give the same file, compressed or not
	for level in 1 9; do
		"$RDMADUMP" -r "$tmp/a.pcapng.$kind" -q -w "$tmp/plain.pcapng"
		"$RDMADUMP" -r "$tmp/a.pcapng.$kind" -q --compress-level $level -w "$tmp/packed.pcapng.$kind"
		unpack $kind "$tmp/packed.pcapng.$kind" >"$tmp/unpacked"
		# the comment has the duration
		is "$kind, level $level: the same bytes" "$(tail -c +1500 "$tmp/unpacked" | md5sum)" "$(tail -c +1500 "$tmp/plain.pcapng" | md5sum)"
	done
	is "$kind: Wireshark's library reads it as it is" "$(frames_read "$tmp/a.pcapng.$kind")" $n_frames
	comment_of "$tmp/a.pcapng.$kind" >"$tmp/comment"
	# Wireshark reads one zstd frame only: its beginning cannot be written again
	has "$kind: the comment at the beginning is the final one" "$tmp/comment" \
		"$([ $kind = gz ] && echo "${n_frames%000} 000 frames written" || echo 'is in the interface statistics at the end')"
	capinfos "$tmp/a.pcapng.$kind" >"$tmp/info" 2>&1
	has "$kind: the statistics are at the end" "$tmp/info" 'Number of stat entries = 1'

	# kill -9: what is older than a second is there
	rm -f "$tmp/pid" "$tmp/killed"*
	model --gen count=1000000,size=500,seed=5 --rate 20000 --pidfile "$tmp/pid" -- \
		"$RDMADUMP" -d mlx5_0 -q -w "$tmp/killed.$kind" >"$tmp/log" 2>&1 &
	model=$!
	# Frames that no compressor still holds back; each adds 532 bytes
	readable() { [ "$(unpack "$kind" "$tmp/killed.$kind" 2>/dev/null | wc -c)" -gt $((10000 * 532)) ]; }
	wait_for larger "$tmp/killed.$kind" 5000
	wait_for readable
	kill -9 "$(<"$tmp/pid")"
	wait $model
	n=$(frames_read "$tmp/killed.$kind")
	echo "# $kind: $n frames in the killed capture"
	holds "$kind: kill -9: readable to the last flush" [ "${n:-0}" -ge 8000 ]
	"$RDMADUMP" -r "$tmp/killed.$kind" -q --format pcap -w "$tmp/whole.pcap" 2>"$tmp/log"
	hash=$("$SOFTHCA_FRAMES" --hash "$tmp/whole.pcap")
	is "$kind: kill -9: read again, as many frames" "${hash%% *}" "$n"
	is "$kind: kill -9: these are the first frames" "$hash" \
		"$("$SOFTHCA_FRAMES" count="${hash%% *}",size=500,seed=5)"
	comment_of "$tmp/killed.$kind" >"$tmp/comment"
	has "$kind: kill -9: the file says that it was not finished" "$tmp/comment" 'Not finished|without them the capture was not finished'
	is "$kind: kill -9: no statistics" "$(capinfos "$tmp/killed.$kind" 2>/dev/null | grep -c 'Number of stat entries = 0')" 1

	# A series
	mkdir "$tmp/d"
	model --gen $gen --at-end sigint -- "$RDMADUMP" -d mlx5_0 --json --when-full wait -b packets:$((n_frames / 8 - 1)) \
		-w "$tmp/d/s.pcapng.$kind" >"$tmp/report" 2>"$tmp/log"
	is "$kind: a series of files" "$(cd "$tmp/d" && for f in *; do echo "${f//_2[0-9]*./_T.}"; done | sed -n '1p;$p' | paste -sd' ')" \
		"s_00001_T.$kind s_00009_T.$kind"
	for f in "$tmp/d"/*; do unpack $kind "$f" >"$f.pcapng"; done
	mergecap -a -F nsecpcap -w "$tmp/all" "$tmp/d"/*."$kind".pcapng
	is "$kind: every frame of it once, in order" "$("$SOFTHCA_FRAMES" --hash "$tmp/all")" "$want"
	is "$kind: statistics in each" "$(for f in "$tmp/d"/*."$kind"; do capinfos "$f" | grep -c 'Number of stat entries = 1'; done | sort -u)" 1
	rm -r "$tmp/d"

	# The disk is full
	mkdir -p "$tmp/small"
	if mount -t tmpfs -o size=3m tmpfs "$tmp/small" 2>/dev/null; then
		for more in '' '-C 1'; do
			# shellcheck disable=SC2086
			model --gen $gen -- "$RDMADUMP" -d mlx5_0 --json --compress $kind $more -w "$tmp/small/o" >"$tmp/report" 2>"$tmp/log"
			exits "$kind $more: disk full" 3 "$tmp/log" 'No space left on device'
			is "$kind $more: disk full: the frames are those reported" \
				"$(for f in "$tmp/small"/*; do hash_of $kind "$f"; done | awk '{n += $1} END {print n}')" \
				"$(json "$tmp/report" .frames.written)"
			bad=
			for f in "$tmp/small"/*; do
				case $kind in gz) gzip -t "$f" ;; zst) zstd -tq "$f" ;; esac || bad="$bad $f"
				[ "$(capinfos "$f" 2>/dev/null | grep -c 'Number of stat entries = 1')" = 1 ] || bad="$bad $f:statistics"
			done
			is "$kind $more: disk full: every file is whole" "$bad" ""
			rm "$tmp/small"/*
		done
		umount "$tmp/small"
	else
		skip "$kind: disk full" "no right to mount a tmpfs"
	fi
done

model --gen count=1000,size=500,seed=5 --at-end sigint -- "$RDMADUMP" -d mlx5_0 -q --compress gz -w - 2>"$tmp/log" >"$tmp/piped"
is "compressed on standard output" "$(hash_of gz "$tmp/piped")" "$("$SOFTHCA_FRAMES" count=1000,size=500,seed=5)"

tap_done

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bundle --redact: nothing of the map is left in any member, and the analysis finds what it found before.
# A host's name is replaced with its domain, and without it
if unshare -um true 2>/dev/null && [ "$(uname -n)" != storage7.lab.example ]; then
	# shellcheck disable=SC2016 # of the shell that is started
	exec unshare -um sh -c 'hostname storage7.lab.example && exec bash "$0"' "$0"
fi
host=$(uname -n)
host=${host%%.*}
. "${srcdir:-.}/tests/tap.sh"
need_tool jq tar zstd python3
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
here=$(cd "${srcdir:-.}/tests/e2e" && pwd)

# --- captures: each of tests/data, and of simulated networks ------------------------------------

# judged CAPTURE: the report of the redacted capture is the redacted report
judged() {
	rm -rf "$tmp/in" "$tmp/out" && mkdir "$tmp/in" "$tmp/out"
	"$RDMADUMP" analyze --json "$1" >"$tmp/in/report.json" 2>/dev/null
	"$REDACT_TOOL" "$tmp/out" "$1" "$tmp/in/report.json" >"$tmp/map" 2>"$tmp/log" || return
	"$RDMADUMP" analyze --json "$tmp/out/${1##*/}" >"$tmp/in/again.json" 2>/dev/null
	[ "$(jq length "$tmp/map")" -gt 0 ] && jq -e '.totals.frames > 0' "$tmp/in/again.json" >/dev/null &&
		python3 "$here/redacted.py" findings "$tmp/out/report.json" "$tmp/in/again.json" >"$tmp/log" &&
		python3 "$here/redacted.py" search "$tmp/map" "$tmp/out" >"$tmp/log"
}
captures=("$TEST_DATA"/roce/*/b.pcap.zst)
[ -n "${TEST_FULL-}" ] || captures=("$TEST_DATA"/roce/{07_rping,14_corrupt,15_ipv6,49_cm_reject}/b.pcap.zst)
for capture in "${captures[@]}"; do
	judged "$capture"
	ok "capture ${capture#"$TEST_DATA"/}" "$tmp/log"
done

# --- a bundle ------------------------------------------------------------------------------------

chmod 755 "$tmp"
mkdir "$tmp/desk" "$tmp/bin" && cd "$tmp/desk" || exit 1
export PATH=$tmp/bin:$PATH
printf '%s:x:%s:0:%s::\n' root 0 root nobody 65534 '' slurm 64030 Slurm lee.k 61000 'Lee Kurt,room 5' kim9 1000600000 '' >"$tmp/passwd"
if mount --bind "$tmp/passwd" /etc/passwd 2>"$tmp/log"; then
	is "people, no services of the distribution" "$("$RDMADUMP" bundle --part names | jq -r '.[] | select(.kind == "user").name' | grep -v root | LC_ALL=C sort -u | tr '\n' ' ')" "Lee Kurt kim9 lee.k "
	umount /etc/passwd
fi
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1" && chmod 755 "$tmp/bin/$1"; }
tool ofed_info 'printf "OFED-5.8-2.0.3.0:\nfrom /home/alice17/build by alice17\n" >&2; echo 172.29.3.4; exit 7'
tool ibstat 'printf "Node GUID: 0x0c42a10300b31234\nSystem image GUID: 0x0c42a10300b31230\nport: fe80::0c42:a103:00b3:1234\n"'
# shellcheck disable=SC2016 # the tool's own
tool nvidia-smi 'printf "Serial Number: MT2116X09341\n%s MT2116X09341 %s\n" "$(uname -n)" 172.29.3.4'
tool numactl 'head -c 4000 /dev/zero'
# shellcheck disable=SC2016 # the tool's own
tool dmesg 'echo "[1.0] mlx5_core 0000:3b:00.0 enx0c42a1b31234: renamed, node $(uname -n), alias $(uname -n | cut -d. -f1), mail root@$(uname -n | cut -d. -f2-)"'
mkdir -p alice17/zephyr-works && zstd -dqc "$TEST_DATA/roce/07_rping/a.pcap.zst" >alice17/172.29.3.4.pcap
printf 'not a capture' >alice17/other.pcap
# A link type that nothing is known of: 147, for private use.
python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 147) + struct.pack("<IIII", 1, 0, 8, 8) + b"12345678")' >alice17/private.pcap
# Whoever sends a capture chooses its comments: these "names" are keys, directories and values of a bundle.
python3 -c 'import struct, sys
block = lambda kind, b: struct.pack("<II", kind, 12 + len(b)) + b + struct.pack("<I", 12 + len(b))
text = b"hostname: ports, hostname: mlx5_0 hostname: sys user=devices at /home/carol7/"
sys.stdout.buffer.write(block(0x0a0d0d0a, struct.pack("<IHHqHH", 0x1a2b3c4d, 1, 0, -1, 1, len(text)) + text + bytes(4 + -len(text) % 4)) +
	block(1, struct.pack("<HHI", 1, 0, 0)) + block(6, struct.pack("<IIIII", 0, 0, 0, 60, 60) + bytes(60)))' >alice17/zephyr-works/words_node5.acme.com.pcapng
export RDMADUMP tmp
model --gen count=100000000,size=60-1400 --rate 5000 -- "$RDMADUMP" bundle --redact -w b.tar.zst --timeout 600 --json --capture 1 \
	--file "$tmp/desk/alice17/172.29.3.4.pcap" --file alice17/other.pcap --file alice17/private.pcap --file alice17/zephyr-works/words_node5.acme.com.pcapng mlx5_0 >"$tmp/json" 2>"$tmp/err"
is "a redacted bundle: exit status" $? 0
is "bundle and map, both private" "$(stat -c '%n %a' b.tar.zst* | tr '\n' ' ')" "b.tar.zst 600 b.tar.zst.map 600 "
has "the log says where the map is" "$tmp/err" 'b.tar.zst.map .*keep it'
mkdir "$tmp/un" && tar -xf b.tar.zst -C "$tmp/un" && b=$(echo "$tmp/un"/*)
fits "the manifest's schema" bundle "$b/manifest.json"
fits "the map's schema" bundle-map b.tar.zst.map
for kind in mac guid ipv4 ipv6 host user serial path; do
	jq -e --arg k $kind '[.replaced[] | select(.kind == $k)] | length > 0' b.tar.zst.map >/dev/null
	ok "the map has a $kind"
done
holds "no original is in any member, or its name" python3 "$here/redacted.py" search b.tar.zst.map "$b"
for secret in alice17 zephyr-works 172.29.3.4 MT2116X09341 acme.com 0c42a1 12345678 lab.example "$(</proc/sys/kernel/random/boot_id)"; do
	grep -rqi -- "$secret" "$b"
	is "no '$secret'" $? 1
done
# A short one is in binary files by chance.
grep -rqiI "\<$host\>" "$b"
is "no host name" $? 1
lacks "no names of files with them" <(find "$b" -printf "%P\n") "alice17|node5|acme|\<$host\>"
is "sizes of what is in it" "$(jq '[.members[].size | numbers] | add' "$b/manifest.json")" \
	"$(find "$b" -type f ! -name manifest.json -printf '%s\n' | awk '{n += $1} END {print n}')"
"$RDMADUMP" --version >"$tmp/version"
is "the versions of this program and its libraries stay" "$(diff "$tmp/version" "$b/rdmadump/version.txt")" ""
is "a version stays" "$(grep -c 'OFED-5.8-2.0.3.0' "$b/tools/ofed_info.txt")" 1
is "a GUID is the same in a GID" "$(awk '/Node/ {print substr($3, 3)}' "$b/tools/ibstat.txt")" \
	"$(python3 -c 'import ipaddress, sys; print("%016x" % (int(ipaddress.ip_address(sys.argv[1])) & (1 << 64) - 1))' "$(awk '/port/ {print $2}' "$b/tools/ibstat.txt")")"
why() { jq -r --arg n "$1" '.not_taken[] | select(.name | test($n)) | .why' "$b/manifest.json"; }
has "what is no capture is left out" <(why other.pcap) 'cannot be redacted'
has "an unknown link type is left out" <(why private.pcap) 'link type'
is "... and nothing else of captures" "$(find "$b/captures" -type f -printf .)" "..."
frames=$(jq .totals.frames "$b/analysis/mlx5_0_1.json")
[ "$frames" -gt 0 ] && "$RDMADUMP" analyze --json --html "$tmp/page" "$b/captures/mlx5_0_1.pcapng" >"$tmp/again" 2>/dev/null
holds "the analysis of the redacted capture" python3 "$here/redacted.py" findings "$b/analysis/mlx5_0_1.json" "$tmp/again"
is "a label in a capture names nothing elsewhere: device and port" \
	"$("$RDMADUMP" list --json --sysroot "$b/sysroot" 2>"$tmp/log" | jq -r '.devices[] | "\(.name) \(.ports | length)"')" "mlx5_0 1"
is "... keys" "$(jq -r '.devices[0] | has("ports")' "$b/rdmadump/list.json")" true
is "... paths" "$(ls "$b/sysroot/sys/class/infiniband/mlx5_0/ports")" 1
lacks "... and is replaced where it is" "$(echo "$b"/captures/*words_*.pcapng)" 'hostname: (ports|mlx5_0|sys)|carol7'
"$RDMADUMP" bundle --redact -w - >"$tmp/log" 2>&1
is "-w - without --redact-map: refused" $? 1
"$RDMADUMP" bundle --redact-map x >"$tmp/log" 2>&1
is "--redact-map without --redact: refused" $? 1
for files in absent/b.tar.zst:map b2.tar.zst:absent/map; do
	model --no-devices -- "$RDMADUMP" bundle --redact --timeout 600 -w "${files%:*}" --redact-map "${files#*:}" >"$tmp/log" 2>&1
	is "$files, one of them impossible: neither, and status" "$? $(echo *)" "3 alice17 b.tar.zst b.tar.zst.map"
done

tap_done

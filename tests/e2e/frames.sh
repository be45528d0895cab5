#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# tests/frames.py, which makes the frames of many tests, against those of a real kernel: capture, RoCE frames, and how many
# of them differ, which are those that the network damaged.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool python3 zstd
real=$(cd "${srcdir:-.}/tests/e2e" && pwd)/frames_real.py
cd "$tmp" || exit 1
while read -r capture frames wrong; do
	is "$capture: $frames frames, made again" "$(python3 "$real" "$TEST_DATA/roce/$capture/a.pcap.zst" 2>&1)" \
		"$capture $frames $wrong the same file"
done <<'END'
01_rc_send 1218 0
03_rc_read 800 0
06_ud_pingpong 202 0
15_ipv6 421 0
26_imm_inv 107 0
14_corrupt 996 24
END
tap_done

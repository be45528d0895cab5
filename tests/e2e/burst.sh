#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Bursts of 16 000 frames at the model's full speed, again and again: nothing lost by default.
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
need_tool jq

bursts=40
[ -z "${TEST_QUICK-}" ] || bursts=5
total=$((bursts * 16000))

model --mode drop --gen count=$total,size=256,seed=1 --burst 16000,50000 --at-end sigint \
	--stats "$tmp/stats" -- "$RDMADUMP" -d mlx5_0 -q --json -w "$tmp/out" >"$tmp/report" 2>"$tmp/log"
is "$bursts bursts of 16 000 frames: exit status" $? 0
is "all written" "$(json "$tmp/report" .frames.written)" $total
is "none lost by the device" "$(json "$tmp/stats" .dropped)" 0
is "byte for byte" "$("$SOFTHCA_FRAMES" --hash "$tmp/out")" \
	"$("$SOFTHCA_FRAMES" count=$total,size=256,seed=1)"

tap_done

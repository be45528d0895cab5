#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Queries to the firmware of a ConnectX in `counters`: each field, bit by bit, against the layout of the kernel's
# header (tests/data/firmware/layout.tsv) and the model's pattern; refusals; short responses.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
need_tool jq python3

check=$(cd "${srcdir:-.}/tests/e2e" && pwd)/firmware_layout.py
model --dev fw_answer=pattern -- "$RDMADUMP" counters --json --all mlx5_0 >"$tmp/counters" 2>"$tmp/err"
ok "the command" "$tmp/err"
python3 "$check" "$TEST_DATA/firmware/layout.tsv" "$tmp/counters" >"$tmp/checked" 2>&1
ok "each field is at its place" "$tmp/checked"
sed -n 's/.*fields compared/# &/p' "$tmp/checked"
[ "$(jq '[.ports[0].counters[] | select(.name | startswith("device/vport_counter/")) | select(.meaning != null)] | length' "$tmp/counters")" = 24 ]
ok "24 counters of QUERY_VPORT_COUNTER have a meaning"
fits "counters: schema" counters "$tmp/counters"

# The test must notice a field that is read one bit further.
awk -F'\t' -v OFS='\t' '$3 == "cq_overrun" { $4 = "0x281" } { print }' "$TEST_DATA/firmware/layout.tsv" >"$tmp/wrong.tsv"
! python3 "$check" "$tmp/wrong.tsv" "$tmp/counters" >"$tmp/checked" 2>&1 && grep -q '^device/vnic_env/cq_overrun' "$tmp/checked"
ok "a field at a wrong place is noticed" "$tmp/checked"

# Refusals, each with errno, status and syndrome.
# shellcheck disable=SC2016 # for the inner shell
model --dev fw_answer=pattern,fw_refuse=770+76f -- sh -c '"$RDMADUMP" counters --json --all mlx5_0 >"$0/counters" && "$RDMADUMP" counters --all mlx5_0 >"$0/all"' "$tmp" 2>"$tmp/err"
ok "refused: the commands" "$tmp/err"
is "counters, JSON" "$(jq -c '[.ports[0].refused[] | [.command, .status, .syndrome]]' "$tmp/counters")" '[["vnic_env",3,5904320],["vport_counter",3,5904320]]'
is "counters --all" "$(grep -c 'firmware, v[a-z_]*: .*syndrome 0x5a17c0' "$tmp/all")" 2
is "no counter of a refused command" "$(jq '[.ports[0].counters[].name | select(test("device/(vnic_env|vport_counter)/"))] | length' "$tmp/counters")" 0
model --dev devx=no -- "$RDMADUMP" counters --json --all mlx5_0 >"$tmp/counters"
is "without DEVX: counters say why" "$(jq -r '.ports[0].firmware_not_asked' "$tmp/counters")" "the device allows no DEVX"

# Of a response of 16 bytes the counters behind are 0, none is what was left in memory.
model --dev fw_answer=short -- "$RDMADUMP" counters --json --all mlx5_0 >"$tmp/counters"
is "a short response" "$(jq -c '[.ports[0].counters[] | select(.name | test("device/(vnic_env|vport_counter)/")) | .value] | unique' "$tmp/counters")" '[0]'
tap_done

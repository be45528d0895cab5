#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Queries to the firmware of a ConnectX in `info` and `counters`: each field, bit by bit, against the layout of the
# kernel's header (tests/data/firmware/layout.tsv) and the model's pattern; refusals; short responses.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
need_tool jq python3

check=$(cd "${srcdir:-.}/tests/e2e" && pwd)/firmware_layout.py
# shellcheck disable=SC2016 # for the inner shell
model --dev fw_answer=pattern -- sh -c '"$RDMADUMP" info --json mlx5_0 >"$0/info" && "$RDMADUMP" counters --json --all mlx5_0 >"$0/counters"' "$tmp" 2>"$tmp/err"
ok "the commands" "$tmp/err"
python3 "$check" "$TEST_DATA/firmware/layout.tsv" "$tmp/info" "$tmp/counters" >"$tmp/checked" 2>&1
ok "each field is at its place" "$tmp/checked"
sed -n 's/.*fields compared/# &/p' "$tmp/checked"
[ "$(jq '[.ports[0].counters[] | select(.name | startswith("device/vport_counter/")) | select(.meaning != null)] | length' "$tmp/counters")" = 24 ]
ok "24 counters of QUERY_VPORT_COUNTER have a meaning"
fits "info: schema" info "$tmp/info"
fits "counters: schema" counters "$tmp/counters"

# The test must notice a field that is read one bit further.
awk -F'\t' -v OFS='\t' '$3 == "current_issi" { $4 = "0x51" } { print }' "$TEST_DATA/firmware/layout.tsv" >"$tmp/wrong.tsv"
! python3 "$check" "$tmp/wrong.tsv" "$tmp/info" "$tmp/counters" >"$tmp/checked" 2>&1 && grep -q '^issi.current_issi' "$tmp/checked"
ok "a field at a wrong place is noticed" "$tmp/checked"

# Refusals, each with errno, status and syndrome.
# shellcheck disable=SC2016 # for the inner shell
model --dev fw_answer=pattern,fw_refuse=770+76f -- sh -c '"$RDMADUMP" info --json mlx5_0 >"$0/info" && "$RDMADUMP" info -v mlx5_0 >"$0/text" && "$RDMADUMP" counters --json --all mlx5_0 >"$0/counters" && "$RDMADUMP" counters --all mlx5_0 >"$0/all"' "$tmp" 2>"$tmp/err"
ok "refused: the commands" "$tmp/err"
is "info, JSON" "$(jq -c '[.commands | to_entries[] | select(.value.refused != null) | [.key, .value.refused.status, .value.refused.syndrome, (.value.refused.errno > 0), (.value.fields | length)]]' "$tmp/info")" \
	'[["vnic_env",3,5904320,true,0],["vport_counter",3,5904320,true,0]]'
is "info -v" "$(grep -c 'refused .*firmware status 0x3, syndrome 0x5a17c0' "$tmp/text")" 2
is "counters, JSON" "$(jq -c '[.ports[0].refused[] | [.command, .status, .syndrome]]' "$tmp/counters")" '[["vnic_env",3,5904320],["vport_counter",3,5904320]]'
is "counters --all" "$(grep -c 'firmware, v[a-z_]*: .*syndrome 0x5a17c0' "$tmp/all")" 2
is "no counter of a refused command" "$(jq '[.ports[0].counters[].name | select(test("device/(vnic_env|vport_counter)/"))] | length' "$tmp/counters")" 0
model --dev fw_refuse=all -- "$RDMADUMP" info --json mlx5_0 >"$tmp/info"
is "all refused: each says so" "$(jq '[.commands[] | select(.refused == null)] | length' "$tmp/info")/$(jq '.commands | length > 30' "$tmp/info")" 0/true
# shellcheck disable=SC2016 # for the inner shell
model --dev devx=no -- sh -c '"$RDMADUMP" info --json mlx5_0 >"$0/info" && "$RDMADUMP" counters --json --all mlx5_0 >"$0/counters"' "$tmp"
is "without DEVX: nothing is queried" "$(jq '.commands | length' "$tmp/info")" 0
is "and counters say why" "$(jq -r '.ports[0].firmware_not_asked' "$tmp/counters")" "the device allows no DEVX"

# Of a response of 16 bytes the fields behind are 0, none is what was left in memory.
model --dev fw_answer=short -- "$RDMADUMP" info --json mlx5_0 >"$tmp/info"
is "a short response: its first fields" "$(jq -c '[.commands.vport_state.fields[]] | length' "$tmp/info")" 2
is "and zeros behind" "$(jq -c '[.commands.vnic_env.fields[], .commands.vport_counter.fields[]] | unique' "$tmp/info")" '[0]'
tap_done

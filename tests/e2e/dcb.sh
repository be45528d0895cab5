#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# DCB in `rdmadump info`: what this kernel answers for a netdev without DCB, netdevs that are not here, copied trees; the
# JSON of a complete reply (tests/unit/test_dcb.c) against the schema.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
need_tool jq
# The tools around a sanitized build are loaded with its library, and leak at exit.
[ -z "${SOFTHCA_PRELOAD_FIRST-}" ] || export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS-}"
here=$(cd "$(dirname "$0")" && pwd)

# A veth pair has no DCB. The model takes its name; the kernel that is asked is the real one.
if unshare -n ip link add v0 type veth peer name v1 2>/dev/null; then
	# shellcheck disable=SC2016 # for the inner shell
	model_on_veth='ip link add v0 type veth peer name v1 && exec "$@"'
	on_veth() { model --dev name=mlx5_0,netdev=v0 -- unshare -n sh -c "$model_on_veth" sh "$RDMADUMP" info "$@"; }
	on_veth --json >"$tmp/json" 2>"$tmp/err"
	is "a driver without DCB: JSON" "$(jq -c '.ports[0].dcb' "$tmp/json")" \
		'[{"netdev":"v0","status":"unsupported","why":"the driver has no DCB"}]'
	on_veth -v >"$tmp/out" 2>"$tmp/err"
	has "a driver without DCB: -v says so" "$tmp/out" '^  DCB +v0: the driver has no DCB$'
	on_veth >"$tmp/out" 2>"$tmp/err"
	is "a driver without DCB: no line without -v" "$(grep -c DCB "$tmp/out")/$(grep -c '^  netdev  *v0' "$tmp/out")" 0/1
	if command -v setpriv >/dev/null; then
		# shellcheck disable=SC2016 # for the inner shell
		model --dev name=mlx5_0,netdev=v0 -- unshare -n sh -c 'ip link add v0 type veth peer name v1 &&
			exec setpriv --bounding-set=-all --inh-caps=-all "$@"' sh "$RDMADUMP" info -v >"$tmp/out" 2>"$tmp/err"
		has "without any capability: the same" "$tmp/out" '^  DCB +v0: the driver has no DCB$'
	else
		skip "without any capability" "setpriv is not installed"
	fi
else
	skip "a driver without DCB" "this kernel or user cannot make a veth pair in a network namespace"
fi

model -- unshare -n "$RDMADUMP" info -v >"$tmp/out" 2>"$tmp/err"
has "a netdev that is not in this network namespace: -v says so" "$tmp/out" \
	'^  DCB +enp1s0f0np0: not queried: the netdev is not in this network namespace$'
model -- "$RDMADUMP" info >"$tmp/out" 2>"$tmp/err"
is "no line without -v" "$(grep -c DCB "$tmp/out")/$(grep -c '^  netdev  *enp1s0f0np0' "$tmp/out")" 0/1
model --dev link=ib -- "$RDMADUMP" info --json >"$tmp/json" 2>"$tmp/err"
is "an InfiniBand port has no DCB" "$(jq -c '.ports[0].dcb' "$tmp/json")" '[]'

mkdir "$tmp/tree" && tar -xzf "$TEST_DATA/sysfs/mlx5-eth.tar.gz" -C "$tmp/tree"
"$RDMADUMP" info -v --sysroot "$tmp/tree" mlx5_1 >"$tmp/out" 2>"$tmp/err"
has "a copied tree is not asked: -v says so" "$tmp/out" '^  DCB +enp59s0f1np1: not queried: read from a copied tree$'

# A device with all of it: the array of the unit test in the document of the model.
DCB_JSON=$tmp/dcb.json "${DCB_TEST:?}" >"$tmp/unit" 2>&1
ok "the unit test writes the JSON of a complete reply" "$tmp/unit"
if python3 -c 'import jsonschema' 2>/dev/null; then
	model -- "$RDMADUMP" info --json >"$tmp/json"
	schema() { python3 "$here/../unit/schema.py" "$here/../../docs/schema/info.json" - >"$tmp/schema"; }
	jq -c --slurpfile dcb "$tmp/dcb.json" '.ports[0].dcb = $dcb[0]' "$tmp/json" | schema
	ok "the JSON of a complete reply, schema" "$tmp/schema"
	jq -c --slurpfile dcb "$tmp/dcb.json" '.ports[0].dcb = $dcb[0] | del(.ports[0].dcb[0].pfc)' "$tmp/json" | schema
	is "the schema notices what is absent" "$?" 1
else
	skip "the JSON of a complete reply, schema" "python3-jsonschema is not installed"
fi
tap_done

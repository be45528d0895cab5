#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every file of a copied mlx5 tree that contains a number is shown by `list`, `info` or `counters`: each file gets a number
# of its own, which must be in the output. What is left out on purpose is in `left_out`, with its reason.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
need_tool jq
LC_ALL=C
export LC_ALL

# Of a tree: pattern of the path | reason
left_out() {
	cat <<'END'
*/fw_pages|of interest to the driver's authors
*/reg_pages|of interest to the driver's authors
*/mr_cache/rel_*|of interest to the driver's authors
*/power/*|runtime power management of the device
*/has_smi|whether a port answers SMPs
*/class|the PCI class says only that it is a network adapter
*/dev_id|chooses the port that a netdev belongs to; not shown itself
*/dev_port|chooses the port that a netdev belongs to; not shown itself
*/hw_counters/lifespan|shown as lifespan_ms up to 10000 ms; the numbers of this test are larger
*/net/ib0.8001/*|a child interface of IPoIB is not a port's netdev
*/net/pf0vf0/*|of a representor only the name and the function that it represents are shown
END
	[ "$1" = mlx5-ib ] || cat <<'END'
*/ports/*/lid|an Ethernet port has no LID
*/ports/*/lid_mask_count|an Ethernet port has no LID
*/ports/*/sm_lid|an Ethernet port has no subnet manager
*/ports/*/sm_sl|an Ethernet port has no subnet manager
END
}

# Writes a number of its own into each file that holds one, in the form that the file has; prints "NUMBER PATH".
renumber() { # TREE
	local file text n=20000 pattern patterns
	mapfile -t patterns < <(left_out "${1##*/}" | cut -d'|' -f1)
	while IFS= read -r file; do
		IFS= read -rd '' text <"$file"
		[[ ${text//$'\n'/} =~ ^(0x[0-9a-fA-F]+|-?[0-9]+)$ ]] || continue
		for pattern in "${patterns[@]}"; do
			# shellcheck disable=SC2053 # a pattern
			[[ $file == $pattern ]] && continue 2
		done
		n=$((n + 1))
		if [[ $text == 0x* ]]; then printf '0x%x\n' "$n"; else echo "$n"; fi >"$file"
		echo "$n ${file#"$1"/}"
	done < <(find "$1/sys/devices/pci"* -type f)
}

for tree in mlx5-ib mlx5-eth; do
	dir=$tmp/$tree
	mkdir "$dir"
	tar -xzf "$TEST_DATA/sysfs/$tree.tar.gz" -C "$dir" && tar -xzf "$TEST_DATA/sysfs/counters/$tree.tar.gz" -C "$dir" ||
		exit 1
	# PCI ids decide what the device is.
	find "$dir/sys/devices" -name vendor -o -name device -type f >"$tmp/ids"
	renumber "$dir" >"$tmp/numbers.$tree"
	while read -r file; do
		[ "${file##*/}" = vendor ] && echo 0x15b3 >"$file"
	done <"$tmp/ids"
	{
		"$RDMADUMP" list --json --sysroot "$dir"
		for device in $("$RDMADUMP" list --json --sysroot "$dir" | jq -r '.devices[].name'); do
			"$RDMADUMP" info -v --sysroot "$dir" "$device"
			"$RDMADUMP" info --json --sysroot "$dir" "$device"
			"$RDMADUMP" counters --json --sysroot "$dir" "$device"
		done
	} >"$tmp/shown" 2>"$tmp/err"
	ok "$tree: the commands" "$tmp/err"
	declare -A words=()
	while read -r word; do words[$word]=1; done < <(tr -c '0-9a-zA-Z' '\n' <"$tmp/shown" | sed 's/^0x0*/0x/; s/^0*//; /^$/d' | sort -u)
	missing=0
	while read -r n path; do
		[[ $path == */vendor ]] && continue
		printf -v hex %x "$n"
		[ -n "${words[$n]-}${words[$hex]-}${words[x$hex]-}" ] || {
			echo "# $path ($n) is not shown"
			missing=$((missing + 1))
		}
	done <"$tmp/numbers.$tree"
	is "$tree: each number is shown" "$missing" 0
	holds "$tree: there are at least 100 of them" [ "$(wc -l <"$tmp/numbers.$tree")" -ge 100 ]
done
tap_done
